//! The working directory: its name and git branch for the footer, and its files for `@` completion.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

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
        osier_base::task::spawn_blocking(move || emitter.post(describe(&cwd)));
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

/// The event that describes `cwd`. The branch is read from `.git`, without starting git.
fn describe(cwd: &Path) -> Event {
    let shown =
        match dirs::home_dir().and_then(|home| cwd.strip_prefix(home).ok().map(Path::to_owned)) {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => cwd.display().to_string(),
        };
    Event::Workspace {
        cwd: shown,
        branch: branch(cwd),
    }
}

/// Maximum size of the files of git that name a branch or a folder.
const LINK_LIMIT: u64 = 16 * 1024;

/// The branch checked out in the repository around `cwd`, or the start of a detached commit.
pub(crate) fn branch(cwd: &Path) -> Option<String> {
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
        assert_eq!(branch(&root.join("a/src")).as_deref(), Some("feature/x"));
        assert_eq!(branch(&root.join("b")).as_deref(), Some("01234567"));
        assert_eq!(branch(root), None);
    }
}
