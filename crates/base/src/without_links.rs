//! Opens and creates files by real paths, which contain no symbolic links: a link that appears after the path was
//! checked is never followed. Linux does this in one call; elsewhere the path of what was opened is compared.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat};
use rustix::io::Errno;

/// Mode of new directories, without the umask.
const FOLDER_MODE: u32 = 0o777;

/// Opens the file or directory `real` for reading. Named pipes and devices do not block.
pub fn open(real: &Path) -> io::Result<File> {
    open_with(real, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Opens the file `path` for reading, of which only the last name is checked: it must be no link.
pub fn open_last(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | NO_LINK;
    let opened = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    Ok(File::from(opened))
}

/// Opens the directory `real`.
pub fn open_folder(real: &Path) -> io::Result<Folder> {
    let file = open_with(real, FOLDER)?;
    let path = real.to_owned();
    Ok(Folder { file, path })
}

/// Opens the directory `real` and creates what is missing of it.
pub fn create_folder(real: &Path) -> io::Result<Folder> {
    match open_folder(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = create_folder(parent)?;
    match mkdirat(&parent.file, name, Mode::from_raw_mode(FOLDER_MODE as _)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let file = rustix::fs::openat(&parent.file, name, FOLDER | NO_LINK, Mode::empty());
    let file = File::from(file?);
    let path = real.to_owned();
    Ok(Folder { file, path })
}

/// Whether the error means that a link appeared in a path without links.
pub fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// An open directory.
#[derive(Debug)]
pub struct Folder {
    file: File,
    path: PathBuf,
}

impl Folder {
    /// A path to `name` in this directory that stays valid when the directory is moved or replaced by a link.
    pub fn join(&self, name: &std::ffi::OsStr) -> PathBuf {
        self.stable().join(name)
    }

    /// A path to the directory itself.
    pub fn stable(&self) -> PathBuf {
        use std::os::fd::AsRawFd as _;
        let stable = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if cfg!(target_os = "linux") && stable.exists() {
            stable
        } else {
            self.path.clone()
        }
    }

    /// Whether paths of [`Self::join`] still lead to this directory: where `stable` is only the
    /// path, another directory may have it.
    pub fn is_in_place(&self) -> bool {
        self.stable() != self.path || is_at(&self.file, &self.path)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

const NO_LINK: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

fn open_with(real: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | NO_LINK;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, real, flags, Mode::empty(), resolve) {
            // An old kernel, or a filter of system calls that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            opened => return Ok(File::from(opened?)),
        }
    }
    let opened = rustix::fs::openat(CWD, real, flags, Mode::empty())?;
    let file = File::from(opened);
    if is_at(&file, real) {
        Ok(file)
    } else {
        Err(Errno::LOOP.into())
    }
}

/// Whether `file` is the file at `path`, without links.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let real = path.canonicalize().ok().filter(|real| real == path);
    let there = real.and_then(|real| std::fs::symlink_metadata(real).ok());
    let here = file.metadata().ok();
    there.is_some() && there.map(identity) == here.map(identity)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        crate::atomic_file::write(&root.join("real/file"), b"text").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("file", root.join("real/alias")).unwrap();
        for (path, opens) in [
            ("real/file", true),
            ("real", true),
            ("link/file", false),
            ("real/alias", false),
            ("none", false),
        ] {
            assert_eq!(open(&root.join(path)).is_ok(), opens, "{path}");
        }
        assert!(open(Path::new("/proc/self/exe")).is_err());
        assert!(open_folder(&root.join("link")).is_err());
        assert!(create_folder(&root.join("link/new")).is_err());
        assert!(create_folder(&root.join("real/file/new")).is_err());
        let made = create_folder(&root.join("real/a/b")).unwrap();
        crate::atomic_file::write(&made.join(OsStr::new("c")), b"made").unwrap();
        assert_eq!(fs::read(root.join("real/a/b/c")).unwrap(), b"made");
        assert!(!root.join("real/new").exists());
    }

    #[test]
    fn a_folder_stays_the_same_when_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("outside")).unwrap();
        let opened = create_folder(&root.join("inside")).unwrap();
        fs::rename(root.join("inside"), root.join("moved")).unwrap();
        symlink("outside", root.join("inside")).unwrap();
        if cfg!(target_os = "linux") {
            crate::atomic_file::write(&opened.join(OsStr::new("f")), b"x").unwrap();
            assert!(root.join("moved/f").exists());
        } else {
            assert!(!opened.is_in_place());
        }
        assert!(!root.join("outside/f").exists());
    }

    #[test]
    fn a_pipe_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, &path, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let opened = open(&path).unwrap();
        assert!(!opened.metadata().unwrap().is_file());
    }
}
