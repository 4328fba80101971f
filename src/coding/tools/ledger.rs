//! What this session last saw of each file, so that a change made by somebody else is noticed before
//! it is overwritten.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::base::path::canonical_key;

/// Bytes up to which a file is known by its contents; above, by size and time alone.
pub(super) const MAX_HASHED: u64 = 64 * 1024 * 1024;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Of the contents; not set for a large file.
    hash: Option<u64>,
}

impl Stamp {
    /// Of a file whose whole contents went through `hash`.
    pub(super) fn hashed(metadata: &Metadata, hash: &ContentHash) -> Self {
        Self {
            size: hash.length,
            modified: metadata.modified().ok(),
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
            hash: None,
        }
    }

    /// Whether a file with this metadata is likely the one that was stamped.
    pub(super) fn fits(&self, metadata: &Metadata) -> bool {
        self.size == metadata.len() && self.modified == metadata.modified().ok()
    }

    /// Contents decide where they are known: a file that was only touched is the same.
    fn is_same(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(left), Some(right)) => self.size == other.size && left == right,
            _ => self.size == other.size && self.modified == other.modified,
        }
    }
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
pub(super) struct Ledger(Mutex<HashMap<PathBuf, Stamp>>);

impl Ledger {
    /// Notes that the session knows `path` in this state.
    pub(super) fn record(&self, path: &Path, stamp: Stamp) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(canonical_key(path), stamp);
    }

    /// Compares the state `now` with the one last seen.
    pub(super) fn freshness(&self, path: &Path, now: &Stamp) -> Freshness {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(&canonical_key(path)) {
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
    use crate::base::atomic_file;

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
}
