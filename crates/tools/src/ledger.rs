//! What this session last saw of each file, so that a change made by somebody else is noticed before
//! it is overwritten.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use osier_base::path::canonical_key;

/// Bytes up to which a file is known by its contents; above, by size and time alone.
pub(super) const MAX_HASHED: u64 = 64 * 1024 * 1024;
/// Bytes up to which contents are compared once more at the last moment: times are not exact enough
/// for two writers in one tick of the clock.
const MAX_COMPARED: usize = 4 * 1024 * 1024;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Device, inode and time of the last change of any kind.
    node: (u64, u64, i64, i64),
    /// Of the contents; not set for a large file.
    hash: Option<u64>,
}

impl Stamp {
    /// Of a file whose whole contents went through `hash`.
    pub(super) fn hashed(metadata: &Metadata, hash: &ContentHash) -> Self {
        Self {
            size: hash.length,
            modified: metadata.modified().ok(),
            node: node(metadata),
            hash: (hash.length <= MAX_HASHED).then(|| hash.hasher.finish()),
        }
    }

    pub(super) fn of(metadata: &Metadata, contents: &[u8]) -> Self {
        let mut hash = ContentHash::default();
        hash.update(contents);
        Self::hashed(metadata, &hash)
    }

    /// Of a file of more than `MAX_HASHED` bytes.
    pub(super) fn large(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            node: node(metadata),
            hash: None,
        }
    }

    /// Whether `path` is still the very file that was stamped, with these `contents` when they are known.
    pub(super) fn holds(&self, path: &Path, contents: Option<&[u8]>) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return false;
        };
        let fits = self.size == metadata.len()
            && self.modified == metadata.modified().ok()
            && self.node == node(&metadata);
        let known = contents.filter(|contents| contents.len() <= MAX_COMPARED);
        fits && known.is_none_or(|known| fs::read(path).is_ok_and(|now| now == known))
    }

    /// Contents decide where they are known: a file that was only touched is the same.
    fn is_same(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(left), Some(right)) => self.size == other.size && left == right,
            _ => {
                self.size == other.size
                    && self.modified == other.modified
                    && self.node == other.node
            }
        }
    }
}

fn node(metadata: &Metadata) -> (u64, u64, i64, i64) {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    )
}

/// A hash of contents that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct ContentHash {
    hasher: DefaultHasher,
    length: u64,
}

impl ContentHash {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length <= MAX_HASHED {
            self.hasher.write(bytes);
        }
    }
}

/// What is known of a file beside what it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Never read in this session.
    Unread,
    /// As it was last read or written here.
    Fresh,
    /// Somebody changed it since.
    Changed,
}

/// The files of one session.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// By the place that a path leads to.
    states: HashMap<PathBuf, Stamp>,
    /// Where each path led when it was last used.
    places: HashMap<PathBuf, PathBuf>,
}

impl Ledger {
    /// Notes that the session knows `path` in this state.
    pub(super) fn record(&self, path: &Path, stamp: Stamp) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = canonical_key(path);
        seen.places.insert(path.to_path_buf(), place.clone());
        seen.states.insert(place, stamp);
    }

    /// Compares the state `now` with the one last seen. A path that leads elsewhere now, because a link
    /// took the place of a file or of a directory, has changed.
    pub(super) fn freshness(&self, path: &Path, now: &Stamp) -> Freshness {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = canonical_key(path);
        if seen.places.get(path).is_some_and(|then| *then != place) {
            return Freshness::Changed;
        }
        match seen.states.get(&place) {
            None => Freshness::Unread,
            Some(then) if then.is_same(now) => Freshness::Fresh,
            Some(_) => Freshness::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use osier_base::atomic_file;

    #[test]
    fn contents_decide_whether_a_file_changed() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        let stamp = |contents: &[u8]| {
            atomic_file::write(&path, contents).unwrap();
            Stamp::of(&fs::metadata(&path).unwrap(), contents)
        };
        let ledger = Ledger::default();
        let first = stamp(b"one");
        assert_eq!(ledger.freshness(&path, &first), Freshness::Unread);
        ledger.record(&path, first);
        assert_eq!(ledger.freshness(&path, &stamp(b"one")), Freshness::Fresh);
        assert_eq!(ledger.freshness(&path, &stamp(b"two")), Freshness::Changed);
        assert_eq!(
            ledger.freshness(&dir.path().join("./f"), &stamp(b"one")),
            Freshness::Fresh
        );
    }

    #[test]
    fn a_stamp_holds_for_the_very_file_and_its_bytes() {
        let dir = TempDir::new().unwrap();
        let (path, link) = (dir.path().join("f"), dir.path().join("link"));
        atomic_file::write(&path, b"one").unwrap();
        let stamp = Stamp::of(&fs::metadata(&path).unwrap(), b"one");
        assert!(stamp.holds(&path, Some(b"one")));
        // In one tick of the clock only the bytes can tell.
        assert!(!stamp.holds(&path, Some(b"two")));
        std::os::unix::fs::symlink("f", &link).unwrap();
        assert!(!stamp.holds(&link, None));
        atomic_file::write(&path, b"one").unwrap();
        assert!(!stamp.holds(&path, None));
        fs::remove_file(&path).unwrap();
        assert!(!stamp.holds(&path, None));
    }
}
