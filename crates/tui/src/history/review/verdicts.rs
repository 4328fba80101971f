//! The review of changes: accepted, rejected, commented. Stored by the text of the change, so that it applies when
//! the files are loaded again. A review whose change is gone is outdated; it stays until it is sent or cleared.

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::Command;
use crate::drawing::{frame, preview_pane::edit};
use osier_base::text;
use osier_checkpoint::hunks;
use osier_protocol::{FileDiff, Reviewed};
use osier_term::{Handled, Keymap, LineInput, Row, Token};

/// The label of the comment line.
const MARK: &str = " comment: ";
/// The keys of the comment line.
const WRITING: &str = "enter save · esc cancel";

/// The review of one change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HunkReview {
    pub verdict: Option<Verdict>,
    pub comment: String,
}

impl HunkReview {
    fn is_to_send(&self) -> bool {
        self.verdict == Some(Verdict::Rejected) || !self.comment.is_empty()
    }

    /// The title of the review when its change does not exist any more.
    pub(super) fn outdated_title(&self) -> &'static str {
        match (self.verdict, self.comment.is_empty()) {
            (Some(Verdict::Rejected), true) => "outdated rejection: these lines have changed since",
            (Some(Verdict::Rejected), false) => {
                "outdated rejection with a comment: these lines have changed since"
            }
            _ => "outdated comment: these lines have changed since",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    Rejected,
}

/// How far the review of a file is, in changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileReview {
    accepted: usize,
    rejected: usize,
    /// Comments without a verdict.
    commented: usize,
    outdated: usize,
    all: usize,
}

impl FileReview {
    /// The mark in the list of files; words for a screen reader.
    pub(super) fn sign(self, linear: bool) -> (String, Token) {
        if self.outdated > 0 {
            return ("outdated".to_owned(), Token::Warning);
        }
        let reviewed = self.accepted + self.rejected + self.commented;
        if reviewed == 0 {
            return (String::new(), Token::Muted);
        }
        let word = |sign: &str, word: &str| if linear { word } else { sign }.to_owned();
        if reviewed < self.all {
            let suffix = if linear { " reviewed" } else { "" };
            let of = if linear { " of " } else { "/" };
            return (format!("{reviewed}{of}{}{suffix}", self.all), Token::Muted);
        }
        match (self.rejected, self.commented) {
            (0, 0) => (word("✓", "accepted"), Token::Success),
            (0, _) => (word("✎", "commented"), Token::Accent),
            _ => (word("✗", "rejected"), Token::Error),
        }
    }
}

/// The path and the text of a change.
type Key = (String, String);

/// The review in progress.
#[derive(Debug, Default)]
pub(crate) struct Review {
    said: BTreeMap<Key, HunkReview>,
    /// The reviews whose change is gone.
    outdated: BTreeSet<Key>,
    /// The comment that is being written, its file and its change.
    writing: Option<(LineInput, String, String)>,
}

impl Review {
    pub(super) fn of(&self, path: &str, piece: &str) -> Option<&HunkReview> {
        self.said.get(&(path.to_owned(), piece.to_owned()))
    }

    /// How far the review of a file with this diff is.
    pub(super) fn of_file(&self, path: &str, diff: &str) -> FileReview {
        let mut file = FileReview::default();
        let from = (path.to_owned(), String::new());
        let said = self.said.range(from..);
        for (key, said) in said.take_while(|((other, _), _)| other == path) {
            if file.all == 0 {
                file.all = hunks(diff).len();
            }
            if self.outdated.contains(key) {
                file.outdated += 1;
                continue;
            }
            match said.verdict {
                Some(Verdict::Accepted) => file.accepted += 1,
                Some(Verdict::Rejected) => file.rejected += 1,
                None => file.commented += usize::from(!said.comment.is_empty()),
            }
        }
        file
    }

    /// Sets the verdict of a change, or clears it when it is set already. Returns true if the
    /// cursor moves to the next change. Accepting an outdated change clears its review.
    pub(super) fn set_verdict(&mut self, command: Command, path: String, piece: String) -> bool {
        let verdict = match command {
            Command::AcceptHunk => Verdict::Accepted,
            Command::RejectHunk => Verdict::Rejected,
            _ => {
                let before = self.of(&path, &piece).map(|said| said.comment.clone());
                let input = LineInput::new(before.unwrap_or_default());
                self.writing = Some((input, path, piece));
                return false;
            }
        };
        let key = (path, piece);
        if verdict == Verdict::Accepted && self.outdated.remove(&key) {
            self.said.remove(&key);
            return false;
        }
        let said = self.said.entry(key.clone()).or_default();
        let is_new = said.verdict != Some(verdict);
        said.verdict = is_new.then_some(verdict);
        self.clear_empty(&key);
        is_new
    }

    /// A rejected change is reverted at once: there is no rejection to send any more.
    pub(super) fn set_reverted(&mut self, path: &str, piece: &str) {
        let key = (path.to_owned(), piece.to_owned());
        if let Some(said) = self.said.get_mut(&key) {
            said.verdict = None;
            self.clear_empty(&key);
        }
    }

    /// Removes the review of a change if it is empty.
    fn clear_empty(&mut self, key: &Key) {
        let says_nothing = |said: &HunkReview| *said == HunkReview::default();
        if self.said.get(key).is_some_and(says_nothing) {
            self.said.remove(key);
            self.outdated.remove(key);
        }
    }

    /// Compares the reviews with the current changes. The review of a change that moved moves with
    /// it. A rejection or a comment whose change is gone is outdated.
    pub(super) fn update(&mut self, files: &[FileDiff]) {
        let changes = files.iter().flat_map(|file| {
            let pieces = hunks(&file.diff).into_iter();
            pieces.map(|piece| (file.change.path.clone(), piece.to_owned()))
        });
        let now: BTreeSet<Key> = changes.collect();
        let written = self.writing.as_ref();
        let written = written.map(|(_, path, piece)| (path.clone(), piece.clone()));
        if let Some(key) = written.clone().filter(|key| !now.contains(key)) {
            self.said.entry(key).or_default();
        }
        let gone = self.said.keys().filter(|key| !now.contains(*key)).cloned();
        let gone: Vec<Key> = gone.collect();
        self.outdated.clear();
        for key in gone {
            let said = self.said.remove(&key).unwrap_or_default();
            let is_written = written.as_ref() == Some(&key);
            let same = now.iter().filter(|other| {
                let is_same = other.0 == key.0 && changed_lines(&other.1) == changed_lines(&key.1);
                is_same && !self.said.contains_key(*other)
            });
            let same: Vec<&Key> = same.collect();
            if let [moved] = same[..] {
                if let (true, Some((_, _, piece))) = (is_written, &mut self.writing) {
                    piece.clone_from(&moved.1);
                }
                self.said.insert(moved.clone(), said);
            } else if is_written || said.is_to_send() {
                self.outdated.insert(key.clone());
                self.said.insert(key, said);
            }
        }
    }

    /// The changes of a file with an outdated review.
    pub(super) fn outdated_of(&self, path: &str) -> Vec<&str> {
        let own = self.outdated.iter().filter(|(of, _)| of == path);
        own.map(|(_, piece)| piece.as_str()).collect()
    }

    /// The files with an outdated review.
    pub(super) fn outdated_files(&self) -> BTreeSet<&str> {
        self.outdated
            .iter()
            .map(|(path, _)| path.as_str())
            .collect()
    }

    /// The rejections and comments to send.
    pub(super) fn pieces(&self) -> Vec<Reviewed> {
        let said = self.said.iter().map(|((path, hunk), said)| Reviewed {
            path: path.clone(),
            hunk: hunk.clone(),
            rejected: said.verdict == Some(Verdict::Rejected),
            comment: said.comment.clone(),
            outdated: self.outdated.contains(&(path.clone(), hunk.clone())),
        });
        said.filter(|piece| piece.rejected || !piece.comment.is_empty())
            .collect()
    }

    pub(super) fn rejection(path: &str, piece: &str) -> Reviewed {
        Reviewed {
            path: path.to_owned(),
            hunk: piece.to_owned(),
            rejected: true,
            comment: String::new(),
            outdated: false,
        }
    }

    /// `· 2 accepted · 1 rejected · 1 comment · 1 outdated `.
    pub(super) fn summary(&self) -> String {
        let count =
            |is: &dyn Fn(&HunkReview) -> bool| self.said.values().filter(|said| is(said)).count();
        let comments = count(&|said| !said.comment.is_empty());
        let parts = [
            (
                count(&|said| said.verdict == Some(Verdict::Accepted)),
                "accepted",
            ),
            (
                count(&|said| said.verdict == Some(Verdict::Rejected)),
                "rejected",
            ),
            (comments, if comments == 1 { "comment" } else { "comments" }),
            (self.outdated.len(), "outdated"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, name)| format!("· {count} {name} "));
        parts.collect::<Vec<_>>().concat()
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// The comment line and its cursor column.
    pub(super) fn writing(&self, width: usize) -> Option<(Row, u16)> {
        let (input, ..) = self.writing.as_ref()?;
        let room = width.saturating_sub(text::width(MARK) + 1);
        let mut row = Row::plain(MARK, Token::Accent);
        let shown = text::truncate_start(input.text(), room);
        let cut = text::width(input.text()).saturating_sub(text::width(&shown));
        row.push(shown.into_owned(), Token::Text);
        let column = text::width(MARK) + input.cursor_column().saturating_sub(cut);
        let free = width.saturating_sub(row.width() + 1);
        if text::width(WRITING) < free {
            row.push(" ".repeat(free - text::width(WRITING)), Token::Text);
            row.push(WRITING, Token::Muted);
        }
        Some((row, u16::try_from(column).unwrap_or(u16::MAX)))
    }

    /// Adds text to the comment; returns false when no comment is being written.
    pub(super) fn write(&mut self, text: &str) -> bool {
        let Some((input, ..)) = &mut self.writing else {
            return false;
        };
        input.insert(text);
        true
    }

    pub(super) fn on_command(&mut self, command: Command) -> Handled {
        let Some((input, ..)) = &mut self.writing else {
            return Handled::No;
        };
        match command {
            Command::Accept | Command::Submit => {
                if let Some((input, path, piece)) = self.writing.take() {
                    let key = (path, piece);
                    let said = self.said.entry(key.clone()).or_default();
                    input.text().trim().clone_into(&mut said.comment);
                    self.clear_empty(&key);
                }
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                if let Some((_, path, piece)) = self.writing.take() {
                    self.clear_empty(&(path, piece));
                }
            }
            command => return edit(input, command),
        }
        Handled::Yes
    }
}

/// The sign of a review.
pub(super) fn mark(said: &HunkReview) -> (&'static str, Token) {
    match said.verdict {
        Some(Verdict::Accepted) => ("✓", Token::Success),
        Some(Verdict::Rejected) => ("✗", Token::Error),
        None if !said.comment.is_empty() => ("✎", Token::Accent),
        None => (" ", Token::Text),
    }
}

/// The lines of a change without its header, which has the line numbers.
fn changed_lines(piece: &str) -> &str {
    piece.split_once('\n').map_or("", |(_, lines)| lines)
}

/// The commands of a review. They need changes that lead to the present files.
pub(super) fn is_verdict(command: Command) -> bool {
    matches!(
        command,
        Command::AcceptHunk
            | Command::RejectHunk
            | Command::RevertHunk
            | Command::CommentHunk
            | Command::SendReview
    )
}

/// The key hints on one line, or on two on a narrow screen. The key that closes the view is always shown. If the review is `outdated`, a
/// key clears it. Without `reviews`, the changes can only be read.
pub(super) fn keys(
    keymap: &Keymap<Command>,
    (reviews, outdated): (bool, bool),
    width: usize,
) -> Vec<String> {
    const KEYS: &[(Command, &str)] = &[
        (Command::NextHunk, "change"),
        (Command::AcceptHunk, "accept"),
        (Command::RejectHunk, "reject"),
        (Command::RevertHunk, "undo"),
        (Command::CommentHunk, "comment"),
        (Command::SendReview, "send"),
        (Command::NextFile, "file"),
        (Command::EditHunk, "edit"),
        (Command::DiffLayout, "side by side"),
        (Command::OtherRange, "range"),
        (Command::Cancel, "back"),
    ];
    let hint = |(command, word): &(Command, &'static str)| match command {
        Command::AcceptHunk if outdated => (*command, "clear"),
        _ => (*command, *word),
    };
    let shown = KEYS
        .iter()
        .filter(|(command, _)| reviews || !is_verdict(*command));
    let hints: Vec<_> = shown.map(hint).collect();
    let room = width.saturating_sub(1);
    let lines = if key_lines(width) > 1 {
        frame::view_keys_in_two(keymap, "diff", &hints, room).to_vec()
    } else {
        vec![frame::view_keys(keymap, "diff", &hints, room)]
    };
    lines.into_iter().map(|keys| format!(" {keys}")).collect()
}

/// A screen with fewer columns shows the keys on two lines.
const LINE: usize = 80;

/// The number of lines with keys on a screen of this width.
pub(super) fn key_lines(width: usize) -> u16 {
    if width < LINE { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n";

    #[test]
    fn a_file_has_the_state_of_its_review() {
        let pieces: Vec<String> = hunks(DIFF).into_iter().map(str::to_owned).collect();
        let mut review = Review::default();
        let signs = |review: &Review| {
            let file = review.of_file("x", DIFF);
            (file.sign(false).0, file.sign(true).0)
        };
        let mut seen = vec![signs(&review)];
        for (command, piece) in [
            (Command::AcceptHunk, 0),
            (Command::AcceptHunk, 1),
            (Command::RejectHunk, 1),
        ] {
            review.set_verdict(command, "x".to_owned(), pieces[piece].clone());
            seen.push(signs(&review));
        }
        let texts = |sign: &str, word: &str| (sign.to_owned(), word.to_owned());
        assert_eq!(
            seen,
            [
                texts("", ""),
                texts("1/2", "1 of 2 reviewed"),
                texts("✓", "accepted"),
                texts("✗", "rejected"),
            ]
        );
        assert_eq!(review.of_file("y", DIFF), FileReview::default());
    }

    fn file(diff: &str) -> Vec<FileDiff> {
        let change = osier_protocol::FileChange {
            path: "x".to_owned(),
            kind: osier_protocol::ChangeKind::Modify,
            by_hand: false,
            obstacle: None,
        };
        let diff = diff.to_owned();
        vec![FileDiff {
            change,
            from: None,
            diff,
        }]
    }

    #[test]
    fn a_rejection_of_lines_that_changed_is_outdated_until_it_is_cleared() {
        let pieces: Vec<String> = hunks(DIFF).into_iter().map(str::to_owned).collect();
        let mut review = Review::default();
        for (command, piece) in [(Command::AcceptHunk, 0), (Command::RejectHunk, 1)] {
            review.set_verdict(command, "x".to_owned(), pieces[piece].clone());
        }
        // The rejected lines moved, and the accepted ones are gone.
        let moved = "--- a/x\n+++ b/x\n@@ -19 +19 @@\n-c\n+d\n";
        review.update(&file(moved));
        assert_eq!(review.summary(), "· 1 rejected ");
        assert_eq!(review.pieces()[0].hunk, "@@ -19 +19 @@\n-c\n+d\n");
        review.update(&file("--- a/x\n+++ b/x\n@@ -19 +19 @@\n-c\n+e\n"));
        assert_eq!(review.summary(), "· 1 rejected · 1 outdated ");
        assert!(review.pieces()[0].outdated);
        assert_eq!(review.of_file("x", DIFF).sign(false).0, "outdated");
        review.update(&file(moved));
        assert_eq!(review.summary(), "· 1 rejected ");
        review.update(&[]);
        let gone = review.outdated_of("x")[0].to_owned();
        review.set_verdict(Command::AcceptHunk, "x".to_owned(), gone);
        assert_eq!(
            (review.summary(), review.pieces()),
            (String::new(), Vec::new())
        );
    }
}
