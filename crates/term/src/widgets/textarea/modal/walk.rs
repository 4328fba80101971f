//! Steps through the text, a cluster at a time, over the ends of lines. What modal motions are made of.

use super::super::buffer::{Buffer, MARK, Position, element_at, element_before};

/// What a step forward led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Another cluster of the line.
    Inside,
    /// Behind the last cluster of the line.
    End,
    /// The start of the next line.
    Line,
    /// Nowhere: the text ends here.
    Stuck,
}

/// A kind of character, for words: what differs begins another word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Blank,
    Punctuation,
    Word,
    Chip,
    Script(u8),
}

/// A place that moves through a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    buffer: &'a Buffer,
    pub(super) at: Position,
    /// Words end at blanks alone.
    big: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(buffer: &'a Buffer, at: Position, big: bool) -> Self {
        Self { buffer, at, big }
    }

    pub(super) fn line(&self) -> &'a str {
        self.buffer.line(self.at.line)
    }

    pub(super) fn element(&self) -> Option<&'a str> {
        element_at(self.line(), self.at.byte)
    }

    pub(super) fn class(&self) -> Class {
        self.element()
            .map_or(Class::Blank, |element| class(element, self.big))
    }

    pub(super) fn is_last_line(&self) -> bool {
        self.at.line + 1 >= self.buffer.lines().len()
    }

    pub(super) fn is_empty_line(&self) -> bool {
        self.line().is_empty()
    }

    pub(super) fn forward(&mut self) -> Step {
        if let Some(element) = self.element() {
            self.at.byte += element.len();
            if self.at.byte < self.line().len() {
                return Step::Inside;
            }
            return Step::End;
        }
        if self.is_last_line() {
            return Step::Stuck;
        }
        self.at = Position::new(self.at.line + 1, 0);
        Step::Line
    }

    pub(super) fn back(&mut self) -> Step {
        if let Some(element) = element_before(self.line(), self.at.byte) {
            self.at.byte -= element.len();
            return Step::Inside;
        }
        let Some(line) = self.at.line.checked_sub(1) else {
            return Step::Stuck;
        };
        self.at = Position::new(line, self.buffer.line(line).len());
        Step::Line
    }

    /// Past everything of a class; false when the text ends first.
    pub(super) fn skip(&mut self, class: Class) -> bool {
        while self.class() == class {
            if self.forward() == Step::Stuck {
                return false;
            }
        }
        true
    }

    pub(super) fn skip_back(&mut self, class: Class) -> bool {
        while self.class() == class {
            if self.back() == Step::Stuck {
                return false;
            }
        }
        true
    }
}

pub(super) fn class(element: &str, big: bool) -> Class {
    let Some(char) = element.chars().next() else {
        return Class::Blank;
    };
    if char.is_whitespace() {
        return Class::Blank;
    }
    if big {
        return Class::Word;
    }
    match char {
        MARK => Class::Chip,
        char if char.is_ascii_punctuation() && char != '_' => Class::Punctuation,
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}' => {
            Class::Punctuation
        }
        '\u{3040}'..='\u{309f}' => Class::Script(1),
        '\u{30a0}'..='\u{30ff}' => Class::Script(2),
        '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3fffd}' => Class::Script(3),
        '\u{ac00}'..='\u{d7a3}' => Class::Script(4),
        '\u{1f000}'..='\u{1faff}' => Class::Script(5),
        _ => Class::Word,
    }
}

/// The start of the cluster before `byte`; 0 at the start of the line.
pub(super) fn before(line: &str, byte: usize) -> usize {
    byte - element_before(line, byte).map_or(0, str::len)
}

/// The end of the cluster at `byte`; the end of the line behind the last.
pub(super) fn after(line: &str, byte: usize) -> usize {
    byte + element_at(line, byte).map_or(0, str::len)
}

/// The start of the last cluster.
pub(super) fn last(line: &str) -> usize {
    before(line, line.len())
}

/// The first cluster that is no blank; the last one of a line of blanks.
pub(super) fn first_text(line: &str) -> usize {
    let text = line.len() - line.trim_start().len();
    if text < line.len() { text } else { last(line) }
}
