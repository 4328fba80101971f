//! The lines of a unified diff.

use osier_base::text::{expand_tabs, sanitize};

/// One line of the patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLine<'a> {
    Hunk { old: usize, new: usize },
    Context(&'a str),
    Removed(&'a str),
    Added(&'a str),
    Note(&'a str),
}

pub(super) fn parse_line(line: &str) -> Option<DiffLine<'_>> {
    if line.starts_with("--- ") || line.starts_with("+++ ") {
        return None;
    }
    if let Some(header) = line.strip_prefix("@@ ") {
        let mut ranges = header.split(' ');
        let mut start = |sign: char| -> Option<usize> {
            let range = ranges.next()?.strip_prefix(sign)?;
            range.split(',').next()?.parse().ok()
        };
        return Some(DiffLine::Hunk {
            old: start('-')?,
            new: start('+')?,
        });
    }
    Some(match line.as_bytes().first() {
        None => DiffLine::Context(""),
        Some(b' ') => DiffLine::Context(&line[1..]),
        Some(b'-') => DiffLine::Removed(&line[1..]),
        Some(b'+') => DiffLine::Added(&line[1..]),
        Some(_) => DiffLine::Note(line),
    })
}

pub(super) fn clean(text: &str) -> String {
    expand_tabs(&sanitize(text)).into_owned()
}
