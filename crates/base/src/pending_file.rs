//! A file that is being written. It has no name until it is complete, so that a killed process leaves nothing. Where the
//! system has no such files, and just before another file is replaced, it has a temporary name, which
//! [`leftovers`](crate::leftovers) recognizes.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::file_exchange::exchange;
use crate::ids;

const PREFIX: &str = ".osier-";
const SUFFIX: &str = ".tmp";
/// Attempts to find a free temporary name.
const TRIES: u32 = 100;

/// A file that is being written. Dropping it removes it.
#[derive(Debug)]
pub struct PendingFile {
    file: File,
    folder: PathBuf,
    /// The temporary name, if it has one.
    name: Option<PathBuf>,
}

impl PendingFile {
    /// An empty file in `folder`. The umask applies to `mode`.
    pub fn create(folder: &Path, mode: u32) -> io::Result<Self> {
        if let Some(file) = unnamed::create(folder, mode) {
            let folder = folder.to_owned();
            let name = None;
            return Ok(Self { file, folder, name });
        }
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(mode);
        let (name, file) = with_free_name(folder, "", |name| options.open(name))?;
        protect(&file);
        let (folder, name) = (folder.to_owned(), Some(name));
        Ok(Self { file, folder, name })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// A path that leads to the file in this process only.
    pub fn path(&self) -> PathBuf {
        let number = self.file.as_raw_fd();
        let unnamed = || PathBuf::from(format!("/proc/self/fd/{number}"));
        self.name.clone().unwrap_or_else(unnamed)
    }

    /// Gives the file the name `target`, which must be free.
    ///
    /// # Errors
    /// `AlreadyExists` if there is a file.
    pub fn persist_new(mut self, target: &Path) -> io::Result<File> {
        match &self.name {
            None => unnamed::link(&self.file, target)?,
            // A link is atomic also where a rename without replacement is not.
            Some(name) => match fs::hard_link(name, target) {
                Ok(()) => drop(fs::remove_file(name)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => rename_new(name, target)?,
            },
        }
        self.name = None;
        self.into_file()
    }

    /// Gives the file the name `target` and replaces an existing file.
    pub fn persist(mut self, target: &Path) -> io::Result<File> {
        if self.name.is_none() {
            match unnamed::link(&self.file, target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => return linked.and_then(|()| self.into_file()),
            }
        }
        fs::rename(self.name("")?, target)?;
        self.name = None;
        self.into_file()
    }

    /// Exchanges the file with the one at `target`. The displaced file has the returned temporary name, and nobody but
    /// the caller removes it unless it has the content `old`. Fails without a change if there is no file, or if the file
    /// system cannot exchange files.
    pub(crate) fn exchange(
        mut self,
        target: &Path,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<PathBuf, (Self, io::Error)> {
        let old = old.map_or_else(String::new, content_mark);
        let known = format!("{old}-{}-", content_mark(new));
        let exchanged = self.name(&known).and_then(|name| {
            exchange(name, target)?;
            Ok(name.to_owned())
        });
        match exchanged {
            Ok(displaced) => {
                self.name = None;
                Ok(displaced)
            }
            Err(error) => Err((self, error)),
        }
    }

    /// The temporary name, which begins with `known`.
    fn name(&mut self, known: &str) -> io::Result<&Path> {
        let name = match self.name.take() {
            Some(name) if known.is_empty() => name,
            Some(name) => {
                let (renamed, ()) = with_free_name(&self.folder, known, |to| rename_new(&name, to))
                    .inspect_err(|_| drop(fs::remove_file(&name)))?;
                renamed
            }
            None => {
                protect(&self.file);
                let link = |name: &Path| unnamed::link(&self.file, name);
                with_free_name(&self.folder, known, link)?.0
            }
        };
        Ok(self.name.insert(name))
    }

    fn into_file(self) -> io::Result<File> {
        // The new handle is for the same open file: its locks stay.
        self.file.try_clone()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// Shows other processes that the file with a temporary name is in use. The file system may have no locks.
fn protect(file: &File) {
    let _ = file.try_lock();
}

fn with_free_name<T>(
    folder: &Path,
    known: &str,
    create: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut tries = 0;
    loop {
        let random = ids::random_name();
        let name = folder.join(format!("{PREFIX}{known}{random}{SUFFIX}"));
        match create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {
                tries += 1;
            }
            created => return Ok((name, created?)),
        }
    }
}

/// Renames a file to a name that no file has.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system has no atomic rename without replacement: check first.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        renamed => Ok(renamed?),
    }
}

/// Identifies a content in a temporary name.
pub(crate) fn content_mark(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("{:016x}", hasher.finish())
}

/// The state of a temporary file, read from its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Temporary<'a> {
    /// An incomplete or complete new file.
    New,
    /// A file of an earlier version of osier, which did not lock it.
    Earlier,
    /// A file that is not needed if its content has one of these marks. Otherwise another program
    /// wrote it.
    Either([&'a str; 2]),
}

/// Reads a temporary name; `None` for other names.
pub(crate) fn temporary(name: &str) -> Option<Temporary<'_>> {
    let inner = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let parts: Vec<&str> = inner.split('-').collect();
    match parts[..] {
        [random] if is_plain(random) && random.len() == ids::RANDOM_NAME => Some(Temporary::New),
        [random] if is_plain(random) && random.len() == 6 => Some(Temporary::Earlier),
        [old, new, random] if is_plain(random) && random.len() == ids::RANDOM_NAME => {
            let is_mark = |mark: &str| mark.len() == 16 && is_plain(mark);
            ((old.is_empty() || is_mark(old)) && is_mark(new))
                .then_some(Temporary::Either([old, new]))
        }
        _ => None,
    }
}

/// Files without a name, which only Linux has.
#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;
    use std::sync::OnceLock;

    use rustix::fs::{AtFlags, CWD, OFlags, linkat};

    static CAN_LINK: OnceLock<bool> = OnceLock::new();

    /// `None` if the file system or the system has none.
    pub(super) fn create(folder: &Path, mode: u32) -> Option<File> {
        let open = || {
            let mut options = File::options();
            let flags = OFlags::TMPFILE.bits().cast_signed();
            options.read(true).write(true).mode(mode);
            options.custom_flags(flags).open(folder)
        };
        // The test needs another file: one whose only name was removed cannot get a name again.
        let file = open().ok()?;
        let can_link = *CAN_LINK.get_or_init(|| open().is_ok_and(|file| can_link(&file, folder)));
        can_link.then_some(file)
    }

    /// Whether files can get a name: `/proc` may be missing, or a security module may forbid it.
    fn can_link(file: &File, folder: &Path) -> bool {
        let linked = super::with_free_name(folder, "", |name| link(file, name));
        linked.is_ok_and(|(name, ())| std::fs::remove_file(name).is_ok())
    }

    pub(super) fn link(file: &File, target: &Path) -> io::Result<()> {
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, source, CWD, target, AtFlags::SYMLINK_FOLLOW)?;
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn create(_folder: &Path, _mode: u32) -> Option<File> {
        None
    }

    pub(super) fn link(_file: &File, _target: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn temporary_names_are_read() {
        let mark = content_mark(b"text");
        let random = "0123456789ab";
        let both = format!(".osier-{mark}-{mark}-{random}.tmp");
        for (name, expected) in [
            (".osier-aB3dE6.tmp", Some(Temporary::Earlier)),
            (".osier-0123456789ab.tmp", Some(Temporary::New)),
            (both.as_str(), Some(Temporary::Either([&mark, &mark]))),
            (".osier-1234-3.old.tmp", None),
            (".osier-notes.tmp", None),
            (".osier-.tmp", None),
            ("osier-aB3dE6.tmp", None),
            (".osier-aB3dE6.tmp.txt", None),
        ] {
            assert_eq!(temporary(name), expected, "{name}");
        }
    }

    #[test]
    fn a_file_has_no_name_until_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let new = |text: &str| {
            let file = PendingFile::create(folder.path(), 0o600).unwrap();
            file.file().write_all(text.as_bytes()).unwrap();
            file
        };
        let (target, other) = (folder.path().join("a"), folder.path().join("b"));
        let one = new("one");
        if cfg!(target_os = "linux") && unnamed::create(folder.path(), 0o600).is_some() {
            assert_eq!(names(), 0);
        }
        one.persist_new(&target).unwrap();
        let error = new("two").persist_new(&target).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"one");
        new("three").persist(&target).unwrap();
        new("four").persist(&other).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"three");
        assert_eq!(fs::read(&other).unwrap(), b"four");
        drop(new("five"));
        assert_eq!(names(), 2);
    }
}
