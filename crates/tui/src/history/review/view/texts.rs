//! Texts of the diff view for ranges and files.

use osier_base::text;
use osier_protocol::{ChangeKind, DiffRange, FileChange, FileDiff};

/// The range of the comparison, as the end of a sentence.
pub(crate) fn title(range: &DiffRange) -> &'static str {
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

/// The path of a file; of a renamed file both.
pub(super) fn shown_path(file: &FileDiff) -> String {
    match &file.from {
        Some(from) => text::single_line(&format!("{from} → {}", file.change.path)),
        None => text::single_line(&file.change.path),
    }
}

/// Columns of a list that shows every path in full.
pub(super) fn widest(files: &[FileDiff], counts: &[(usize, usize)]) -> u16 {
    let widths = files.iter().zip(counts).map(|(file, (added, removed))| {
        text::width(&shown_path(file)) + format!(" +{added} -{removed}").len() + 6
    });
    u16::try_from(widths.max().unwrap_or_default()).unwrap_or(u16::MAX)
}
