//! What the diff view says about ranges and files.

use osier_protocol::{ChangeKind, DiffRange, FileChange, FileDiff};

/// What is compared, as the end of a sentence.
pub(in crate::history::review) fn title(range: &DiffRange) -> &'static str {
    match range {
        DiffRange::Session => "since the session start",
        DiffRange::LastPrompt => "since the last prompt",
        DiffRange::Head => "against HEAD",
        DiffRange::Turn { .. } => "in that turn",
        DiffRange::Between { .. } => "between those entries",
    }
}

/// A file without changes.
pub(super) fn unchanged(path: &str) -> FileDiff {
    FileDiff {
        change: FileChange {
            path: path.to_owned(),
            kind: ChangeKind::Modify,
            by_hand: false,
            obstacle: None,
        },
        from: None,
        diff: String::new(),
    }
}

/// Why a change has no lines to show.
pub(super) fn unshown(file: &FileDiff) -> &'static str {
    match file.change.kind {
        ChangeKind::Mode => "only its permissions changed",
        ChangeKind::Create => "new file: empty, binary or too large to store",
        ChangeKind::Remove => "deleted file: empty, binary or too large to store",
        ChangeKind::Modify if file.from.is_some() => "renamed; lines unchanged or not shown",
        ChangeKind::Modify => "binary or too large to show",
    }
}

/// The first changed line of the new file.
pub(super) fn first_line(piece: &str) -> usize {
    let mut lines = piece.lines();
    let header = lines.next().unwrap_or_default();
    let new = header.split(" +").nth(1).unwrap_or_default();
    let start = new.split([',', ' ']).next().unwrap_or_default();
    let start: usize = start.parse().unwrap_or(1);
    let before = lines.take_while(|line| line.starts_with(' '));
    start + before.count()
}
