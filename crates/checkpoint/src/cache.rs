//! What was known of the files when they were last looked at, so that unchanged ones are not read
//! again. A cache: when it is missing or damaged everything is read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::objects::Hash;

const MAGIC: &[u8; 8] = b"osierfc1";
/// Changed times this close to the moment of looking may hide a later change: the clock of a file
/// system ticks in milliseconds, on some in seconds.
const RACY_NS: i128 = 2_000_000_000;

/// What tells a changed file from one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: i128,
    changed: i128,
    size: u64,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
            inode: metadata.ino(),
        }
    }

    /// Whether a change right after `now`, nanoseconds since the epoch, could go unseen.
    fn is_racy(&self, now: i128) -> bool {
        self.modified.max(self.changed) > now - RACY_NS
    }

    /// A mark that changes when the file does.
    pub(super) fn mark(&self) -> u64 {
        let bytes = format!("{} {}", self.modified, self.size);
        let hash = Hash::of(bytes.as_bytes());
        hash.0
            .iter()
            .take(8)
            .fold(0, |mark, byte| (mark << 8) | u64::from(*byte))
    }
}

/// Content by path, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Cache {
    known: HashMap<PathBuf, (Stamp, Hash)>,
}

impl Cache {
    pub(super) fn load(path: &Path) -> Self {
        let known = fs::read(path)
            .ok()
            .and_then(|bytes| parse(&bytes))
            .unwrap_or_default();
        Self { known }
    }

    pub(super) fn get(&self, path: &Path, stamp: Stamp) -> Option<Hash> {
        let (known, hash) = self.known.get(path)?;
        (*known == stamp).then_some(*hash)
    }

    pub(super) fn insert(&mut self, path: PathBuf, stamp: Stamp, hash: Hash) {
        self.known.insert(path, (stamp, hash));
    }

    /// Writes what will still be certain later, unless that is what `loaded` says already. A failure costs
    /// time only, and so does a power cut: nothing waits for the disk.
    pub(super) fn save(&self, path: &Path, now: i128, loaded: &Self) {
        if self.known == loaded.known {
            return;
        }
        let mut bytes = Vec::with_capacity(160 * self.known.len());
        bytes.extend(MAGIC);
        for (path, (stamp, hash)) in &self.known {
            if stamp.is_racy(now) {
                continue;
            }
            bytes.extend(stamp.modified.to_le_bytes());
            bytes.extend(stamp.changed.to_le_bytes());
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

/// Puts `bytes` in place of the file, which nobody else may read.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn parse(bytes: &[u8]) -> Option<HashMap<PathBuf, (Stamp, Hash)>> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*sum) != crc32fast::hash(content) {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    let mut known = HashMap::new();
    while !rest.is_empty() {
        let stamp = Stamp {
            modified: i128::from_le_bytes(take(&mut rest)?),
            changed: i128::from_le_bytes(take(&mut rest)?),
            size: u64::from_le_bytes(take(&mut rest)?),
            inode: u64::from_le_bytes(take(&mut rest)?),
        };
        let hash = Hash(take(&mut rest)?);
        let length = u32::from_le_bytes(take(&mut rest)?) as usize;
        let (name, next) = rest.split_at_checked(length)?;
        rest = next;
        known.insert(PathBuf::from(OsStr::from_bytes(name)), (stamp, hash));
    }
    Some(known)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Stamp = Stamp {
        modified: 1_000,
        changed: 2_000,
        size: 3,
        inode: 4,
    };

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damage is made on purpose")]
    fn what_is_certain_comes_back_and_damage_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/cache");
        let now = RACY_NS + 5_000;
        let young = Stamp {
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
