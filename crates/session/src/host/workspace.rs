//! Where the work happens, as the footer shows it: the directory and the git branch, read from `.git`
//! without starting git.

use std::fs;
use std::path::{Path, PathBuf};

use super::event::Event;

/// The event that describes `cwd`. Reads a few small files.
pub(super) fn describe(cwd: &Path) -> Event {
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

/// The branch checked out in the repository around `cwd`, or the start of a detached commit.
pub(super) fn branch(cwd: &Path) -> Option<String> {
    let head = fs::read_to_string(git_folder(cwd)?.join("HEAD")).ok()?;
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
    let text = fs::read_to_string(&git).ok()?;
    let target = text.trim().strip_prefix("gitdir: ")?;
    Some(git.parent()?.join(target))
}

#[cfg(test)]
mod tests {
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
    fn branches_are_read_from_repositories_worktrees_and_detached_heads() {
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
