//! Caches the state of the files at the last scan, so that unchanged files are not read again. Without the cache, or
//! with a damaged one, everything is read.

use osier_base::file_stamp::FileStamp;
use osier_base::pending_file::PendingFile;
use osier_base::{private, regular_file};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::objects::Hash;

/// Maximum bytes of the cache file: some hundred thousand paths.
const LIMIT: u64 = 512 * 1024 * 1024;

const MAGIC: &[u8; 8] = b"osierfc1";
/// A modification time this close to the scan can hide a later change: file system clocks tick in milliseconds, some
/// in seconds.
const RACY_NS: i64 = 2_000_000_000;

/// Whether a change right after `now`, in nanoseconds since the epoch, could go unnoticed.
fn is_racy(stamp: &FileStamp, now: i64) -> bool {
    stamp.modified.max(stamp.changed) > now - RACY_NS
}

/// A number that changes with the file.
pub(super) fn mark(stamp: &FileStamp) -> u64 {
    let bytes = format!("{} {}", stamp.modified, stamp.size);
    let hash = Hash::of(bytes.as_bytes());
    hash.0
        .iter()
        .take(8)
        .fold(0, |mark, byte| (mark << 8) | u64::from(*byte))
}

/// Known content by path.
#[derive(Debug, Default)]
pub(super) struct Cache {
    known: HashMap<PathBuf, (FileStamp, Hash)>,
}

impl Cache {
    pub(super) fn load(path: &Path) -> Self {
        let known = regular_file::read(path, LIMIT)
            .ok()
            .and_then(|bytes| parse(&bytes))
            .unwrap_or_default();
        Self { known }
    }

    pub(super) fn get(&self, path: &Path, stamp: FileStamp) -> Option<Hash> {
        let (known, hash) = self.known.get(path)?;
        (*known == stamp).then_some(*hash)
    }

    pub(super) fn insert(&mut self, path: PathBuf, stamp: FileStamp, hash: Hash) {
        self.known.insert(path, (stamp, hash));
    }

    /// Writes the entries that stay valid, unless `loaded` already has them. A failure only costs time, so it is
    /// ignored and the file is not synced.
    pub(super) fn save(&self, path: &Path, now: i64, loaded: &Self) {
        if self.known == loaded.known {
            return;
        }
        let mut bytes = Vec::with_capacity(160 * self.known.len());
        bytes.extend(MAGIC);
        for (path, (stamp, hash)) in &self.known {
            if is_racy(stamp, now) {
                continue;
            }
            bytes.extend(i128::from(stamp.modified).to_le_bytes());
            bytes.extend(i128::from(stamp.changed).to_le_bytes());
            bytes.extend(stamp.size.to_le_bytes());
            bytes.extend(stamp.inode.to_le_bytes());
            bytes.extend(hash.0);
            let name = path.as_os_str().as_bytes();
            bytes.extend((name.len() as u32).to_le_bytes());
            bytes.extend(name);
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let _ = replace(path, &bytes);
    }
}

/// Replaces the file with `bytes`, readable only by the owner.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    private::create_folder(parent)?;
    let file = PendingFile::create(parent, private::FILE_MODE)?;
    file.file().write_all(bytes)?;
    file.persist(path).map(drop)
}

fn parse(bytes: &[u8]) -> Option<HashMap<PathBuf, (FileStamp, Hash)>> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*sum) != crc32fast::hash(content) {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    let mut known = HashMap::new();
    while !rest.is_empty() {
        let mut time = || i64::try_from(i128::from_le_bytes(split_array(&mut rest)?)).ok();
        let stamp = FileStamp {
            modified: time()?,
            changed: time()?,
            size: u64::from_le_bytes(split_array(&mut rest)?),
            inode: u64::from_le_bytes(split_array(&mut rest)?),
        };
        let hash = Hash(split_array(&mut rest)?);
        let length = u32::from_le_bytes(split_array(&mut rest)?) as usize;
        let (name, next) = rest.split_at_checked(length)?;
        rest = next;
        known.insert(PathBuf::from(OsStr::from_bytes(name)), (stamp, hash));
    }
    Some(known)
}

fn split_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: FileStamp = FileStamp {
        modified: 1_000,
        changed: 2_000,
        size: 3,
        inode: 4,
    };

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damage is made on purpose")]
    fn certain_entries_round_trip_and_damage_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/cache");
        let now = RACY_NS + 5_000;
        let young = FileStamp {
            modified: 5_001,
            ..OLD
        };
        let mut cache = Cache::default();
        cache.insert("old".into(), OLD, Hash::of(b"old"));
        cache.insert("young".into(), young, Hash::of(b"young"));
        cache.save(&path, now, &Cache::default());
        let loaded = Cache::load(&path);
        assert_eq!(loaded.get(Path::new("old"), OLD), Some(Hash::of(b"old")));
        assert_eq!(loaded.get(Path::new("old"), young), None);
        assert_eq!(loaded.get(Path::new("young"), young), None);

        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(Cache::load(&path).known.is_empty());
    }
}
