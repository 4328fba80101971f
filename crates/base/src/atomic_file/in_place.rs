//! Overwrites a file in place where it cannot be replaced: its directory is not writable, the file
//! is mounted on its own, as containers do, or it belongs to another user. This is not atomic, but
//! a failure restores the old contents.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};
use rustix::io::Errno;

use super::replaced_file::{Expected, Name, changed, id, parent, sync_directory};
use crate::{ids, private};

/// Whether a new file or a rename failed with an error that writing in place avoids.
pub(super) fn is_refused(error: &io::Error) -> bool {
    let refused = [
        Errno::ACCESS,
        Errno::PERM,
        Errno::ROFS,
        Errno::BUSY,
        Errno::XDEV,
    ];
    Errno::from_io_error(error).is_some_and(|error| refused.contains(&error))
}

/// Stores `old` in a hidden file next to `target` for the time of the write. After a crash that
/// file has the complete old content, and nothing removes it.
pub(super) fn copy_next_to(target: &Path, old: &[u8]) -> io::Result<PathBuf> {
    let folder = parent(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let copy = folder.join(format!(".{name}.before-{}", ids::random_name()));
    let mut options = File::options();
    options
        .write(true)
        .create_new(true)
        .mode(private::FILE_MODE);
    let written = options.open(&copy).and_then(|mut file| {
        file.write_all(old)?;
        file.sync_all()
    });
    if let Err(error) = written {
        let _ = std::fs::remove_file(&copy);
        return Err(error);
    }
    sync_directory(folder);
    Ok(copy)
}

/// Overwrites `target`, which has the metadata `existing`, if it is as expected.
pub(super) fn overwrite(
    target: &Path,
    existing: &Metadata,
    bytes: &[u8],
    old: &[u8],
    expected: &Expected<'_>,
) -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(target, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() || id(&metadata) != id(existing) {
        return Err(changed());
    }
    if !(expected.is_same)(target, Name::Own) {
        return Err(changed());
    }
    reserve(&file, bytes.len())?;
    write(&file, bytes).inspect_err(|_| {
        let _ = write(&file, old);
    })
}

/// Reserves the space, so that a full disk is noticed before anything is overwritten.
fn reserve(file: &File, length: usize) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, length as u64) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error.into()),
        _ => Ok(()),
    }
}

fn write(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}
