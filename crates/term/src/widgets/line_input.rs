//! A single-line text input, for example for a search query or a name.

use osier_base::text::{graphemes, single_line, width};

/// The text and a cursor between graphemes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    /// Byte offset.
    cursor: usize,
}

impl LineInput {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            cursor: text.len(),
            text,
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Columns before the cursor.
    pub fn cursor_column(&self) -> usize {
        width(&self.text[..self.cursor])
    }

    /// Inserts text. Line breaks and control sequences are removed.
    pub fn insert(&mut self, text: &str) {
        let text = single_line(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    pub fn delete_backward(&mut self) {
        let start = self.previous_boundary();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub fn delete_forward(&mut self) {
        let end = self.next_boundary();
        self.text.replace_range(self.cursor..end, "");
    }

    /// Deletes the word before the cursor and the space after it.
    pub fn delete_word_backward(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let start = before.rfind(char::is_whitespace).map_or(0, |space| {
            space + before[space..].chars().next().map_or(1, char::len_utf8)
        });
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }

    pub fn left(&mut self) {
        self.cursor = self.previous_boundary();
    }

    pub fn right(&mut self) {
        self.cursor = self.next_boundary();
    }

    pub fn home(&mut self) {
        self.cursor = 0;
    }

    pub fn end(&mut self) {
        self.cursor = self.text.len();
    }

    fn previous_boundary(&self) -> usize {
        graphemes(&self.text[..self.cursor])
            .next_back()
            .map_or(0, |(offset, _)| offset)
    }

    fn next_boundary(&self) -> usize {
        let next = graphemes(&self.text[self.cursor..]).next();
        self.cursor + next.map_or(0, |(_, grapheme)| grapheme.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphemes_are_edited_as_units() {
        let mut input = LineInput::new("a👨‍👩‍👧b");
        input.left();
        input.delete_backward();
        assert_eq!(input.text(), "ab");
        input.insert("漢\n字");
        assert_eq!((input.text(), input.cursor_column()), ("a漢⏎字b", 6));
        input.home();
        input.delete_forward();
        assert_eq!(input.text(), "漢⏎字b");
    }

    #[test]
    fn deleting_a_word_deletes_its_space() {
        let mut input = LineInput::new("one two  ");
        input.delete_word_backward();
        assert_eq!(input.text(), "one ");
        input.delete_word_backward();
        assert_eq!(input.text(), "");
    }
}
