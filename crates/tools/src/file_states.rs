//! The last known state of each file in this session, to detect external changes before they are overwritten.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::file_access::FileTarget;
use osier_base::atomic_file::Name;
use osier_base::without_links;

/// Files up to this size are identified by their contents; larger ones by size and time.
pub(super) const MAX_HASHED: u64 = 64 * 1024 * 1024;
/// Files up to this size are compared again just before writing: timestamps are too coarse for two writers
/// within one clock tick.
const MAX_COMPARED: usize = 4 * 1024 * 1024;

/// Identifies a file and its last change of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    changed_seconds: i64,
    changed_nanoseconds: i64,
}

/// Identifies a state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    identity: Identity,
    /// Hash of the contents; not set for a large file.
    hash: Option<u64>,
}

impl Stamp {
    /// For a file whose complete contents were hashed.
    pub(super) fn hashed(metadata: &Metadata, hash: &ContentHash) -> Self {
        Self {
            size: hash.length,
            modified: metadata.modified().ok(),
            identity: Identity::of(metadata),
            hash: (hash.length <= MAX_HASHED).then(|| hash.hasher.finish()),
        }
    }

    pub(super) fn of(metadata: &Metadata, contents: &[u8]) -> Self {
        let mut hash = ContentHash::default();
        hash.update(contents);
        Self::hashed(metadata, &hash)
    }

    /// For a file larger than `MAX_HASHED`.
    pub(super) fn large(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            identity: Identity::of(metadata),
            hash: None,
        }
    }

    /// Whether `path` is still the same file, with these `contents` if they are known. A renamed file has another time
    /// of its last change of metadata, so that its contents decide, whatever their size.
    pub(super) fn matches(&self, path: &Path, name: Name, contents: Option<&[u8]>) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return false;
        };
        let (identity, is_renamed) = (Identity::of(&metadata), name == Name::Temporary);
        let fits = self.size == metadata.len()
            && self.modified == metadata.modified().ok()
            && (identity.device, identity.inode) == (self.identity.device, self.identity.inode)
            && (is_renamed || identity == self.identity);
        let known = contents.filter(|contents| is_renamed || contents.len() <= MAX_COMPARED);
        fits && known.is_none_or(|known| contents_of(path).is_ok_and(|now| now == known))
    }

    /// Contents decide when they are known: a file that was only touched is the same.
    fn is_same(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(left), Some(right)) => self.size == other.size && left == right,
            _ => {
                self.size == other.size
                    && self.modified == other.modified
                    && self.identity == other.identity
            }
        }
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed_seconds: metadata.ctime(),
            changed_nanoseconds: metadata.ctime_nsec(),
        }
    }
}

/// The contents of a file that is no link. A named pipe does not block.
fn contents_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    without_links::open_last(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An incremental hash of contents.
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

/// The known state compared to the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Never read in this session.
    Unread,
    /// Unchanged since it was last read or written here.
    Fresh,
    /// Changed by another program.
    Changed,
}

/// The known files of a session.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<KnownFiles>);

#[derive(Debug, Default)]
struct KnownFiles {
    /// By the resolved path.
    states: HashMap<PathBuf, Stamp>,
    /// The resolved target of each path when it was last used.
    places: HashMap<PathBuf, PathBuf>,
}

impl Ledger {
    /// Records that the session knows `path` in this state.
    pub(super) fn record(&self, target: &FileTarget, stamp: Stamp) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (named, host) = (target.named.clone(), target.host.clone());
        seen.places.insert(named, host.clone());
        seen.states.insert(host, stamp);
    }

    /// Compares the state `now` with the last known one. A path with another target now, because a link
    /// replaced a file or a directory, has changed.
    pub(super) fn freshness(&self, target: &FileTarget, now: &Stamp) -> Freshness {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let then = seen.places.get(&target.named);
        if then.is_some_and(|then| *then != target.host) {
            return Freshness::Changed;
        }
        match seen.states.get(&target.host) {
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
    fn contents_determine_whether_a_file_changed() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        let stamp = |contents: &[u8]| {
            atomic_file::write(&path, contents).unwrap();
            Stamp::of(&fs::metadata(&path).unwrap(), contents)
        };
        let ledger = Ledger::default();
        let target = |given: &str| {
            let arguments = serde_json::json!({"file_path": given});
            FileTarget::of("write", &arguments, dir.path()).unwrap()
        };
        let first = stamp(b"one");
        assert_eq!(ledger.freshness(&target("f"), &first), Freshness::Unread);
        ledger.record(&target("f"), first);
        assert_eq!(
            ledger.freshness(&target("f"), &stamp(b"one")),
            Freshness::Fresh
        );
        assert_eq!(
            ledger.freshness(&target("f"), &stamp(b"two")),
            Freshness::Changed
        );
        assert_eq!(
            ledger.freshness(&target("./f"), &stamp(b"one")),
            Freshness::Fresh
        );
    }

    #[test]
    fn a_stamp_matches_the_same_file_and_contents() {
        let dir = TempDir::new().unwrap();
        let (path, link) = (dir.path().join("f"), dir.path().join("link"));
        atomic_file::write(&path, b"one").unwrap();
        let stamp = Stamp::of(&fs::metadata(&path).unwrap(), b"one");
        assert!(stamp.matches(&path, Name::Own, Some(b"one")));
        // Within one clock tick, only the contents differ.
        assert!(!stamp.matches(&path, Name::Own, Some(b"two")));
        std::os::unix::fs::symlink("f", &link).unwrap();
        assert!(!stamp.matches(&link, Name::Own, None));
        atomic_file::write(&path, b"one").unwrap();
        assert!(!stamp.matches(&path, Name::Own, None));
        fs::remove_file(&path).unwrap();
        assert!(!stamp.matches(&path, Name::Own, None));
    }
}
