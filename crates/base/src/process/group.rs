//! The processes one child started, as far as they can be found: its group, and on Linux also those
//! that left the group but carry its marker in their environment.

use super::heir::Heir;
use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
};

/// Guard of a process group: dropping it kills the members.
///
/// Process ids are used again. While the leader is not reaped the group's id is surely ours; after
/// that it is as long as nobody else has become a process of that id, because the kernel gives no id
/// away that still names a group.
#[derive(Debug)]
pub struct ChildGroup {
    leader: Pid,
    marker: String,
    reaped: bool,
    released: bool,
    heir: Option<Heir>,
}

impl ChildGroup {
    /// The group led by `leader`, a child that is not reaped yet. `marker` is `NAME=VALUE`.
    pub(super) fn new(leader: Pid, marker: String) -> Self {
        Self {
            leader,
            marker,
            reaped: false,
            released: false,
            heir: None,
        }
    }

    /// The same, which also ends when this process is killed. Needs a tokio runtime.
    pub(super) fn bequeathed(mut self) -> Self {
        // Without a shell it is as it was.
        self.heir = Heir::watch(self.leader, &self.marker).ok();
        self
    }

    pub fn id(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Whether any process of the group is left.
    pub fn has_members(&self) -> bool {
        self.is_ours() && test_kill_process_group(self.leader).is_ok()
    }

    pub(super) fn note_reaped(&mut self) {
        self.reaped = true;
    }

    /// Leaves the members alone.
    pub(super) fn release(&mut self) {
        self.released = true;
        self.heir = None;
    }

    /// The guard, leaving none behind.
    pub(super) fn take(&mut self) -> Self {
        let guard = Self {
            leader: self.leader,
            marker: self.marker.clone(),
            reaped: self.reaped,
            released: self.released,
            heir: self.heir.take(),
        };
        self.released = true;
        guard
    }

    /// Signals the group and whatever left it but carries the marker.
    pub(super) fn signal_everything(&self, signal: Signal) {
        self.signal_group(signal);
        for pid in marked(&self.marker) {
            let _ = kill_process(pid, signal);
        }
    }

    fn signal_group(&self, signal: Signal) {
        if !self.is_ours() {
            return;
        }
        // A child that has just been made may not lead its group yet.
        if kill_process_group(self.leader, signal).is_err() && !self.reaped {
            let _ = kill_process(self.leader, signal);
        }
    }

    fn is_ours(&self) -> bool {
        !self.reaped || test_kill_process(self.leader) == Err(rustix::io::Errno::SRCH)
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if !self.released {
            self.signal_group(Signal::KILL);
        }
    }
}

/// Processes whose environment holds `marker`.
#[cfg(target_os = "linux")]
fn marked(marker: &str) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            variables
                .any(|variable| variable == marker.as_bytes())
                .then_some(pid)
        })
        .collect()
}

/// Other systems do not show the environment of a process.
#[cfg(not(target_os = "linux"))]
fn marked(_marker: &str) -> Vec<Pid> {
    Vec::new()
}
