//! Changes of files survive a kill at every boundary between two changes: afterwards the files are as before or as
//! planned, and the state before is recorded.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a project of the test's own, and a child that is killed; helpers fail by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_checkpoint::{CheckpointStore, StateId, fault};
use rustix::process::{Signal, getpid, kill_process};

/// The folder of the project, what the child does, and at which boundary it ends.
const ORDERS: &str = "OSIER_TEST_KILLED";

/// The content of every path: mode and bytes, or the target of a link.
type Tree = BTreeMap<PathBuf, (u32, String)>;

fn put(root: &Path, path: &str, text: &str, mode: u32) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Every kind of difference occurs between the old and the new files.
fn old_files(root: &Path) {
    put(root, "edited.txt", "old\n", 0o644);
    put(root, "deep/er/edited.txt", "old, by hand\n", 0o600);
    put(root, "removed/by/new.txt", "only old\n", 0o644);
    put(root, "mode.sh", "same\n", 0o644);
    put(root, "swap", "a file\n", 0o644);
    put(root, "paws/file", "in a directory\n", 0o644);
    put(root, "same.txt", "same\n", 0o644);
    symlink("same.txt", root.join("link")).unwrap();
    put(root, "unlinked", "a file\n", 0o644);
}

fn new_files(root: &Path) {
    put(root, "edited.txt", "new and longer\n", 0o644);
    put(root, "deep/er/edited.txt", "new\n", 0o600);
    put(root, "created/by/new.txt", "only new\n", 0o755);
    put(root, "mode.sh", "same\n", 0o755);
    put(root, "swap/file", "in a directory\n", 0o644);
    put(root, "paws", "a file\n", 0o644);
    put(root, "same.txt", "same\n", 0o644);
    symlink("edited.txt", root.join("link")).unwrap();
    symlink("same.txt", root.join("unlinked")).unwrap();
}

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                folders.push(path);
                continue;
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                (0, target.to_str().unwrap().into())
            } else {
                let mode = metadata.permissions().mode() & 0o7777;
                (mode, fs::read_to_string(&path).unwrap())
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), content);
        }
    }
    found
}

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// The working directory has the old files, `lane` the new ones.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, fill) in [("work", old_files as fn(&Path)), ("lane", new_files)] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fill(&folder.path().join(name));
        }
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn lane(&self) -> PathBuf {
        self.folder.path().join("lane")
    }

    fn store(&self) -> CheckpointStore {
        CheckpointStore::new(&self.folder.path().join("data"), &self.root())
    }

    /// The id of the files at `root`, without recording them in the store.
    fn id_of(&self, root: &Path) -> StateId {
        let store = CheckpointStore::new(&self.folder.path().join("elsewhere"), root);
        store.capture().unwrap().id
    }

    /// Runs `action` in a process that is killed at the boundary `point`. Returns whether it was
    /// killed.
    fn run(&self, action: &str, point: usize) -> bool {
        let orders = [
            &self.folder.path().to_string_lossy(),
            action,
            &point.to_string(),
        ]
        .join("\n");
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored", "--nocapture"])
            .env(ORDERS, orders)
            .output()
            .unwrap();
        let is_killed = output.status.signal() == Some(9);
        assert!(is_killed || output.status.success(), "{output:?}");
        is_killed
    }
}

/// Not a test of its own: `Project::run` starts it.
#[test]
#[ignore = "runs in a process that is killed"]
fn child() {
    let Ok(orders) = std::env::var(ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.lines().collect();
    let folder = PathBuf::from(orders[0]);
    let point: usize = orders[2].parse().unwrap();
    let seen = AtomicUsize::new(0);
    fault::at_every_point(move || {
        if seen.fetch_add(1, Ordering::Relaxed) + 1 == point {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    });
    let store = CheckpointStore::new(&folder.join("data"), &folder.join("work"));
    match orders[1] {
        // Restores the state of the lane, which was recorded before.
        "restore" => {
            let target = fs::read_to_string(folder.join("target")).unwrap();
            let plan = store.plan(target.parse().unwrap(), None, &BTreeSet::new());
            let restored = store.apply(&plan.unwrap(), false, None).unwrap().finish();
            assert_eq!(restored.left, []);
        }
        action => {
            let (work, lane) = (folder.join("work"), folder.join("lane"));
            let paths: BTreeSet<PathBuf> = [work, lane.clone()]
                .iter()
                .flat_map(|root| tree(root).into_keys())
                .collect();
            let paths: Vec<PathBuf> = paths.into_iter().collect();
            let record = action != "unrecorded";
            let (plan, unrecorded) = store.plan_to_adopt(&lane, &paths, record).unwrap();
            assert_eq!(unrecorded.is_empty(), record);
            let applied = store.apply(&plan, false, None).unwrap();
            let restored = if action == "undone" {
                applied.undo()
            } else {
                applied.finish()
            };
            assert_eq!(restored.left, []);
        }
    }
}

/// Kills `action` at every boundary, and checks the files after the next start. Returns the number of kills.
fn kill_everywhere(action: &str) -> usize {
    for point in 1.. {
        let project = Project::new();
        let (root, store) = (project.root(), project.store());
        let (old, new) = (tree(&root), tree(&project.lane()));
        let before = project.id_of(&root);
        if action == "restore" {
            let target = CheckpointStore::new(&project.folder.path().join("data"), &project.lane());
            let target = target.capture().unwrap().id.to_string();
            fs::write(project.folder.path().join("target"), target).unwrap();
        }
        let was_killed = project.run(action, point);
        // The next start.
        let resumed = store.resume().unwrap();
        if let Some(interrupted) = resumed {
            assert!(was_killed);
            assert_eq!(interrupted.left, [], "{action} {point}");
            let expected = (action != "unrecorded").then_some(before);
            assert_eq!(interrupted.before, expected, "{action} {point}");
            interrupted.finish();
        }
        assert!(!store.is_interrupted());
        let now = tree(&root);
        let is_new = now == new;
        assert!(now == old || is_new, "{action} {point}: {now:#?}");
        if !was_killed {
            assert_eq!(is_new, action != "undone");
            return point - 1;
        }
        if is_new && action != "unrecorded" {
            let plan = store.plan(before, None, &BTreeSet::new()).unwrap();
            let restored = store.apply(&plan, false, None).unwrap().finish();
            assert_eq!(restored.left, []);
            assert_eq!(tree(&root), old, "{action} {point}");
        }
    }
    unreachable!("it ends without a kill")
}

#[test]
fn restore_is_complete_after_a_kill_anywhere() {
    let kills = kill_everywhere("restore");
    assert!(kills >= 60, "{kills}");
}

#[test]
fn adopted_files_are_complete_after_a_kill_anywhere() {
    let kills = kill_everywhere("adopt");
    assert!(kills >= 60, "{kills}");
}

#[test]
fn adopted_files_without_a_record_are_complete_after_a_kill_anywhere() {
    let kills = kill_everywhere("unrecorded");
    assert!(kills >= 60, "{kills}");
}

#[test]
fn change_that_is_taken_back_survives_a_kill_anywhere() {
    let kills = kill_everywhere("undone");
    assert!(kills >= 80, "{kills}");
}

/// The interrupted change of a project whose files others changed before the next start.
fn interrupted_and_changed(action: &str) -> (Project, osier_checkpoint::Interrupted) {
    // Some files are as planned, others are not.
    for point in 1.. {
        let project = Project::new();
        let root = project.root();
        let old = tree(&root);
        assert!(project.run(action, point), "{point}");
        let is_between =
            tree(&root) != old && fs::read(root.join("edited.txt")).unwrap() == b"old\n";
        if !is_between || !project.store().is_interrupted() {
            continue;
        }
        put(&root, "edited.txt", "by another program\n", 0o644);
        let interrupted = project.store().resume().unwrap().unwrap();
        return (project, interrupted);
    }
    unreachable!("a change of several files can be interrupted")
}

#[test]
fn interrupted_change_is_not_completed_over_other_changes() {
    let (project, interrupted) = interrupted_and_changed("adopt");
    let root = project.root();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert!(!interrupted.is_complete() && !interrupted.undone);
    assert_eq!(interrupted.by_hand, [PathBuf::from("edited.txt")]);
    assert_eq!(read("edited.txt"), "by another program\n");
    assert!(
        tree(&root)
            .keys()
            .all(|path| !path.to_string_lossy().contains(".osier-"))
    );
    // The user can restore the state before, without the file of the other program.
    let (before, by_hand) = (interrupted.before.unwrap(), interrupted.by_hand.clone());
    interrupted.finish();
    let by_hand = by_hand.into_iter().collect();
    let plan = project.store().plan(before, None, &by_hand).unwrap();
    project.store().apply(&plan, false, None).unwrap().finish();
    let mut expected = tree(&Project::new().root());
    expected.get_mut(Path::new("edited.txt")).unwrap().1 = "by another program\n".to_owned();
    assert_eq!(tree(&root), expected);
}

#[test]
fn interrupted_change_without_a_record_is_undone_around_other_changes() {
    let (project, interrupted) = interrupted_and_changed("unrecorded");
    assert!(interrupted.undone);
    assert_eq!(interrupted.by_hand, [PathBuf::from("edited.txt")]);
    interrupted.finish();
    let mut expected = tree(&Project::new().root());
    expected.get_mut(Path::new("edited.txt")).unwrap().1 = "by another program\n".to_owned();
    assert_eq!(tree(&project.root()), expected);
}

#[test]
fn running_change_of_another_process_is_left_alone() {
    let project = Project::new();
    let store = project.store();
    let paths = [PathBuf::from("edited.txt")];
    let (plan, _) = store.plan_to_adopt(&project.lane(), &paths, true).unwrap();
    let applied = store.apply(&plan, false, None).unwrap();
    assert!(store.is_interrupted() && store.resume().unwrap().is_none());
    let (other, _) = store
        .plan_to_adopt(&project.lane(), &[PathBuf::from("mode.sh")], true)
        .unwrap();
    let error = store.apply(&other, false, None).unwrap_err().to_string();
    assert!(
        error.contains("another osier is restoring files"),
        "{error}"
    );
    applied.finish();
    assert_eq!(store.apply(&other, false, None).unwrap().finish().left, []);
    assert!(!store.is_interrupted());
}
