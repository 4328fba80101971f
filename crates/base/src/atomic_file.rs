//! Replaces files atomically: a reader sees the old bytes or the new ones, and so does the next run after a crash.
//!
//! The new bytes go to a temporary file in the target's directory, which is synced and renamed. Symbolic links are
//! followed: the target is replaced, the link stays. An existing file's mode, extended attributes and, if permitted,
//! owner stay. Other hard links still have the old bytes. A failure leaves nothing behind.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Gid, Uid};
use tempfile::NamedTempFile;
use thiserror::Error;

use crate::private;
use crate::without_links;

/// Maximum number of symbolic links to follow, as in Linux.
const MAX_LINKS: usize = 40;

/// How a file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Create missing parent directories; those of a private file are private too.
    pub parents: bool,
    /// Permission bits. By default an existing file retains its mode and a new one gets 0666 without the umask.
    pub mode: Option<u32>,
    /// The path is a real path: no symbolic link is followed, even one that appears meanwhile.
    pub no_links: bool,
}

impl Options {
    /// For a file that may contain secrets.
    pub const PRIVATE: Self = Self {
        parents: true,
        mode: Some(private::FILE_MODE),
        no_links: false,
    };
}

/// Why a file was not written. The file is unchanged.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("no permission to write `{}`", path.display())]
    Permission { path: PathBuf },
    #[error("no space left to write `{}`", path.display())]
    NoSpace { path: PathBuf },
    #[error("`{}` is on a read-only file system", path.display())]
    ReadOnly { path: PathBuf },
    #[error("the directory of `{}` does not exist", path.display())]
    MissingParent { path: PathBuf },
    #[error("a parent of `{}` is not a directory", path.display())]
    ParentNotDirectory { path: PathBuf },
    #[error("`{}` is a directory", path.display())]
    Directory { path: PathBuf },
    #[error("`{}` is not a regular file", path.display())]
    NotRegular { path: PathBuf },
    #[error("`{}` changed while it was being written", path.display())]
    Changed { path: PathBuf },
    #[error("a directory of `{}` became a symbolic link while it was being written", path.display())]
    Moved { path: PathBuf },
    #[error("cannot write `{}`: {source}", path.display())]
    Other { path: PathBuf, source: io::Error },
}

impl WriteError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Permission { .. } => {
                "change the permissions of the file and its directory, or write elsewhere"
            }
            Self::NoSpace { .. } => "free some space and try again; nothing was changed",
            Self::ReadOnly { .. } => "write elsewhere, or remount the file system",
            Self::MissingParent { .. } => "create the directory first",
            Self::ParentNotDirectory { .. } | Self::Directory { .. } | Self::NotRegular { .. } => {
                "choose another path"
            }
            Self::Changed { .. } => "read it again first; nothing was changed",
            Self::Moved { .. } => "try again; nothing was changed",
            Self::Other { .. } => "check the path and try again; nothing was changed",
        }
    }

    fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::NotFound => Self::MissingParent { path },
            // Creating parents fails with either error if a file is in the way.
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                Self::ParentNotDirectory { path }
            }
            io::ErrorKind::IsADirectory => Self::Directory { path },
            _ => Self::Other { path, source },
        }
    }
}

/// Replaces the contents of `path` with `bytes`, or creates the file. Its directory must exist.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_with(path, bytes, Options::default())
}

/// Like [`write()`], with options.
pub fn write_with(path: &Path, bytes: &[u8], options: Options) -> Result<(), WriteError> {
    write_guarded(path, bytes, options, None)
}

/// Like [`write_with`], but fails if another process changed the file: `is_same` checks, just before the rename,
/// whether the path (with links resolved) is still the expected file. A new file must not exist yet.
pub fn write_if(
    path: &Path,
    bytes: &[u8],
    options: Options,
    is_same: &dyn Fn(&Path) -> bool,
) -> Result<(), WriteError> {
    write_guarded(path, bytes, options, Some(is_same))
}

type Guard<'a> = Option<&'a dyn Fn(&Path) -> bool>;

fn write_guarded(
    path: &Path,
    bytes: &[u8],
    options: Options,
    guard: Guard<'_>,
) -> Result<(), WriteError> {
    if options.no_links {
        return write_without_links(path, bytes, options, guard);
    }
    let fail = |source| WriteError::new(path, source);
    let target = follow_links(path).map_err(fail)?;
    if options.parents {
        // Before the parents: a directory in its place is the better error.
        existing(path, &target)?;
        let is_private = options.mode == Some(private::FILE_MODE);
        let created = if is_private {
            private::create_folder(parent(&target))
        } else {
            fs::create_dir_all(parent(&target))
        };
        created.map_err(fail)?;
    }
    replace(path, &target, bytes, options.mode, guard)
}

/// The directory of the file stays open, so that its path can change meanwhile.
fn write_without_links(
    path: &Path,
    bytes: &[u8],
    options: Options,
    guard: Guard<'_>,
) -> Result<(), WriteError> {
    let fail = |source| {
        if without_links::is_link_error(&source) {
            let path = path.to_path_buf();
            WriteError::Moved { path }
        } else {
            WriteError::new(path, source)
        }
    };
    let Some(name) = path.file_name() else {
        let path = path.to_path_buf();
        return Err(WriteError::Directory { path });
    };
    let open = if options.parents {
        without_links::create_folder
    } else {
        without_links::open_folder
    };
    let folder = open(parent(path)).map_err(fail)?;
    let target = folder.join(name);
    let is_same =
        |target: &Path| folder.is_in_place() && guard.is_none_or(|is_same| is_same(target));
    let guard: Guard<'_> = if guard.is_some() {
        Some(&is_same)
    } else {
        None
    };
    replace(path, &target, bytes, options.mode, guard)
}

/// Replaces `target`, which is no link. `path` is its name in errors.
fn replace(
    path: &Path,
    target: &Path,
    bytes: &[u8],
    mode: Option<u32>,
    guard: Guard<'_>,
) -> Result<(), WriteError> {
    let fail = |source| WriteError::new(path, source);
    let existing = existing(path, target)?;
    let directory = parent(target);
    let existing = existing.as_ref().map(|metadata| (target, metadata));
    let temporary = prepare(directory, bytes, existing, mode).map_err(fail)?;
    if guard.is_some_and(|is_same| !is_same(target)) {
        let path = path.to_path_buf();
        return Err(WriteError::Changed { path });
    }
    let persisted = match (guard, existing) {
        (Some(_), None) => temporary.persist_noclobber(target),
        _ => temporary.persist(target),
    };
    if let Err(error) = persisted {
        let path = path.to_path_buf();
        return Err(match error.error.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Changed { path },
            _ => WriteError::new(&path, error.error),
        });
    }
    sync_directory(directory);
    Ok(())
}

/// The metadata of the file to replace, if it exists and can be replaced.
fn existing(path: &Path, target: &Path) -> Result<Option<Metadata>, WriteError> {
    let metadata = match fs::symlink_metadata(target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WriteError::new(path, error)),
    };
    let path = path.to_path_buf();
    if metadata.is_dir() {
        return Err(WriteError::Directory { path });
    }
    if !metadata.is_file() {
        return Err(WriteError::NotRegular { path });
    }
    // A rename would ignore the file's own permissions.
    if rustix::fs::access(target, Access::WRITE_OK)
        .is_err_and(|error| error == rustix::io::Errno::ACCESS)
    {
        return Err(WriteError::Permission { path });
    }
    Ok(Some(metadata))
}

/// The new file under a temporary name, complete and synced. Dropping it removes it.
fn prepare(
    directory: &Path,
    bytes: &[u8],
    existing: Option<(&Path, &Metadata)>,
    mode: Option<u32>,
) -> io::Result<NamedTempFile> {
    let mut name = tempfile::Builder::new();
    name.prefix(".osier-").suffix(".tmp");
    prepare_as(&mut name, directory, bytes, existing, mode)
}

/// A file with `bytes` in `directory`, complete and synced, that will replace `existing`: it has its owner, its extended
/// attributes and, without `mode`, its mode. `name` has its temporary name. Dropping it removes it.
pub fn prepare_as(
    name: &mut tempfile::Builder<'_, '_>,
    directory: &Path,
    bytes: &[u8],
    existing: Option<(&Path, &Metadata)>,
    mode: Option<u32>,
) -> io::Result<NamedTempFile> {
    // The umask applies to the mode at creation, as for any new file.
    let mut temporary = name
        .permissions(Permissions::from_mode(mode.unwrap_or(match existing {
            Some(_) => 0o600,
            None => 0o666,
        })))
        .tempfile_in(directory)?;
    temporary.write_all(bytes)?;
    if let Some((old, metadata)) = existing {
        keep_owner(temporary.as_file(), metadata);
        keep_attributes(temporary.as_file(), old);
    }
    // After the change of owner, which clears set-id bits.
    // As when a file is changed: it does not run as another user with other contents.
    let kept = existing.map(|(_, metadata)| metadata.mode() & 0o1777);
    if let Some(mode) = mode.or(kept) {
        temporary
            .as_file()
            .set_permissions(Permissions::from_mode(mode))?;
    }
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Only root can change the owner; otherwise at least the group is tried.
fn keep_owner(file: &File, existing: &Metadata) {
    let Ok(own) = file.metadata() else { return };
    if own.uid() != existing.uid() {
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(existing.uid())), None);
    }
    if own.gid() != existing.gid() {
        let _ = rustix::fs::fchown(file, None, Some(Gid::from_raw(existing.gid())));
    }
}

/// Copies access lists, labels and other extended attributes, as far as permitted.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn keep_attributes(file: &File, old: &Path) {
    use rustix::fs::{Mode, OFlags, XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(old) = rustix::fs::open(old, flags, Mode::empty()) else {
        return;
    };
    let mut names = vec![0_u8; 16 * 1024];
    let Ok(length) = flistxattr(&old, &mut names[..]) else {
        return;
    };
    let names = &names[..length];
    let mut value = vec![0_u8; 64 * 1024];
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        if let Ok(length) = fgetxattr(&old, name, &mut value[..]) {
            let _ = fsetxattr(file, name, &value[..length], XattrFlags::empty());
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn keep_attributes(_file: &File, _old: &Path) {}

/// Makes the rename durable. Ignored on file systems that cannot sync a directory.
pub fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

/// The target of `path` if it is a link; the target need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = parent(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn existing_file_retains_mode_and_owner() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("run.sh");
        write(&path, b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let root = rustix::process::geteuid().is_root();
        if root {
            std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
        }
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(mode(&path), 0o751);
        if root {
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
        }
        assert_eq!(names(dir.path()), ["run.sh"]);
    }

    #[test]
    fn a_changed_file_runs_as_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(mode(&path), 0o755);
    }

    #[test]
    fn requested_mode_is_set_on_new_and_existing_files() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("auth.json");
        let private = Options {
            mode: Some(0o600),
            ..Options::default()
        };
        write_with(&path, b"{}", private).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write_with(&path, b"{}", private).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn links_are_followed_and_stay() {
        let dir = TempDir::new().unwrap();
        let real = dir.path().join("real");
        fs::create_dir(&real).unwrap();
        write(&real.join("file"), b"old").unwrap();
        symlink("real/file", dir.path().join("first")).unwrap();
        symlink("first", dir.path().join("second")).unwrap();
        symlink("real/new", dir.path().join("dangling")).unwrap();

        write(&dir.path().join("second"), b"new").unwrap();
        write(&dir.path().join("dangling"), b"made").unwrap();

        assert_eq!(fs::read(real.join("file")).unwrap(), b"new");
        assert_eq!(fs::read(real.join("new")).unwrap(), b"made");
        assert_eq!(
            fs::read_link(dir.path().join("second")).unwrap(),
            Path::new("first")
        );
        assert_eq!(names(&real), ["file", "new"]);
    }

    #[test]
    fn link_loop_is_an_error() {
        let dir = TempDir::new().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let error = write(&dir.path().join("a"), b"x").unwrap_err();
        assert!(matches!(error, WriteError::Other { .. }), "{error:?}");
    }

    #[test]
    fn parents_are_created_only_on_request() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a/b/c.txt");
        assert!(matches!(
            write(&path, b"x"),
            Err(WriteError::MissingParent { .. })
        ));
        let parents = Options {
            parents: true,
            ..Options::default()
        };
        write_with(&path, b"x", parents).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }

    #[test]
    fn other_file_types_are_rejected_by_name() {
        let dir = TempDir::new().unwrap();
        write(&dir.path().join("file"), b"").unwrap();
        let parents = Options {
            parents: true,
            ..Options::default()
        };
        let below_file = dir.path().join("file/deep/er");
        assert!(matches!(
            write_with(&below_file, b"x", parents),
            Err(WriteError::ParentNotDirectory { .. })
        ));
        assert!(matches!(
            write(dir.path(), b"x"),
            Err(WriteError::Directory { .. })
        ));
        assert!(matches!(
            write(Path::new("/dev/null"), b"x"),
            Err(WriteError::NotRegular { .. })
        ));
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn concurrent_change_is_not_overwritten() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        let theirs = |target: &Path| {
            write(target, b"theirs").unwrap();
            true
        };
        // The file did not exist when we began.
        let error = write_if(&path, b"ours", Options::default(), &theirs).unwrap_err();
        assert!(matches!(error, WriteError::Changed { .. }), "{error:?}");
        let error = write_if(&path, b"ours", Options::default(), &|_| false).unwrap_err();
        assert!(matches!(error, WriteError::Changed { .. }), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        write_if(&path, b"ours", Options::default(), &|_| true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn extended_attributes_stay() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        write(&path, b"one").unwrap();
        if let Err(error) = setxattr(&path, "user.osier", b"kept", XattrFlags::empty()) {
            osier_testing::skip::unsupported("xattr", &error.to_string());
            return;
        }
        write(&path, b"two").unwrap();
        let mut value = [0; 8];
        let length = getxattr(&path, "user.osier", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }

    #[test]
    fn other_hard_link_retains_the_old_bytes() {
        let dir = TempDir::new().unwrap();
        let (path, other) = (dir.path().join("f"), dir.path().join("g"));
        write(&path, b"old").unwrap();
        fs::hard_link(&path, &other).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(&other).unwrap(), b"old");
    }

    #[test]
    fn full_disk_is_reported_as_such() {
        let error = WriteError::new(Path::new("f"), io::Error::from_raw_os_error(28));
        assert_eq!(error.to_string(), "no space left to write `f`");
    }
}
