//! Sandboxes this process and its children with Landlock, and with seccomp for what Landlock does not cover:
//! sockets, and system calls that change the system. Neither needs privileges, and neither can be removed
//! again.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule};

use super::plan::Spec;

/// The supported versions, newest first. Before version 3, a file outside could be truncated.
const VERSIONS: [(u32, ABI); 5] = [
    (7, ABI::V7),
    (6, ABI::V6),
    (5, ABI::V5),
    (4, ABI::V4),
    (3, ABI::V3),
];

/// Devices that programs write to and that store nothing.
const DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
];

/// The newest supported version that this kernel has; at least 3.
pub(super) fn version() -> Option<u32> {
    supported().map(|(version, _)| version)
}

fn supported() -> Option<(u32, ABI)> {
    VERSIONS
        .into_iter()
        .find(|(_, abi)| ruleset(*abi, false).is_ok())
}

/// Sandboxes this process, everything it executes and all its children.
pub(super) fn confine(spec: &Spec) -> Result<(), String> {
    let (_, abi) = supported().ok_or("the kernel does not support Landlock version 3 or later")?;
    let stderr = |error: &dyn std::fmt::Display| format!("landlock: {error}");
    let mut rules = ruleset(abi, spec.network).map_err(|error| stderr(&error))?;
    let write = AccessFs::from_write(abi);
    for path in &spec.writable {
        let opened = PathFd::new(path).map_err(|error| stderr(&error))?;
        let access = if path.is_dir() {
            write
        } else {
            write & AccessFs::from_file(abi)
        };
        rules = rules
            .add_rule(PathBeneath::new(opened, access))
            .map_err(|error| stderr(&error))?;
    }
    for path in DEVICES
        .map(Path::new)
        .into_iter()
        .filter(|path| path.exists())
    {
        let opened = PathFd::new(path).map_err(|error| stderr(&error))?;
        let access = write & AccessFs::from_file(abi);
        rules = rules
            .add_rule(PathBeneath::new(opened, access))
            .map_err(|error| stderr(&error))?;
    }
    let status = rules.restrict_self().map_err(|error| stderr(&error))?;
    if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
        return Err("landlock: the kernel enforces the rules only in part".to_owned());
    }
    seccompiler::apply_filter(&filter(spec.network)?).map_err(|error| format!("seccomp: {error}"))
}

/// A ruleset that covers every kind of write; requires all of `abi`.
fn ruleset(abi: ABI, network: bool) -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(abi))?;
    let net = AccessNet::from_all(abi);
    if !network && !net.is_empty() {
        rules = rules.handle_access(net)?;
    }
    let scope = Scope::from_all(abi);
    if !scope.is_empty() {
        rules = rules.scope(scope)?;
    }
    rules.create()
}

/// Denied system calls: those that change the system, ways around the filter, and without network every
/// socket, because a local daemon could do the work outside of the sandbox.
fn filter(network: bool) -> Result<BpfProgram, String> {
    let mut refused = vec![
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_open_by_handle_at,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
    ];
    if !network {
        refused.push(libc::SYS_socket);
    }
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in refused {
        rules.insert(call, Vec::new());
        // The same call by its x32 number.
        if cfg!(target_arch = "x86_64") {
            rules.insert(call | 0x4000_0000, Vec::new());
        }
    }
    let arch = std::env::consts::ARCH
        .try_into()
        .map_err(|error| format!("seccomp: {error:?}"))?;
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
    let program = filter.and_then(TryInto::try_into);
    program.map_err(|error: seccompiler::BackendError| format!("seccomp: {error}"))
}
