//! One writer a session: an exclusive advisory lock on its file, held as long as the file is open and
//! given up by the system when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::error::SessionError;
use osier_base::locked_file::HeldFile;

/// How often and how long apart a lock is tried. A program that is being started has the files of the one
/// that starts it for a moment, and their locks with them: also of one that has just been killed.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(10);

/// Takes the lock of the session `path`, open as `file`. Blocks, a tenth of a second at most.
pub(super) fn acquire(file: File, path: &Path) -> Result<HeldFile, SessionError> {
    let mut locked = file.try_lock();
    for _ in 1..TRIES {
        if !matches!(locked, Err(TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(BETWEEN);
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => Ok(file.into()),
        Err(TryLockError::WouldBlock) => Err(SessionError::Locked {
            path: path.to_owned(),
            pid: holder(&file),
        }),
        // A file system without locks: a session that opens is worth more than one that is guarded.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(file.into())
        }
        Err(TryLockError::Error(error)) => Err(SessionError::io("lock", path, error)),
    }
}

/// Whether another process writes to the session open as `file`.
pub fn is_held(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            // A lock that cannot be given up goes with the file.
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    }
}

/// The locks that processes hold now, looked at without touching any: a look that took one, however shortly,
/// could be in the way of somebody who opens the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locks(String);

impl Locks {
    /// What the system says now; nothing where it does not say.
    pub fn look() -> Self {
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

/// The process that holds the lock, where the system says so.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    let stat = rustix::fs::fstat(file).ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    holder_in(&locks, &place_of(&stat))
}

/// Device and inode as `/proc/locks` writes them.
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

/// Looks `place` (device and inode) up in the text of `/proc/locks`; see proc_locks(5).
#[cfg(target_os = "linux")]
fn holder_in(locks: &str, place: &str) -> Option<u32> {
    locks
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find_map(|fields| match fields[..] {
            [_, "FLOCK", _, _, pid, found, ..] if found == place => pid.parse().ok(),
            _ => None,
        })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_by_device_and_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 00:1a:12 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 31 00:1a:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 32 00:1a:12 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 42 00:1a:12 0 EOF\n";
        assert_eq!(holder_in(locks, "00:1a:12"), Some(42));
        assert_eq!(holder_in(locks, "00:1a:13"), None);
    }
}
