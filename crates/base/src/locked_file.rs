//! A file with an advisory lock of this process.

use std::fs::File;
use std::ops::Deref;

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
    fn copied_descriptor_does_not_hold_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        file.try_lock().unwrap();
        let copy = file.try_clone().unwrap();
        let held = LockedFile::from(file);
        let other = File::open(&path).unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        other.try_lock().unwrap();
        drop(copy);
    }
}
