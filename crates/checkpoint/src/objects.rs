//! Content-addressed objects. An object is written once and never changed: readers see all of it or nothing, and
//! writers of the same bytes produce the same file. A damaged object is replaced when its content is stored again.

use osier_base::pending_file::PendingFile;
use osier_base::regular_file::ReadError;
use osier_base::{atomic_file, private, regular_file};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fmt, fs};

use sha2::{Digest as _, Sha256};

use super::fault;

/// An object that was written longer ago is on the disk.
const UNSYNCED: Duration = Duration::from_mins(10);
/// From this number of objects, syncing the file system is faster than syncing each.
#[cfg(target_os = "linux")]
const MANY: usize = 64;

/// Maximum bytes of an object.
pub(super) const MAX_OBJECT: u64 = 256 << 20;

/// SHA-256 of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Hash(pub [u8; 32]);

impl Hash {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of a file of any size.
    pub(super) fn of_file(file: &mut fs::File) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// In hex. Optimised: a scan of a large tree converts many thousands.
    fn hex(self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (place, byte) in self.0.iter().enumerate() {
            hex[2 * place] = DIGITS[usize::from(byte >> 4)];
            hex[2 * place + 1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(std::str::from_utf8(&self.hex()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A folder of objects. Cheap to clone; processes can share it.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    folder: PathBuf,
    /// Objects that may not be on the disk yet.
    unsynced: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            unsynced: Arc::default(),
        }
    }

    fn path(&self, hash: Hash) -> PathBuf {
        let (folder, name) = (&hash.hex()[..2], &hash.hex()[2..]);
        let mut path = PathBuf::with_capacity(self.folder.as_os_str().len() + 66);
        path.extend([
            self.folder.as_os_str(),
            OsStr::from_bytes(folder),
            OsStr::from_bytes(name),
        ]);
        path
    }

    /// Whether there is an object of this size. Its content is not read.
    pub(super) fn has(&self, hash: Hash, size: u64) -> bool {
        fs::metadata(self.path(hash)).is_ok_and(|metadata| metadata.len() == size)
    }

    /// Stores `bytes`; for an existing object only updates its time of use, unless it is damaged. Call
    /// [`sync`](Self::sync) before anything refers to it.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<Hash> {
        let hash = Hash::of(bytes);
        let path = self.path(hash);
        if let Ok(metadata) = fs::metadata(&path)
            && metadata.len() == bytes.len() as u64
            && regular_file::read(&path, bytes.len() as u64).is_ok_and(|stored| stored == bytes)
        {
            // Another process may have written the object and ended before the object was on the disk.
            if age(&metadata).is_none_or(|age| age < UNSYNCED) {
                self.note_unsynced(path);
            } else {
                renew(&path, &metadata);
            }
            return Ok(hash);
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        private::create_folder(parent)?;
        let file = PendingFile::create(parent, private::FILE_MODE)?;
        file.file().write_all(bytes)?;
        fault::point();
        file.persist(&path)?;
        fault::point();
        self.note_unsynced(path);
        Ok(hash)
    }

    fn note_unsynced(&self, path: PathBuf) {
        let mut unsynced = self.unsynced.lock();
        unsynced.insert(path);
    }

    /// Waits until all stored objects are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        // Locked until all are synced: objects of another thread may be among them.
        let mut unsynced = self.unsynced.lock();
        #[cfg(target_os = "linux")]
        if unsynced.len() >= MANY {
            rustix::fs::syncfs(fs::File::open(&self.folder)?)?;
            unsynced.clear();
        }
        let mut lost = None;
        for path in unsynced.iter() {
            match regular_file::open_plain(path) {
                Ok(file) => file.sync_all()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let text = format!("the stored object `{}` was removed", path.display());
                    lost = Some(io::Error::new(error.kind(), text));
                }
                Err(error) => return Err(error),
            }
        }
        let folders: BTreeSet<&Path> = unsynced.iter().filter_map(|path| path.parent()).collect();
        for folder in folders {
            atomic_file::sync_directory(folder);
        }
        unsynced.clear();
        // Nothing may refer to a lost object; the next state stores it again.
        lost.map_or(Ok(()), Err)
    }

    /// The bytes of `hash`, verified.
    pub(super) fn get(&self, hash: Hash) -> io::Result<Vec<u8>> {
        let read = regular_file::read_last(&self.path(hash), MAX_OBJECT);
        let bytes = read.map_err(|error| match error {
            ReadError::Missing => {
                let folder = self.folder.display();
                let message = format!("the stored object {hash} is missing in `{folder}`");
                io::Error::new(io::ErrorKind::NotFound, message)
            }
            error => error.into(),
        })?;
        if Hash::of(&bytes) != hash {
            let message = format!("the stored object {hash} is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }
}

/// The time since the last use; `None` if that is in the future, by another clock.
fn age(metadata: &fs::Metadata) -> Option<Duration> {
    metadata.modified().ok()?.elapsed().ok()
}

/// Updates an old object's time of use, so that it is not pruned before its session refers to it.
fn renew(path: &Path, metadata: &fs::Metadata) {
    const OLD: Duration = Duration::from_hours(1);
    if age(metadata).is_some_and(|age| age < OLD) {
        return;
    }
    // If the time cannot be set, the object cannot be removed either.
    let file = regular_file::open_plain(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damage is made on purpose")]
    fn objects_round_trip_and_damage_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().join("objects"));
        let hash = objects.put(b"text").unwrap();
        assert_eq!(objects.put(b"text").unwrap(), hash);
        assert_eq!(objects.get(hash).unwrap(), b"text");
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        assert_eq!(Hash::parse("zz"), None);
        fs::write(objects.path(hash), b"tex").unwrap();
        let error = objects.get(hash).unwrap_err();
        let expected = format!("the stored object {hash} is damaged");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn removed_object_fails_one_sync_only() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().join("objects"));
        let hash = objects.put(b"text").unwrap();
        fs::remove_dir_all(folder.path().join("objects")).unwrap();
        objects.put(b"other").unwrap();
        let error = objects.sync().unwrap_err().to_string();
        assert!(error.ends_with("was removed"), "{error}");
        assert_eq!(objects.put(b"text").unwrap(), hash);
        objects.sync().unwrap();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damage is made on purpose")]
    fn damaged_object_is_replaced_when_its_content_is_stored_again() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().join("objects"));
        for damage in [b"".as_slice(), b"con", b"c0ntent", b"content and more"] {
            let hash = objects.put(b"content").unwrap();
            fs::write(objects.path(hash), damage).unwrap();
            assert!(objects.get(hash).is_err());
            assert_eq!(objects.put(b"content").unwrap(), hash);
            assert_eq!(objects.get(hash).unwrap(), b"content");
        }
        objects.sync().unwrap();
    }
}
