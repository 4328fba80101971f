//! Reads files that osier opens without being asked: configuration, instructions, what a project contains. Someone
//! else may have prepared them, so only regular files of a limited size are read. A named pipe, a device or an endless
//! file neither blocks nor fills the memory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};

use crate::without_links;

/// Folders of the kernel: their files are regular but show the state of processes and devices.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Maximum bytes of a small file: settings, keys, a list.
pub const SMALL: u64 = 16 * 1024 * 1024;

/// Maximum bytes of a file that the user names in a command line.
pub const NAMED: u64 = 64 * 1024 * 1024;

/// Time for a program to open a named pipe for writing.
const WRITER: Duration = Duration::from_secs(2);

/// The folder below `/dev` that has files of users, in memory.
const MEMORY: &str = "/dev/shm";

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("does not exist")]
    Missing,
    /// The file, or a folder above it, is a link to nothing: the user who made the link expects a file.
    #[error("cannot be read: the symbolic link `{}` leads to nothing", link.display())]
    BrokenLink { link: PathBuf },
    #[error("is not a regular file")]
    NotRegular,
    #[error("is a pipe that no program writes to")]
    NoWriter,
    #[error("is not a folder")]
    NotFolder,
    #[error("has more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("leads out of `{}` through a symbolic link", folder.display())]
    Outside { folder: PathBuf },
    #[error("is not UTF-8 text")]
    NotText,
    #[error("cannot be read: {message}")]
    Io { message: String },
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Io {
                message: error.to_string(),
            },
        }
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Missing => io::ErrorKind::NotFound.into(),
            error => Self::other(error),
        }
    }
}

/// The complete file.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_open(open(path)?, limit)
}

fn read_open(file: File, limit: u64) -> Result<Vec<u8>, ReadError> {
    if file.metadata()?.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    // The file has grown since its size was read.
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Whether a program that reads the complete file neither waits nor reads more than `limit` bytes.
pub fn check(path: &Path, limit: u64) -> Result<(), ReadError> {
    if open(path)?.metadata()?.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(())
}

/// The complete file at `path`, whose last name must be no link: a file of a project whose kind was checked before.
pub fn read_last(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let file = without_links::open_last(path)?;
    if !file.metadata()?.is_file() {
        return Err(ReadError::NotRegular);
    }
    read_open(file, limit)
}

/// The complete file as text.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    String::from_utf8(read(path, limit)?).map_err(|_| ReadError::NotText)
}

/// The complete file that the user names in a command line, which may be a pipe: `<(…)` of the shell.
pub fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let read = if kind.is_file() {
        read_open(file, limit)
    } else if kind.is_fifo() {
        read_pipe(&file, limit)
    } else {
        Err(ReadError::NotRegular)
    };
    Ok(read?)
}

/// Like [`read_named`], as text.
pub fn read_named_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read_named(path, limit)?).map_err(|_| ReadError::NotText.into())
}

/// Reads a named pipe: waits a short time until a program opens it for writing, then without limit
/// until that program closes it.
fn read_pipe(mut file: &File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let begun = Instant::now();
    let mut has_writer = false;
    let (mut bytes, mut block) = (Vec::new(), [0; 4096]);
    loop {
        match file.read(&mut block) {
            Ok(0) if has_writer => return Ok(bytes),
            Ok(0) if begun.elapsed() > WRITER => return Err(ReadError::NoWriter),
            Ok(0) => std::thread::sleep(WRITER / 100),
            Ok(length) => {
                has_writer = true;
                bytes.extend_from_slice(&block[..length]);
                if bytes.len() as u64 > limit {
                    return Err(ReadError::TooLarge { limit });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                has_writer = true;
                let wait = PollFd::new(file, PollFlags::IN);
                let _ = poll(&mut [wait], None);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens a file that the user names in a command line for writing at its end; it may be a pipe that a program reads.
pub fn open_named_append(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
    let mode = Mode::from_raw_mode(0o666);
    let file = rustix::fs::open(path, flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode)?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(File::from(file))
}

/// The first bytes of the file and its size.
pub fn head(path: &Path, limit: u64) -> Result<(Vec<u8>, u64), ReadError> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}

/// The path of the file without symbolic links, if it is below `folder`.
pub fn inside(path: &Path, folder: &Path) -> Result<PathBuf, ReadError> {
    let real = real_path(path)?;
    if real.starts_with(folder.canonicalize()?) {
        return Ok(real);
    }
    let folder = folder.to_owned();
    Err(ReadError::Outside { folder })
}

/// The path without symbolic links. The error is `Missing` only if the path has no broken link.
pub fn real_path(path: &Path) -> Result<PathBuf, ReadError> {
    let error = match path.canonicalize() {
        Ok(real) => return Ok(real),
        Err(error) => ReadError::from(error),
    };
    if error != ReadError::Missing {
        return Err(error);
    }
    let existing = path
        .ancestors()
        .find(|above| above.symlink_metadata().is_ok());
    match existing.filter(|above| fs::metadata(above).is_err()) {
        Some(link) => Err(ReadError::BrokenLink {
            link: link.to_owned(),
        }),
        None => Err(ReadError::Missing),
    }
}

/// Opens a regular file for reading.
pub fn open(path: &Path) -> Result<File, ReadError> {
    let real = real_path(path)?;
    let is_kernel =
        KERNEL.iter().any(|folder| real.starts_with(folder)) && !real.starts_with(MEMORY);
    // Opening a device can have effects, so the kind is checked before and after.
    if is_kernel || !fs::metadata(&real)?.is_file() {
        return Err(ReadError::NotRegular);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = rustix::fs::open(&real, flags | OFlags::NOFOLLOW, Mode::empty());
    let file = File::from(file.map_err(io::Error::from)?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(ReadError::NotRegular)
    }
}

/// Whether SQLite can open the database at `path` without waiting: its files are regular, or missing.
pub fn is_database(path: &Path) -> bool {
    ["", "-journal", "-wal", "-shm"].iter().all(|ending| {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        fs::metadata(file).map_or_else(
            |error| error.kind() == io::ErrorKind::NotFound,
            |metadata| metadata.is_file(),
        )
    })
}

/// Opens a regular file in a folder of osier's own for reading, with fewer checks than [`open`]: others cannot write there.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(ReadError::NotRegular.into())
    }
}

/// Opens a file of osier's own for reading and writing, as locks need it; `mode` creates it. The name must be no link.
pub fn open_own(path: &Path, mode: Option<u32>) -> Result<File, ReadError> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => return Err(ReadError::NotRegular),
        _ => {}
    }
    let mut flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    flags |= OFlags::NOFOLLOW;
    if mode.is_some() {
        flags |= OFlags::CREATE;
    }
    let mode = Mode::from_raw_mode(mode.unwrap_or_default() as _);
    let file = File::from(rustix::fs::open(path, flags, mode).map_err(io::Error::from)?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(ReadError::NotRegular)
    }
}

/// Opens a file of osier's own to read it and to write at its end; `mode` creates it. It may be a link to a regular file.
pub fn open_append(path: &Path, mode: u32) -> io::Result<File> {
    // Opening a device can have effects, so the kind is checked before and after.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(ReadError::NotRegular.into());
    }
    let mut flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
    flags |= OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mode = Mode::from_raw_mode(mode as _);
    let file = File::from(rustix::fs::open(path, flags, mode)?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(ReadError::NotRegular.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        crate::atomic_file::write(&path("text"), b"four").unwrap();
        crate::atomic_file::write(&path("binary"), b"\xff").unwrap();
        symlink("text", path("link")).unwrap();
        symlink("itself", path("itself")).unwrap();
        symlink("nowhere", path("broken")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        symlink("/proc/self/environ", path("environ")).unwrap();
        let fifo = rustix::fs::mknodat(
            rustix::fs::CWD,
            path("fifo"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        );
        fifo.unwrap();
        let refused = |name: &str| read_text(&path(name), 4).unwrap_err();
        assert_eq!(read_text(&path("text"), 4).as_deref(), Ok("four"));
        assert_eq!(read_text(&path("link"), 4).as_deref(), Ok("four"));
        assert_eq!(
            read_text(&path("text"), 3),
            Err(ReadError::TooLarge { limit: 3 })
        );
        assert_eq!(head(&path("text"), 2), Ok((b"fo".to_vec(), 4)));
        assert_eq!(refused("none"), ReadError::Missing);
        assert_eq!(refused("binary"), ReadError::NotText);
        assert_eq!(refused("none/text"), ReadError::Missing);
        assert!(matches!(refused("itself"), ReadError::Io { .. }));
        assert!(matches!(refused("text/below"), ReadError::Io { .. }));
        let link = path("broken");
        for name in ["broken", "broken/text", "broken/folder/text"] {
            let link = link.clone();
            assert_eq!(refused(name), ReadError::BrokenLink { link }, "{name}");
        }
        for name in ["fifo", "zero", "environ", "."] {
            assert_eq!(refused(name), ReadError::NotRegular, "{name}");
        }
        for name in ["fifo", "zero", "broken", "link", "."] {
            let opened = open_own(&path(name), Some(0o600));
            assert_eq!(opened.unwrap_err(), ReadError::NotRegular, "{name}");
        }
        assert_eq!(
            open_own(&path("none"), None).unwrap_err(),
            ReadError::Missing
        );
        for name in ["fifo", "zero", "."] {
            let error = open_append(&path(name), 0o600).unwrap_err();
            assert_eq!(error.to_string(), "is not a regular file", "{name}");
            let error = read_last(&path(name), 4).unwrap_err();
            assert!(
                matches!(error, ReadError::NotRegular | ReadError::Io { .. }),
                "{name}"
            );
        }
        for (name, expected) in [("text", true), ("missing", true), ("fifo", false)] {
            assert_eq!(is_database(&path(name)), expected, "{name}");
        }
        symlink("fifo", path("text-wal")).unwrap();
        assert!(!is_database(&path("text")));
        open_append(&path("link"), 0o600)
            .unwrap()
            .write_all(b"5")
            .unwrap();
        assert_eq!(read_last(&path("text"), 5), Ok(b"four5".to_vec()));
        assert_eq!(
            read_last(&path("text"), 4),
            Err(ReadError::TooLarge { limit: 4 })
        );
        open_own(&path("none"), Some(0o600)).unwrap();
        assert_eq!(read_text(&path("none"), 4).as_deref(), Ok(""));
    }

    #[test]
    fn file_of_the_command_line_may_be_a_pipe_that_a_program_writes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let failure = |path: &Path| read_named(path, 9).unwrap_err().to_string();
        assert_eq!(failure(&path), "is a pipe that no program writes to");
        assert!(open_named_append(&path).is_err());
        let written = |text: &'static str, limit| {
            let (reader, writer) = io::pipe().unwrap();
            let named = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
            let thread = std::thread::spawn(move || (&writer).write_all(text.as_bytes()));
            let read = read_named_text(&named, limit);
            thread.join().unwrap().unwrap();
            read.unwrap_or_else(|error| error.to_string())
        };
        assert_eq!(written("text", 4), "text");
        assert_eq!(written("text", 3), "has more than 3 bytes");
        assert_eq!(failure(Path::new("/dev/zero")), "is not a regular file");
        let file = place.path().join("file");
        open_named_append(&file)
            .unwrap()
            .write_all(b"line")
            .unwrap();
        assert_eq!(read_named(&file, 4).unwrap(), b"line");
    }

    #[test]
    fn a_link_out_of_the_folder_is_recognized() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("folder");
        fs::create_dir(&folder).unwrap();
        crate::atomic_file::write(&place.path().join("secret"), b"s").unwrap();
        crate::atomic_file::write(&folder.join("own"), b"o").unwrap();
        symlink("../secret", folder.join("out")).unwrap();
        symlink("own", folder.join("in")).unwrap();
        let own = folder.join("own").canonicalize().unwrap();
        assert_eq!(inside(&folder.join("in"), &folder), Ok(own));
        let outside = ReadError::Outside {
            folder: folder.clone(),
        };
        assert_eq!(inside(&folder.join("out"), &folder), Err(outside));
    }
}
