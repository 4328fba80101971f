//! Recording and restoring real files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use osier_testing::skip;
use tempfile::TempDir;

use super::{CheckpointStore, LineCounts, Plan, Restored, StateId};
use osier_protocol::{ChangeKind, FileChange, Unrestored};

struct Project {
    folder: TempDir,
    store: CheckpointStore,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        fs::create_dir(&root).unwrap();
        let store = CheckpointStore::new(&folder.path().join("data"), &root);
        Self { folder, store }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    fn capture(&self) -> StateId {
        self.store.capture().unwrap().id
    }

    /// Restores `target`; `known` is the state that the session recorded last.
    fn back(
        &self,
        target: StateId,
        known: StateId,
        by_hand: bool,
    ) -> (Vec<Listed>, Vec<Unrestored>) {
        let plan = self
            .store
            .plan(target, Some(known), &BTreeSet::new())
            .unwrap();
        let restored = apply(&self.store, &plan, by_hand);
        (seen(&restored.changes), restored.left)
    }
}

fn apply(store: &CheckpointStore, plan: &Plan, by_hand: bool) -> Restored {
    store.apply(plan, by_hand, None).unwrap().finish()
}

type Listed = (String, ChangeKind, bool);

fn seen(changes: &[FileChange]) -> Vec<Listed> {
    let changes = changes.iter();
    changes
        .map(|change| (change.path.clone(), change.kind, change.by_hand))
        .collect()
}

fn one(path: &str, kind: ChangeKind) -> Listed {
    (path.to_owned(), kind, false)
}

fn left(path: &str, reason: &str) -> Unrestored {
    Unrestored {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"])
        .arg(folder)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn changed_created_and_removed_files_are_restored() {
    let project = Project::new();
    project.write("src/main.rs", "old\n");
    project.write("gone/deep/file.txt", "here\n");
    project.write("same.txt", "same\n");
    project.write("run.sh", "#!/bin/sh\n");
    symlink("same.txt", project.root().join("link")).unwrap();
    let before = project.capture();
    project.write("src/main.rs", "new\n");
    project.write("made/by/tool.txt", "made\n");
    fs::remove_dir_all(project.root().join("gone")).unwrap();
    let run = project.root().join("run.sh");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    project.remove("link");
    project.write("link", "no link any more\n");
    let after = project.capture();

    let (changes, failed) = project.back(before, after, false);
    assert_eq!(
        changes,
        [
            one("made/by/tool.txt", ChangeKind::Remove),
            one("gone/deep/file.txt", ChangeKind::Create),
            one("link", ChangeKind::Modify),
            one("run.sh", ChangeKind::Mode),
            one("src/main.rs", ChangeKind::Modify),
        ]
    );
    assert_eq!(failed, []);
    assert_eq!(project.capture(), before);
    assert!(!project.root().join("made").exists());
    let link = fs::read_link(project.root().join("link")).unwrap();
    assert_eq!(link, Path::new("same.txt"));
    assert_eq!(project.read("same.txt").unwrap(), "same\n");

    // Redo: every restore can be undone.
    let (_, failed) = project.back(after, before, false);
    assert_eq!(failed, []);
    assert_eq!(project.capture(), after);
}

#[test]
fn external_changes_stay_unless_requested() {
    let project = Project::new();
    project.write("a.txt", "one\n");
    project.write("b.txt", "one\n");
    let before = project.capture();
    project.write("a.txt", "two\n");
    project.write("b.txt", "two\n");
    project.write("c.txt", "two\n");
    let after = project.capture();
    project.write("a.txt", "mine\n");
    project.write("own.txt", "mine\n");

    let (changes, failed) = project.back(before, after, false);
    assert_eq!(
        changes,
        [
            one("c.txt", ChangeKind::Remove),
            one("b.txt", ChangeKind::Modify)
        ]
    );
    let reason = "it was changed by hand";
    assert_eq!(failed, [left("own.txt", reason), left("a.txt", reason)]);
    assert_eq!(project.read("a.txt").unwrap(), "mine\n");
    assert_eq!(project.read("own.txt").unwrap(), "mine\n");

    // With `by_hand` it is removed, and its content is still in the store.
    let plan = project
        .store
        .plan(before, Some(after), &BTreeSet::new())
        .unwrap();
    apply(&project.store, &plan, true);
    assert_eq!(project.capture(), before);
    let (_, failed) = project.back(plan.present, before, true);
    assert_eq!(failed, []);
    assert_eq!(project.read("a.txt").unwrap(), "mine\n");
}

#[test]
fn changes_after_the_plan_stay() {
    let project = Project::new();
    project.write("a.txt", "one\n");
    let before = project.capture();
    project.write("a.txt", "two\n");
    project.write("made.txt", "two\n");
    let after = project.capture();
    let plan = project
        .store
        .plan(before, Some(after), &BTreeSet::new())
        .unwrap();
    project.write("a.txt", "three\n");
    project.write("made.txt", "three\n");
    let restored = apply(&project.store, &plan, true);
    assert_eq!(restored.changes, []);
    let reason = "it has changed since then";
    assert_eq!(
        restored.left,
        [left("made.txt", reason), left("a.txt", reason)]
    );
    assert_eq!(project.read("a.txt").unwrap(), "three\n");
}

#[test]
fn ignored_files_are_neither_recorded_nor_changed() {
    let project = Project::new();
    project.write(".gitignore", "*.log\n/target\n");
    project.write("target/big", "built\n");
    project.write("secret.log", "before\n");
    project.write("a.txt", "one\n");
    let captured = project.store.capture().unwrap();
    assert_eq!(captured.files, 2);
    project.write("a.txt", "two\n");
    project.write("secret.log", "after\n");
    project.write("target/new", "built\n");
    let after = project.capture();
    let (changes, failed) = project.back(captured.id, after, false);
    assert_eq!(changes, [one("a.txt", ChangeKind::Modify)]);
    assert_eq!(failed, []);
    assert_eq!(project.read("secret.log").unwrap(), "after\n");
    assert_eq!(project.read("target/new").unwrap(), "built\n");
}

#[test]
fn formerly_ignored_files_are_not_removed() {
    let project = Project::new();
    project.write(".gitignore", "*.secret\n/build\n");
    project.write("deep/key.secret", "precious\n");
    project.write("build/out", "built\n");
    let before = project.capture();
    project.write(".gitignore", "\n");
    let after = project.capture();
    let (changes, failed) = project.back(before, after, true);
    assert_eq!(changes, [one(".gitignore", ChangeKind::Modify)]);
    let reason = "it was ignored at that time";
    let expected = [left("build/out", reason), left("deep/key.secret", reason)];
    assert_eq!(failed, expected);
    assert_eq!(project.read("deep/key.secret").unwrap(), "precious\n");
}

#[test]
fn git_directories_and_new_repositories_stay_unchanged() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let project = Project::new();
    let root = project.root();
    git(&root, &["init", "-q"]);
    project.write("a.txt", "one\n");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "one"]);
    fs::create_dir(root.join("old")).unwrap();
    git(&root.join("old"), &["init", "-q"]);
    project.write("old/in.txt", "one\n");
    let before = project.capture();

    project.write("a.txt", "two\n");
    project.write("old/in.txt", "two\n");
    project.write("old/made.txt", "two\n");
    git(&root, &["clone", "-q", ".", "clone"]);
    git(&root, &["add", "a.txt"]);
    let state_of_git = || (git(&root, &["diff", "--cached"]), git(&root, &["log"]));
    let seen_before = state_of_git();
    let after = project.capture();

    let (changes, failed) = project.back(before, after, false);
    assert_eq!(
        changes,
        [
            one("old/made.txt", ChangeKind::Remove),
            one("a.txt", ChangeKind::Modify),
            one("old/in.txt", ChangeKind::Modify),
        ]
    );
    let reason = "it belongs to a new repository";
    assert_eq!(failed, [left("clone/a.txt", reason)]);
    assert_eq!(project.read("clone/a.txt").unwrap(), "one\n");
    assert_eq!(state_of_git(), seen_before);
    assert_eq!(
        git(&root.join("old"), &["status", "--short"]),
        "?? in.txt\n"
    );
}

#[test]
fn submodule_files_are_restored_without_its_commits() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let project = Project::new();
    let root = project.root();
    let library = project.folder.path().join("library");
    fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q"]);
    fs::write(library.join("lib.txt"), "one\n").unwrap();
    git(&library, &["add", "."]);
    git(&library, &["commit", "-qm", "one"]);
    git(&root, &["init", "-q"]);
    let from = library.to_str().unwrap();
    git(
        &root,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            from,
            "sub",
        ],
    );
    git(&root, &["commit", "-qm", "with a submodule"]);
    let link = project.read("sub/.git").unwrap();
    let before = project.capture();

    project.write("sub/lib.txt", "two\n");
    git(&root.join("sub"), &["commit", "-qam", "two"]);
    project.write("sub/lib.txt", "three\n");
    let commit = git(&root.join("sub"), &["log"]);
    let after = project.capture();
    let (changes, failed) = project.back(before, after, false);
    assert_eq!(changes, [one("sub/lib.txt", ChangeKind::Modify)]);
    assert_eq!(failed, []);
    // The file was restored; the commit is unchanged.
    assert_eq!(project.read("sub/lib.txt").unwrap(), "one\n");
    assert_eq!(git(&root.join("sub"), &["log"]), commit);
    assert_eq!(project.read("sub/.git").unwrap(), link);
}

#[test]
fn link_that_replaced_a_directory_is_not_followed() {
    let project = Project::new();
    project.write("folder/a.txt", "one\n");
    let before = project.capture();
    project.write("folder/a.txt", "two\n");
    let after = project.capture();
    let plan = project
        .store
        .plan(before, Some(after), &BTreeSet::new())
        .unwrap();
    let outside = project.folder.path().join("outside");
    fs::rename(project.root().join("folder"), &outside).unwrap();
    symlink(&outside, project.root().join("folder")).unwrap();
    let restored = apply(&project.store, &plan, true);
    let folder = project.root().join("folder");
    let reason = format!("`{}` is not a directory", folder.display());
    assert_eq!(restored.left, [left("folder/a.txt", &reason)]);
    assert_eq!(fs::read_to_string(outside.join("a.txt")).unwrap(), "two\n");
}

#[test]
fn file_and_directory_swap_is_restored() {
    let project = Project::new();
    project.write("one", "a file\n");
    project.write("two/in", "in a directory\n");
    let before = project.capture();
    project.remove("one");
    project.write("one/in", "now a directory\n");
    fs::remove_dir_all(project.root().join("two")).unwrap();
    project.write("two", "now a file\n");
    let after = project.capture();
    let (_, failed) = project.back(before, after, false);
    assert_eq!(failed, []);
    assert_eq!(project.capture(), before);
}

#[test]
fn too_large_files_are_reported_and_stay() {
    let project = Project::new();
    let huge = fs::File::create(project.root().join("huge.bin")).unwrap();
    huge.set_len(1 << 30).unwrap();
    let before = project.store.capture().unwrap();
    assert_eq!(before.not_recorded, [PathBuf::from("huge.bin")]);
    huge.set_len((1 << 30) + 1).unwrap();
    let after = project.capture();
    let (changes, failed) = project.back(before.id, after, true);
    assert_eq!(changes, []);
    let reason = "its earlier content was too large or unreadable";
    assert_eq!(failed, [left("huge.bin", reason)]);
}

#[test]
fn lost_object_costs_only_its_file() {
    let project = Project::new();
    project.write("a.txt", "precious\n");
    project.write("b.txt", "one\n");
    let before = project.capture();
    project.write("a.txt", "two\n");
    project.write("b.txt", "two\n");
    let after = project.capture();
    let objects = project.folder.path().join("data/checkpoints/objects");
    for folder in fs::read_dir(objects).unwrap().flatten() {
        for object in fs::read_dir(folder.path()).unwrap().flatten() {
            if fs::read(object.path()).unwrap() == b"precious\n" {
                fs::remove_file(object.path()).unwrap();
            }
        }
    }
    let (changes, failed) = project.back(before, after, false);
    assert_eq!(changes, [one("b.txt", ChangeKind::Modify)]);
    let reason = "its earlier content is no longer stored";
    assert_eq!(failed, [left("a.txt", reason)]);
    assert_eq!(project.read("a.txt").unwrap(), "two\n");
}

#[test]
fn change_right_after_a_recording_is_found() {
    let project = Project::new();
    project.write("a.txt", "one\n");
    let first = project.capture();
    // The new text has the same size, and is written within one tick of the file system's clock.
    project.write("a.txt", "two\n");
    assert_ne!(project.capture(), first);
    project.write("a.txt", "one\n");
    assert_eq!(project.capture(), first);
}

#[test]
fn states_are_compared_as_text() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\n");
    project.write("b.bin", "\0one");
    let before = project.capture();
    project.write("a.txt", "one\n2\n");
    project.write("b.bin", "\0two");
    let after = project.capture();
    let diffs = project.store.diffs(before, after).unwrap();
    let diffs: Vec<(&str, &str)> = diffs
        .iter()
        .map(|(change, diff)| (change.path.as_str(), diff.as_str()))
        .collect();
    let expected = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    assert_eq!(diffs, [("a.txt", expected), ("b.bin", "")]);
}

#[test]
fn changed_lines_are_counted_up_to_a_limit() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\n");
    project.write("b.bin", "\0one");
    project.write("c.txt", "one\n");
    let before = project.capture();
    project.write("a.txt", "one\n2\n3\n");
    project.write("b.bin", "\0two");
    project.remove("c.txt");
    let after = project.capture();
    let mut counts = LineCounts::default();
    let mut count = |after, limit| {
        let counted = counts.between(&project.store, (before, after), limit);
        let (lines, more) = counted.unwrap();
        let lines = lines.iter();
        let lines = lines.map(|file| (file.path.clone(), file.added, file.removed));
        (lines.collect::<Vec<_>>(), more)
    };
    let line = |path: &str, added, removed| (path.to_owned(), added, removed);
    let (a, b, c) = (
        line("a.txt", 2, 1),
        line("b.bin", 0, 0),
        line("c.txt", 0, 1),
    );
    let all = vec![a.clone(), b.clone(), c.clone()];
    assert_eq!(count(after, 9), (all.clone(), 0));
    // Counts that are known, and counts of a file that has changed since.
    assert_eq!(count(after, 9), (all, 0));
    project.write("a.txt", "one\n");
    let later = project.capture();
    assert_eq!(count(later, 2), (vec![line("a.txt", 0, 1), b], 1));
    assert_eq!(count(before, 9), (vec![], 0));
}

#[test]
fn a_removed_submodule_gets_its_repository_back() {
    let project = Project::new();
    project.write(
        ".gitmodules",
        "[submodule \"lib\"]\n\tpath = deps/lib\n\turl = ../lib\n",
    );
    project.write("deps/lib/.git", "gitdir: ../../.git/modules/lib\n");
    project.write("deps/lib/a.txt", "a");
    let before = project.capture();
    fs::remove_dir_all(project.root().join("deps")).unwrap();
    let after = project.capture();
    project.back(before, after, false);
    let repository = project.read("deps/lib/.git");
    assert_eq!(
        repository.as_deref(),
        Some("gitdir: ../../.git/modules/lib\n")
    );

    // An existing repository is never replaced or deleted.
    project.write("deps/lib/.git", "gitdir: elsewhere\n");
    let known = project.capture();
    let (changes, left) = project.back(before, known, true);
    assert_eq!((changes.len(), left.len()), (0, 1));
    assert_eq!(
        project.read("deps/lib/.git").as_deref(),
        Some("gitdir: elsewhere\n")
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_moved_project_is_followed_and_not_made_again() {
    let project = Project::new();
    project.write("a.txt", "one");
    let before = project.capture();
    project.write("a.txt", "two");
    let after = project.capture();
    let to = project.folder.path().join("elsewhere");
    fs::rename(project.root(), &to).unwrap();
    project.back(before, after, false);
    assert_eq!(fs::read_to_string(to.join("a.txt")).unwrap(), "one");
    assert!(!project.root().exists());

    fs::remove_dir_all(&to).unwrap();
    project.capture();
    assert!(!project.root().exists());
}

/// A file in another encoding has a diff, and one of its hunks is reverted in that encoding.
#[test]
fn other_encodings_have_diffs_and_hunks() {
    let project = Project::new();
    let path = project.root().join("latin.txt");
    let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
    write(b"caf\xe9\none\n");
    let before = project.capture();
    write(b"caf\xe9!\none\n");
    let after = project.capture();
    let diffs = project.store.diffs(before, after).unwrap();
    let expected = "--- a/latin.txt\n+++ b/latin.txt\n@@ -1,2 +1,2 @@\n-café\n+café!\n one\n";
    assert_eq!(diffs[0].1, expected);
    let hunks: Vec<(String, String)> = crate::hunks(expected)
        .into_iter()
        .map(|hunk| ("latin.txt".to_owned(), hunk.to_owned()))
        .collect();
    let (plan, left) = project.store.plan_to_revert(&hunks).unwrap();
    assert_eq!(left, []);
    apply(&project.store, &plan, false);
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9\none\n");
}
