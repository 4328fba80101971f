//! Where the entries of a session stand, and reading one from there.
//!
//! An entry that is stored stays in the file until somebody wants to see or send it; only what is not
//! stored, or not yet, is held in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::entry::{Entry, EntryKind};
use super::envelope::Tag;

/// Where one entry is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// This many bytes from this offset of the file, a newline not counted.
    Stored {
        offset: u64,
        length: u32,
    },
    Kept(Arc<Entry>),
}

/// One entry of the index, ready to be read without it.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub id: String,
    /// As the tree has it: an entry whose parent was lost hangs elsewhere than its line says.
    pub parent_id: Option<String>,
    pub tag: Tag,
    pub place: Place,
}

/// The session's file for reading, once there is one. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Bodies(Arc<OnceLock<File>>);

impl Bodies {
    /// Opens the file that was written just now. An entry can be read back only when this succeeded.
    pub(super) fn open(&self, path: &Path) -> bool {
        if self.0.get().is_none()
            && let Ok(file) = File::open(path)
        {
            // Whoever was first opened the same file.
            let _ = self.0.set(file);
        }
        self.0.get().is_some()
    }

    /// The entry of `record`. One that can no longer be read is there all the same, as damaged.
    pub(super) fn read(&self, record: &Record) -> Entry {
        self.try_read(record).unwrap_or_else(|| Entry {
            id: record.id.clone(),
            parent_id: record.parent_id.clone(),
            timestamp: String::new(),
            kind: EntryKind::Unknown(serde_json::Map::new()),
        })
    }

    /// The entry of `record`; `None` when its line cannot be read or is no entry.
    pub(super) fn try_read(&self, record: &Record) -> Option<Entry> {
        let mut entry = match &record.place {
            Place::Kept(entry) => (**entry).clone(),
            Place::Stored { offset, length } => {
                let mut line = vec![0; *length as usize];
                self.read_at(&mut line, *offset).ok()?;
                Entry::parse(&line).ok()?
            }
        };
        // A move of the leaf is no part of the tree: it hangs where its line says.
        if record.tag != Tag::Leaf {
            entry.parent_id.clone_from(&record.parent_id);
        }
        Some(entry)
    }

    /// The line of `record` as it stands in the file.
    pub(super) fn line(&self, record: &Record) -> Option<Vec<u8>> {
        let Place::Stored { offset, length } = record.place else {
            return None;
        };
        let mut line = vec![0; length as usize];
        self.read_at(&mut line, offset).ok()?;
        Some(line)
    }

    /// Fills `bytes` from `offset` on.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let file = self.0.get().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(bytes, offset)
    }
}
