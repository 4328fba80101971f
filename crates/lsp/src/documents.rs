//! The files that a server has open, with the text that it knows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of files that are open at the same time.
const OPEN: usize = 64;
/// Larger files are not opened, in bytes.
pub(crate) const TEXT_LIMIT: usize = 2 * 1024 * 1024;

/// An open file.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) version: i64,
    pub(crate) text: Arc<str>,
    /// The number of the file's last use.
    used: u64,
    /// The number of the report for this version, if the server has sent it.
    pub(crate) reported: Option<u64>,
    /// The number of the last report before this version.
    pub(crate) before: u64,
}

/// The notification that brings a server's copy of a text up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    Nothing,
    Open,
    Change,
}

/// A text that a server has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub(crate) version: i64,
    /// Whether the server knew another text, or none.
    pub is_new: bool,
}

/// All open files.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    open: HashMap<PathBuf, Document>,
    uses: u64,
}

impl Documents {
    /// Records the text that the server will know. `report` is the number of the last report.
    pub(crate) fn set(&mut self, path: &Path, text: &str, report: u64) -> (Sync, i64) {
        self.uses += 1;
        let used = self.uses;
        if let Some(known) = self.open.get_mut(path) {
            known.used = used;
            if *known.text == *text {
                return (Sync::Nothing, known.version);
            }
            known.version += 1;
            known.text = Arc::from(text);
            (known.reported, known.before) = (None, report);
            return (Sync::Change, known.version);
        }
        let document = Document {
            version: 1,
            text: Arc::from(text),
            used,
            reported: None,
            before: report,
        };
        self.open.insert(path.to_owned(), document);
        (Sync::Open, 1)
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&Document> {
        self.open.get(path)
    }

    /// Records the report with this number.
    pub(crate) fn reported(&mut self, path: &Path, version: Option<i64>, report: u64) {
        if let Some(document) = self.open.get_mut(path)
            && version.is_none_or(|version| version >= document.version)
        {
            document.reported = Some(report);
        }
    }

    pub(crate) fn close(&mut self, path: &Path) -> bool {
        self.open.remove(path).is_some()
    }

    /// Closes the files beyond the limit, those with the oldest use first.
    pub(crate) fn surplus(&mut self) -> Vec<PathBuf> {
        let mut closed = Vec::new();
        while self.open.len() > OPEN {
            let oldest = self.open.iter().min_by_key(|(_, document)| document.used);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else {
                break;
            };
            self.open.remove(&oldest);
            closed.push(oldest);
        }
        closed
    }

    /// The open files, the last used first.
    pub(crate) fn recent(&self) -> Vec<PathBuf> {
        let mut open: Vec<_> = self.open.iter().collect();
        osier_base::sort::by_key(&mut open, |(_, document)| u64::MAX - document.used);
        open.into_iter().map(|(path, _)| path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sent_once_and_old_files_are_closed() {
        let mut documents = Documents::default();
        let path = |number: usize| PathBuf::from(format!("/{number}"));
        assert_eq!(documents.set(&path(0), "a", 0), (Sync::Open, 1));
        assert_eq!(documents.set(&path(0), "a", 0), (Sync::Nothing, 1));
        documents.reported(&path(0), None, 4);
        assert_eq!(documents.set(&path(0), "b", 4), (Sync::Change, 2));
        assert_eq!(documents.get(&path(0)).unwrap().reported, None);
        documents.reported(&path(0), Some(1), 5);
        assert_eq!(documents.get(&path(0)).unwrap().reported, None);
        documents.reported(&path(0), Some(2), 6);
        assert_eq!(documents.get(&path(0)).unwrap().reported, Some(6));
        for number in 1..=OPEN {
            documents.set(&path(number), "", 0);
        }
        assert_eq!(documents.surplus(), [path(0)]);
        assert_eq!(documents.recent().first(), Some(&path(OPEN)));
    }
}
