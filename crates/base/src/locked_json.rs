//! Small files of the data directory that several processes change: each change is read, made and written
//! under a lock, so that nobody's is lost, and whoever reads sees a whole file.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::atomic_file;
use crate::atomic_file::{Options, WriteError};

/// Why a change was not kept. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("cannot lock `{path}`: {source}")]
    Lock { path: String, source: io::Error },
    /// Written over it, what is in there would be lost.
    #[error("`{path}` is damaged: fix it or move it away")]
    Damaged { path: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What stands in the file; nothing when it is not there or damaged. Blocks.
pub fn read<T: DeserializeOwned + Default>(path: &Path) -> T {
    parse(path).ok().flatten().unwrap_or_default()
}

/// Makes one change and gives back what stands there now. Blocks.
///
/// # Errors
/// The change was not kept.
pub fn change<T>(path: &Path, change: impl FnOnce(&mut T)) -> Result<T, KeptError>
where
    T: Serialize + DeserializeOwned + Default + PartialEq + Clone,
{
    let lock = path.with_extension("lock");
    let failed = |source| KeptError::Lock {
        path: lock.display().to_string(),
        source,
    };
    if let Some(folder) = path.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(failed)?;
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    let held = options.open(&lock).map_err(failed)?;
    match held.lock() {
        // A file system without locks: one process at a time is the usual case.
        Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(failed(error)),
        _ => {}
    }
    let before: T = parse(path)?.unwrap_or_default();
    let mut now = before.clone();
    change(&mut now);
    if now != before {
        let mut bytes = serde_json::to_vec_pretty(&now).unwrap_or_default();
        bytes.push(b'\n');
        let options = Options {
            parents: true,
            mode: Some(0o600),
        };
        atomic_file::write_with(path, &bytes, options)?;
    }
    Ok(now)
}

/// `None` when there is no file.
fn parse<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, KeptError> {
    let Ok(bytes) = std::fs::read(path) else {
        return Ok(None);
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|_| KeptError::Damaged {
        path: path.display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_several_are_all_kept() {
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
    fn a_damaged_file_is_not_written_over() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("list.json");
        atomic_file::write(&path, b"[1, ").unwrap();
        assert_eq!(read::<Vec<u32>>(&path), Vec::<u32>::new());
        let error = change(&path, |list: &mut Vec<u32>| list.push(1)).unwrap_err();
        assert!(error.to_string().ends_with("fix it or move it away"));
        assert_eq!(std::fs::read(&path).unwrap(), b"[1, ");
    }
}
