//! The review of changes: accepted, rejected, commented. Stored by the text of the change, so that it applies when
//! the files are loaded again.

use std::collections::BTreeMap;

use crate::command::Command;
use osier_base::text;
use osier_checkpoint::hunks;
use osier_protocol::{FileDiff, Reviewed};
use osier_term::component::Handled;
use osier_term::face::Token;
use osier_term::keymap::Keymap;
use osier_term::row::Row;
use osier_term::widgets::line_input::LineInput;

/// The label of the comment line.
const MARK: &str = " comment: ";

/// The review of one change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HunkReview {
    pub verdict: Option<Verdict>,
    pub comment: String,
    /// The lines have changed since.
    is_outdated: bool,
}

impl HunkReview {
    /// The comment as the model gets it.
    fn sent_comment(&self) -> String {
        if self.is_outdated && !self.comment.is_empty() {
            return format!("{} (these lines have changed since)", self.comment);
        }
        self.comment.clone()
    }

    /// Whether there is something to send.
    fn is_sent(&self) -> bool {
        self.verdict == Some(Verdict::Rejected) || !self.comment.is_empty()
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
    all: usize,
}

impl FileReview {
    /// What the list of files shows; words where it is read aloud.
    pub(super) fn sign(self, linear: bool) -> (String, Token) {
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

/// The review in progress.
#[derive(Debug, Default)]
pub(super) struct Review {
    /// By path and text of the change.
    said: BTreeMap<(String, String), HunkReview>,
    /// The comment that is written, and what it is on.
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
        let said = said.take_while(|((other, _), _)| other == path);
        for (_, said) in said.filter(|(_, said)| !said.is_outdated) {
            if file.all == 0 {
                file.all = hunks(diff).len();
            }
            match said.verdict {
                Some(Verdict::Accepted) => file.accepted += 1,
                Some(Verdict::Rejected) => file.rejected += 1,
                None => file.commented += usize::from(!said.comment.is_empty()),
            }
        }
        file
    }

    /// Sets the verdict of a change, or clears it when it is set already; true when the cursor moves on.
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
        let said = self.said.entry((path, piece)).or_default();
        let is_new = said.verdict != Some(verdict);
        said.verdict = is_new.then_some(verdict);
        is_new
    }

    /// Compares the review with the files of now. What the user has rejected or written stays until it is sent, also if
    /// its lines have changed.
    pub(super) fn update(&mut self, files: &[FileDiff]) {
        let is_there = |path: &str, piece: &str| {
            let mut same = files.iter().filter(|file| file.change.path == path);
            same.any(|file| hunks(&file.diff).contains(&piece))
        };
        self.said.retain(|(path, piece), said| {
            said.is_outdated = !is_there(path, piece);
            !said.is_outdated || said.is_sent()
        });
    }

    /// Forgets the review of a change that the user has reverted.
    pub(super) fn forget(&mut self, path: &str, piece: &str) {
        self.said.remove(&(path.to_owned(), piece.to_owned()));
    }

    /// Whether nothing would be lost without it.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// What is said about lines that have changed since, and what to do.
    pub(super) fn outdated(&self) -> Option<String> {
        let outdated: Vec<_> = self
            .said
            .iter()
            .filter(|(_, said)| said.is_outdated)
            .collect();
        let ((path, _), first) = outdated.first()?;
        let said = match &*first.comment {
            "" => "rejection".to_owned(),
            comment => format!("comment “{}”", text::single_line(comment)),
        };
        let more = match outdated.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "outdated, the lines in {path} have changed: {said}{more}"
        ))
    }

    /// The rejections and comments to send.
    pub(super) fn pieces(&self) -> Vec<Reviewed> {
        let said = self.said.iter().map(|((path, hunk), said)| Reviewed {
            path: path.clone(),
            hunk: hunk.clone(),
            rejected: said.verdict == Some(Verdict::Rejected),
            comment: said.sent_comment(),
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
            (count(&|said| said.is_outdated), "outdated"),
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
        Some((row, u16::try_from(column).unwrap_or(u16::MAX)))
    }

    /// Takes text for the comment; false when none is written.
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
                    let said = self.said.entry((path, piece)).or_default();
                    input.text().trim().clone_into(&mut said.comment);
                }
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => self.writing = None,
            Command::Left => input.left(),
            Command::Right => input.right(),
            Command::LineStart => input.home(),
            Command::LineEnd => input.end(),
            Command::DeleteBackward => input.delete_backward(),
            Command::DeleteForward => input.delete_forward(),
            Command::DeleteWordBackward => input.delete_word_backward(),
            Command::KillToLineStart => input.clear(),
            _ => return Handled::No,
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

/// The key hints that fit, from the current bindings; the one that closes the view always.
pub(super) fn keys(keymap: &Keymap<Command>, width: usize) -> String {
    const KEYS: &[(Command, &str)] = &[
        (Command::NextHunk, "change"),
        (Command::NextFile, "file"),
        (Command::AcceptHunk, "accept"),
        (Command::RejectHunk, "reject"),
        (Command::CommentHunk, "comment"),
        (Command::SendReview, "send"),
        (Command::RevertHunk, "revert"),
        (Command::EditHunk, "edit"),
        (Command::DiffLayout, "side by side"),
        (Command::OtherRange, "range"),
        (Command::Cancel, "back"),
    ];
    let mut shown: Vec<String> = KEYS
        .iter()
        .filter_map(|(command, meaning)| {
            let keys = keymap.keys_for("diff", *command);
            let key = keys.iter().min_by_key(|key| key.len())?;
            Some(format!("{key} {meaning}"))
        })
        .collect();
    let line = |shown: &[String]| format!(" {}", shown.join(" · "));
    while shown.len() > 1 && text::width(&line(&shown)) > width {
        shown.remove(shown.len() - 2);
    }
    line(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    use osier_protocol::{ChangeKind, FileChange};

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

    #[test]
    fn comments_and_rejections_stay_when_their_lines_have_changed() {
        let pieces: Vec<String> = hunks(DIFF).into_iter().map(str::to_owned).collect();
        let mut review = Review::default();
        let mut write = |place: usize, text: &str| {
            let piece = pieces[place].clone();
            review.set_verdict(Command::CommentHunk, "x".to_owned(), piece);
            assert!(review.write(text));
            let _ = review.on_command(Command::Accept);
        };
        write(0, "why");
        review.set_verdict(Command::AcceptHunk, "x".to_owned(), pieces[1].clone());
        let diff = |diff: &str| FileDiff {
            change: FileChange {
                path: "x".to_owned(),
                kind: ChangeKind::Modify,
                by_hand: false,
                obstacle: None,
            },
            from: None,
            diff: diff.to_owned(),
        };
        let changed = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+other\n";
        review.update(&[diff(changed)]);
        assert_eq!(review.summary(), "· 1 comment · 1 outdated ");
        assert_eq!(review.of_file("x", changed).sign(false).0, "");
        let outdated = "outdated, the lines in x have changed: comment “why”";
        assert_eq!(review.outdated().as_deref(), Some(outdated));
        let sent = Reviewed {
            path: "x".to_owned(),
            hunk: pieces[0].clone(),
            rejected: false,
            comment: "why (these lines have changed since)".to_owned(),
        };
        assert_eq!(review.pieces(), [sent]);
        // The lines are as they were.
        review.update(&[diff(DIFF)]);
        assert_eq!(review.summary(), "· 1 comment ");
        assert_eq!(review.outdated(), None);
        review.forget("x", &pieces[0]);
        assert!(review.is_empty());
    }
}
