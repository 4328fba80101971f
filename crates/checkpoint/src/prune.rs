//! Removes recorded states that no session refers to.
//!
//! These objects stay: every object of a state that a session names, and every object that was written or used within
//! [`FRESH`], because its session entry may not be written yet. A lock excludes recording during pruning, so that no
//! object is removed between its check and its use. An interrupted pruning removes nothing that is needed.

use osier_base::{locked_file, sort};
use std::collections::HashMap;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::objects::{Hash, Objects};
use super::state::{Needed, StateId, needed_by};
use crate::recorder::Checkpoint;
use osier_protocol::Tag;
use osier_store::{Reading, SessionDirectory, SessionError};

/// Objects younger than this stay in any case.
const FRESH: Duration = Duration::from_hours(24);

/// Options of a pruning.
#[derive(Debug, Clone, Copy, Default)]
pub struct PruneOptions {
    /// Maximum bytes of the store: states of the sessions used longest ago are removed until it fits.
    pub limit: Option<u64>,
    /// Count without removing.
    pub dry: bool,
}

/// The result of a pruning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub sessions: usize,
    /// Sessions whose states were removed to observe the limit.
    pub forgotten: usize,
    pub kept: usize,
    pub kept_bytes: u64,
    pub removed: usize,
    pub removed_bytes: u64,
}

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error("cannot read the session `{}`, so nothing is removed: {source}", path.display())]
    Session { path: PathBuf, source: SessionError },
    #[error("cannot search the checkpoints: {0}")]
    Io(#[from] io::Error),
}

/// A session and the states it names.
struct Claim {
    used: SystemTime,
    states: Vec<StateId>,
}

/// Removes what no session of the data directory needs. Blocks; waits for running recordings.
pub fn prune(data: &Path, options: PruneOptions) -> Result<Pruned, PruneError> {
    let store = data.join("checkpoints");
    if !store.is_dir() {
        return Ok(Pruned::default());
    }
    let lock = super::store::lock_file(&store)?;
    locked_file::lock(&lock)?;
    let objects = Objects::new(store.join("objects"));
    let stored = stored(&store.join("objects"))?;
    // After the lock: earlier recordings are in a session by now, or fresh.
    let mut claims = claims(data)?;
    sort::by_key(&mut claims, |claim| std::cmp::Reverse(claim.used));
    let now = SystemTime::now();
    let is_fresh = |object: &Stored| {
        // A time in the future comes from another clock.
        let age = now.duration_since(object.used).unwrap_or_default();
        age < FRESH
    };
    let mut needed = Needed::default();
    for object in stored.iter().filter(|object| is_fresh(object)) {
        // A fresh directory object protects its contents; other objects have none.
        let contents = needed_by(&objects, &[StateId(object.hash)], &needed);
        needed.extend(contents);
    }
    let sizes: HashMap<Hash, u64> = stored
        .iter()
        .map(|object| (object.hash, object.bytes))
        .collect();
    let mut bytes = needed.bytes(&sizes);
    let mut pruned = Pruned {
        sessions: claims.len(),
        ..Pruned::default()
    };
    for claim in &claims {
        let contents = needed_by(&objects, &claim.states, &needed);
        let more = contents.bytes(&sizes);
        if options.limit.is_none_or(|limit| bytes + more <= limit) {
            bytes += more;
            needed.extend(contents);
        } else {
            pruned.forgotten += 1;
        }
    }
    for object in &stored {
        if needed.has(object.hash) {
            pruned.kept += 1;
            pruned.kept_bytes += object.bytes;
            continue;
        }
        if !options.dry {
            fs::remove_file(&object.path)?;
        }
        pruned.removed += 1;
        pruned.removed_bytes += object.bytes;
    }
    Ok(pruned)
}

struct Stored {
    hash: Hash,
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// All objects. Skips other files, such as the remains of an interrupted write.
fn stored(folder: &Path) -> io::Result<Vec<Stored>> {
    let mut found = Vec::new();
    let Ok(shelves) = fs::read_dir(folder) else {
        return Ok(found);
    };
    for shelf in shelves {
        let shelf = shelf?;
        if !shelf.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(shelf.path())? {
            found.extend(object(&shelf, &entry?)?);
        }
    }
    Ok(found)
}

fn object(shelf: &DirEntry, entry: &DirEntry) -> io::Result<Option<Stored>> {
    let (start, end) = (shelf.file_name(), entry.file_name());
    let name = format!("{}{}", start.to_string_lossy(), end.to_string_lossy());
    let Some(hash) = Hash::parse(&name) else {
        return Ok(None);
    };
    let metadata = entry.metadata()?;
    Ok(Some(Stored {
        hash,
        path: entry.path(),
        bytes: metadata.len(),
        used: metadata.modified()?,
    }))
}

/// The states that sessions name. An unreadable session is an error, because it could need any object.
fn claims(data: &Path) -> Result<Vec<Claim>, PruneError> {
    let mut claims = Vec::new();
    for path in SessionDirectory::new(data).every_file() {
        let failed = |source| PruneError::Session {
            path: path.clone(),
            source,
        };
        let reading = match Reading::open(&path) {
            Ok(reading) => reading,
            // Other files name no state.
            Err(SessionError::NotASession { .. }) => continue,
            // Deleted meanwhile.
            Err(_) if path.symlink_metadata().is_err() => continue,
            Err(error) => return Err(failed(error)),
        };
        let records = (0..reading.count()).filter(|number| reading.tag(*number) == Tag::Checkpoint);
        let mut states = Vec::new();
        for number in records {
            let entry = reading.entry(number);
            if let Some(checkpoint) = entry.and_then(|entry| Checkpoint::of(&entry.kind)) {
                states.push(checkpoint.state);
                states.extend(checkpoint.from);
            }
        }
        let used = fs::metadata(&path).and_then(|metadata| metadata.modified());
        claims.push(Claim {
            used: used.unwrap_or(SystemTime::UNIX_EPOCH),
            states,
        });
    }
    Ok(claims)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a project of the test's own")]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{CheckpointStore, Moment};
    use osier_protocol::{Entry, Header};

    struct Place {
        folder: TempDir,
        store: CheckpointStore,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("work")).unwrap();
            let store = CheckpointStore::new(folder.path(), &folder.path().join("work"));
            Self { folder, store }
        }

        /// The state with exactly `files`.
        fn state(&self, files: &[(&str, &str)]) -> StateId {
            let work = self.folder.path().join("work");
            fs::remove_dir_all(&work).unwrap();
            fs::create_dir(&work).unwrap();
            for (name, text) in files {
                fs::write(work.join(name), text).unwrap();
            }
            self.store.capture().unwrap().id
        }

        /// A session that names `state`, used `days` days ago.
        fn session(&self, state: StateId, days: u64) {
            let header = Header::new(Path::new("/work"));
            let path = SessionDirectory::new(self.folder.path()).path_for(&header);
            let checkpoint = Checkpoint {
                state,
                moment: Moment::Before,
                by_hand: Vec::new(),
                from: None,
            };
            let entry = Entry {
                id: "00000001".into(),
                parent_id: None,
                timestamp: header.timestamp.clone(),
                kind: checkpoint.entry(),
            };
            let lines = [
                serde_json::to_string(&header).unwrap(),
                serde_json::to_string(&entry).unwrap(),
            ];
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            age(&path, days);
        }

        /// Sets the time of use of every object to two days ago.
        fn age_all(&self) {
            for object in stored(&self.folder.path().join("checkpoints/objects")).unwrap() {
                age(&object.path, 2);
            }
        }

        fn prune(&self, limit: Option<u64>) -> Pruned {
            let options = PruneOptions { limit, dry: false };
            prune(self.folder.path(), options).unwrap()
        }

        /// Whether the complete state can be restored.
        fn holds(&self, state: StateId) -> bool {
            let empty = self.state(&[]);
            let diffs = self.store.diffs(state, empty);
            diffs.is_ok_and(|diffs| {
                !diffs.is_empty() && diffs.iter().all(|(_, diff)| !diff.is_empty())
            })
        }
    }

    fn age(path: &Path, days: u64) {
        let time = SystemTime::now() - Duration::from_hours(24 * days);
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }

    #[test]
    fn objects_of_sessions_stay_and_others_are_removed() {
        let place = Place::new();
        let kept = place.state(&[("a.txt", "a\n"), ("both.txt", "both\n")]);
        let gone = place.state(&[("b.txt", "b\n"), ("both.txt", "both\n")]);
        place.session(kept, 0);
        place.age_all();
        let pruned = place.prune(None);
        // The other directory and the file that only it contains.
        assert_eq!((pruned.removed, pruned.kept, pruned.sessions), (2, 3, 1));
        assert!(place.holds(kept));
        assert!(!place.holds(gone));
        // Removed content is stored again when it occurs again.
        let again = place.state(&[("b.txt", "b\n"), ("both.txt", "both\n")]);
        assert_eq!(again, gone);
        assert!(place.holds(gone));
    }

    #[test]
    fn fresh_state_without_a_session_stays() {
        let place = Place::new();
        let files = [("a.txt", "a\n")];
        let state = place.state(&files);
        place.age_all();
        // The same files again write nothing new.
        assert_eq!(place.store.capture().unwrap().id, state);
        assert_eq!(place.prune(None).removed, 0);
        assert!(place.holds(state));
    }

    #[test]
    fn states_used_longest_ago_are_removed_for_the_limit() {
        let place = Place::new();
        let (long, text) = ("x".repeat(5_000), "y".repeat(3_000));
        let old = place.state(&[("old.txt", &long)]);
        let new = place.state(&[("new.txt", &text)]);
        place.session(old, 9);
        place.session(new, 1);
        place.age_all();
        let options = PruneOptions {
            limit: Some(4_000),
            dry: true,
        };
        let dry = prune(place.folder.path(), options).unwrap();
        assert!(place.holds(old));
        place.age_all();
        let pruned = place.prune(Some(4_000));
        assert_eq!((pruned.forgotten, pruned.removed >= 2), (1, true));
        assert!(dry.removed >= 2);
        assert!(place.holds(new));
        assert!(!place.holds(old));
    }

    #[test]
    fn unreadable_session_prevents_pruning() {
        let place = Place::new();
        let state = place.state(&[("a.txt", "a\n")]);
        place.session(state, 0);
        place.age_all();
        let folder = place.folder.path().join("sessions/--work--");
        std::os::unix::fs::symlink("/nowhere", folder.join("x.jsonl")).unwrap();
        let error = prune(place.folder.path(), PruneOptions::default()).unwrap_err();
        assert!(
            error.to_string().contains("so nothing is removed"),
            "{error}"
        );
        assert!(place.holds(state));
    }
}
