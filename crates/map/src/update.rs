//! Brings an index up to date: only files that are new or have changed are read.

use std::path::Path;
use std::time::Instant;

use crate::index::{FileState, Index, NO_LANGUAGE, Row};
use crate::rank::rank;
use crate::read::{self, Part};
use crate::walk::{self, FoundFile};
use osier_base::file_stamp::FileStamp;

/// Files that are read between two checks of the clock.
const ROUND: usize = 8192;

/// The index of the present files; `None` if `old` is up to date. After `early`, `publish` receives
/// the part of the index that is ready.
pub(crate) fn update(
    root: &Path,
    old: &Index,
    early: Instant,
    publish: &mut dyn FnMut(Index),
) -> Option<Index> {
    let (found, is_cut) = walk::files(root);
    let mut plan = Plan::new(root, old, &found);
    if plan.is_unchanged(old) {
        return None;
    }
    let unread = std::mem::take(&mut plan.unread);
    let mut was_early = false;
    let mut done = 0;
    for round in unread.chunks(ROUND) {
        plan.add(read::files(root, &found, round));
        done += round.len();
        if !was_early && done < unread.len() && Instant::now() >= early {
            was_early = true;
            let mut partial = plan.assemble(old, &found, is_cut);
            rank(&mut partial);
            publish(partial);
        }
    }
    let mut index = plan.assemble(old, &found, is_cut);
    drop(plan);
    rank(&mut index);
    Some(index)
}

/// The source of the data of a file.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// Nothing is known about the file.
    Nothing,
    /// The row of the old index.
    Old(usize),
    /// A file that was read: the numbers of its part and of the file in the part.
    Read(usize, usize),
}

struct Plan {
    sources: Vec<Source>,
    parts: Vec<Part>,
    unread: Vec<usize>,
}

impl Plan {
    /// Compares the files with the old index.
    fn new(root: &Path, old: &Index, found: &[FoundFile]) -> Self {
        let mut sources = vec![Source::Nothing; found.len()];
        let mut rows = old.rows.iter().enumerate().peekable();
        let mut known = Vec::new();
        for (number, file) in found.iter().enumerate() {
            while rows
                .next_if(|(_, row)| old.path(row) < file.path.as_str())
                .is_some()
            {}
            if let Some((place, row)) = rows.next_if(|(_, row)| old.path(row) == file.path)
                && row.language == file.language
            {
                sources[number] = Source::Old(place);
                if file.language != NO_LANGUAGE {
                    known.push(number);
                }
            }
        }
        let versions = read::versions(root, found, &known);
        for (number, version) in known.into_iter().zip(versions) {
            let Source::Old(place) = sources[number] else {
                continue;
            };
            let row = &old.rows[place];
            if version != Some(row.version) || row.state == FileState::Unread {
                sources[number] = Source::Nothing;
            }
        }
        let is_unread = |(number, source): (usize, &Source)| {
            let is_source = found[number].language != NO_LANGUAGE;
            (is_source && matches!(source, Source::Nothing)).then_some(number)
        };
        Self {
            unread: sources.iter().enumerate().filter_map(is_unread).collect(),
            sources,
            parts: Vec::new(),
        }
    }

    fn is_unchanged(&self, old: &Index) -> bool {
        let is_old = |source: &Source| matches!(source, Source::Old(_));
        self.sources.len() == old.rows.len() && self.sources.iter().all(is_old)
    }

    fn add(&mut self, parts: Vec<Part>) {
        for part in parts {
            for (place, file) in part.files.iter().enumerate() {
                self.sources[file.number] = Source::Read(self.parts.len(), place);
            }
            self.parts.push(part);
        }
    }

    fn assemble(&self, old: &Index, found: &[FoundFile], is_cut: bool) -> Index {
        let mut index = Index {
            rows: Vec::with_capacity(found.len()),
            is_cut,
            ..Index::default()
        };
        for (file, source) in found.iter().zip(&self.sources) {
            let row = Row {
                path: (0, 0),
                definitions: (0, 0),
                uses: (0, 0),
                version: FileStamp::default(),
                rank: 1.0,
                language: file.language,
                state: if file.language == NO_LANGUAGE {
                    FileState::Skipped
                } else {
                    FileState::Unread
                },
            };
            match source {
                Source::Nothing => index.push(&file.path, &[], &[], row),
                Source::Old(place) => {
                    let row = old.rows[*place];
                    index.push(&file.path, old.definitions(&row), old.uses(&row), row);
                }
                Source::Read(part, place) => {
                    let part = &self.parts[*part];
                    let read = &part.files[*place];
                    let row = Row {
                        version: read.version,
                        state: read.state,
                        ..row
                    };
                    index.push(&file.path, part.definitions(read), part.uses(read), row);
                }
            }
        }
        index
    }
}
