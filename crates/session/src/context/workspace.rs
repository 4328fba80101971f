//! The working directory: its name and git branch for the footer, and its files for `@` completion.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use osier_base::git::Git;
use osier_base::regular_file;
use osier_protocol::Event;
use osier_tools::completion;

use crate::emitter::Emitter;

/// Reads of a working directory that run in the background.
#[derive(Debug)]
pub(crate) struct WorkingDirectory {
    cwd: PathBuf,
    /// Cancels the file walk.
    walk: CancellationToken,
}

impl WorkingDirectory {
    pub(crate) fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            walk: CancellationToken::new(),
        }
    }

    /// Publishes the name of the directory and its git branch.
    pub(crate) fn describe(&self, emitter: &Emitter) {
        let (cwd, emitter) = (self.cwd.clone(), emitter.clone());
        osier_base::task::spawn(async move { emitter.post(describe(&cwd).await) });
    }

    /// Publishes the files below the directory. A numbered request gets one event, others also partial lists.
    pub(crate) fn list_files(&self, emitter: &Emitter) {
        let (cwd, walk) = (self.cwd.clone(), self.walk.clone());
        let emitter = emitter.clone();
        osier_base::task::spawn_blocking(move || {
            let publish = |paths: Vec<String>, complete: bool| {
                let paths = Arc::new(paths);
                emitter.post(Event::Files { paths, complete });
            };
            let show = |paths: &[String]| {
                if emitter.request().is_none() {
                    publish(paths.to_vec(), false);
                }
            };
            let (paths, complete) = completion::list(&cwd, &walk, show);
            publish(paths, complete);
        });
    }

    /// Cancels the walk.
    pub(crate) fn close(&self) {
        self.walk.cancel();
    }
}

/// The event that describes `cwd`.
async fn describe(cwd: &Path) -> Event {
    let shown =
        match dirs::home_dir().and_then(|home| cwd.strip_prefix(home).ok().map(Path::to_owned)) {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => cwd.display().to_string(),
        };
    Event::Workspace {
        cwd: shown,
        branch: branch(cwd).await,
    }
}

/// Maximum size of the files of git that name a branch or a folder.
const LINK_LIMIT: u64 = 16 * 1024;

/// The name of the branch in the files of a repository that has its references elsewhere, in a `reftable`.
const ELSEWHERE: &str = ".invalid";
/// Bytes of a name that git prints.
const NAME_BYTES: usize = 4096;
/// Time for git.
const GIT_TIME: Duration = Duration::from_secs(2);

/// The branch checked out in the repository around `cwd`, or the start of a detached commit. It is read from `.git`, so that
/// git starts only where the files do not have it.
pub(crate) async fn branch(cwd: &Path) -> Option<String> {
    let folder = cwd.to_owned();
    let read = osier_base::task::spawn_blocking(move || branch_in_files(&folder));
    match read.await.ok()? {
        Some(name) if name == ELSEWHERE => branch_by_git(cwd).await,
        read => read,
    }
}

async fn branch_by_git(cwd: &Path) -> Option<String> {
    let git = Git::open(cwd).await.ok()?;
    let questions: [&[&str]; 2] = [
        &["symbolic-ref", "--short", "--quiet", "HEAD"],
        &["rev-parse", "--short=8", "HEAD"],
    ];
    for question in questions {
        let output = git.run(question, None, NAME_BYTES, GIT_TIME).await.ok()?;
        if output.exit.is_success() {
            let name = String::from_utf8(output.stdout).ok()?;
            return Some(name.trim().to_owned());
        }
    }
    None
}

fn branch_in_files(cwd: &Path) -> Option<String> {
    let head = git_folder(cwd)?.join("HEAD");
    let head = regular_file::read_text(&head, LINK_LIMIT).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(reference) => Some(
            reference
                .strip_prefix("refs/heads/")
                .unwrap_or(reference)
                .to_owned(),
        ),
        None => head.get(..8).map(str::to_owned),
    }
}

/// The `.git` folder; a worktree and a submodule have a file that points to it.
fn git_folder(cwd: &Path) -> Option<PathBuf> {
    let git = cwd
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|path| path.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    let text = regular_file::read_text(&git, LINK_LIMIT).ok()?;
    let target = text.trim().strip_prefix("gitdir: ")?;
    Some(git.parent()?.join(target))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use osier_base::process::{Invocation, run_captured};

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    #[test]
    fn branch_is_read_from_repository_worktree_and_detached_head() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(&root.join("a/.git/HEAD"), "ref: refs/heads/feature/x\n");
        write(&root.join("a/src/file"), "");
        write(&root.join("b/.git"), "gitdir: ../real\n");
        write(
            &root.join("real/HEAD"),
            "0123456789abcdef0123456789abcdef01234567\n",
        );
        let read = |path: &Path| branch_in_files(path);
        assert_eq!(read(&root.join("a/src")).as_deref(), Some("feature/x"));
        assert_eq!(read(&root.join("b")).as_deref(), Some("01234567"));
        assert_eq!(read(root), None);
    }

    #[tokio::test]
    async fn git_names_the_branch_of_a_repository_with_a_reftable() {
        let folder = tempfile::tempdir().unwrap();
        let run = async |words: &[&str]| {
            let mut invocation = Invocation::new("git", words);
            invocation.cwd = Some(folder.path().to_owned());
            run_captured(&invocation, None, Duration::from_mins(1)).await
        };
        let made = run(&["init", "-q", "-b", "topic", "--ref-format=reftable"]).await;
        if !made.is_ok_and(|output| output.exit.is_success()) {
            osier_testing::skip::unsupported("reftable", "git 2.45 or later is not installed");
            return;
        }
        assert_eq!(branch(folder.path()).await.as_deref(), Some("topic"));
    }
}
