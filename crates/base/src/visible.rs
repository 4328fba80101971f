//! Shows every character of a text, for questions: the text that a person reads is exactly the text that runs.
//!
//! Characters that have no glyph, or that change what a terminal shows, are replaced by a notation: `^[` for escape,
//! `␍` for a carriage return, `\x9b` for a C1 control, `\u{202e}` for all others. Long runs of blanks and of empty lines,
//! which would move the rest of a text out of view, are counted.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use crate::text;

/// Blanks in a row that are shown as they are.
const BLANKS: usize = 32;
/// Empty lines in a row that are shown as they are.
const EMPTY_LINES: usize = 3;
/// Marks on one letter that are drawn: more than any script needs, and too few to cover the lines around it.
const STACKED: usize = 4;

/// A text with notations in the place of hidden characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visible {
    pub text: String,
    /// The notations, in order.
    pub marks: Vec<Range<usize>>,
}

/// `text` with a notation for every hidden character. Borrowed if it has none. Newlines and tabs stay.
///
/// ```
/// use osier_base::visible::visible;
///
/// assert_eq!(visible("rm x #\rls\x1b[2K"), "rm x #␍ls^[[2K");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = text.len() <= BLANKS && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain {
        return Cow::Borrowed(text);
    }
    let shown = marked(text);
    if shown.marks.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(shown.text)
    }
}

/// [`visible`], with the places of the notations.
pub fn marked(text: &str) -> Visible {
    let mut shown = Visible::default();
    let mut before = None;
    let mut stacked = 0;
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        stacked = if text::is_zero_width(char) {
            stacked + 1
        } else {
            0
        };
        if let Some(length) = shown.count_blank(rest) {
            rest = &rest[length..];
            before = Some(' ');
            continue;
        }
        if let Some(notation) = notation(char, before, stacked) {
            shown.mark(&notation);
            // A mark after a notation cannot combine with it.
            before = None;
        } else {
            shown.text.push(char);
            before = Some(char);
        }
        rest = &rest[char.len_utf8()..];
    }
    shown
}

impl Visible {
    fn mark(&mut self, notation: &str) {
        let start = self.text.len();
        self.text.push_str(notation);
        self.marks.push(start..self.text.len());
    }

    /// Counts the blanks or the empty lines at the start of `rest` if there are too many; the bytes that it replaced.
    fn count_blank(&mut self, rest: &str) -> Option<usize> {
        match rest.as_bytes().first()? {
            b'\n' => {
                let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
                let end = rest[..blank].rfind('\n')? + 1;
                // The first newline ends a line that is not empty.
                let empty = rest[..end].matches('\n').count() - 1;
                (empty > EMPTY_LINES).then(|| {
                    self.text.push('\n');
                    self.mark(&format!("⟨{} empty lines⟩", grouped(empty)));
                    self.text.push('\n');
                    end
                })
            }
            b' ' | b'\t' => {
                // Inside of a run that is short, nothing is counted.
                if self.text.ends_with([' ', '\t']) {
                    return None;
                }
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                (blanks > BLANKS).then(|| {
                    self.mark(&format!("⟨{} blanks⟩", grouped(blanks)));
                    blanks
                })
            }
            _ => None,
        }
    }
}

/// The notation of a character that would be invisible, or visible in another position. `before` is
/// the character before it, `stacked` its place among the marks on one letter.
fn notation(char: char, before: Option<char>, stacked: usize) -> Option<String> {
    Some(match char {
        '\n' | '\t' => return None,
        '\r' => "␍".to_owned(),
        '\0'..='\x1f' => format!("^{}", char::from(char as u8 ^ 0x40)),
        '\x7f' => "^?".to_owned(),
        '\u{80}'..='\u{9f}' => format!("\\x{:02x}", char as u32),
        _ if stacked > STACKED || is_hidden(char, before) => format!("\\u{{{:x}}}", char as u32),
        _ => return None,
    })
}

fn is_hidden(char: char, before: Option<char>) -> bool {
    let follows_letter = || before.is_none_or(|before| before.is_ascii());
    match char {
        ' '..='~' => false,
        // Blanks that a shell does not treat as blanks, and letters that look like blanks.
        '\u{a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{ffa0}'
        // Letters and signs without a glyph.
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{16fe4}'
        | '\u{fffc}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}' => true,
        // Separates and indents words of Chinese and Japanese, one at a time.
        '\u{3000}' => before
            .is_none_or(|before| before == '\u{3000}' || (before.is_ascii() && before != '\n')),
        // Needed by scripts and emoji, and useless after ASCII.
        '\u{200c}' | '\u{200d}' | '\u{34f}' | '\u{180b}'..='\u{180d}' | '\u{180f}' => {
            follows_letter()
        }
        // `#️⃣` and digits have a form as emoji.
        '\u{fe0f}' => !before
            .is_some_and(|before| !before.is_ascii() || matches!(before, '0'..='9' | '#' | '*')),
        char if text::is_variation_selector(char) => {
            follows_letter() || before.is_some_and(text::is_variation_selector)
        }
        char => text::is_invisible(char),
    }
}

/// `text` on one line of at most `columns`: newlines as `⏎`, and what does not fit is counted.
///
/// ```
/// use osier_base::visible::one_line;
///
/// assert_eq!(one_line("ls\nrm x", 20), "ls⏎rm x");
/// assert_eq!(one_line(&"a".repeat(4000), 24), "aaaa… +3,996 characters");
/// ```
pub fn one_line(text: &str, columns: usize) -> String {
    let shown = visible(text);
    let line = text::expand_tabs(&shown).replace('\n', "⏎");
    if text::width(&line) <= columns {
        return line;
    }
    let lines = shown.matches('\n').count();
    let length = line.chars().count();
    let rest = |head: &str| {
        let hidden = lines - head.matches('⏎').count().min(lines);
        let count = match hidden {
            0 => {
                let hidden = length - head.chars().count();
                text::counted(grouped(hidden), "character", "characters")
            }
            hidden => text::counted(grouped(hidden), "line", "lines"),
        };
        format!("… +{count}")
    };
    // The count has about the same width wherever the line is cut; one of characters is wider than one of lines.
    let mut room = columns.saturating_sub(text::width(&rest("")) + 1);
    loop {
        let head = text::prefix_of_width(&line, room);
        let cut = format!("{head}{}", rest(head));
        if room == 0 || text::width(&cut) <= columns {
            return cut;
        }
        room -= 1;
    }
}

/// A number with a comma before every third digit: `4,000`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        let _ = write!(grouped, "{digit}");
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hidden_character_has_a_notation() {
        for (text, expected) in [
            ("ls -la\t# x\n", "ls -la\t# x\n"),
            ("rm -rf ~ #\rls -la", "rm -rf ~ #␍ls -la"),
            ("rm x\x08\x08\x08\x08ls", "rm x^H^H^H^Hls"),
            ("\x1b]0;rm\x07ls", "^[]0;rm^Gls"),
            ("\u{9b}2K\u{9d}x\u{9c}", "\\x9b2K\\x9dx\\x9c"),
            ("a\0b\x7f", "a^@b^?"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("a\u{2028}b\u{2029}c\u{85}", "a\\u{2028}b\\u{2029}c\\x85"),
            ("x\u{e0072}\u{e006d}", "x\\u{e0072}\\u{e006d}"),
            ("r\u{200b}m\u{ad}\u{feff}", "r\\u{200b}m\\u{ad}\\u{feff}"),
            ("r\u{200d}m\u{200c}", "r\\u{200d}m\\u{200c}"),
            (
                "rm\u{a0}x\u{2003}y\u{3164}",
                "rm\\u{a0}x\\u{2003}y\\u{3164}",
            ),
            (
                "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}",
                "e\u{301}\u{302}\u{303}\u{304}\\u{305}\\u{306}",
            ),
            ("a\u{fe00}\u{e0101}", "a\\u{fe00}\\u{e0101}"),
            ("a\u{e0040}\u{e0101}b", "a\\u{e0040}\\u{e0101}b"),
            (
                "git\u{3000}x 日本\u{3000}語\u{3000}\u{3000}\n\u{3000}語",
                "git\\u{3000}x 日本\u{3000}語\u{3000}\\u{3000}\n\u{3000}語",
            ),
            (
                "a\u{17b4}\u{180b}\u{1d159}",
                "a\\u{17b4}\\u{180b}\\u{1d159}",
            ),
            ("a\u{180b}\u{fffc}", "a\\u{180b}\\u{fffc}"),
            (
                "👨‍👩‍👧 ❤\u{fe0f} e\u{301} 1\u{fe0f}\u{20e3} نمی\u{200c}خواهم",
                "👨‍👩‍👧 ❤\u{fe0f} e\u{301} 1\u{fe0f}\u{20e3} نمی\u{200c}خواهم",
            ),
        ] {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn long_runs_of_blanks_and_lines_are_counted() {
        let blanks = " ".repeat(4000);
        assert_eq!(
            visible(&format!("ls{blanks}; rm x")),
            "ls⟨4,000 blanks⟩; rm x"
        );
        assert_eq!(
            visible(&format!("ls{}rm", "\n".repeat(301))),
            "ls\n⟨300 empty lines⟩\nrm"
        );
        assert_eq!(
            visible(&format!("ls{}rm", " \n \t".repeat(40))),
            "ls \n⟨39 empty lines⟩\n \trm"
        );
        assert_eq!(visible("ls   # x\n\n\nrm"), "ls   # x\n\n\nrm");
    }

    #[test]
    fn notations_are_marked() {
        let shown = marked("a\rb");
        let mark = 1..4;
        assert_eq!((shown.text.as_str(), shown.marks), ("a␍b", vec![mark]));
    }

    #[test]
    fn what_does_not_fit_on_a_line_is_counted() {
        for (text, columns, expected) in [
            ("ls", 20, "ls".to_owned()),
            ("ls\n\tx", 20, "ls⏎    x".to_owned()),
            (
                "a\nb\nc\nd\ne\nf\ng\nh\ni\nj",
                14,
                "a⏎b… +8 lines".to_owned(),
            ),
            (
                "a\nb and a last line that is long",
                24,
                "a⏎b and … +24 characters".to_owned(),
            ),
            (
                &"x".repeat(4030),
                30,
                format!("{}… +4,020 characters", "x".repeat(10)),
            ),
        ] {
            let line = one_line(text, columns);
            assert_eq!(line, expected);
            assert!(text::width(&line) <= columns.max(20), "{line}");
        }
    }
}
