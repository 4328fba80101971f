//! What ends a child's group when its owner is killed and can do nothing any more.
//!
//! A small shell stands beside the child with a pipe for its input. The owner writes a line when all is well; when the
//! owner dies, the kernel closes the pipe, and the shell ends the group and what left it but carries the marker. The
//! signal that Linux sends when a parent dies would reach the child alone, and come with the end of a mere thread.

use std::io::{self, PipeWriter, Write as _};
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::Command;

/// `$1` is the group, `$2` the marker. Asks, and a moment later kills, as a stop does.
const SCRIPT: &str = r#"trap '' HUP INT TERM
read -r word && exit
end() {
    kill -s "$1" -- "-$2"
    for file in $(grep -lsF -- "$3" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -s "$1" "${process%/environ}"
    done
}
end TERM "$1" "$2"
sleep 0.5
end KILL "$1" "$2"
"#;

/// The shell that waits. Dropping it tells it that there is nothing to do.
#[derive(Debug)]
pub(super) struct Heir(PipeWriter);

impl Heir {
    /// Watches over the group led by `leader`. Needs a tokio runtime, which reaps the shell.
    pub(super) fn watch(leader: Pid, marker: &str) -> io::Result<Self> {
        // Neither end goes to another child: both are closed where a program is started.
        let (reader, writer) = io::pipe()?;
        #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "sh"])
            .arg(leader.as_raw_nonzero().to_string())
            .arg(marker)
            // It must not end with the owner's group, nor hold a folder.
            .process_group(0)
            .current_dir("/")
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn()?;
        Ok(Self(writer))
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        // It has gone: then there is nobody to tell.
        let _ = self.0.write_all(b"\n");
    }
}
