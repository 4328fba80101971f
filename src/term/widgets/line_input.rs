//! A one-line input: the query of a picker or a search. The cursor is on a cluster boundary; what does not
//! fit scrolls sideways.

use super::textarea::{word_left, word_right};
use crate::base::text;
use crate::term::face::Token;
use crate::term::row::Row;

/// The text and its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    /// Byte offset of the cursor.
    cursor: usize,
}

/// Where the cursor goes, or up to where text is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Left,
    Right,
    WordLeft,
    WordRight,
    Start,
    End,
}

impl LineInput {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Byte offset of the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Inserts text at the cursor; line breaks become spaces.
    pub fn insert(&mut self, text: &str) {
        let clean = text::sanitize(text);
        let line = text::expand_tabs(&clean).replace('\n', " ");
        self.text.insert_str(self.cursor, &line);
        let inserted = self.cursor + line.len();
        // What was inserted may have joined the cluster behind it.
        let end = text::graphemes(&self.text).map(|(start, cluster)| start + cluster.len());
        self.cursor = end.into_iter().find(|end| *end >= inserted).unwrap_or(0);
    }

    /// Moves the cursor; false when it is there already.
    pub fn move_by(&mut self, step: Step) -> bool {
        let target = self.target(step);
        let moved = target != self.cursor;
        self.cursor = target;
        moved
    }

    /// Deletes from the cursor to where `step` leads; false when that is nothing.
    pub fn delete(&mut self, step: Step) -> bool {
        let target = self.target(step);
        let range = self.cursor.min(target)..self.cursor.max(target);
        let some = !range.is_empty();
        self.cursor = range.start;
        self.text.drain(range);
        some
    }

    /// The visible part in `width` columns, and the column of the cursor.
    pub fn row(&self, width: usize) -> (Row, u16) {
        let width = width.max(1);
        let mut start = 0;
        let mut column = text::width(&self.text[..self.cursor]);
        for (offset, cluster) in text::graphemes(&self.text) {
            if column < width {
                break;
            }
            column -= text::grapheme_width(cluster);
            start = offset + cluster.len();
        }
        let shown = text::take_width(&self.text[start..], width);
        (Row::plain(shown, Token::Text), column as u16)
    }

    fn target(&self, step: Step) -> usize {
        match step {
            Step::Left => text::graphemes(&self.text[..self.cursor])
                .next_back()
                .map_or(0, |(offset, _)| offset),
            Step::Right => text::graphemes(&self.text[self.cursor..])
                .next()
                .map_or(self.cursor, |(_, cluster)| self.cursor + cluster.len()),
            Step::WordLeft => word_left(&self.text, self.cursor).unwrap_or(0),
            Step::WordRight => word_right(&self.text, self.cursor).unwrap_or(self.text.len()),
            Step::Start => 0,
            Step::End => self.text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_whole_clusters() {
        let mut input = LineInput::default();
        input.insert("find 👨‍👩‍👧\nfoo\x1b[1m");
        assert_eq!(input.text(), "find 👨‍👩‍👧 foo");
        input.delete(Step::WordLeft);
        input.delete(Step::Left);
        input.delete(Step::Left);
        assert_eq!(input.text(), "find ");
        assert!(!input.delete(Step::Right));
        input.move_by(Step::WordLeft);
        assert_eq!(input.cursor(), 0);
        input.insert("e");
        input.insert("\u{301}");
        assert_eq!((input.text(), input.cursor()), ("e\u{301}find ", 3));
        input.delete(Step::End);
        assert_eq!(input.text(), "e\u{301}");
    }

    #[test]
    fn a_long_text_scrolls_with_the_cursor() {
        let mut input = LineInput::default();
        input.insert("ab漢字cd");
        assert_eq!(input.row(20), (Row::plain("ab漢字cd", Token::Text), 8));
        assert_eq!(input.row(5), (Row::plain("字cd", Token::Text), 4));
        input.move_by(Step::Start);
        assert_eq!(input.row(5), (Row::plain("ab漢", Token::Text), 0));
    }
}
