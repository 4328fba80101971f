//! The index of a project's files, in few large blocks, so that it is loaded and stored at once.

use osier_base::file_stamp::FileStamp;
use std::ops::Range;

/// How much is known about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FileState {
    /// The file was not read yet.
    Unread,
    /// The names in the file are known.
    Scanned,
    /// The definitions come from the grammar of the language, or from the scan if there is no grammar.
    Parsed,
    /// The file is no source file, or too large, or not text, or cannot be read.
    Skipped,
}

impl FileState {
    pub(crate) fn numbered(number: u8) -> Option<Self> {
        const ALL: [FileState; 4] = [
            FileState::Unread,
            FileState::Scanned,
            FileState::Parsed,
            FileState::Skipped,
        ];
        ALL.get(usize::from(number)).copied()
    }
}

/// The number of "no language".
pub(crate) const NO_LANGUAGE: u8 = u8::MAX;

/// A part of a block.
pub(crate) type Span = (u32, u32);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    pub(crate) path: Span,
    pub(crate) definitions: Span,
    pub(crate) uses: Span,
    pub(crate) version: FileStamp,
    /// The importance of the file; the mean is 1.
    pub(crate) rank: f32,
    pub(crate) language: u8,
    pub(crate) state: FileState,
}

/// Maximum bytes of definitions, and maximum number of uses, in an index. Further files are
/// skipped.
const DEFINITIONS: usize = 96 << 20;
const USES: usize = 24 << 20;

/// The files, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) rows: Vec<Row>,
    pub(crate) paths: String,
    pub(crate) definitions: Vec<u8>,
    pub(crate) uses: Vec<u32>,
    /// Whether there are more files than the limit.
    pub(crate) is_cut: bool,
}

impl Index {
    pub(crate) fn path(&self, row: &Row) -> &str {
        self.paths.get(range(row.path)).unwrap_or_default()
    }

    pub(crate) fn definitions(&self, row: &Row) -> &[u8] {
        let found = self.definitions.get(range(row.definitions));
        found.unwrap_or_default()
    }

    pub(crate) fn uses(&self, row: &Row) -> &[u32] {
        self.uses.get(range(row.uses)).unwrap_or_default()
    }

    /// The position of the file `path`.
    pub(crate) fn find(&self, path: &str) -> Option<usize> {
        let found = self.rows.binary_search_by(|row| self.path(row).cmp(path));
        found.ok()
    }

    /// The positions of the files below `folder`; all for an empty name.
    pub(crate) fn below(&self, folder: &str) -> Range<usize> {
        if folder.is_empty() {
            return 0..self.rows.len();
        }
        let start = format!("{folder}/");
        // `0` is the character after `/`.
        let end = format!("{folder}0");
        let first = self
            .rows
            .partition_point(|row| self.path(row) < start.as_str());
        let last = self
            .rows
            .partition_point(|row| self.path(row) < end.as_str());
        first..last.max(first)
    }

    /// Appends a file; its path must follow the others.
    pub(crate) fn push(&mut self, path: &str, definitions: &[u8], uses: &[u32], row: Row) {
        let is_full = self.definitions.len() + definitions.len() > DEFINITIONS
            || self.uses.len() + uses.len() > USES;
        let (definitions, uses) = if is_full {
            (&[][..], &[][..])
        } else {
            (definitions, uses)
        };
        let row = Row {
            path: span(self.paths.len(), path.len()),
            definitions: span(self.definitions.len(), definitions.len()),
            uses: span(self.uses.len(), uses.len()),
            state: if is_full {
                FileState::Skipped
            } else {
                row.state
            },
            ..row
        };
        self.paths.push_str(path);
        self.definitions.extend_from_slice(definitions);
        self.uses.extend_from_slice(uses);
        self.rows.push(row);
    }

    pub(crate) fn count(&self, state: FileState) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
    }
}

pub(crate) fn range(span: Span) -> Range<usize> {
    let start = span.0 as usize;
    start..start + span.1 as usize
}

fn span(start: usize, length: usize) -> Span {
    (start as u32, length as u32)
}
