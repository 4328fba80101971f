//! The target of an export: a file that is created atomically, or a stream.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::TransferError;
use osier_base::pending_file::PendingFile;
use osier_base::redact::redact;
use osier_base::{clock, text};
use osier_protocol::{ExportFormat, Header};

/// Conversations are private; the user can change the mode of the file.
const FILE_MODE: u32 = 0o600;

/// Number of names that are tried when a name is in use.
const NAMES: u32 = 1000;

/// An unfinished file. Dropping it removes the file.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    pending: PendingFile,
    writer: BufWriter<File>,
    force: bool,
}

impl Target {
    /// A file at `path`; an existing one is replaced only with `force`.
    pub fn new(path: PathBuf, force: bool) -> Result<Self, TransferError> {
        if path.is_dir() || (!force && path.symlink_metadata().is_ok()) {
            return Err(TransferError::Exists { path });
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The text of the error names the temporary file.
        let failed = |error: io::Error| TransferError::io("write", &path, error.kind().into());
        let pending = PendingFile::create(folder, FILE_MODE).map_err(failed)?;
        let file = pending.file().try_clone().map_err(failed)?;
        Ok(Self {
            path,
            pending,
            writer: BufWriter::with_capacity(1 << 16, file),
            force,
        })
    }

    /// A file in `folder` with the usual name for a session, or the next free one.
    pub fn usual(folder: &Path, name: &str, format: ExportFormat) -> Result<Self, TransferError> {
        let named = |number: u32| {
            let number = match number {
                1 => String::new(),
                number => format!("-{number}"),
            };
            folder.join(format!("{name}{number}.{}", format.ending()))
        };
        let mut numbers = 1..NAMES;
        let free = numbers.find(|number| named(*number).symlink_metadata().is_err());
        Self::new(named(free.unwrap_or(NAMES)), false)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the unfinished file, for this process.
    pub(super) fn temporary(&mut self) -> io::Result<PathBuf> {
        self.writer.flush()?;
        Ok(self.pending.path())
    }

    /// Moves the file to its final path; returns its path and length.
    pub(super) fn finish(mut self) -> Result<(PathBuf, u64), TransferError> {
        self.writer
            .flush()
            .map_err(|error| TransferError::io("write", &self.path, error))?;
        let Self {
            path,
            pending,
            force,
            ..
        } = self;
        let failed = |error| TransferError::io("write", &path, error);
        pending.file().sync_data().map_err(failed)?;
        let length = pending.file().metadata().map_err(failed)?.len();
        let placed = if force {
            pending.persist(&path)
        } else {
            pending.persist_new(&path)
        };
        match placed {
            Ok(_) => Ok((path, length)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(TransferError::Exists { path })
            }
            Err(error) => Err(failed(error)),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// `osier-2026-11-21-fix-the-parser-0199b3c4`, without an extension: day, name and id of the session.
pub(crate) fn default_name(header: &Header, name: Option<&str>) -> String {
    const NAME: usize = 40;
    let day = clock::stored_day(&header.timestamp).unwrap_or_else(|| "session".to_owned());
    let mut slug = String::new();
    for char in redact(name.unwrap_or_default()).chars() {
        match char {
            char if char.is_alphanumeric() => slug.extend(char.to_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    let slug = text::head_bytes(&slug, NAME).trim_end_matches('-');
    let id: String = header
        .id
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let id = text::tail_bytes(&id, 8);
    let parts = ["osier", &day, slug, id];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let name = parts.join("-");
    name.replace(|char: char| !(char.is_alphanumeric() || char == '-'), "")
}
