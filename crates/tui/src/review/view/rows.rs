//! The rows around the changes: the title, the list of files, and the marks before each change.

use super::super::verdicts::mark;
use super::DiffView;
use super::texts::title;
use osier_base::text;
use osier_checkpoint::hunks;
use osier_protocol::ChangeKind;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::Row;

impl DiffView {
    /// The two columns before the rows: the selected change and the review of each change.
    pub(super) fn gutter(&self) -> Vec<Row> {
        let rows = self.top..self.count().min(self.top + self.page);
        let starts = self.starts();
        let file = self.files.get(self.selected);
        let pieces = file.map(|file| hunks(&file.diff)).unwrap_or_default();
        rows.map(|row| {
            let place = starts
                .partition_point(|start| *start <= row)
                .saturating_sub(1);
            let is_current = place == self.hunk && !pieces.is_empty();
            let mut shown = Row::plain(if is_current { "▎" } else { " " }, Token::Accent);
            if is_current && self.linear {
                shown = Row::plain(" ", Token::Selected);
            }
            // A row of dots is before every change but the first.
            let named = starts
                .get(place)
                .map(|start| start + usize::from(place > 0));
            let said = file.zip(pieces.get(place));
            let said = said.and_then(|(file, piece)| self.review.of(&file.change.path, piece));
            let (sign, token) = said.map_or((" ", Token::Text), mark);
            let sign = if named == Some(row) { sign } else { " " };
            shown.push(sign, token);
            shown
        })
        .collect()
    }

    /// The list of files for `width`; the part that holds the selected one.
    pub(super) fn list(&self, width: usize, height: usize) -> Vec<Row> {
        let first = self.selected.saturating_sub(height.saturating_sub(1) / 2);
        let first = first.min(self.files.len().saturating_sub(height));
        let files = self.files.iter().enumerate().skip(first).take(height);
        files.map(|(place, _)| self.line(place, width)).collect()
    }

    /// A file: how it changed, its path, the state of its review, its added and removed lines.
    fn line(&self, place: usize, width: usize) -> Row {
        let (file, (added, removed)) = (&self.files[place], self.counts[place]);
        let mark = match file.change.kind {
            ChangeKind::Create => "+",
            ChangeKind::Modify if file.from.is_some() => "r",
            ChangeKind::Modify => "~",
            ChangeKind::Mode => "x",
            ChangeKind::Remove => "-",
        };
        let is_selected = place == self.selected && !self.linear;
        let token = |other| if is_selected { Token::Selected } else { other };
        let review = self.review.of_file(&file.change.path, &file.diff);
        let (review, review_token) = review.sign(self.linear);
        let mut right = vec![(review, review_token)];
        if (added, removed) != (0, 0) {
            right.push((format!(" +{added}"), Token::Success));
            right.push((format!(" -{removed}"), Token::Error));
        }
        let right_width: usize = right.iter().map(|(text, _)| text::width(text)).sum();
        let room = width.saturating_sub(right_width + 5);
        let path = match &file.from {
            Some(from) => text::single_line(&format!("{from} → {}", file.change.path)),
            None => text::single_line(&file.change.path),
        };
        let path = text::truncate_start(&path, room).into_owned();
        let gap = room.saturating_sub(text::width(&path)) + 1;
        let mut row = Row::plain(format!(" {mark} "), token(Token::Text));
        row.push(path, token(Token::Text));
        row.push(" ".repeat(gap), token(Token::Text));
        for (text, other) in right {
            row.push(text, token(other));
        }
        row.push(" ", token(Token::Text));
        row
    }

    /// The selected file, where the list has no room.
    pub(super) fn named(&self, width: usize) -> Row {
        let place = match self.files.len() {
            0 => {
                let text = format!("  no changes {}", title(&self.range));
                return Row::plain(text, Token::Muted);
            }
            1 => String::new(),
            count => format!(" {}/{count} ", self.selected + 1),
        };
        let room = width.saturating_sub(text::width(&place));
        let mut row = self.line(self.selected, room);
        row.push(place, Token::Muted);
        row
    }

    pub(super) fn head(&self, width: usize) -> Row {
        let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
        let (added, removed) = self.counts.iter().fold((0, 0), |(added, removed), count| {
            (added + count.0, removed + count.1)
        });
        let files = crate::checkpoints::files(self.files.len());
        let title = format!(" {files} changed {} ", title(&self.range));
        let mut head = Row::plain(text::truncate(&title, width).into_owned(), bold);
        let parts = [
            (format!(" +{added}"), Token::Success),
            (format!(" -{removed} "), Token::Error),
            (self.review.summary(), Token::Title),
        ];
        for (part, token) in parts {
            let room = width.saturating_sub(head.width());
            head.push(text::truncate(&part, room).into_owned(), token);
        }
        let line = width.saturating_sub(head.width());
        head.push("─".repeat(line), Token::Border);
        head
    }
}
