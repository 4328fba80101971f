//! CPU and memory of a process and its descendants, from `/proc`.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The processes of a tree, the root first.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// User and system time of a tree, with that of children that have ended. The kernel counts in
/// hundredths of a second.
pub(crate) fn cpu(root: u32) -> Duration {
    let ticks = tree(root).into_iter().filter_map(stat);
    Duration::from_millis(ticks.map(|stat| stat.ticks).sum::<u64>() * 10)
}

/// Proportional set size of a tree in bytes: shared pages count by share.
pub(crate) fn memory(root: u32) -> u64 {
    tree(root).into_iter().filter_map(pss).sum()
}

/// Kills a process. A process that has already ended is not an error.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        kill_process(pid, Signal::KILL).ok();
    }
}

struct Stat {
    parent: u32,
    ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program can contain anything, but ends with the last bracket.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
    };
    Some(Stat {
        parent: number(1)? as u32,
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
    })
}

fn pss(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}
