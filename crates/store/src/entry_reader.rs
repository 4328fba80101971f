//! Locates the entries of a session and reads them from its file.
//!
//! A stored entry stays in the file until it is shown or sent. Only entries that are not stored yet are in memory.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use osier_base::regular_file;
use osier_protocol::{Entry, EntryKind, Header, Tag};

/// Bytes per read of a copy.
const BLOCK: usize = 1 << 20;

#[cfg(test)]
thread_local! {
    /// Bytes that this thread read from entries.
    pub(super) static READ: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The location of one entry.
#[derive(Debug, Clone)]
pub(super) enum Location {
    /// The entry's line, without its newline.
    Stored {
        offset: u64,
        length: u32,
    },
    Memory(Arc<Entry>),
}

/// One entry of the index, readable without the index.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub id: String,
    /// The parent in the tree. It differs from the parent in the line when that parent is missing.
    pub parent_id: Option<String>,
    pub tag: Tag,
    pub location: Location,
}

/// The session's file, open for reading once it exists. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryReader(Arc<OnceLock<File>>);

impl EntryReader {
    /// Opens the file after its first write. Returns whether entries can be read from it.
    pub(super) fn open(&self, path: &Path) -> bool {
        if self.0.get().is_none()
            && let Ok(file) = regular_file::open_plain(path)
        {
            // If another clone was faster, it opened the same file.
            let _ = self.0.set(file);
        }
        self.0.get().is_some()
    }

    /// Reads the entry of `record`; an unreadable entry becomes a damaged one.
    pub(super) fn read(&self, record: &Record) -> Entry {
        self.try_read(record).unwrap_or_else(|| Entry {
            id: record.id.clone(),
            parent_id: record.parent_id.clone(),
            timestamp: String::new(),
            kind: EntryKind::Unknown(serde_json::Map::new()),
        })
    }

    /// Reads the entry of `record`; `None` if its line is unreadable or not an entry.
    pub(super) fn try_read(&self, record: &Record) -> Option<Entry> {
        let mut entry = match &record.location {
            Location::Memory(entry) => (**entry).clone(),
            Location::Stored { offset, length } => {
                let mut line = vec![0; *length as usize];
                self.read_at(&mut line, *offset).ok()?;
                Entry::parse(&line).ok()?
            }
        };
        // The second of two entries with the same id has another id in the tree.
        entry.id.clone_from(&record.id);
        // A move of the leaf is not a tree node: it keeps the parent of its line.
        if record.tag != Tag::Leaf {
            entry.parent_id.clone_from(&record.parent_id);
        }
        Some(entry)
    }

    /// Reads the line of `record` from the file.
    pub(super) fn line(&self, record: &Record) -> Option<Vec<u8>> {
        let Location::Stored { offset, length } = record.location else {
            return None;
        };
        let mut line = vec![0; length as usize];
        self.read_at(&mut line, offset).ok()?;
        Some(line)
    }

    /// Fills `bytes` from `offset`.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let file = self.0.get().ok_or(io::ErrorKind::NotFound)?;
        #[cfg(test)]
        READ.with(|read| read.set(read.get() + bytes.len() as u64));
        file.read_exact_at(bytes, offset)
    }

    /// Where the lines after the header begin; 0 if the first line is no header.
    pub(super) fn after_header(&self) -> io::Result<u64> {
        let file = self.0.get().ok_or(io::ErrorKind::NotFound)?;
        let mut start = Vec::new();
        loop {
            let mut block = vec![0; BLOCK];
            let read = file.read_at(&mut block, start.len() as u64)?;
            let newline = memchr::memchr(b'\n', &block[..read]);
            start.extend_from_slice(&block[..newline.unwrap_or(read)]);
            if newline.is_some() || read == 0 {
                let is_header = newline.is_some() && Header::parse(&start).is_ok();
                return Ok(if is_header { start.len() as u64 + 1 } else { 0 });
            }
        }
    }

    /// Appends `bytes` of the file to `copy`, without reading them where the system can copy them.
    pub(super) fn copy(&self, bytes: Range<u64>, mut copy: &File) -> io::Result<()> {
        let file = self.0.get().ok_or(io::ErrorKind::NotFound)?;
        let (mut at, end) = (bytes.start, bytes.end);
        while at < end {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            // A system that cannot copy is no error: the bytes are read then, which finds errors of
            // the disk.
            match rustix::fs::copy_file_range(file, Some(&mut at), copy, None, left) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        let mut block = vec![0; BLOCK.min((end - at) as usize)];
        while at < end {
            let length = block.len().min((end - at) as usize);
            file.read_exact_at(&mut block[..length], at)?;
            copy.write_all(&block[..length])?;
            at += length as u64;
        }
        Ok(())
    }
}
