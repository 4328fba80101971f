//! Ends the groups of children after this process was killed.
//!
//! One small shell for the complete process tracks every group. When this process dies, the kernel closes the shell's
//! input, and the shell ends the remaining groups and the processes with their markers. The parent death signal of
//! Linux would only reach the children themselves, and is already sent when a thread ends.

use parking_lot::Mutex;
use std::io::{self, PipeWriter, Write as _};
use std::process::Stdio;
use std::sync::LazyLock;

use rustix::process::Pid;
use tokio::process::Command;

use super::keyless_command;

/// Environment variable that marks all descendants, to find those that left the group.
pub(super) const MARKER: &str = "OSIER_COMMAND_ID";

/// Reads `+ GROUP MARKER` and `- GROUP MARKER`. At the end of its input it sends SIGTERM, then SIGKILL, like a stop.
const SCRIPT: &str = r#"trap '' HUP INT TERM
left=
while read -r sign group marker; do
    if [ "$sign" = + ]; then
        left="$left $group:$marker"
        continue
    fi
    others=
    for one in $left; do
        [ "$one" = "$group:$marker" ] || others="$others $one"
    done
    left=$others
done
end() {
    # Commands that ended, too: processes that left their group may still run.
    for file in $(grep -lsF -- "$0" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -s "$1" "${process%/environ}"
    done
    for one in $left; do
        kill -s "$1" -- "-${one%%:*}"
        for file in $(grep -lsF -- "${one#*:}" /proc/[0-9]*/environ); do
            process=${file#/proc/}
            kill -s "$1" "${process%/environ}"
        done
    done
}
end TERM
sleep 0.5
end KILL
"#;

/// The prefix of the ids of all commands of this process.
static PROCESS: LazyLock<String> = LazyLock::new(|| uuid::Uuid::new_v4().simple().to_string());

/// A new id for a command, whose processes end at the latest with this process.
pub(super) fn command_id() -> String {
    format!("{}-{}", *PROCESS, uuid::Uuid::new_v4().simple())
}

/// The shell and the groups it tracks.
static SHELL: Mutex<Shell> = Mutex::new(Shell {
    input: None,
    groups: Vec::new(),
});

struct Shell {
    /// `None` before the first group, and after the shell has exited.
    input: Option<PipeWriter>,
    /// `GROUP MARKER` of each group.
    groups: Vec<String>,
}

/// A group that the shell tracks. Dropping it removes the group from the shell.
#[derive(Debug)]
pub(super) struct ChildReaper(String);

impl ChildReaper {
    /// Tracks the group led by `leader`; `marker` is one word. Requires a tokio runtime, which reaps the shell.
    pub(super) fn watch(leader: Pid, marker: &str) -> io::Result<Self> {
        let group = format!("{} {marker}", leader.as_raw_nonzero());
        SHELL.lock().watch(&group)?;
        Ok(Self(group))
    }
}

impl Drop for ChildReaper {
    fn drop(&mut self) {
        let mut shell = SHELL.lock();
        shell.groups.retain(|group| *group != self.0);
        shell.tell('-', &self.0);
    }
}

impl Shell {
    fn watch(&mut self, group: &str) -> io::Result<()> {
        self.tell('+', group);
        self.groups.push(group.to_owned());
        if self.input.is_none() {
            let told = self.start();
            if told.is_err() {
                self.groups.pop();
            }
            return told;
        }
        Ok(())
    }

    /// Writes a complete line with one write. After the shell was killed, the next group starts it again.
    fn tell(&mut self, sign: char, group: &str) {
        let line = format!("{sign} {group}\n");
        if let Some(input) = &mut self.input
            && input.write_all(line.as_bytes()).is_err()
        {
            self.input = None;
        }
    }

    /// Starts the shell and sends it all groups.
    fn start(&mut self) -> io::Result<()> {
        // Both ends close in every other child, because they are close-on-exec.
        let (reader, mut input) = io::pipe()?;
        let mut command = Command::from(keyless_command("/bin/sh".as_ref()));
        command
            .args(["-c", SCRIPT, &format!("{MARKER}={}-", *PROCESS)])
            // Our parent may stop this process and everything with its own marker.
            .env_remove(MARKER)
            // The shell must not end with this process's group, nor block a folder.
            .process_group(0)
            .current_dir("/")
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn()?;
        for group in &self.groups {
            input.write_all(format!("+ {group}\n").as_bytes())?;
        }
        self.input = Some(input);
        Ok(())
    }
}
