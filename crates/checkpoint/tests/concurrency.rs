//! Another program writes a file while it is restored, at every boundary of the restore. The text of that program is
//! never lost.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a project of the test's own; helpers fail by panicking"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use osier_checkpoint::{CheckpointStore, fault};

/// A pending write of the other program: after how many boundaries it happens, and the write itself.
type Pending = Arc<Mutex<Option<(usize, Box<dyn FnOnce() + Send>)>>>;

/// Replaces a file as other programs do.
fn replace(path: &Path, text: &str) {
    let next = path.with_file_name("next");
    fs::write(&next, text).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn file_of_another_program_is_put_back() {
    let pending = Pending::default();
    let writer = Arc::clone(&pending);
    fault::at_every_point(move || {
        let mut pending = writer.lock().unwrap();
        match pending.take() {
            Some((1, write)) => write(),
            Some((count, write)) => *pending = Some((count - 1, write)),
            None => {}
        }
    });
    // The file before, and as it is restored.
    for (case, present, wanted) in [
        ("change", Some("present"), Some("wanted")),
        ("remove", Some("present"), None),
        ("create", None, Some("wanted")),
    ] {
        let mut left_alone = 0;
        for point in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("work");
            fs::create_dir(&root).unwrap();
            let store = CheckpointStore::new(&folder.path().join("data"), &root);
            let path = root.join("a.txt");
            let set = |text: Option<&str>| match text {
                Some(text) => replace(&path, text),
                None => drop(fs::remove_file(&path)),
            };
            set(wanted);
            let target = store.capture().unwrap().id;
            set(present);
            let plan = store.plan(target, None, &BTreeSet::new()).unwrap();
            let theirs = path.clone();
            let write = Box::new(move || replace(&theirs, "theirs"));
            *pending.lock().unwrap() = Some((point, write));
            let restored = store.apply(&plan, false, None).unwrap().finish();
            let was_written = pending.lock().unwrap().take().is_none();
            left_alone += restored.left.len();
            let now = fs::read_to_string(&path).ok();
            let names = fs::read_dir(&root).unwrap().count();
            if !was_written {
                assert_eq!(now.as_deref(), wanted, "{case} {point}");
                assert!(point > 8 && left_alone > 1, "{case} {point} {left_alone}");
                break;
            }
            assert_eq!(
                now.as_deref(),
                Some("theirs"),
                "{case} {point} {restored:?}"
            );
            assert_eq!(names, 1, "{case} {point}");
        }
    }
}
