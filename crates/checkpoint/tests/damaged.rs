//! Damaged objects in the store: no file is lost, and what still exists is stored again.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a project of the test's own, and damage on purpose; helpers fail by panicking"
)]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use osier_checkpoint::{CheckpointStore, PruneOptions, Restored, StateId, fault, prune};
use osier_protocol::Unrestored;

thread_local! {
    /// Runs at every boundary between two changes of this test.
    static DURING: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Damages the file of an object; `other` has different content.
type Damage = fn(object: &Path, other: &Path);

const DAMAGES: [(&str, Damage); 5] = [
    ("truncated", |object, _| {
        let bytes = fs::read(object).unwrap();
        fs::write(object, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("flipped", |object, _| {
        let mut bytes = fs::read(object).unwrap();
        bytes[0] ^= 1;
        fs::write(object, bytes).unwrap();
    }),
    ("empty", |object, _| fs::write(object, "").unwrap()),
    ("swapped", |object, other| {
        fs::copy(other, object).unwrap();
    }),
    ("removed", |object, _| fs::remove_file(object).unwrap()),
];

struct Project {
    folder: tempfile::TempDir,
    store: CheckpointStore,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        fs::create_dir(&root).unwrap();
        let store = CheckpointStore::new(&folder.path().join("data"), &root);
        let project = Self { folder, store };
        project.write("b.txt", "other text\n");
        project
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("work").join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join("work").join(name)).unwrap()
    }

    fn capture(&self) -> StateId {
        self.store.capture().unwrap().id
    }

    fn restore(&self, target: StateId) -> Restored {
        let plan = self.store.plan(target, None, &BTreeSet::new()).unwrap();
        self.store.apply(&plan, false, None).unwrap().finish()
    }

    fn object(&self, wanted: impl Fn(&[u8]) -> bool) -> PathBuf {
        let shelves = fs::read_dir(self.folder.path().join("data/checkpoints/objects")).unwrap();
        let objects = shelves.flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap());
        let mut paths = objects.map(|object| object.unwrap().path());
        paths.find(|path| wanted(&fs::read(path).unwrap())).unwrap()
    }

    /// Damages the object with the content `text`.
    fn damage(&self, text: &str, damage: Damage) {
        let other = self.object(|bytes| bytes == b"other text\n");
        damage(&self.object(|bytes| bytes == text.as_bytes()), &other);
    }
}

/// The state before a restore is complete even if its objects were damaged, so that undo works.
#[test]
fn restore_can_be_undone_after_damage_to_the_present_content() {
    for (name, damage) in DAMAGES {
        let project = Project::new();
        project.write("a.txt", "first text\n");
        let first = project.capture();
        project.write("a.txt", "second, mine\n");
        // The file is old enough for the cache, so that it is not read again.
        let file = fs::File::options()
            .write(true)
            .open(project.folder.path().join("work/a.txt"));
        let time = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
        file.unwrap().set_modified(time).unwrap();
        let second = project.capture();
        project.damage("second, mine\n", damage);
        assert_eq!(project.restore(first).left, [], "{name}");
        assert_eq!(project.read("a.txt"), "first text\n", "{name}");
        assert_eq!(project.restore(second).left, [], "{name}");
        assert_eq!(project.read("a.txt"), "second, mine\n", "{name}");
    }
}

#[test]
fn file_stays_if_its_earlier_content_is_damaged() {
    for (name, damage) in DAMAGES {
        let project = Project::new();
        project.write("a.txt", "first text\n");
        let first = project.capture();
        project.write("a.txt", "second, mine\n");
        project.damage("first text\n", damage);
        let restored = project.restore(first);
        assert_eq!(restored.changes, [], "{name}");
        let Unrestored { path, reason } = &restored.left[0];
        assert_eq!(path, "a.txt");
        assert!(
            reason.contains("is damaged") || reason.contains("no longer stored"),
            "{name}: {reason}"
        );
        assert_eq!(project.read("a.txt"), "second, mine\n", "{name}");
    }
}

#[test]
fn damaged_object_is_stored_again_with_the_next_state() {
    for (name, damage) in DAMAGES {
        let project = Project::new();
        project.write("a.txt", "first text\n");
        let first = project.capture();
        project.damage("first text\n", damage);
        assert_eq!(project.capture(), first);
        project.write("a.txt", "second, mine\n");
        assert_eq!(project.restore(first).left, [], "{name}");
        assert_eq!(project.read("a.txt"), "first text\n", "{name}");
    }
}

/// A directory of a state is an object too.
#[test]
fn damaged_directory_changes_no_file_and_is_stored_again() {
    for (name, damage) in DAMAGES {
        let project = Project::new();
        project.write("a.txt", "first text\n");
        let first = project.capture();
        let other = project.object(|bytes| bytes == b"other text\n");
        let directory = || project.object(|bytes| bytes.ends_with(b"b.txt\0"));
        damage(&directory(), &other);
        project.write("a.txt", "second, mine\n");
        let planned = project.store.plan(first, None, &BTreeSet::new());
        assert!(planned.is_err(), "{name}");
        assert_eq!(project.read("a.txt"), "second, mine\n", "{name}");
        project.write("a.txt", "first text\n");
        assert_eq!(project.capture(), first);
        project.write("a.txt", "second, mine\n");
        assert_eq!(project.restore(first).left, [], "{name}");
    }
}

#[test]
fn pruning_beside_damaged_objects_removes_nothing_that_is_used() {
    for (name, damage) in DAMAGES {
        let project = Project::new();
        project.write("a.txt", "first text\n");
        project.capture();
        project.damage("first text\n", damage);
        let pruned = prune(&project.folder.path().join("data"), PruneOptions::default());
        assert_eq!(pruned.unwrap().removed, 0, "{name}");
    }
}

/// The interrupted change of `a.txt` and `gone.txt` from the second state to the first, with nothing changed yet.
fn interrupted(project: &Project) -> StateId {
    project.write("a.txt", "first text\n");
    let first = project.capture();
    project.write("a.txt", "second, mine\n");
    project.write("gone.txt", "new, mine\n");
    let second = project.capture();
    let plan = project.store.plan(first, None, &BTreeSet::new()).unwrap();
    drop(project.store.apply(&plan, false, None).unwrap());
    project.write("a.txt", "second, mine\n");
    project.write("gone.txt", "new, mine\n");
    second
}

#[test]
fn interrupted_change_is_completed_only_over_stored_content() {
    for (name, damage) in DAMAGES {
        let project = Project::new();
        let second = interrupted(&project);
        project.damage("second, mine\n", damage);
        project.damage("new, mine\n", damage);
        let found = project.store.resume().unwrap().unwrap();
        assert_eq!(
            (found.left.as_slice(), found.changed),
            (&[][..], 2),
            "{name}"
        );
        found.finish();
        assert_eq!(project.read("a.txt"), "first text\n", "{name}");
        assert_eq!(project.restore(second).left, [], "{name}");
        assert_eq!(project.read("a.txt"), "second, mine\n", "{name}");
        assert_eq!(project.read("gone.txt"), "new, mine\n", "{name}");
    }
}

/// The folder of the objects cannot be written: files that would be replaced or removed stay.
#[test]
fn interrupted_change_stays_incomplete_if_the_present_content_cannot_be_stored() {
    for text in ["second, mine\n", "new, mine\n"] {
        let project = Project::new();
        interrupted(&project);
        let shelf = project.object(|bytes| bytes == text.as_bytes());
        let shelf = shelf.parent().unwrap();
        fs::remove_dir_all(shelf).unwrap();
        fs::write(shelf, "in the way").unwrap();
        let found = project.store.resume().unwrap().unwrap();
        assert_eq!((found.left.len(), found.changed), (1, 0));
        assert!(found.before.is_some() && !found.is_complete());
        assert_eq!(project.read("a.txt"), "second, mine\n");
        assert_eq!(project.read("gone.txt"), "new, mine\n");
    }
}

/// The content is damaged between the check of all files and the change of one.
#[test]
fn displaced_file_is_put_back_if_its_content_cannot_be_stored() {
    for text in ["second, mine\n", "new, mine\n"] {
        let project = Project::new();
        interrupted(&project);
        let shelf = project.object(|bytes| bytes == text.as_bytes());
        let shelf = shelf.parent().unwrap().to_owned();
        let work = project.folder.path().join("work");
        DURING.with_borrow_mut(|during| {
            *during = Some(Box::new(move || {
                let names = fs::read_dir(&work).unwrap();
                let mut names = names.map(|entry| entry.unwrap().file_name());
                let is_displaced = names.any(|name| name.to_string_lossy().ends_with(".old.tmp"));
                if is_displaced && shelf.is_dir() {
                    fs::remove_dir_all(&shelf).unwrap();
                    fs::write(&shelf, "in the way").unwrap();
                }
            }));
        });
        fault::at_every_point(|| {
            DURING.with_borrow(|during| {
                if let Some(during) = during {
                    during();
                }
            });
        });
        let found = project.store.resume().unwrap().unwrap();
        DURING.take();
        let [Unrestored { reason, .. }] = found.left.as_slice() else {
            panic!("{:?}", found.left);
        };
        assert!(reason.contains("cannot be stored"), "{reason}");
        let expected = match text {
            "new, mine\n" => ["first text\n", text],
            _ => [text, "(removed)"],
        };
        let gone = fs::read_to_string(project.folder.path().join("work/gone.txt"));
        let gone = gone.unwrap_or("(removed)".to_owned());
        assert_eq!([project.read("a.txt"), gone], expected);
    }
}

/// The only file in the folder of journals, and the text of its field `name`.
fn journal(project: &Project, name: &str) -> (PathBuf, String) {
    let journals = project.folder.path().join("data/checkpoints/pending");
    let mut paths = fs::read_dir(journals).unwrap().flatten();
    let path = paths.next().unwrap().path();
    let record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let field = record[name].as_str().unwrap_or_default().to_owned();
    (path, field)
}

#[test]
fn change_whose_states_are_damaged_can_be_undone() {
    for side in ["from", "to"] {
        for (name, damage) in DAMAGES {
            let project = Project::new();
            let second = interrupted(&project);
            project.write("a.txt", "half-way\n");
            let (_, state) = journal(&project, side);
            let objects = project.folder.path().join("data/checkpoints/objects");
            let other = project.object(|bytes| bytes == b"other text\n");
            damage(&objects.join(&state[..2]).join(&state[2..]), &other);
            let found = project.store.resume().unwrap().unwrap();
            assert!(!found.is_complete() && found.unknown.is_some(), "{name}");
            assert_eq!((found.before, found.files), (Some(second), 0), "{name}");
            assert_eq!(project.read("a.txt"), "half-way\n");
            found.finish();
            assert!(!project.store.is_interrupted());
            project.restore(second);
            assert_eq!(project.read("a.txt"), "second, mine\n", "{name}");
        }
    }
}

#[test]
fn damaged_journal_is_moved_away_and_named() {
    for damage in ["", "{", "[]", "\0\0\0\0"] {
        let project = Project::new();
        let second = interrupted(&project);
        let (path, _) = journal(&project, "from");
        fs::write(&path, damage).unwrap();
        let error = project.store.resume().unwrap_err().to_string();
        let aside = path.with_extension("damaged");
        assert!(error.contains(aside.to_str().unwrap()), "{error}");
        assert_eq!(fs::read_to_string(aside).unwrap(), damage);
        assert_eq!(project.store.resume().unwrap().map(|_| ()), None);
        // The interrupted change does not prevent the next one.
        project.write("a.txt", "third\n");
        let third = project.capture();
        assert_eq!(project.restore(second).left, []);
        project.restore(third);
        assert_eq!(project.read("a.txt"), "third\n");
    }
}
