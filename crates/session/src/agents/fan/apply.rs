//! Plans how the files of a lane replace those of the working directory. If files have changed
//! there meanwhile, there is no plan, and the conflicting files are returned.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::copy::{Copy, copy_file};
use super::stamps::Stamps;
use osier_base::file_stamp::FileStamp;
use osier_base::regular_file;
use osier_base::text::counted;
use osier_checkpoint::{CheckpointError, CheckpointStore, Plan};
use osier_protocol::FileChanges;
use osier_tools::diff::unified;

/// The maximum bytes of a file with a diff.
const DIFF_BYTES: u64 = 512 * 1024;

/// The files of a lane that differ from the working directory.
#[derive(Debug)]
pub(crate) struct LanePlan {
    pub plan: Plan,
    /// Paths from the working directory.
    pub files: Vec<PathBuf>,
    /// The folder with the present content of files that could not be restored otherwise.
    pub kept: Option<PathBuf>,
}

/// Why a lane is not applied. No file is changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("{} changed in the working directory meanwhile", counted(.0.len(), "file", "files"))]
    Conflicts(Vec<PathBuf>),
    #[error("cannot write `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Files(#[from] CheckpointError),
}

/// The input of a plan to apply a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Applying<'a> {
    pub cwd: &'a Path,
    /// The file stamps of `cwd` when the copy was made.
    pub before: &'a Stamps,
    /// Also overwrite files that changed meanwhile.
    pub force: bool,
    /// The folder for copies of files that changed meanwhile, or that are not recorded.
    pub keep: &'a Path,
    /// Record the present files.
    pub record: bool,
}

/// The files that were changed in `copy`, with their differences to `cwd`. Blocks.
pub(crate) fn changes(copy: &Copy, cwd: &Path) -> Vec<(PathBuf, FileChanges)> {
    let changed = copy.stamps.changed(&Stamps::of(copy.cwd()));
    let changes = changed.into_iter().filter_map(|path| {
        let (old, new) = (cwd.join(&path), copy.cwd().join(&path));
        if same(&old, &new) {
            return None;
        }
        let change = diff(&path, text(&old), text(&new));
        Some((path, change))
    });
    changes.collect()
}

fn diff(path: &Path, old: Option<String>, new: Option<String>) -> FileChanges {
    let (Some(old), Some(new)) = (old, new) else {
        return FileChanges {
            diff: "(not text, or too long to show)\n".to_owned(),
            ..FileChanges::default()
        };
    };
    let diff = unified(&path.to_string_lossy(), Some(&old), &new);
    FileChanges {
        added: diff.added,
        removed: diff.removed,
        diff: diff.text,
    }
}

/// The text of a file, empty if it does not exist; `None` if it is not text or too long.
fn text(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(String::new()),
        Ok(file) if file.len() <= DIFF_BYTES => {
            let text = regular_file::read_text(path, DIFF_BYTES).ok();
            text.filter(|text| !text.contains('\0'))
        }
        _ => None,
    }
}

fn contents(path: &Path) -> Option<Vec<u8>> {
    regular_file::read(path, u64::MAX).ok()
}

/// Whether both are equal files, equal links, or missing.
fn same(one: &Path, other: &Path) -> bool {
    let kind = |path: &Path| {
        let metadata = path.symlink_metadata().ok();
        metadata.map(|file| (file.is_symlink(), file.len(), file.permissions()))
    };
    let (first, second) = (kind(one), kind(other));
    match (&first, &second) {
        (None, None) => true,
        (Some((true, ..)), Some((true, ..))) => {
            fs::read_link(one).ok() == fs::read_link(other).ok()
        }
        _ => first == second && contents(one).is_some_and(|bytes| Some(bytes) == contents(other)),
    }
}

/// Plans to make the files in the working directory equal to those of `copy`. Blocks.
///
/// # Errors
/// A file has changed meanwhile and that is not forced, or one cannot be read or stored.
pub(crate) fn plan(
    store: &CheckpointStore,
    copy: &Copy,
    applying: Applying<'_>,
) -> Result<LanePlan, ApplyError> {
    let Applying { cwd, keep, .. } = applying;
    let changed = copy.stamps.changed(&Stamps::of(copy.cwd())).into_iter();
    let differ = |path: &PathBuf| !same(&cwd.join(path), &copy.cwd().join(path));
    let files: Vec<PathBuf> = changed.filter(differ).collect();
    let (plan, unrecorded) = store.plan_to_adopt(copy.cwd(), &files, applying.record)?;
    // Compared after the plan was made, because the plan is not carried out for files that change
    // from now on.
    let touched =
        |path: &&PathBuf| FileStamp::at(&cwd.join(path)).ok() != applying.before.get(path);
    let conflicts: Vec<PathBuf> = files.iter().filter(touched).cloned().collect();
    if !conflicts.is_empty() && !applying.force {
        return Err(ApplyError::Conflicts(conflicts));
    }
    let mut kept = None;
    for path in conflicts.iter().chain(&unrecorded) {
        let (from, to) = (cwd.join(path), keep.join(path));
        if from.symlink_metadata().is_ok() {
            kept = Some(keep.to_owned());
            copy_file(&from, &to).map_err(|source| ApplyError::Io { path: to, source })?;
        }
    }
    let files = plan.changes().into_iter().map(|change| change.path.into());
    Ok(LanePlan {
        files: files.collect(),
        plan,
        kept,
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests create their files")]
mod tests {
    use super::*;

    async fn setup(git: bool) -> Option<(tempfile::TempDir, PathBuf, Copy, Stamps)> {
        if git && !osier_testing::skip::has(&["git"], "apt install git") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        fs::create_dir_all(work.join("src")).unwrap();
        for (name, text) in [("a", "one\n"), ("src/b", "two\n"), ("gone", "x\n")] {
            fs::write(work.join(name), text).unwrap();
        }
        fs::write(work.join(".gitignore"), "ignored\n").unwrap();
        fs::write(work.join("ignored"), "secret").unwrap();
        if git {
            let script = "git init -q . && git -c user.name=a -c user.email=a@b add a src gone .gitignore \
                && git -c user.name=a -c user.email=a@b commit -qm first";
            let made = osier_base::process::run_quietly(
                "sh",
                ["-c", &format!("cd '{}' && {script}", work.display())],
                None,
                std::time::Duration::from_mins(1),
            )
            .await;
            assert!(made.unwrap().exit.is_success());
            fs::write(work.join("a"), "one, changed\n").unwrap();
            fs::write(work.join("new"), "untracked\n").unwrap();
        }
        let before = Stamps::of(&work);
        let copy = Copy::new(&work, &folder.path().join("fans")).await.unwrap();
        Some((folder, work, copy, before))
    }

    #[tokio::test]
    async fn worktree_has_uncommitted_changes_and_is_removed_completely() {
        let Some((folder, work, copy, _)) = setup(true).await else {
            return;
        };
        let read = |name: &str| fs::read_to_string(copy.cwd().join(name)).ok();
        assert_eq!(read("a").as_deref(), Some("one, changed\n"));
        assert_eq!(read("new").as_deref(), Some("untracked\n"));
        assert_eq!(read("ignored"), None);
        assert!(changes(&copy, &work).is_empty());
        let registered = || {
            let trees = fs::read_dir(work.join(".git/worktrees"));
            trees.map_or(0, Iterator::count)
        };
        assert_eq!(registered(), 1);
        copy.remove().await;
        assert_eq!(registered(), 0);
        // A run that is aborted drops its copy.
        drop(Copy::new(&work.join("src"), &folder.path().join("fans")).await);
        assert_eq!(registered(), 0);
    }

    #[tokio::test]
    async fn changes_are_applied_unless_files_conflict() {
        for git in [false, true] {
            let Some((folder, work, copy, before)) = setup(git).await else {
                return;
            };
            let there = copy.cwd();
            fs::write(there.join("src/b"), "two and more\n").unwrap();
            fs::write(there.join("made"), "new\n").unwrap();
            fs::remove_file(there.join("gone")).unwrap();
            let changed = changes(&copy, &work);
            let names: Vec<String> = changed
                .iter()
                .map(|(path, change)| {
                    format!("{} +{} -{}", path.display(), change.added, change.removed)
                })
                .collect();
            assert_eq!(names, ["gone +0 -1", "made +1 -0", "src/b +1 -1"]);
            // A conflict: nothing is written.
            fs::write(work.join("src/b"), "by hand\n").unwrap();
            let keep = folder.path().join("keep");
            let store = CheckpointStore::new(&folder.path().join("data"), &work);
            let applying = |force| Applying {
                cwd: &work,
                before: &before,
                force,
                keep: &keep,
                record: true,
            };
            let error = plan(&store, &copy, applying(false)).unwrap_err();
            assert!(
                matches!(&error, ApplyError::Conflicts(paths) if *paths == [PathBuf::from("src/b")]),
                "{error}"
            );
            assert!(work.join("gone").exists() && !work.join("made").exists());
            let planned = plan(&store, &copy, applying(true)).unwrap();
            assert_eq!(planned.files.len(), 3);
            assert_eq!(planned.kept.as_ref(), Some(&keep));
            let applied = store.apply(&planned.plan, true, None).unwrap();
            assert_eq!(applied.finish().left, []);
            assert_eq!(fs::read_to_string(keep.join("src/b")).unwrap(), "by hand\n");
            assert_eq!(
                fs::read_to_string(work.join("src/b")).unwrap(),
                "two and more\n"
            );
            assert!(!work.join("gone").exists() && work.join("made").exists());
            assert_eq!(fs::read_to_string(work.join("ignored")).unwrap(), "secret");
        }
    }
}
