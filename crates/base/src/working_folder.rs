//! The folder in which programs start, which another program may move or remove.
//!
//! The folder is open, so that it is found again by its identity: a program that starts in [`WorkingFolder::start`] is in the
//! same folder wherever that is now, also in one that was removed.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// A folder by its path and its identity.
#[derive(Debug)]
pub struct WorkingFolder {
    path: PathBuf,
    /// `None` if it did not exist, or where moves cannot be followed.
    open: Option<File>,
}

/// The present place of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderState {
    /// There is a folder at the path, or there never was one.
    Present,
    MovedTo(PathBuf),
    Removed,
}

impl WorkingFolder {
    pub fn new(path: &Path) -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = cfg!(target_os = "linux").then(|| openat(CWD, path, flags, Mode::empty()));
        Self {
            path: path.to_owned(),
            open: open.and_then(Result::ok).map(File::from),
        }
    }

    /// Where the folder is now. A new folder at the same path replaces a removed one: a program
    /// created it again.
    pub fn state(&self) -> FolderState {
        let Some(open) = self.open.as_ref().filter(|_| !self.path.is_dir()) else {
            return FolderState::Present;
        };
        let named = fs::read_link(descriptor(open));
        let identity = |data: fs::Metadata| (data.dev(), data.ino());
        match named {
            Ok(named)
                if fs::metadata(&named).map(identity).ok()
                    == open.metadata().map(identity).ok() =>
            {
                FolderState::MovedTo(named)
            }
            _ => FolderState::Removed,
        }
    }

    /// The path at which the folder is, or was.
    pub fn path(&self) -> PathBuf {
        match self.state() {
            FolderState::MovedTo(path) => path,
            FolderState::Present | FolderState::Removed => self.path.clone(),
        }
    }

    /// The working directory of a child of this process.
    pub fn start(&self) -> PathBuf {
        match (self.state(), &self.open) {
            (FolderState::Present, _) | (_, None) => self.path.clone(),
            (FolderState::MovedTo(path), _) => path,
            (FolderState::Removed, Some(open)) => descriptor(open),
        }
    }
}

fn descriptor(open: &File) -> PathBuf {
    format!("/proc/self/fd/{}", open.as_raw_fd()).into()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::{Invocation, run_captured};

    async fn printed(folder: &WorkingFolder, script: &str) -> String {
        let invocation = Invocation {
            cwd: Some(folder.start()),
            ..Invocation::new("sh", ["-c", script])
        };
        let output = run_captured(&invocation, None, Duration::from_mins(1)).await;
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[tokio::test]
    async fn a_folder_is_followed_and_never_made_again() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (old, new) = (root.join("old"), root.join("new"));
        fs::create_dir(&old).unwrap();
        let folder = WorkingFolder::new(&old);
        assert_eq!(folder.state(), FolderState::Present);
        fs::rename(&old, &new).unwrap();
        assert_eq!(folder.state(), FolderState::MovedTo(new.clone()));
        let pwd = format!("{}\n", new.display());
        assert_eq!(printed(&folder, "pwd").await, pwd);
        fs::remove_dir(&new).unwrap();
        assert_eq!(folder.state(), FolderState::Removed);
        assert_eq!(
            printed(&folder, "cd / && pwd; ls").await.lines().next(),
            Some("/")
        );
        assert_eq!(printed(&folder, "touch x; ls").await, "");
        assert!(!old.exists());
        fs::create_dir(&old).unwrap();
        assert_eq!(
            (folder.state(), folder.start()),
            (FolderState::Present, old)
        );
    }

    #[test]
    fn a_folder_that_never_existed_is_not_removed() {
        let folder = WorkingFolder::new(Path::new("/does/not/exist"));
        assert_eq!(folder.state(), FolderState::Present);
    }
}
