//! The processes that a child started: its group and, on Linux, also those that left the group but have its marker in
//! their environment.

use super::child_reaper::ChildReaper;
use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
};

/// Owner of a process group: dropping it kills the members.
///
/// Process ids are reused. The group's id is certainly ours while the leader is not reaped. After that it is ours
/// until another process gets that id, because the kernel does not reuse an id that still names a group.
#[derive(Debug)]
pub struct ChildGroup {
    leader: Pid,
    marker: Option<String>,
    reaped: bool,
    released: bool,
    child_reaper: Option<ChildReaper>,
}

impl ChildGroup {
    /// The group led by `leader`, a child that is not reaped yet. `marker` is `NAME=VALUE`, if its environment has one.
    pub(super) fn new(leader: Pid, marker: Option<String>) -> Self {
        Self {
            leader,
            marker,
            reaped: false,
            released: false,
            child_reaper: None,
        }
    }

    /// Also ends the group when this process is killed. Requires a tokio runtime.
    pub(super) fn with_reaper(mut self) -> Self {
        // Without a shell the group is unchanged.
        let marker = self.marker.as_deref();
        self.child_reaper = marker.and_then(|marker| ChildReaper::watch(self.leader, marker).ok());
        self
    }

    pub fn id(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Whether the group has any processes.
    pub(crate) fn has_members(&self) -> bool {
        self.is_ours() && test_kill_process_group(self.leader).is_ok()
    }

    pub(super) fn note_reaped(&mut self) {
        self.reaped = true;
    }

    /// Leaves the members running.
    pub(super) fn release(&mut self) {
        self.released = true;
        self.child_reaper = None;
    }

    /// Moves the group out, leaving an empty one.
    pub(super) fn take(&mut self) -> Self {
        let guard = Self {
            leader: self.leader,
            marker: self.marker.clone(),
            reaped: self.reaped,
            released: self.released,
            child_reaper: self.child_reaper.take(),
        };
        self.released = true;
        guard
    }

    /// Signals the group, the leader's descendants and the processes with its marker.
    pub(super) fn signal_everything(&self, signal: Signal) {
        // Read the descendants before the leader ends: afterwards, they are no longer its descendants.
        let descendants = if self.reaped {
            Vec::new()
        } else {
            descendants(self.leader)
        };
        self.signal_group(signal);
        for pid in descendants {
            let _ = kill_process(pid, signal);
        }
        for pid in self.marker.as_deref().map(marked).unwrap_or_default() {
            let _ = kill_process(pid, signal);
        }
    }

    fn signal_group(&self, signal: Signal) {
        if !self.is_ours() {
            return;
        }
        // A child that has just been created may not lead its group yet.
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
            self.signal_everything(Signal::KILL);
        }
    }
}

/// The parent of a process.
#[cfg(target_os = "linux")]
pub fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
}

/// `None`: other systems do not report the parent without a library.
#[cfg(not(target_os = "linux"))]
pub fn parent_of(_pid: Pid) -> Option<Pid> {
    None
}

/// The processes below `ancestor`, parents first.
fn descendants(ancestor: Pid) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents = numbers
        .filter_map(Pid::from_raw)
        .filter_map(|pid| Some((pid, parent_of(pid)?)));
    let parents: Vec<(Pid, Pid)> = parents.collect();
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// Processes whose environment contains `marker`.
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

/// Other systems do not expose the environment of a process.
#[cfg(not(target_os = "linux"))]
fn marked(_marker: &str) -> Vec<Pid> {
    Vec::new()
}
