//! What ends the groups of the children when their owner is killed and can do nothing any more.
//!
//! A small shell, one for the whole process, is told of every group that begins and ends. When the owner dies, the
//! kernel closes the shell's input, and the shell ends the groups that are left and what left them but carries their
//! markers. The signal that Linux sends when a parent dies would reach the children alone, and come with the end of a
//! mere thread.

use std::io::{self, PipeWriter, Write as _};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;
use tokio::process::Command;

use super::MARKER;

/// Reads `+ GROUP MARKER` and `- GROUP MARKER`. Asks at the end, and a moment later kills, as a stop does.
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
[ "$left" ] || exit
end() {
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

/// The shell, and what it has been told of.
static SHELL: Mutex<Shell> = Mutex::new(Shell {
    input: None,
    groups: Vec::new(),
});

struct Shell {
    /// `None` until there is a group, and after the shell was found to be gone.
    input: Option<PipeWriter>,
    /// `GROUP MARKER` of each.
    groups: Vec<String>,
}

/// A group that the shell watches over. Dropping it tells the shell that there is nothing to do.
#[derive(Debug)]
pub(super) struct Heir(String);

impl Heir {
    /// Watches over the group led by `leader`; `marker` is one word. Needs a tokio runtime, which reaps the shell.
    pub(super) fn watch(leader: Pid, marker: &str) -> io::Result<Self> {
        let group = format!("{} {marker}", leader.as_raw_nonzero());
        SHELL
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .watch(&group)?;
        Ok(Self(group))
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        let mut shell = SHELL.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// A line is one write, and whole. A shell that somebody has killed is started again with the next group.
    fn tell(&mut self, sign: char, group: &str) {
        let line = format!("{sign} {group}\n");
        if let Some(input) = &mut self.input
            && input.write_all(line.as_bytes()).is_err()
        {
            self.input = None;
        }
    }

    /// Starts the shell and tells it of every group.
    fn start(&mut self) -> io::Result<()> {
        // Neither end goes to another child: both are closed where a program is started.
        let (reader, mut input) = io::pipe()?;
        #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT])
            // Whoever started this process may stop it with all that carries a marker of its own.
            .env_remove(MARKER)
            // It must not end with the owner's group, nor hold a folder.
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
