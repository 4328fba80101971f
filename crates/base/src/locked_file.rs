//! A file with an advisory lock of this process. All locks of osier are taken here: a file system without locks, such as
//! NFS without a lock service, is the same everywhere.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::io::Errno;

/// States of [`WITHOUT_LOCKS`]: a file system without locks was found; the user has the warning.
const FOUND: u8 = 1;
const REPORTED: u8 = 2;

static WITHOUT_LOCKS: AtomicU8 = AtomicU8::new(0);

/// Locks `file` for this process alone; `false` while another process has the lock. A file system without locks counts
/// as locked: an unprotected file is better than no file.
pub fn try_lock(file: &File) -> io::Result<bool> {
    outcome(|| file.try_lock())
}

/// Like [`try_lock`], together with other processes that share the lock.
pub fn try_share(file: &File) -> io::Result<bool> {
    outcome(|| file.try_lock_shared())
}

/// Like [`try_lock`], but waits.
pub fn lock(file: &File) -> io::Result<()> {
    outcome(|| file.lock().map_err(TryLockError::Error)).map(drop)
}

/// Like [`try_share`], but waits.
pub fn share(file: &File) -> io::Result<()> {
    outcome(|| file.lock_shared().map_err(TryLockError::Error)).map(drop)
}

fn outcome(lock: impl Fn() -> Result<(), TryLockError>) -> io::Result<bool> {
    match lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        // A signal interrupted the wait.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {
            outcome(lock)
        }
        Err(TryLockError::Error(error)) if is_without_locks(&error) => {
            let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = WITHOUT_LOCKS.compare_exchange(0, FOUND, set, get);
            Ok(true)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_without_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error() == Some(Errno::NOLCK.raw_os_error())
}

/// Whether a file system without locks was used in this process.
pub fn are_missing() -> bool {
    WITHOUT_LOCKS.load(Ordering::Relaxed) != 0
}

/// A warning about a file system without locks, once in a process.
pub fn warning() -> Option<&'static str> {
    let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
    let found = WITHOUT_LOCKS.compare_exchange(FOUND, REPORTED, set, get);
    found.is_ok().then_some(
        "the file system has no file locks (NFS without a lock service?): do not open a session in two osiers at once",
    )
}

/// Releases the lock when dropped, instead of only closing its descriptor: a child process that is just starting
/// briefly has a copy of every descriptor and would hold the lock that long.
#[derive(Debug)]
pub struct LockedFile(File);

impl From<File> for LockedFile {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // If unlocking fails, closing the last descriptor releases the lock.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_without_locks_counts_as_locked_and_is_reported_once() {
        let failed = |errno: Errno| move || Err(TryLockError::Error(errno.into()));
        assert!(outcome(|| Ok(())).unwrap());
        assert!(!outcome(|| Err(TryLockError::WouldBlock)).unwrap());
        assert!(outcome(failed(Errno::IO)).is_err());
        assert_eq!((are_missing(), warning()), (false, None));
        for errno in [Errno::NOLCK, Errno::NOTSUP, Errno::NOSYS] {
            assert!(outcome(failed(errno)).unwrap(), "{errno}");
        }
        assert!(are_missing() && warning().is_some());
        assert!(outcome(failed(Errno::NOLCK)).unwrap());
        assert_eq!(warning(), None);
    }

    #[test]
    fn signal_does_not_end_the_attempt_to_lock() {
        let attempts = std::cell::Cell::new(0);
        let locked = outcome(|| match attempts.replace(attempts.get() + 1) {
            0 | 1 => Err(TryLockError::Error(Errno::INTR.into())),
            _ => Ok(()),
        });
        assert_eq!((locked.unwrap(), attempts.get()), (true, 3));
    }

    #[test]
    fn copied_descriptor_does_not_hold_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        assert!(try_lock(&file).unwrap());
        let copy = file.try_clone().unwrap();
        let held = LockedFile::from(file);
        let other = File::open(&path).unwrap();
        assert!(!try_lock(&other).unwrap() && !try_share(&other).unwrap());
        drop(held);
        assert!(try_lock(&other).unwrap());
        drop(copy);
    }
}
