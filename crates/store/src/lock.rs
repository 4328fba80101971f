//! One writer per session: an exclusive advisory lock on its file. The system releases it when the process ends in
//! any way.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::error::SessionError;
use osier_base::locked_file::{self, LockedFile};

/// Number of attempts and the time between them. A child process briefly inherits the open files of its parent with
/// their locks, even if the parent was just killed.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(10);

/// Locks the session `path`, open as `file`. Blocks for at most a tenth of a second.
pub(super) fn acquire(file: File, path: &Path) -> Result<LockedFile, SessionError> {
    let failed = |error| SessionError::io("lock", path, error);
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(BETWEEN);
        }
        if locked_file::try_lock(&file).map_err(failed)? {
            return Ok(file.into());
        }
    }
    Err(SessionError::Locked {
        path: path.to_owned(),
        pid: holder(&file),
    })
}

/// Whether another process writes to the session open as `file`.
pub fn is_locked(file: &File) -> bool {
    let is_free = locked_file::try_share(file).unwrap_or(true);
    // Closing the file releases the lock in any case.
    let _ = file.unlock();
    !is_free
}

/// The locks of all processes, read without taking any: even a brief lock could make another process fail to open its
/// session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locks(String);

impl Locks {
    /// Reads the current locks; empty on systems that do not list them.
    pub fn read() -> Self {
        Self(std::fs::read_to_string("/proc/locks").unwrap_or_default())
    }

    /// The process that has the session `path` open.
    #[cfg(target_os = "linux")]
    pub fn holder(&self, path: &Path) -> Option<u32> {
        let stat = rustix::fs::stat(path).ok()?;
        holder_in(&self.0, &place_of(&stat))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn holder(&self, _path: &Path) -> Option<u32> {
        None
    }
}

/// The process that holds the lock, if the system reports it.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    let stat = rustix::fs::fstat(file).ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    holder_in(&locks, &place_of(&stat))
}

/// Device and inode in the format of `/proc/locks`.
#[cfg(target_os = "linux")]
fn place_of(stat: &rustix::fs::Stat) -> String {
    let (major, minor) = (
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
    );
    format!("{major:02x}:{minor:02x}:{}", stat.st_ino)
}

#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<u32> {
    None
}

/// Finds the lock at `location` (device and inode) in the text of `/proc/locks`; see proc_locks(5).
#[cfg(target_os = "linux")]
fn holder_in(locks: &str, location: &str) -> Option<u32> {
    locks
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find_map(|fields| match fields[..] {
            [_, "FLOCK", _, _, pid, found, ..] if found == location => pid.parse().ok(),
            _ => None,
        })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn lock_owner_is_found_by_device_and_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 00:1a:12 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 31 00:1a:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 32 00:1a:12 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 42 00:1a:12 0 EOF\n";
        assert_eq!(holder_in(locks, "00:1a:12"), Some(42));
        assert_eq!(holder_in(locks, "00:1a:13"), None);
    }
}
