//! Invariants that hold for every session file, for fuzzing.

use std::collections::HashSet;
use std::path::Path;

use crate::{Loaded, load};
use osier_base::jsonl;
use osier_protocol::{Entry, EntryKind, Header};

/// A file name that has the id and the time of the session.
const NAME: &str = "2026-01-01T00-00-00-000Z_019b76da-a800-7000-8000-000000000001.jsonl";

/// A session file in any condition.
pub fn jsonl(data: &[u8]) {
    let Some(loaded) = loaded(data) else {
        return;
    };
    check_lines(data, &loaded);
    let missing = check_tree(data, &loaded);
    // Entries that were read can be written and read again without a loss.
    let written = written(&loaded.header, &loaded.entries);
    let Some(again) = self::loaded(&written) else {
        unreachable!("a written session is a session");
    };
    assert_eq!(again.header, loaded.header);
    assert_eq!(again.torn_bytes, 0);
    assert_eq!(again.entries.len(), loaded.entries.len());
    let is_damaged = loaded.entries.iter().any(|entry| entry.kind.is_damaged());
    if !is_damaged {
        assert_eq!(again.damaged, 0);
        let both = again.entries.iter().zip(&loaded.entries);
        for (again, entry) in both {
            assert_eq!((&again.id, &again.kind), (&entry.id, &entry.kind));
        }
    }
    if !is_damaged && !missing {
        assert_eq!(again.entries, loaded.entries);
        assert_eq!(again.reattached, 0);
    }
}

/// Every complete line is there, and every other line is counted.
fn check_lines(data: &[u8], loaded: &Loaded) {
    let is_loaded = |entry: &Entry| {
        let mut found = loaded.entries.iter();
        found.any(|other| other.id == entry.id && other.kind == entry.kind)
    };
    let mut uncounted = loaded.damaged;
    let mut start = 0;
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        let above = &data[..start];
        start += line.len();
        let is_torn = !line.ends_with(b"\n");
        let is_counted = match Entry::parse(line) {
            // The first line is the header, also if it is damaged.
            _ if above.is_empty() => continue,
            Ok(entry) if is_loaded(&entry) => continue,
            // The first of two entries with the same id is loaded, or it is damaged.
            Ok(entry) => names(above, &entry.id),
            Err(_) if is_torn || line.trim_ascii().is_empty() => continue,
            Err(_) => true,
        };
        assert!(
            is_counted && uncounted > 0,
            "{line:?} is lost in {loaded:?}"
        );
        uncounted -= 1;
    }
}

/// Parents are above their children, and no id occurs twice. Returns whether the entry of an id is damaged and missing.
fn check_tree(data: &[u8], loaded: &Loaded) -> bool {
    let mut above = HashSet::new();
    let mut missing = false;
    for entry in &loaded.entries {
        let parent = entry.parent_id.as_deref();
        let is_move = matches!(entry.kind, EntryKind::Leaf { .. });
        if let Some(parent) = parent.filter(|parent| !is_move && !above.contains(parent)) {
            assert!(names(data, parent), "{entry:?} has no parent");
            missing = true;
        }
        if let EntryKind::Leaf {
            target_id: Some(target),
            ..
        } = &entry.kind
        {
            missing |= !above.contains(&**target);
        }
        assert!(above.insert(&*entry.id), "{entry:?} occurs twice");
    }
    missing
}

/// Whether an entry in these lines, complete or damaged, can have this id. An id can be written with escapes.
fn names(data: &[u8], id: &str) -> bool {
    let id = serde_json::Value::from(id).to_string();
    let finds = |text: &[u8]| memchr::memmem::find(data, text).is_some();
    finds(id.as_bytes()) || finds(b"\\u")
}

fn written(header: &Header, entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(jsonl::encode(header, &mut bytes).is_ok());
    for entry in entries {
        assert!(jsonl::encode(entry, &mut bytes).is_ok());
    }
    bytes
}

/// The session in a file with these bytes.
fn loaded(bytes: &[u8]) -> Option<Loaded> {
    let Ok(folder) = tempfile::tempdir() else {
        unreachable!("a temporary folder can be created");
    };
    let path = folder.path().join(NAME);
    write(&path, bytes);
    load(&path).ok()
}

#[expect(clippy::disallowed_methods, reason = "nothing else reads the file")]
fn write(path: &Path, bytes: &[u8]) {
    assert!(std::fs::write(path, bytes).is_ok());
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_sessions_are_read() {
        osier_testing::fuzz::run_cases("jsonl", super::jsonl);
    }
}
