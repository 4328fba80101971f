//! Content-addressed objects. An object is written once and never changed: readers see all of it or nothing, and
//! writers of the same bytes produce the same file.

use osier_base::private;
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fmt, fs};

use sha2::{Digest as _, Sha256};

/// SHA-256 of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Hash(pub [u8; 32]);

impl Hash {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
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
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
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

    pub(super) fn has(&self, hash: Hash) -> bool {
        self.path(hash).exists()
    }

    /// Stores `bytes`; for an existing object only updates its time of use.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<Hash> {
        let hash = Hash::of(bytes);
        let path = self.path(hash);
        if let Ok(metadata) = fs::metadata(&path) {
            renew(&path, &metadata);
            return Ok(hash);
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        private::create_folder(parent)?;
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(parent)?;
        file.write_all(bytes)?;
        // Not synced: a state counts once its entry is in the session, and the hash detects an object damaged by a
        // power failure.
        file.persist(&path).map_err(|error| error.error)?;
        Ok(hash)
    }

    /// The bytes of `hash`, verified.
    pub(super) fn get(&self, hash: Hash) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = fs::File::open(self.path(hash)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let folder = self.folder.display();
                let message = format!("the stored object {hash} is missing in `{folder}`");
                io::Error::new(io::ErrorKind::NotFound, message)
            }
            _ => error,
        });
        file?.read_to_end(&mut bytes)?;
        if Hash::of(&bytes) != hash {
            let message = format!("the stored object {hash} is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }
}

/// Updates an old object's time of use, so that it is not pruned before its session refers to it.
fn renew(path: &Path, metadata: &fs::Metadata) {
    const OLD: Duration = Duration::from_hours(1);
    let age = metadata.modified().map(|time| time.elapsed());
    if matches!(age, Ok(Ok(age)) if age < OLD) {
        return;
    }
    // If the time cannot be set, the object cannot be removed either.
    let file = fs::File::options().write(true).open(path);
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
}
