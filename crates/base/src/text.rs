//! Measures, cuts and sanitizes text for the whole program.
//!
//! Width is counted in terminal cells per grapheme cluster. Text from models, tools and files is untrusted:
//! `sanitize` runs before it is drawn, so that none of its control sequences reach the terminal.

use std::borrow::Cow;
use std::fmt::Display;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns per tab stop.
pub const TAB_WIDTH: usize = 4;

/// Maximum bytes of a control sequence's parameters that are parsed.
const LONGEST_PARAMETERS: usize = 256;

/// A size of a file: `900 B`, `12 kB`, `30 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

/// A count with its noun: `1 entry`, `2 entries`. `count` may be formatted already.
///
/// ```
/// use osier_base::text::counted;
///
/// assert_eq!(counted(1, "entry", "entries"), "1 entry");
/// assert_eq!(counted("12k", "token", "tokens"), "12k tokens");
/// ```
pub fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let noun = if count == "1" { one } else { many };
    format!("{count} {noun}")
}

/// Encloses `text` in tags named `tag`, for a model. If the text contains the closing tag, both tags get a number that the text does not
/// contain, so that the text cannot end them.
///
/// ```
/// use osier_base::text::enclosed;
///
/// assert_eq!(enclosed("file", " name=\"a\"", "x"), "<file name=\"a\">\nx\n</file>");
/// assert_eq!(enclosed("hook", "", "x</HOOK>y"), "<hook-2>\nx</HOOK>y\n</hook-2>");
/// ```
pub fn enclosed(tag: &str, attributes: &str, text: &str) -> String {
    let inside = text.to_ascii_lowercase();
    let numbered = (2..).map(|number| format!("{tag}-{number}"));
    let mut marks = std::iter::once(tag.to_owned()).chain(numbered);
    let is_free = |mark: &String| !inside.contains(&format!("</{mark}"));
    let mark = marks.find(is_free).unwrap_or_default();
    format!("<{mark}{attributes}>\n{text}\n</{mark}>")
}

/// Width of `text` in terminal cells. Control characters have none.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.bytes().filter(|byte| !byte.is_ascii_control()).count();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Width of one grapheme cluster: 0, 1 or 2 cells.
pub fn grapheme_width(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [byte] => usize::from(!byte.is_ascii_control()),
        _ => grapheme.width().min(2),
    }
}

/// The grapheme clusters of `text` with their byte offsets.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    text.grapheme_indices(true)
}

/// The longest prefix of `text` that is at most `columns` wide, cut between graphemes.
pub fn prefix_of_width(text: &str, columns: usize) -> &str {
    if text.len() <= columns && text.is_ascii() {
        return text;
    }
    let mut used = 0;
    for (offset, grapheme) in graphemes(text) {
        used += grapheme_width(grapheme);
        if used > columns {
            return &text[..offset];
        }
    }
    text
}

/// The byte range of the grapheme clusters in `columns`.
pub fn column_range(text: &str, columns: std::ops::RangeInclusive<u16>) -> std::ops::Range<usize> {
    let (first, last) = (usize::from(*columns.start()), usize::from(*columns.end()));
    let mut column = 0;
    let mut range = text.len()..text.len();
    for (offset, cluster) in graphemes(text) {
        let start = column;
        column += grapheme_width(cluster);
        if start > last {
            range.end = offset;
            break;
        }
        if column > first && range.start > offset {
            range.start = offset;
        }
    }
    range.start.min(range.end)..range.end
}

/// `text`, or its start with `…` in the last column if it is wider than `columns`.
pub fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    match columns {
        0 => Cow::Borrowed(""),
        _ => Cow::Owned(format!("{}…", prefix_of_width(text, columns - 1))),
    }
}

/// `text`, or its end with `…` in the first column: for paths, whose end is most specific.
pub fn truncate_start(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let mut used = 0;
    let mut start = text.len();
    for (offset, grapheme) in graphemes(text).rev() {
        used += grapheme_width(grapheme);
        if used > columns - 1 {
            break;
        }
        start = offset;
    }
    Cow::Owned(format!("…{}", &text[start..]))
}

/// The text with composed characters, as it is typed: names of files from macOS have `e` and an accent for `é`.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || unicode_normalization::is_nfc(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(unicode_normalization::UnicodeNormalization::nfc(text).collect())
}

/// The longest prefix of `text` with at most `limit` bytes, cut at a character boundary.
pub fn head_bytes(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The longest suffix of `text` with at most `limit` bytes, cut at a character boundary.
pub fn tail_bytes(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// Removes terminal control sequences (CSI, OSC, DCS and others), control characters except newline and tab, and
/// invisible format characters. A
/// carriage return that is not part of a line ending restarts its line, as in a terminal. Borrowed if there is
/// nothing to remove.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(clean(text, &mut ()))
}

/// Receives the style information that `clean` removes from a text.
pub(super) trait Clean {
    /// The parameters of an SGR sequence at this byte of the clean text.
    fn graphics(&mut self, at: usize, parameters: &str);
    /// The clean text was truncated to this byte.
    fn cut(&mut self, at: usize);
}

impl Clean for () {
    fn graphics(&mut self, _: usize, _: &str) {}
    fn cut(&mut self, _: usize) {}
}

/// [`sanitize`] for a text that needs it.
pub(super) fn clean(text: &str, styles: &mut impl Clean) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut parameters = String::new();
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\x1b' if rest.next_if_eq(&'[').is_none() => skip_escape(&mut rest),
            '\x1b' | '\u{9b}' => {
                if parse_csi(&mut rest, &mut parameters) == Some('m') {
                    styles.graphics(clean.len(), &parameters);
                }
            }
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => {
                clean.truncate(clean.rfind('\n').map_or(0, |newline| newline + 1));
                styles.cut(clean.len());
            }
            '\x08' => {
                if !clean.ends_with('\n') && clean.pop().is_some() {
                    styles.cut(clean.len());
                }
            }
            char if is_unsafe(char) => {}
            char => clean.push(char),
        }
    }
    clean
}

/// Text for one row: sanitized, newlines shown as `⏎`, tabs expanded.
pub fn single_line(text: &str) -> String {
    expand_tabs(&sanitize(text)).replace('\n', "⏎")
}

/// Splits a sentence at backticks: its parts, and whether each was between backticks (names and commands, which are
/// drawn in another style). An unpaired backtick is a normal character.
pub fn ticked(text: &str) -> Vec<(&str, bool)> {
    let count = text.matches('`').count();
    if count < 2 || text.contains("``") {
        return vec![(text, false)];
    }
    let mut parts = Vec::new();
    let mut rest = text;
    for _ in 0..count / 2 {
        let cut = rest.split_once('`').and_then(|(before, rest)| {
            let (within, rest) = rest.split_once('`')?;
            Some((before, within, rest))
        });
        let Some((before, within, behind)) = cut else {
            break;
        };
        parts.extend([(before, false), (within, true)]);
        rest = behind;
    }
    parts.push((rest, false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

/// The sentence without paired backticks, for output in one style.
pub fn unticked(text: &str) -> String {
    ticked(text).into_iter().map(|(part, _)| part).collect()
}

/// Tabs replaced by spaces up to the next stop; columns restart at every newline.
pub fn expand_tabs(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut expanded = String::with_capacity(text.len() + 16);
    let mut column = 0;
    for grapheme in text.graphemes(true) {
        if grapheme == "\t" {
            let spaces = TAB_WIDTH - column % TAB_WIDTH;
            expanded.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        } else {
            expanded.push_str(grapheme);
            column = if grapheme.ends_with('\n') {
                0
            } else {
                column + grapheme_width(grapheme)
            };
        }
    }
    Cow::Owned(expanded)
}

/// Control characters, and invisible characters that can misrepresent code or carry hidden text.
fn is_unsafe(char: char) -> bool {
    match char {
        '\n' | '\t' | ' '..='~' => false,
        _ => char.is_control() || is_invisible(char),
    }
}

/// Characters without a glyph that no script needs: soft hyphens, zero-width spaces, direction marks, overrides and
/// isolates, the line and paragraph separators, annotations and tags. The joiners of emoji and scripts, combining marks
/// and variation selectors are not among them.
pub fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' if !is_variation_selector(char))
}

/// Whether a character takes no column of its own, as a mark on the letter before it.
pub(crate) fn is_zero_width(char: char) -> bool {
    !char.is_ascii() && width(char.encode_utf8(&mut [0; 4])) == 0
}

/// Whether a character selects the form of the character before it.
pub(crate) fn is_variation_selector(char: char) -> bool {
    matches!(char, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        // Character set selections and similar: intermediates, then one final byte.
        Some(' '..='/') => {
            while rest.next_if(|char| (' '..='/').contains(char)).is_some() {}
            rest.next_if(|char| ('0'..='~').contains(char));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Consumes a control sequence: its parameters and its final character.
fn parse_csi(rest: &mut Rest<'_>, parameters: &mut String) -> Option<char> {
    parameters.clear();
    while let Some(char) = rest.next_if(|char| ('\x20'..='\x3f').contains(char)) {
        if parameters.len() < LONGEST_PARAMETERS {
            parameters.push(char);
        }
    }
    rest.next_if(|char| ('\x40'..='\x7e').contains(char))
}

/// A control string ends at BEL or ST. An unterminated one is cut at the line end, so that it cannot swallow the rest
/// of an answer.
fn skip_string(rest: &mut Rest<'_>) {
    while let Some(&char) = rest.peek() {
        if char == '\n' {
            return;
        }
        rest.next();
        match char {
            '\x07' | '\u{9c}' => return,
            '\x1b' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_counts_cells_by_grapheme() {
        for (text, expected) in [
            ("", 0),
            ("abc", 3),
            ("漢字", 4),
            ("e\u{301}", 1),
            ("👨‍👩‍👧", 2),
            ("a\tb\n", 2),
            ("🇩🇪", 2),
        ] {
            assert_eq!(width(text), expected, "{text:?}");
        }
    }

    #[test]
    fn truncation_never_splits_a_wide_cell() {
        assert_eq!(truncate("漢字漢字", 5), "漢字…");
        assert_eq!(truncate("abcdef", 6), "abcdef");
        assert_eq!(truncate_start("src/very/long/path.rs", 8), "…path.rs");
        assert_eq!(truncate("abc", 0), "");
    }

    #[test]
    fn sanitize_removes_sequences_and_retains_text() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0\x1b\\x", "x"),
            ("a\r\nb", "a\nb"),
            ("10%\r20%\r100%", "100%"),
            ("ab\x08c", "ac"),
            ("bell\x07", "bell"),
            ("\x1b(Bx", "x"),
            ("\x1b]never ends\nnext", "\nnext"),
            ("safe\u{202e}evil", "safeevil"),
            ("a\u{2028}b\u{2029}c", "abc"),
            ("tags\u{e0001}\u{e0072}\u{e007f}", "tags"),
            ("zero\u{200b}\u{2060}\u{feff}\u{ad}", "zero"),
            (
                "👨‍👩‍👧 ❤\u{fe0f} e\u{301} \u{200c}ی",
                "👨‍👩‍👧 ❤\u{fe0f} e\u{301} \u{200c}ی",
            ),
        ] {
            assert_eq!(sanitize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_cut_on_character_boundaries() {
        assert_eq!(head_bytes("漢字", 4), "漢");
        assert_eq!(tail_bytes("漢字", 4), "字");
        assert_eq!(tail_bytes("ab", 9), "ab");
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        assert_eq!(expand_tabs("a\tb\n\tc"), "a   b\n    c");
    }

    #[test]
    fn text_between_backticks_is_separated() {
        assert_eq!(
            ticked("run `git init` or `hg`"),
            [
                ("run ", false),
                ("git init", true),
                (" or ", false),
                ("hg", true)
            ]
        );
        assert_eq!(ticked("`a` b`"), [("a", true), (" b`", false)]);
        for whole in ["it's a ` only", "```sh", "plain", "say ``x` y``"] {
            assert_eq!(ticked(whole), [(whole, false)]);
        }
        assert_eq!(
            unticked("suspend; `fg` comes back"),
            "suspend; fg comes back"
        );
        assert_eq!(unticked(""), "");
    }
}
