//! Removes recorded states that no session refers to.
//!
//! These objects stay: every object of a state that a session names, also one in the trash; what an interrupted change of
//! files needs; and every object that was written or used within [`FRESH`], because its session entry may not be written
//! yet. A lock excludes recording during pruning, so that no object is removed between its check and its use. An
//! interrupted pruning removes nothing that is needed.

use std::collections::HashMap;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::objects::{Hash, Objects};
use super::state::{Needed, StateId, needed_by};
use super::store::{CHECKPOINTS, JOURNALS, lock_file};
use super::{fault, journal};
use crate::recorder::Checkpoint;
use osier_base::locked_file::{self, LockedFile};
use osier_base::{atomic_file, sort};
use osier_protocol::Tag;
use osier_store::{Reading, SESSION_EXTENSION, SessionError};

/// Objects younger than this stay in any case.
const FRESH: Duration = Duration::from_hours(24);

/// Minimum time between two prunings by [`prune_when_idle`].
const INTERVAL: Duration = Duration::from_hours(24);

/// Options of a pruning.
#[derive(Debug, Clone, Copy, Default)]
pub struct PruneOptions {
    /// Maximum bytes of the store: states of the sessions used longest ago are removed until it fits.
    pub limit: Option<u64>,
    /// States of sessions that were not used for this time are removed.
    pub age: Option<Duration>,
    /// Count without removing.
    pub dry: bool,
}

/// The result of a pruning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub sessions: usize,
    /// Sessions whose states were removed to observe the limits.
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
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
    states: Vec<StateId>,
}

/// Removes what no session of the data directory needs. Blocks; waits for running recordings.
///
/// # Errors
/// Something that could name states cannot be read. Nothing is removed.
pub fn prune(data: &Path, options: PruneOptions) -> Result<Pruned, PruneError> {
    let store = data.join(CHECKPOINTS);
    if !store.is_dir() {
        return Ok(Pruned::default());
    }
    // Reading sessions takes long, so that is done before the lock, and again only for changed ones.
    let earlier = claims(data, Vec::new())?;
    let lock = lock_file(&store)?;
    locked_file::lock(&lock)?;
    let _lock = LockedFile::from(lock);
    remove(data, options, FRESH, earlier)
}

/// Like [`prune`], once a day at most and only if no recording is running; `None` otherwise. States that no session of
/// the data directory names, because the session is elsewhere, stay for `options.age` unless the limit is exceeded.
///
/// # Errors
/// Something that could name states cannot be read. Nothing is removed.
pub fn prune_when_idle(data: &Path, options: PruneOptions) -> Result<Option<Pruned>, PruneError> {
    let store = data.join(CHECKPOINTS);
    let last = store.join("pruned");
    if !store.is_dir() || age_of(&last).is_some_and(|age| age < INTERVAL) {
        return Ok(None);
    }
    let earlier = claims(data, Vec::new())?;
    let lock = lock_file(&store)?;
    if !locked_file::try_lock(&lock)? {
        return Ok(None);
    }
    let _lock = LockedFile::from(lock);
    let unnamed = options.age.unwrap_or(FRESH).max(FRESH);
    let pruned = remove(data, options, unnamed, earlier)?;
    // If this fails, the next call prunes again.
    let _ = atomic_file::write_with(&last, b"", atomic_file::Options::PRIVATE);
    Ok(Some(pruned))
}

/// The time since a file was written.
fn age_of(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Removes what is not needed. Objects younger than `unnamed` stay, unless the limit is exceeded. The store is locked.
fn remove(
    data: &Path,
    options: PruneOptions,
    unnamed: Duration,
    earlier: Vec<Claim>,
) -> Result<Pruned, PruneError> {
    let store = data.join(CHECKPOINTS);
    let objects = Objects::new(store.join("objects"));
    let stored = stored(&store.join("objects"))?;
    // Recordings have ended: their objects belong to a session by now, or are fresh.
    let mut claims = claims(data, earlier)?;
    sort::by_key(&mut claims, |claim| std::cmp::Reverse(claim.used));
    let journals: Vec<StateId> = journal::records(&store.join(JOURNALS))
        .flat_map(|record| [Some(record.from), Some(record.to), record.before])
        .flatten()
        .collect();
    let choose = |fresh| choose(&objects, &stored, &claims, &journals, options, fresh);
    let (mut needed, mut pruned) = choose(unnamed);
    if unnamed > FRESH && options.limit.is_some_and(|limit| pruned.kept_bytes > limit) {
        (needed, pruned) = choose(FRESH);
    }
    if options.dry {
        return Ok(pruned);
    }
    for object in stored.iter().filter(|object| !needed.has(object.hash)) {
        fault::point();
        fs::remove_file(&object.path)?;
    }
    Ok(pruned)
}

/// The objects that stay.
fn choose(
    objects: &Objects,
    stored: &[Stored],
    claims: &[Claim],
    journals: &[StateId],
    options: PruneOptions,
    fresh: Duration,
) -> (Needed, Pruned) {
    let now = SystemTime::now();
    // A time in the future comes from another clock.
    let is_older = |time: SystemTime, age| now.duration_since(time).unwrap_or_default() >= age;
    let mut needed = needed_by(objects, journals, &Needed::default());
    for object in stored.iter().filter(|object| !is_older(object.used, fresh)) {
        // A fresh directory object protects its contents; other objects have none.
        let contents = needed_by(objects, &[StateId(object.hash)], &needed);
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
    for claim in claims {
        let contents = needed_by(objects, &claim.states, &needed);
        let more = contents.bytes(&sizes);
        let is_old = options.age.is_some_and(|age| is_older(claim.used, age));
        if !is_old && options.limit.is_none_or(|limit| bytes + more <= limit) {
            bytes += more;
            needed.extend(contents);
        } else if !claim.states.is_empty() {
            pruned.forgotten += 1;
        }
    }
    for object in stored {
        let (count, bytes) = if needed.has(object.hash) {
            (&mut pruned.kept, &mut pruned.kept_bytes)
        } else {
            (&mut pruned.removed, &mut pruned.removed_bytes)
        };
        *count += 1;
        *bytes += object.bytes;
    }
    (needed, pruned)
}

struct Stored {
    hash: Hash,
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// All objects in the store.
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

/// The states that sessions name, also those in the trash. An unreadable session is an error, because it could need any
/// object. Sessions that have not changed since `earlier` are not read again.
fn claims(data: &Path, earlier: Vec<Claim>) -> Result<Vec<Claim>, PruneError> {
    let mut earlier: HashMap<PathBuf, Claim> = earlier
        .into_iter()
        .map(|claim| (claim.path.clone(), claim))
        .collect();
    let mut claims = Vec::new();
    for path in session_files(data)? {
        let Ok(metadata) = fs::metadata(&path) else {
            if path.symlink_metadata().is_err() {
                // Deleted meanwhile.
                continue;
            }
            claims.push(read_claim(path, SystemTime::UNIX_EPOCH, 0)?);
            continue;
        };
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        match earlier.remove(&path) {
            Some(claim) if claim.used == used && claim.bytes == metadata.len() => {
                claims.push(claim);
            }
            _ => claims.push(read_claim(path, used, metadata.len())?),
        }
    }
    Ok(claims)
}

/// The states that the session at `path` names.
fn read_claim(path: PathBuf, used: SystemTime, bytes: u64) -> Result<Claim, PruneError> {
    let mut claim = Claim {
        path,
        used,
        bytes,
        states: Vec::new(),
    };
    let reading = match Reading::open(&claim.path) {
        Ok(reading) => reading,
        // Other files name no state.
        Err(SessionError::NotASession { .. }) => return Ok(claim),
        // Deleted meanwhile.
        Err(_) if claim.path.symlink_metadata().is_err() => return Ok(claim),
        Err(source) => {
            let path = claim.path;
            return Err(PruneError::Session { path, source });
        }
    };
    let records = (0..reading.count()).filter(|number| reading.tag(*number) == Tag::Checkpoint);
    for number in records {
        let entry = reading.entry(number);
        if let Some(checkpoint) = entry.and_then(|entry| Checkpoint::of(&entry.kind)) {
            claim.states.push(checkpoint.state);
            claim.states.extend(checkpoint.from);
            claim.states.extend(checkpoint.since);
        }
    }
    Ok(claim)
}

/// The session files of the data directory and of its trash.
fn session_files(data: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![(data.join("sessions"), 0), (data.join("trash"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|ending| ending == SESSION_EXTENSION)
            {
                files.push(path);
            } else if depth == 0 && path.is_dir() {
                folders.push((path, 1));
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a project of the test's own")]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{CheckpointStore, Moment};
    use osier_protocol::{Entry, Header};
    use osier_store::SessionDirectory;

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
                since: None,
                from: None,
                step: None,
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
            let objects = self.folder.path().join("checkpoints/objects");
            for object in stored(&objects).unwrap() {
                age(&object.path, 2);
            }
        }

        fn prune(&self, limit: Option<u64>) -> Pruned {
            let options = PruneOptions {
                limit,
                ..PruneOptions::default()
            };
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
            ..PruneOptions::default()
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

    #[test]
    fn unreadable_sessions_directory_prevents_pruning() {
        let place = Place::new();
        let state = place.state(&[("a.txt", "a\n")]);
        place.age_all();
        fs::write(place.folder.path().join("sessions"), "not a directory").unwrap();
        let pruned = prune(place.folder.path(), PruneOptions::default());
        assert!(matches!(pruned, Err(PruneError::Io(_))), "{pruned:?}");
        assert!(place.holds(state));
    }

    #[test]
    fn states_of_a_session_in_the_trash_stay() {
        let place = Place::new();
        let state = place.state(&[("a.txt", "a\n")]);
        place.session(state, 0);
        let data = place.folder.path();
        fs::rename(data.join("sessions"), data.join("trash")).unwrap();
        place.age_all();
        assert_eq!(place.prune(None).removed, 0);
        assert!(place.holds(state));
    }

    #[test]
    fn idle_pruning_observes_age_and_limit_once_a_day() {
        let place = Place::new();
        let (long, text) = ("x".repeat(5_000), "y".repeat(3_000));
        let old = place.state(&[("old.txt", &long)]);
        let new = place.state(&[("new.txt", &text)]);
        // No session here names this state.
        let elsewhere = place.state(&[("elsewhere.txt", &long.replace('x', "z"))]);
        place.session(old, 40);
        place.session(new, 1);
        place.age_all();
        let days = |days: u64| Some(Duration::from_hours(24 * days));
        let data = place.folder.path();
        let options = |age, limit| PruneOptions {
            limit,
            age,
            dry: false,
        };
        // Objects of two days ago stay for 30 days.
        let pruned = prune_when_idle(data, options(days(30), None)).unwrap();
        assert_eq!(pruned.unwrap().removed, 0);
        assert_eq!(prune_when_idle(data, options(days(1), None)).unwrap(), None);
        age(&data.join("checkpoints/pruned"), 2);
        // No pruning happens while a recording runs.
        let lock = lock_file(&data.join("checkpoints")).unwrap();
        locked_file::share(&lock).unwrap();
        assert_eq!(
            prune_when_idle(data, options(days(30), Some(4_000))).unwrap(),
            None
        );
        drop(lock);
        let pruned = prune_when_idle(data, options(days(30), Some(4_000)))
            .unwrap()
            .unwrap();
        assert_eq!((pruned.forgotten, pruned.removed), (1, 4));
        assert!(place.holds(new));
        assert!(!place.holds(old) && !place.holds(elsewhere));
    }
}
