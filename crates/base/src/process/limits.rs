//! Limits of a process that reads hostile input.

use rustix::process::{Pid, Resource, Rlimit, setrlimit};

/// Limits what this process can use: bytes of memory, and seconds of processor time. A system without such limits still has
/// the time limit of the parent.
pub fn limit_own(memory: u64, seconds: u64) {
    for (resource, most) in [
        (Resource::As, memory),
        (Resource::Cpu, seconds),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        let _ = setrlimit(resource, limit);
    }
}

/// Limits the bytes that the process `id` allocates. Files that it maps do not count.
pub(super) fn limit_data(id: Pid, bytes: u64) {
    let limit = Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::process::prlimit(Some(id), Resource::Data, limit);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = (id, limit);
}
