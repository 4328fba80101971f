//! The rows around the changes: the title, the list of files, and the marks before each change.

use super::state::{DiffView, MOST_ROWS};
use super::texts::{shown_path, title, unshown};
use crate::history::{checkpoints, review::verdicts::mark};
use osier_base::text;
use osier_checkpoint::hunks;
use osier_protocol::ChangeKind;
use osier_term::widgets::diff;
use osier_term::widgets::diff::DiffLayout;
use osier_term::{Face, Row, Span, Token, Wrap};

impl DiffView {
    /// The rows of a file, and where each of its changes begins: the changes, those with an outdated review, and the
    /// problems.
    pub(super) fn file_rows(
        &self,
        place: usize,
        width: u16,
        layout: DiffLayout,
    ) -> (Vec<Row>, Vec<usize>) {
        let (file, syntax) = (&self.files[place], &self.syntax[place]);
        let path = &file.change.path;
        let outdated = self.review.outdated_of(path);
        let (mut rows, mut starts) = (Vec::new(), Vec::new());
        if !file.diff.is_empty() {
            rows = diff::highlighted_rows(&file.diff, width, MOST_ROWS, layout, syntax);
            let begins = |(place, row): (usize, &Row)| {
                let mark = row.spans.first().map(|span| span.face.token);
                (place == 0 || mark == Some(Token::DiffHunk)).then_some(place)
            };
            starts = rows.iter().enumerate().filter_map(begins).collect();
        } else if place < self.changed {
            rows.push(Row::plain(format!("  {}", unshown(file)), Token::Text));
        } else if outdated.is_empty() {
            rows.push(Row::plain("  no changes", Token::Text));
        }
        for piece in outdated {
            let Some(review) = self.review.of(path, piece) else {
                continue;
            };
            starts.push(rows.len());
            let wrap = |text: &str, token, rows: &mut Vec<Row>| {
                let indent = [Span::new("   ", token)];
                let wrap = Wrap::new(usize::from(width)).hanging(&indent, &indent);
                wrap.text(text, token, rows);
            };
            wrap(review.outdated_title(), Token::Warning, &mut rows);
            if !review.comment.is_empty() {
                let comment = format!("comment: {}", text::single_line(&review.comment));
                wrap(&comment, Token::Text, &mut rows);
            }
            let lines = diff::rows(piece, width, MOST_ROWS);
            rows.extend(lines);
        }
        rows.extend(self.problems.rows(path, width));
        (rows, starts)
    }

    /// The two columns before the rows: the selected change and the review of each change.
    pub(super) fn gutter(&self) -> Vec<Row> {
        let rows = self.top..self.count().min(self.top + self.page);
        let starts = self.starts();
        let file = self.files.get(self.selected);
        let pieces = file.map(|file| self.pieces(file)).unwrap_or_default();
        let changes = file.map_or(0, |file| hunks(&file.diff).len());
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
            let has_dots = place > 0 && place < changes;
            let named = starts.get(place).map(|start| start + usize::from(has_dots));
            let said = file.zip(pieces.get(place));
            let said = said.and_then(|(file, piece)| self.review.of(&file.change.path, piece));
            let (sign, token) = said.map_or((" ", Token::Text), mark);
            let sign = if named == Some(row) { sign } else { " " };
            shown.push(sign, token);
            shown
        })
        .collect()
    }

    /// The part of the list of files around the selected file, for `width`.
    pub(super) fn list(&self, width: usize, height: usize) -> Vec<Row> {
        let first = self.first_listed(height);
        let files = self.files.iter().enumerate().skip(first).take(height);
        files.map(|(place, _)| self.line(place, width)).collect()
    }

    /// Rows of the list above the changes, out of `body` rows: the changes have most of them.
    pub(super) fn rows_above(&self, body: u16) -> u16 {
        const PART: u16 = 4;
        let most = if self.linear { 1 } else { (body / PART).max(1) };
        u16::try_from(self.files.len())
            .unwrap_or(most)
            .clamp(1, most)
    }

    /// The list above the changes. If the list is cut, the selected file has its number.
    pub(super) fn above(&self, width: usize, height: usize) -> Vec<Row> {
        let count = self.files.len();
        if height < 2 || count < 2 {
            return vec![self.named(width)];
        }
        let mut rows = self.list(width, height);
        let first = self.first_listed(height);
        if count > height
            && let Some(row) = rows.get_mut(self.selected - first)
        {
            *row = self.named(width);
        }
        rows
    }

    /// The first file in a list of so many rows.
    fn first_listed(&self, height: usize) -> usize {
        let first = self.selected.saturating_sub(height.saturating_sub(1) / 2);
        first.min(self.files.len().saturating_sub(height))
    }

    /// A file: its kind of change, its path, the state of its review, its added and removed lines.
    fn line(&self, place: usize, width: usize) -> Row {
        let file = &self.files[place];
        let mark = match file.change.kind {
            _ if place >= self.changed => " ",
            ChangeKind::Create => "+",
            ChangeKind::Modify if file.from.is_some() => "r",
            ChangeKind::Modify => "~",
            ChangeKind::Mode => "x",
            ChangeKind::Remove => "-",
        };
        let is_selected = place == self.selected && !self.linear;
        let token = |other| if is_selected { Token::Selected } else { other };
        let right = self.right(place);
        let room = path_room(&right, width);
        let path = text::truncate_start(&shown_path(file), room).into_owned();
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

    /// The state of the review of a file, its added and removed lines.
    fn right(&self, place: usize) -> Vec<(String, Token)> {
        let (file, (added, removed)) = (&self.files[place], self.counts[place]);
        let review = self.review.of_file(&file.change.path, &file.diff);
        let mut right = vec![review.sign(self.linear)];
        if (added, removed) != (0, 0) {
            right.push((format!(" +{added}"), Token::Success));
            right.push((format!(" -{removed}"), Token::Error));
        }
        right
    }

    /// Whether a list of this width cuts the path of the selected file.
    pub(super) fn is_cut(&self, width: usize) -> bool {
        self.files.get(self.selected).is_some_and(|file| {
            let room = path_room(&self.right(self.selected), width);
            text::width(&shown_path(file)) > room
        })
    }

    /// The path of the selected file.
    pub(super) fn path_row(&self, width: usize) -> Row {
        let path = self.files.get(self.selected).map(shown_path);
        let path = format!("  {}", path.unwrap_or_default());
        Row::plain(
            text::truncate_start(&path, width).into_owned(),
            Face::bold(Token::Text),
        )
    }

    /// The selected file, where the list has no room.
    pub(super) fn named(&self, width: usize) -> Row {
        let place = match self.files.len() {
            0 => {
                let text = format!("  no changes {}", title(&self.range));
                return Row::plain(text, Token::Text);
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
        let (added, removed) = self.counts.iter().fold((0, 0), |(added, removed), count| {
            (added + count.0, removed + count.1)
        });
        let files = checkpoints::files(self.changed);
        let title = format!(" {files} changed {} ", title(&self.range));
        let mut head = Row::plain(
            text::truncate(&title, width).into_owned(),
            Face::bold(Token::Title),
        );
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

/// Columns of the path in a line of the list.
fn path_room(right: &[(String, Token)], width: usize) -> usize {
    let right_width: usize = right.iter().map(|(text, _)| text::width(text)).sum();
    width.saturating_sub(right_width + 5)
}
