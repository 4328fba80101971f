//! Replaces the delimiters that Markdown does not know.

use std::borrow::Cow;

/// Replaces `\(…\)` and `\[…\]` by `$$…$$` outside of code, if [`lines`](crate::lines) can convert the formula. The length stays the
/// same.
///
/// ```
/// assert_eq!(osier_math::with_dollars(r"so \(x\) is"), "so $$x$$ is");
/// ```
pub fn with_dollars(source: &str) -> Cow<'_, str> {
    with_dollars_if(source, |latex| crate::lines(latex).is_some())
}

/// Like [`with_dollars`], for the formulas that `accepts` takes.
pub fn with_dollars_if(source: &str, accepts: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if !source.contains("\\(") && !source.contains("\\[") {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut ends = Ends::default();
    while let Some(at) = rest.find(['\\', '`', ']']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('`') {
            code_span(rest)
        } else if rest.starts_with(']') {
            link_target(rest)
        } else if let Some(length) = ends.formula(source, source.len() - rest.len(), &accepts) {
            out.push_str("$$");
            out.push_str(&rest[2..length - 2]);
            out.push_str("$$");
            rest = &rest[length..];
            continue;
        } else {
            // A backslash and the character that it escapes.
            1 + rest[1..].chars().next().map_or(0, char::len_utf8)
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Bytes of the code span that begins the text, or of its backticks if it has no end.
fn code_span(text: &str) -> usize {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    let mut at = ticks;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        at = start + run;
        if run == ticks {
            return at;
        }
    }
    ticks
}

/// Bytes of the bracket and the link target that begin the text: a target can have escaped parentheses.
fn link_target(text: &str) -> usize {
    if !text.starts_with("](") {
        return 1;
    }
    let mut is_escaped = false;
    let end = text[2..].find(|char: char| {
        let is_end = char.is_whitespace() || char == ')' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Where the next ends of formulas are, so that each part of a text is searched once and not from every `\(`.
#[derive(Default)]
struct Ends([Option<usize>; 5]);

impl Ends {
    const MARKS: [&str; 5] = ["\\)", "\\]", "`", "$", "\n\n"];

    /// Start of the next `MARKS[mark]` from `start` on; the length of the text if there is none.
    fn next(&mut self, source: &str, start: usize, mark: usize) -> usize {
        match self.0[mark] {
            Some(found) if found >= start => found,
            _ => {
                let found = source[start..].find(Self::MARKS[mark]);
                let found = found.map_or(source.len(), |at| start + at);
                self.0[mark] = Some(found);
                found
            }
        }
    }

    /// Bytes of the formula that begins at `start` with `\(` or `\[` and ends in the same paragraph.
    fn formula(
        &mut self,
        source: &str,
        start: usize,
        accepts: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        let mark = match source.as_bytes().get(start + 1)? {
            b'(' => 0,
            b'[' => 1,
            _ => return None,
        };
        let inner = start + 2;
        let end = self.next(source, inner, mark);
        let is_one = end < source.len()
            && (2..Self::MARKS.len()).all(|other| self.next(source, inner, other) > end)
            && accepts(&source[inner..end]);
        is_one.then_some(end + 2 - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &str) -> Cow<'_, str> {
        with_dollars_if(source, |_| true)
    }

    #[test]
    fn link_targets_stay_as_they_are() {
        for source in [r"[a](b_\(c\))", r"[a](b_\(c\) 'd')", r"[a](b"] {
            assert_eq!(all(source), source);
        }
        assert_eq!(all(r"[a](b) \(x\)"), "[a](b) $$x$$");
        assert_eq!(all(r"[\(x\)](b)"), "[$$x$$](b)");
        assert_eq!(all(r"a[0] \[x\]"), "a[0] $$x$$");
    }

    #[test]
    fn formulas_end_in_their_paragraph_before_code_and_dollars() {
        for source in ["\\(a\n\nb\\)", r"\(a `\)`", r"\(a $ b\)", r"\(a\]"] {
            assert_eq!(all(source), source);
        }
        assert_eq!(all("\\(a\n\n\\(b\\)"), "\\(a\n\n$$b$$");
    }

    /// Searched from every start, this would take minutes.
    #[test]
    fn long_text_of_unclosed_formulas_is_searched_once() {
        for end in ["", r"`\)`", "\n\n\\)\\]"] {
            let source = r"\( \[ ".repeat(150_000) + end;
            assert_eq!(all(&source), source);
        }
    }
}
