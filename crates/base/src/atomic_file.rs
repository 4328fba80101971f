//! Replaces files atomically: a reader sees the old bytes or the new ones, and so does the next run after a crash.
//!
//! The new bytes go to a [`PendingFile`] in the target's directory, which is synced and named. Symbolic links are
//! followed: the target is replaced, the link stays. An existing file's mode, extended attributes and, if permitted,
//! owner stay; a guarded write overwrites the file in place where its owner, group or access list could not stay. Other
//! hard links still have the old bytes. A failure leaves nothing behind.

mod in_place;
mod replaced_file;

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Gid, Uid};
use rustix::io::Errno;
use thiserror::Error;

pub use self::replaced_file::{Expected, Name, sync_directory};
use self::replaced_file::{changed, id, parent};
use crate::fault;
use crate::file_exchange;
use crate::pending_file::{PendingFile, rename_new};
use crate::private;
use crate::{regular_file, without_links};

/// Maximum number of symbolic links to follow, as in Linux.
const MAX_LINKS: usize = 40;

/// Maximum number of attempts to restore the file of another process that writes it again each
/// time.
const PUT_BACK: usize = 100;

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
    /// Options for a file that may contain secrets.
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
    /// The advice for the user, shown after the error.
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
    write_guarded(path, bytes, options, None).map(drop)
}

/// Like [`write_with`], but never overwrites what another process wrote. The new file and the
/// present one are exchanged; if the present one is not the expected file, they are exchanged
/// again. If no file is expected, none may exist. A file with known content is overwritten in place
/// if its directory refuses a new file or the exchange, or if the new file would have another
/// owner, group or access list.
///
/// # Errors
/// [`WriteError::Changed`]. The file is as the other process wrote it.
pub fn write_if(
    path: &Path,
    bytes: &[u8],
    options: Options,
    expected: &Expected<'_>,
) -> Result<Replaced, WriteError> {
    write_guarded(path, bytes, options, Some(expected))
}

/// How a file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    Atomically,
    /// Overwritten in place, because the directory refuses a new file or the exchange.
    InDirectory,
    /// Overwritten in place, because a new file would have another owner, group or access list.
    WithOwner,
}

impl Replaced {
    /// A note for the user and the model, if the file was not replaced atomically.
    pub fn note(self) -> &'static str {
        match self {
            Self::Atomically => "",
            Self::InDirectory => {
                "[the file was overwritten in place, because its directory does not allow replacing it]"
            }
            Self::WithOwner => {
                "[the file was overwritten in place, to keep its owner, group and access list]"
            }
        }
    }
}

type Guard<'a> = Option<&'a Expected<'a>>;

fn write_guarded(
    path: &Path,
    bytes: &[u8],
    options: Options,
    guard: Guard<'_>,
) -> Result<Replaced, WriteError> {
    if options.no_links {
        return write_without_links(path, bytes, options, guard);
    }
    let fail = |source| WriteError::new(path, source);
    let target = follow_links(path).map_err(fail)?;
    if options.parents {
        // Checked before the parents are created: a directory at the path is the better error.
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
) -> Result<Replaced, WriteError> {
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
    let Some(expected) = guard else {
        return replace(path, &target, bytes, options.mode, None);
    };
    let is_same = |target: &Path, name| folder.is_in_place() && (expected.is_same)(target, name);
    let expected = Expected {
        is_same: &is_same,
        ..*expected
    };
    replace(path, &target, bytes, options.mode, Some(&expected))
}

/// Replaces `target`, which is no link. `path` is its name in errors.
fn replace(
    path: &Path,
    target: &Path,
    bytes: &[u8],
    mode: Option<u32>,
    guard: Guard<'_>,
) -> Result<Replaced, WriteError> {
    let fail = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Changed {
            path: path.to_path_buf(),
        },
        _ => WriteError::new(path, error),
    };
    let metadata = existing(path, target)?;
    let directory = parent(target);
    let existing = metadata.as_ref().map(|metadata| (target, metadata));
    let mut in_place = Replaced::InDirectory;
    let replaced =
        prepare(directory, bytes, existing, mode).and_then(|file| match (guard, existing) {
            (None, _) => file.persist(target).map(drop),
            (Some(expected), _) if !(expected.is_same)(target, Name::Own) => Err(changed()),
            (Some(_), None) => file.persist_new(target).map(drop),
            (Some(expected), Some((_, metadata)))
                if expected.content.is_some() && !has_access_of(file.file(), target, metadata) =>
            {
                in_place = Replaced::WithOwner;
                Err(Errno::PERM.into())
            }
            (Some(expected), Some(_)) => exchange(file, target, bytes, expected),
        });
    match (replaced, guard, &metadata) {
        (Ok(()), guard, _) => {
            if guard.is_some() {
                file_exchange::report_written(target);
            }
            sync_directory(directory);
            Ok(Replaced::Atomically)
        }
        (Err(error), Some(expected), Some(metadata)) if in_place::is_refused(&error) => {
            let Some(old) = expected.content else {
                return Err(fail(error));
            };
            let copy = match in_place {
                Replaced::WithOwner => Some(in_place::copy_next_to(target, old).map_err(fail)?),
                _ => None,
            };
            let written = in_place::overwrite(target, metadata, bytes, old, expected);
            if let Some(copy) = copy {
                let _ = fs::remove_file(copy);
            }
            written.map_err(fail)?;
            Ok(in_place)
        }
        (Err(error), ..) => Err(fail(error)),
    }
}

/// Replaces `target` with `file`, which has the content `new`, if it is as expected.
fn exchange(
    file: PendingFile,
    target: &Path,
    new: &[u8],
    expected: &Expected<'_>,
) -> io::Result<()> {
    let ours = State {
        id: id(&file.file().metadata()?),
        content: Some(new.to_owned()),
    };
    fault::point();
    let displaced = match file.exchange(target, expected.content, new) {
        Ok(displaced) => displaced,
        Err((file, error)) => {
            return match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Err(changed()),
                // The file system cannot exchange files.
                Some(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
                    if (expected.is_same)(target, Name::Own) =>
                {
                    file.persist(target).map(drop)
                }
                _ => Err(error),
            };
        }
    };
    fault::point();
    let is_expected = || (expected.is_same)(&displaced, Name::Temporary);
    if is_expected() {
        // A program that opened the file before the exchange may write it while this waits for the disk.
        sync_directory(parent(target));
        if is_expected() {
            // The file is replaced even if this fails. The sweeper removes what was displaced.
            let _ = fs::remove_file(&displaced);
            return Ok(());
        }
    }
    put_back(&displaced, target, ours);
    Err(changed())
}

/// Maximum bytes of a file whose content is compared.
const COMPARED: u64 = 256 << 20;

/// The identity and the stamp of a file at one moment.
#[derive(PartialEq, Eq)]
struct State {
    /// Device and inode.
    id: (u64, u64),
    content: Option<Vec<u8>>,
}

impl State {
    /// The file at `path`, which is not followed if it is a link.
    fn of(path: &Path) -> Option<Self> {
        let id = id(&fs::symlink_metadata(path).ok()?);
        let content = regular_file::read_last(path, COMPARED).ok();
        Some(Self { id, content })
    }
}

/// Exchanges the file of another process, `displaced`, with `target`. If that does not displace what was `placed` there,
/// the other process has written again, and its newer file is put back likewise.
fn put_back(displaced: &Path, target: &Path, mut placed: State) {
    for _ in 0..PUT_BACK {
        let Some(next) = State::of(displaced) else {
            return;
        };
        fault::point();
        match file_exchange::exchange(displaced, target) {
            Ok(()) if State::of(displaced).is_some_and(|now| now == placed) => {
                let _ = fs::remove_file(displaced);
                return;
            }
            Ok(()) => placed = next,
            // The target was deleted, so only the displaced file has the content.
            Err(Errno::NOENT) if rename_new(displaced, target).is_ok() => return,
            // The file keeps its temporary name: no sweep removes it.
            Err(_) => return,
        }
    }
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

/// A file with `bytes` in `directory`, complete and synced, that will replace `existing`: the new file has the owner,
/// the extended attributes and, without `mode`, the mode of `existing`.
pub fn prepare(
    directory: &Path,
    bytes: &[u8],
    existing: Option<(&Path, &Metadata)>,
    mode: Option<u32>,
) -> io::Result<PendingFile> {
    // The umask applies to the mode at creation, as for any new file.
    let first = mode.unwrap_or(match existing {
        Some(_) => 0o600,
        None => 0o666,
    });
    let pending = PendingFile::create(directory, first)?;
    let mut file = pending.file();
    file.write_all(bytes)?;
    if let Some((old, metadata)) = existing {
        keep_owner(file, metadata);
        keep_attributes(file, old);
    }
    // Set after the owner, whose change clears set-id bits. They stay cleared, as when a program
    // writes the file: new contents must not run as another user.
    let kept = existing.map(|(_, metadata)| metadata.mode() & 0o1777);
    if let Some(mode) = mode.or(kept) {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()?;
    Ok(pending)
}

/// Gives the new file the owner and the group of `existing`, as far as permitted: only root can
/// change the owner.
fn keep_owner(file: &File, existing: &Metadata) {
    let Ok(own) = file.metadata() else { return };
    if own.uid() != existing.uid() {
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(existing.uid())), None);
    }
    if own.gid() != existing.gid() {
        let _ = rustix::fs::fchown(file, None, Some(Gid::from_raw(existing.gid())));
    }
}

/// Whether the new `file` has the owner, the group and the access list of the file at `old`.
fn has_access_of(file: &File, old: &Path, existing: &Metadata) -> bool {
    file.metadata()
        .is_ok_and(|own| (own.uid(), own.gid()) == (existing.uid(), existing.gid()))
        && access_list_of_file(file) == access_list(old)
}

/// The bytes of a POSIX access list; `None` without one.
#[cfg(target_os = "linux")]
fn access_list(path: &Path) -> Option<Vec<u8>> {
    let mut value = vec![0; 64 * 1024];
    let length = rustix::fs::lgetxattr(path, ACCESS_LIST, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

#[cfg(target_os = "linux")]
fn access_list_of_file(file: &File) -> Option<Vec<u8>> {
    let mut value = vec![0; 64 * 1024];
    let length = rustix::fs::fgetxattr(file, ACCESS_LIST, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

/// The attribute of the kernel that holds a POSIX access list.
#[cfg(target_os = "linux")]
const ACCESS_LIST: &str = "system.posix_acl_access";

#[cfg(not(target_os = "linux"))]
fn access_list(_path: &Path) -> Option<Vec<u8>> {
    None
}

#[cfg(not(target_os = "linux"))]
fn access_list_of_file(_file: &File) -> Option<Vec<u8>> {
    None
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

#[cfg(test)]
mod tests;
