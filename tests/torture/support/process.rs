//! Processes as `/proc` describes them.

use std::fs;

/// A running process.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) id: u32,
    /// The arguments of the process, separated by spaces.
    pub(crate) command: String,
}

/// The resources that a process uses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) memory_kb: u64,
    pub(crate) descriptors: usize,
    pub(crate) threads: u64,
}

/// The processes whose environment contains `variable`, a name and a value. Zombies are left out.
pub(crate) fn with_environment(variable: &str) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_one = environment
            .split(|byte| *byte == 0)
            .any(|one| one == variable.as_bytes());
        if !is_one {
            continue;
        }
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&line).replace('\0', " ");
        if !command.is_empty() {
            found.push(Process { id, command });
        }
    }
    found
}

impl Process {
    pub(crate) fn usage(&self) -> Usage {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap_or_default();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok())
                .unwrap_or(0)
        };
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.id));
        Usage {
            memory_kb: number("VmRSS:"),
            threads: number("Threads:"),
            descriptors: descriptors.map_or(0, Iterator::count),
        }
    }
}
