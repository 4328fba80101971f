//! Sandboxes this process and its children with Landlock. It needs no privileges, and cannot be removed again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
        .find(|(_, abi)| ruleset(*abi, false, false).is_ok())
}

/// The numbers of the rights that limit writing, and of those that a file can have.
pub(super) fn write_rights() -> Option<(u64, u64)> {
    let (_, abi) = supported()?;
    let write = AccessFs::from_write(abi);
    Some((write.bits(), (write & AccessFs::from_file(abi)).bits()))
}

/// Sandboxes this process, everything it executes and all its children.
pub(super) fn confine(spec: &Spec) -> Result<(), String> {
    let (_, abi) = supported().ok_or("the kernel does not support Landlock version 3 or later")?;
    let stderr = |error: &dyn std::fmt::Display| format!("landlock: {error}");
    let network = spec.network != Network::Off;
    let hides = !spec.hidden.is_empty();
    let mut rules = ruleset(abi, network, hides).map_err(|error| stderr(&error))?;
    if hides {
        rules = grant_names(rules).map_err(|error| stderr(&error))?;
        rules = grant_others(rules, Path::new("/"), &spec.hidden, abi)
            .map_err(|error| stderr(&error))?;
    }
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
    let mut write = AccessFs::from_write(abi);
    // Nothing in a writable directory is hidden.
    if !spec.hidden.is_empty() {
        write |= AccessFs::from_read(abi);
    }
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
        let access = AccessFs::from_write(abi) & AccessFs::from_file(abi);
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

/// Lets names be listed everywhere.
fn grant_names(rules: RulesetCreated) -> Result<RulesetCreated, String> {
    let root = PathFd::new("/").map_err(|error| error.to_string())?;
    let rule = PathBeneath::new(root, AccessFs::ReadDir);
    rules.add_rule(rule).map_err(|error| error.to_string())
}

/// Lets all files below `folder` be read and executed, except the hidden ones. Landlock can only
/// grant access, so each other file is granted at its place; a symbolic link would grant its
/// target.
fn grant_others(
    mut rules: RulesetCreated,
    folder: &Path,
    hidden: &BTreeSet<PathBuf>,
    abi: ABI,
) -> Result<RulesetCreated, String> {
    let read = AccessFs::from_read(abi);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        if kind.is_symlink() || hidden.contains(&path) {
            continue;
        }
        if hidden.iter().any(|file| file.starts_with(&path)) {
            rules = grant_others(rules, &path, hidden, abi)?;
            continue;
        }
        let access = if kind.is_dir() {
            read
        } else {
            read & AccessFs::from_file(abi)
        };
        // A file that cannot be opened cannot be read either.
        if let Ok(opened) = PathFd::new(&path) {
            let rule = PathBeneath::new(opened, access);
            rules = rules.add_rule(rule).map_err(|error| error.to_string())?;
        }
    }
    Ok(rules)
}

/// A ruleset that covers every kind of write, and reading if files are hidden; requires all of `abi`.
fn ruleset(abi: ABI, network: bool, hides: bool) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut access = AccessFs::from_write(abi);
    if hides {
        access |= AccessFs::from_read(abi);
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(access)?;
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
