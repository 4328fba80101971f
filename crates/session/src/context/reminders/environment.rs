//! The reminder of the environment: date, system, shell, git, the files at the top, and the limits of the sandbox. The
//! model receives the reminder once in a conversation, and again after a compaction.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::message::{clean, message};
use osier_agent::AgentMessage;
use osier_base::git::Git;
use osier_base::text;
use osier_protocol::SandboxMode;
use osier_sandbox::Confinement;
use serde_json::Value;

use crate::context::workspace;

const KIND: &str = "environment";
/// Names of the working directory that are listed.
const NAMES: usize = 60;
/// Time for git to say what has changed, and bytes of its answer.
const GIT_TIME: Duration = Duration::from_millis(700);
const GIT_BYTES: usize = 256 * 1024;

/// The environment that a reminder describes to the model.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) cwd: PathBuf,
    pub(crate) sandbox: Arc<Confinement>,
}

impl Environment {
    pub(super) async fn reminder(
        &self,
        messages: &[Arc<AgentMessage>],
        shell: &Path,
    ) -> Option<AgentMessage> {
        if is_told(messages) {
            return None;
        }
        let text = self.describe(shell).await;
        Some(message(KIND, &text, Value::Null))
    }

    async fn describe(&self, shell: &Path) -> String {
        let mut lines = vec![
            format!("Date: {}", osier_base::clock::today()),
            format!("System: {}, {}", system(), std::env::consts::ARCH),
            format!("Shell: {}", shell.display()),
        ];
        let cwd = self.cwd.clone();
        let found = osier_base::task::spawn_blocking(move || listed(&cwd));
        let branch = workspace::branch(&self.cwd).await;
        let names = found.await.unwrap_or_default();
        lines.push(match branch {
            Some(branch) => format!("Git: branch {}{}", clean(&branch), changes(&self.cwd).await),
            None => "Git: not a repository".to_owned(),
        });
        lines.push(format!("Files: {names}"));
        lines.push(format!("Sandbox: {}", limits(&self.sandbox)));
        lines.join("\n")
    }
}

/// Whether the conversation has the reminder already. A conversation of which only the end is
/// loaded counts as one that has it.
fn is_told(messages: &[Arc<AgentMessage>]) -> bool {
    let has_summary = messages
        .iter()
        .any(|message| matches!(&**message, AgentMessage::CompactionSummary(_)));
    messages.iter().any(|message| match &**message {
        AgentMessage::Custom(custom) => custom.kind == KIND,
        AgentMessage::Assistant(_) => !has_summary,
        _ => false,
    })
}

/// The name of the operating system.
fn system() -> String {
    let release = osier_base::regular_file::read_text(Path::new("/etc/os-release"), 64 * 1024);
    let release = release.unwrap_or_default();
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map(|name| clean(name.trim_matches('"')));
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| std::env::consts::OS.to_owned())
}

/// The changes that git reports.
async fn changes(cwd: &Path) -> String {
    let status = async {
        let git = Git::open(cwd).await.ok()?;
        let arguments = ["status", "--porcelain=v1", "-z", "--ignore-submodules=all"];
        let output = git.run(arguments, None, GIT_BYTES, GIT_TIME).await.ok()?;
        let is_complete = output.exit.is_success() && output.stdout.len() < GIT_BYTES;
        is_complete.then_some(output.stdout)
    };
    let Ok(Some(status)) = tokio::time::timeout(GIT_TIME, status).await else {
        return String::new();
    };
    counted(&status)
}

/// The number of changed and of new files in the output of `git status`.
fn counted(status: &[u8]) -> String {
    let (mut changed, mut new) = (0, 0);
    let mut entries = status
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        match entry[0] {
            b'?' => new += 1,
            // The entry after it is the former name.
            b'R' | b'C' => {
                changed += 1;
                entries.next();
            }
            _ => changed += 1,
        }
    }
    match (changed, new) {
        (0, 0) => ", no changes".to_owned(),
        _ => format!(
            ", {} changed and {new} untracked",
            text::counted(changed, "file", "files")
        ),
    }
}

/// The names in a directory, directories with `/`.
fn listed(cwd: &Path) -> String {
    let Ok(entries) = std::fs::read_dir(cwd) else {
        return "the directory cannot be read".to_owned();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            format!("{}{}", clean(&name), if is_folder { "/" } else { "" })
        })
        .filter(|name| name != ".git/")
        .collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    osier_base::sort::by_key(&mut names, Clone::clone);
    let others = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    let mut list = names.join(", ");
    if others > 0 {
        // Writing to a string cannot fail.
        let _ = write!(list, " and {others} more");
    }
    list
}

/// The limits of commands.
fn limits(sandbox: &Confinement) -> String {
    let network = match (sandbox.has_network(), sandbox.denies_network()) {
        (true, _) => "",
        (false, true) => ", without network",
        (false, false) => ", with network to listed hosts only",
    };
    match sandbox.mode() {
        SandboxMode::Off => "none".to_owned(),
        SandboxMode::ReadOnly => format!("commands cannot write{network}"),
        SandboxMode::Workspace => {
            format!("commands write only in the working directory and in temporary files{network}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_by_kind() {
        assert_eq!(counted(b""), ", no changes");
        let status = b" M a\0R  new\0old\0?? b\0?? c d\0";
        assert_eq!(counted(status), ", 2 files changed and 2 untracked");
    }

    #[test]
    fn names_are_sorted_and_limited() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(listed(folder.path()), "none");
        for name in ["b", ".git", "a\nb"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(listed(folder.path()), "a⏎b/, b/");
        for number in 0..70 {
            std::fs::create_dir(folder.path().join(format!("n{number:02}"))).unwrap();
        }
        let list = listed(folder.path());
        assert!(list.ends_with("n56/, n57/ and 12 more"), "{list}");
    }
}
