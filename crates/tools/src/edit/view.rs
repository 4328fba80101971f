//! A view of a text that ignores small differences, with a mapping back to the bytes of the original.
//!
//! Most of a text is identical in its view, so only the differences are stored.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use osier_base::path::is_space;
use osier_base::text::graphemes;

/// A text with some differences ignored.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Where the view and the original differ, in order.
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    view: Range<usize>,
    original: Range<usize>,
}

impl<'a> View<'a> {
    /// The unchanged text.
    pub(crate) fn exact(original: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(original),
            pieces: Vec::new(),
        }
    }

    /// CRLF becomes LF.
    pub(crate) fn line_endings(original: &'a str) -> Self {
        let mut builder = Builder::new(original);
        for (offset, _) in original.match_indices("\r\n") {
            builder.replace(offset..offset + 2, "\n");
        }
        builder.end()
    }

    /// CRLF becomes LF, trailing whitespace is removed, compatibility forms (NFKC), typographic quotes,
    /// dashes and spaces become their plain forms.
    pub(crate) fn normalized(original: &'a str) -> Self {
        let mut builder = Builder::new(original);
        let mut start = 0;
        for line in original.split_inclusive('\n') {
            let content = line.trim_end();
            let trimmed = start + content.len();
            if !content.is_ascii() {
                normalize_chunk(&mut builder, start, content);
            }
            let end = start + line.len();
            if line.ends_with("\r\n") {
                builder.replace(trimmed..end - 2, "");
                builder.replace(end - 2..end, "\n");
            } else {
                let newline = usize::from(line.ends_with('\n'));
                builder.replace(trimmed..end - newline, "");
            }
            start = end;
        }
        builder.end()
    }

    /// The byte range of the original for `range` of the view; `None` when it starts or ends inside a
    /// replacement.
    pub(crate) fn original(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let start = self.map(range.start, true)?;
        let end = self.map(range.end, false)?;
        Some(start..end.max(start))
    }

    /// Hidden text at a boundary stays outside of the range.
    fn map(&self, offset: usize, is_start: bool) -> Option<usize> {
        // At the end of a range, hidden text at this offset is excluded.
        let before = self.pieces.partition_point(|piece| {
            piece.view.end <= offset && (is_start || piece.view.start < offset)
        });
        if let Some(piece) = self.pieces.get(before)
            && piece.view.start < offset
        {
            return None;
        }
        let (view, original) = match before.checked_sub(1) {
            Some(last) => (self.pieces[last].view.end, self.pieces[last].original.end),
            None => (0, 0),
        };
        Some(original + (offset - view))
    }
}

fn normalize_chunk(builder: &mut Builder<'_>, start: usize, content: &str) {
    for (offset, grapheme) in graphemes(content) {
        if grapheme.is_ascii() {
            continue;
        }
        let plain: String = grapheme.nfkc().map(plain_char).collect();
        if plain != grapheme {
            let at = start + offset;
            builder.replace(at..at + grapheme.len(), &plain);
        }
    }
}

fn plain_char(char: char) -> char {
    match char {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        char if is_space(char) => ' ',
        char => char,
    }
}

struct Builder<'a> {
    original: &'a str,
    text: String,
    /// Bytes of the original that are processed.
    done: usize,
    pieces: Vec<Piece>,
}

impl<'a> Builder<'a> {
    fn new(original: &'a str) -> Self {
        Self {
            original,
            text: String::new(),
            done: 0,
            pieces: Vec::new(),
        }
    }

    fn replace(&mut self, range: Range<usize>, seen: &str) {
        if range.is_empty() {
            return;
        }
        self.text.push_str(&self.original[self.done..range.start]);
        let start = self.text.len();
        self.text.push_str(seen);
        self.done = range.end;
        self.pieces.push(Piece {
            view: start..self.text.len(),
            original: range,
        });
    }

    fn end(mut self) -> View<'a> {
        if self.pieces.is_empty() {
            return View::exact(self.original);
        }
        self.text.push_str(&self.original[self.done..]);
        View {
            text: Cow::Owned(self.text),
            pieces: self.pieces,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(view: &View<'_>, original: &str, wanted: &str) -> Option<String> {
        let start = view.text.find(wanted)?;
        let range = view.original(&(start..start + wanted.len()))?;
        Some(original[range].to_owned())
    }

    #[test]
    fn line_endings_are_ignored() {
        let original = "a\r\nb\nc\r\n";
        let view = View::line_endings(original);
        assert_eq!(view.text, "a\nb\nc\n");
        for (wanted, expected) in [
            ("a\nb", "a\r\nb"),
            ("a", "a"),
            ("\nb", "\r\nb"),
            ("b\nc\n", "b\nc\r\n"),
        ] {
            assert_eq!(found(&view, original, wanted).as_deref(), Some(expected));
        }
    }

    #[test]
    fn typography_is_normalised() {
        let original = "say \u{201c}hi\u{201d} \u{2013} it\u{2019}s\u{a0}ﬁne  \r\n\tnext \nend ";
        let view = View::normalized(original);
        assert_eq!(view.text, "say \"hi\" - it's fine\n\tnext\nend");
        for (wanted, expected) in [
            ("\"hi\" -", Some("\u{201c}hi\u{201d} \u{2013}")),
            ("fine", Some("ﬁne")),
            ("fine\n\tnext", Some("ﬁne  \r\n\tnext")),
            ("\n\tnext", Some("\r\n\tnext")),
            ("\nend", Some("\nend")),
            ("end", Some("end")),
            // The ligature is one character.
            ("ine", None),
        ] {
            assert_eq!(
                found(&view, original, wanted).as_deref(),
                expected,
                "{wanted}"
            );
        }
    }
}
