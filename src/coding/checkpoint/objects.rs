//! Bytes by the hash of their content. An object is written once and never changed: a reader sees all of
//! it or nothing, and two writers of the same bytes agree.

use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A folder of objects. Cheap to clone; any number of processes may share it.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, hash: Hash) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    pub(super) fn has(&self, hash: Hash) -> bool {
        self.path(hash).exists()
    }

    /// Keeps `bytes`; when they are there, only the time they were last used at is written.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<Hash> {
        let hash = Hash::of(bytes);
        let path = self.path(hash);
        if let Ok(metadata) = fs::metadata(&path) {
            renew(&path, &metadata);
            return Ok(hash);
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent)?;
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(parent)?;
        file.write_all(bytes)?;
        // Not synced one by one: a state counts once its entry is in the session, and an object that a
        // power cut left damaged is found by its hash.
        file.persist(&path).map_err(|error| error.error)?;
        Ok(hash)
    }

    /// The bytes of `hash`, checked.
    pub(super) fn get(&self, hash: Hash) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(self.path(hash))?.read_to_end(&mut bytes)?;
        if Hash::of(&bytes) != hash {
            let message = format!("the stored object {hash} is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }
}

/// Notes that an old object is used again, so that it is not pruned before its session says so.
fn renew(path: &Path, metadata: &fs::Metadata) {
    const OLD: Duration = Duration::from_hours(1);
    let age = metadata.modified().map(|time| time.elapsed());
    if matches!(age, Ok(Ok(age)) if age < OLD) {
        return;
    }
    // Where the time cannot be set the object cannot be removed either.
    let file = fs::File::options().write(true).open(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damage is made on purpose")]
    fn what_was_put_comes_back_and_damage_is_found() {
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
