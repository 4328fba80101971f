//! A file with the advisory lock that this process has on it.

use std::fs::File;
use std::ops::Deref;

/// Gives the lock up when it is let go, and not only its own descriptor: a program that is just being started has
/// a copy of every descriptor for a moment, and would keep the lock as long as that takes.
#[derive(Debug)]
pub struct HeldFile(File);

impl From<File> for HeldFile {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Deref for HeldFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        // What cannot be given up goes with the last descriptor.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        file.try_lock().unwrap();
        let copy = file.try_clone().unwrap();
        let held = HeldFile::from(file);
        let other = File::open(&path).unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        other.try_lock().unwrap();
        drop(copy);
    }
}
