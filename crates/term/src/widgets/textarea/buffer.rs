//! The text of the editor: logical lines that can contain chips. Knows positions and edits, but no
//! cursor, widths or undo.
//!
//! A chip is one element of the text. A line represents it as `MARK`, a character that typed text
//! never contains, and stores the chips in the order of their marks. A chip is therefore never
//! looked up by its label.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use osier_base::text;

/// Represents a chip in a line (OBJECT REPLACEMENT CHARACTER).
pub(super) const MARK: char = '\u{fffc}';

/// A placeholder in the text that the cursor, deletion and undo treat as one element: a large paste
/// or an attachment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chip {
    /// The displayed text, on one line.
    pub label: String,
    /// The text that it represents, shared by its copies.
    pub text: Arc<str>,
    /// The caller's id of an attachment.
    pub attachment: Option<u64>,
}

/// A position in the text: a logical line and a byte offset at a grapheme boundary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub byte: usize,
}

impl Position {
    pub fn new(line: usize, byte: usize) -> Self {
        Self { line, byte }
    }
}

/// A part of the text with the chips of its marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) text: String,
    pub(super) chips: Vec<Arc<Chip>>,
}

impl Fragment {
    /// Text without control sequences and marks.
    pub(super) fn plain(source: &str) -> Self {
        let mut clean = text::sanitize(source);
        if clean.contains(MARK) {
            clean = clean.replace(MARK, "").into();
        }
        Self {
            text: clean.into_owned(),
            chips: Vec::new(),
        }
    }

    pub(super) fn chip(chip: Arc<Chip>) -> Self {
        Self {
            text: MARK.to_string(),
            chips: vec![chip],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends `other`.
    pub(super) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.chips.extend_from_slice(&other.chips);
    }

    /// The text with every chip replaced by the result of `show`.
    pub(super) fn expand<'a>(&'a self, show: impl Fn(&'a Chip) -> &'a str) -> String {
        let mut chips = self.chips.iter();
        let mut expanded = String::with_capacity(self.text.len());
        let mut parts = self.text.split(MARK);
        expanded.push_str(parts.next().unwrap_or_default());
        for part in parts {
            expanded.push_str(chips.next().map_or("", |chip| show(chip)));
            expanded.push_str(part);
        }
        expanded
    }
}

/// One logical line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    chips: Vec<Arc<Chip>>,
}

impl Line {
    /// The elements of the line as (byte offset, text, chip if it is one).
    pub(super) fn elements(&self) -> impl Iterator<Item = (usize, &str, Option<&Arc<Chip>>)> {
        let mut chips = self.chips.iter();
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            let element = element_at(&self.text, start)?;
            at += element.len();
            let chip = element.starts_with(MARK).then(|| chips.next()).flatten();
            Some((start, element, chip))
        })
    }

    pub(super) fn chips(&self) -> &[Arc<Chip>] {
        &self.chips
    }

    pub(super) fn has_no_chips(&self) -> bool {
        self.chips.is_empty()
    }

    fn chips_before(&self, byte: usize) -> usize {
        match self.chips.len() {
            0 => 0,
            _ => self.text[..byte].matches(MARK).count(),
        }
    }

    fn split_off(&mut self, byte: usize) -> Self {
        let chips = self.chips.split_off(self.chips_before(byte));
        Self {
            text: self.text.split_off(byte),
            chips,
        }
    }

    fn append(&mut self, tail: Self) {
        self.text.push_str(&tail.text);
        self.chips.extend(tail.chips);
    }
}

/// The grapheme or chip that starts at `byte`.
pub(super) fn element_at(text: &str, byte: usize) -> Option<&str> {
    let rest = &text[byte..];
    if rest.starts_with(MARK) {
        return Some(&rest[..MARK.len_utf8()]);
    }
    let bytes = rest.as_bytes();
    if bytes.first()?.is_ascii() && bytes.get(1).is_none_or(u8::is_ascii) {
        return Some(&rest[..1]);
    }
    let end = rest.find(MARK).unwrap_or(rest.len());
    let (_, cluster) = text::graphemes(&rest[..end]).next()?;
    Some(cluster)
}

/// The grapheme or chip that ends at `byte`.
pub(super) fn element_before(text: &str, byte: usize) -> Option<&str> {
    let head = &text[..byte];
    if head.ends_with(MARK) {
        return Some(&head[byte - MARK.len_utf8()..]);
    }
    let start = head.rfind(MARK).map_or(0, |mark| mark + MARK.len_utf8());
    let (_, cluster) = text::graphemes(&head[start..]).next_back()?;
    Some(cluster)
}

/// An edit with everything that undo needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextEdit {
    pub start: Position,
    pub removed: Fragment,
    pub inserted: Fragment,
}

/// Logical lines, always at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Buffer {
    lines: Vec<Line>,
}

impl Default for Buffer {
    fn default() -> Self {
        Self {
            lines: vec![Line::default()],
        }
    }
}

impl Buffer {
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The text of a line, with `MARK` for its chips; empty beyond the end.
    pub(super) fn line(&self, line: usize) -> &str {
        self.lines.get(line).map_or("", |line| &line.text)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(&*self.lines, [only] if only.text.is_empty())
    }

    pub(super) fn end(&self) -> Position {
        self.line_end(self.lines.len() - 1)
    }

    /// The end of a line.
    pub(super) fn line_end(&self, line: usize) -> Position {
        Position::new(line, self.line(line).len())
    }

    /// The nearest valid position at or before `position`.
    pub(super) fn clamp(&self, position: Position) -> Position {
        let line = position.line.min(self.lines.len() - 1);
        let text = self.line(line);
        let byte = text.floor_char_boundary(position.byte.min(text.len()));
        if byte == text.len() || text.is_ascii() {
            return Position::new(line, byte);
        }
        let boundary = self.lines[line]
            .elements()
            .map(|(start, _, _)| start)
            .take_while(|start| *start <= byte)
            .last();
        Position::new(line, boundary.unwrap_or(0))
    }

    /// `position`, or the end of the grapheme around it: an edit can join graphemes.
    pub(super) fn snap(&self, position: Position) -> Position {
        let start = self.clamp(position);
        if start == position {
            return position;
        }
        let cluster = element_at(self.line(start.line), start.byte);
        Position::new(start.line, start.byte + cluster.map_or(0, str::len))
    }

    /// A copy of a part of the text.
    pub(super) fn fragment(&self, range: Range<Position>) -> Fragment {
        let mut fragment = Fragment::default();
        for index in range.start.line..=range.end.line {
            let Some(line) = self.lines.get(index) else {
                break;
            };
            if index > range.start.line {
                fragment.text.push('\n');
            }
            let from = match index.cmp(&range.start.line) {
                Ordering::Equal => range.start.byte,
                _ => 0,
            };
            let to = match index.cmp(&range.end.line) {
                Ordering::Equal => range.end.byte,
                _ => line.text.len(),
            };
            fragment.text.push_str(&line.text[from..to]);
            let chips = line.chips_before(from)..line.chips_before(to);
            fragment.chips.extend_from_slice(&line.chips[chips]);
        }
        fragment
    }

    pub(super) fn all(&self) -> Fragment {
        self.fragment(Position::default()..self.end())
    }

    /// Replaces `range` with `inserted`; returns the end of the inserted text and the edit.
    pub(super) fn replace(
        &mut self,
        range: Range<Position>,
        inserted: Fragment,
    ) -> (Position, TextEdit) {
        let removed = self.fragment(range.clone());
        let start = range.start;
        let tail = self.lines[range.end.line].split_off(range.end.byte);
        if range.end.line > start.line {
            self.lines.drain(start.line + 1..=range.end.line);
        }
        self.lines[start.line].split_off(start.byte);
        let end = self.insert_lines(start.line, &inserted);
        self.lines[end.line].append(tail);
        let edit = TextEdit {
            start,
            removed,
            inserted,
        };
        (end, edit)
    }

    /// Appends `fragment` to the end of line `at`; returns its end.
    fn insert_lines(&mut self, at: usize, fragment: &Fragment) -> Position {
        let mut chips = fragment.chips.iter().cloned();
        let mut parts = fragment.text.split('\n').map(|part| Line {
            text: part.to_owned(),
            chips: chips.by_ref().take(part.matches(MARK).count()).collect(),
        });
        if let Some(first) = parts.next() {
            self.lines[at].append(first);
        }
        let more: Vec<Line> = parts.collect();
        let (next, last) = (at + 1, at + more.len());
        self.lines.splice(next..next, more);
        Position::new(last, self.lines[last].text.len())
    }
}

/// The end of a fragment that starts at `start`.
pub(super) fn end_of(start: Position, fragment: &Fragment) -> Position {
    match fragment.text.rfind('\n') {
        None => Position::new(start.line, start.byte + fragment.text.len()),
        Some(newline) => Position::new(
            start.line + fragment.text.matches('\n').count(),
            fragment.text.len() - newline - 1,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_can_be_reverted() {
        let chip = Arc::new(Chip {
            label: "[x]".into(),
            text: "content".into(),
            attachment: None,
        });
        let mut buffer = Buffer::default();
        let (end, _) = buffer.replace(
            Position::default()..Position::default(),
            Fragment::plain("one\ntwo\nthree"),
        );
        assert_eq!(end, Position::new(2, 5));
        let (end, _) = buffer.replace(
            Position::new(1, 1)..Position::new(1, 1),
            Fragment::chip(chip.clone()),
        );
        let before = buffer.clone();
        let mut inserted = Fragment::plain("A\nB");
        inserted.append(&Fragment::chip(chip));
        let (end, edit) = buffer.replace(Position::new(0, 2)..end, inserted);
        assert_eq!(end, end_of(edit.start, &edit.inserted));
        assert_eq!(
            buffer.all().expand(|chip| &chip.label),
            "onA\nB[x]wo\nthree"
        );
        buffer.replace(edit.start..end, edit.removed);
        assert_eq!(buffer, before);
        assert_eq!(
            buffer.all().expand(|chip| &chip.text),
            "one\ntcontentwo\nthree"
        );
    }

    #[test]
    fn marks_cannot_be_typed_and_never_join_a_cluster() {
        assert_eq!(
            Fragment::plain("a\u{fffc}b\x1b[1mc\t."),
            Fragment::plain("abc\t.")
        );
        let text = format!("e{MARK}\u{301}x");
        assert_eq!(element_at(&text, 0), Some("e"));
        assert_eq!(element_at(&text, 1), Some("\u{fffc}"));
        assert_eq!(element_before(&text, 4), Some("\u{fffc}"));
        assert_eq!(element_before(&text, 6), Some("\u{301}"));
    }
}
