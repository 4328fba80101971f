//! Sandboxes this process and its children with Landlock. It needs no privileges, and cannot be removed again.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::spec::{Network, Spec};

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
    let network = spec.network != Network::Off;
    let rules = ruleset(abi, network).map_err(|error| stderr(&error))?;
    enforce(spec, abi, rules, &DEVICES)
}

/// Sandboxes only writes to files, in the mounts of bubblewrap: a read-only mount does not keep a command from writing to a
/// pipe. Does nothing if the kernel has no Landlock.
pub(super) fn confine_files(spec: &Spec) -> Result<(), String> {
    let Some((_, abi)) = supported() else {
        return Ok(());
    };
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(abi))
        .and_then(Ruleset::create);
    let rules = rules.map_err(|error| format!("landlock: {error}"))?;
    enforce(spec, abi, rules, &[])
}

fn enforce(
    spec: &Spec,
    abi: ABI,
    mut rules: RulesetCreated,
    devices: &[&str],
) -> Result<(), String> {
    let stderr = |error: &dyn std::fmt::Display| format!("landlock: {error}");
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
    for path in devices.iter().map(Path::new).filter(|path| path.exists()) {
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
    Ok(())
}

/// A ruleset that covers every kind of write; requires all of `abi`.
fn ruleset(abi: ABI, network: bool) -> Result<RulesetCreated, landlock::RulesetError> {
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
