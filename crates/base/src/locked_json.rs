//! Small JSON files in the data directory that several processes change. Each change is a locked read-modify-write,
//! so that none is lost, and readers always see a complete file.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::atomic_file;
use crate::atomic_file::{Options, WriteError};
use crate::locked_file;
use crate::private;
use crate::regular_file::{self, ReadError};

/// Bytes of the file at most.
const LIMIT: u64 = 64 * 1024 * 1024;

/// Why a change was not stored. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum LockedJsonError {
    #[error("cannot lock `{path}`: {source}")]
    Lock { path: String, source: io::Error },
    /// Writing would lose what is there.
    #[error("`{path}` {source}")]
    Unreadable { path: String, source: ReadError },
    /// Writing would lose the damaged contents.
    #[error("`{path}` is damaged: fix it or move it away")]
    Damaged { path: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Reads the file; the default value if it is missing, unreadable or damaged. Blocks.
pub fn read<T: DeserializeOwned + Default>(path: &Path) -> T {
    parse(path).ok().flatten().unwrap_or_default()
}

/// Reads the file; the default value if it is missing. Blocks.
///
/// # Errors
///
/// The file is damaged or cannot be read.
pub fn try_read<T: DeserializeOwned + Default>(path: &Path) -> Result<T, LockedJsonError> {
    Ok(parse(path)?.unwrap_or_default())
}

/// Applies one change and returns the new value. Blocks.
///
/// # Errors
///
/// The change was not stored.
pub fn change<T>(path: &Path, change: impl FnOnce(&mut T)) -> Result<T, LockedJsonError>
where
    T: Serialize + DeserializeOwned + Default + PartialEq + Clone,
{
    let lock = path.with_extension("lock");
    let failed = |source| LockedJsonError::Lock {
        path: lock.display().to_string(),
        source,
    };
    if let Some(folder) = path.parent() {
        private::create_folder(folder).map_err(failed)?;
    }
    let held = regular_file::open_own(&lock, Some(private::FILE_MODE));
    let held = held.map_err(|error| failed(error.into()))?;
    locked_file::lock(&held).map_err(failed)?;
    let before: T = parse(path)?.unwrap_or_default();
    let mut now = before.clone();
    change(&mut now);
    if now != before {
        let mut bytes = serde_json::to_vec_pretty(&now).unwrap_or_default();
        bytes.push(b'\n');
        atomic_file::write_with(path, &bytes, Options::PRIVATE)?;
    }
    Ok(now)
}

/// `None` if there is no file.
fn parse<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LockedJsonError> {
    let shown = || path.display().to_string();
    let bytes = match regular_file::read(path, LIMIT) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing) => return Ok(None),
        Err(source) => {
            return Err(LockedJsonError::Unreadable {
                path: shown(),
                source,
            });
        }
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed
        .map(Some)
        .map_err(|_| LockedJsonError::Damaged { path: shown() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_changes_are_all_stored() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("below/list.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || change(path, |list: &mut Vec<u32>| list.push(number)).unwrap());
            }
        });
        let mut list: Vec<u32> = read(&path);
        list.sort_unstable();
        assert_eq!(list, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn damaged_file_is_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("list.json");
        atomic_file::write(&path, b"[1, ").unwrap();
        assert_eq!(read::<Vec<u32>>(&path), Vec::<u32>::new());
        let error = change(&path, |list: &mut Vec<u32>| list.push(1)).unwrap_err();
        assert!(error.to_string().ends_with("fix it or move it away"));
        assert_eq!(std::fs::read(&path).unwrap(), b"[1, ");
    }

    #[test]
    fn file_that_cannot_be_read_is_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("list.json");
        let large = std::fs::File::create(&path).unwrap();
        large.set_len(LIMIT + 1).unwrap();
        let error = change(&path, |list: &mut Vec<u32>| list.push(1)).unwrap_err();
        assert!(error.to_string().ends_with("has more than 67108864 bytes"));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), LIMIT + 1);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
        assert!(change(&path, |list: &mut Vec<u32>| list.push(1)).is_err());
    }
}
