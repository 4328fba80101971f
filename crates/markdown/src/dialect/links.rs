//! Literal links: URLs in plain text, as GitHub's extended autolinks.

use std::borrow::Cow;
use std::ops::Range;

use osier_base::text::tail_bytes;

use super::rules::NEUTRAL;
use super::survey::Survey;

/// How a literal link begins, and the prefix of its destination.
const STARTS: [(&str, &str); 3] = [("https://", ""), ("http://", ""), ("www.", "http://")];

pub(super) fn may_occur(source: &str) -> bool {
    source.contains("://") || source.contains("www.")
}

/// The links in the plain text of `source`.
pub(super) fn find(source: &str, survey: &Survey) -> Vec<Range<usize>> {
    let mut links: Vec<Range<usize>> = Vec::new();
    for plain in &survey.plain {
        let taken = links.last().map_or(0, |link| link.end);
        let mut at = plain.range.start.max(taken);
        while let Some(found) = source.get(at..plain.range.end).and_then(next_start) {
            let start = at + found;
            let text = &source[start..plain.border.max(plain.range.end)];
            let before = &source[..start];
            let length = length(text, plain.in_cell, before).filter(|_| begins_word(before));
            at = start + length.unwrap_or(1);
            if let Some(length) = length {
                links.push(start..start + length);
            }
        }
    }
    links
}

/// The offset at which the next link can begin.
fn next_start(text: &str) -> Option<usize> {
    let is_start = |at: &usize| {
        STARTS
            .iter()
            .any(|(start, _)| text[*at..].starts_with(start))
    };
    let firsts = text.match_indices(['h', 'w']).map(|(at, _)| at);
    firsts.into_iter().find(is_start)
}

fn begins_word(before: &str) -> bool {
    !before.ends_with(|char: char| char.is_alphanumeric() || matches!(char, '/' | '.' | '@' | '-'))
}

/// The length of the link at the start of `text`, without the punctuation of the sentence and the
/// end of emphasis after it.
fn length(text: &str, in_cell: bool, before: &str) -> Option<usize> {
    let (start, _) = STARTS.iter().find(|(start, _)| text.starts_with(start))?;
    let host = &text[start.len()..];
    if !host.starts_with(|char: char| char.is_alphanumeric() || char == '[') {
        return None;
    }
    let is_end = |char: char| {
        char.is_whitespace()
            || char.is_control()
            || matches!(char, '<' | '>' | '"' | '`')
            || in_cell && char == '|'
    };
    let end = text.find(is_end).unwrap_or(text.len());
    let url = &text[..end];
    let url = url.find("[^").map_or(url, |note| &url[..note]);
    let url = &url[..balanced(url)];
    let url = &url[..trimmed(url, before)];
    let host = url.get(start.len()..)?;
    let is_host = !host.is_empty() && (*start != "www." || host.contains('.'));
    is_host.then_some(url.len())
}

/// The length of a URL up to a closing bracket that was not opened in it.
fn balanced(url: &str) -> usize {
    let mut open = 0_usize;
    for (at, char) in url.char_indices() {
        match char {
            '[' => open += 1,
            ']' if open == 0 => return at,
            ']' => open -= 1,
            _ => {}
        }
    }
    url.len()
}

/// Maximum bytes before a URL that are searched for the start of emphasis that ends after the URL.
const EMPHASIS: usize = 512;

/// The length of a URL without punctuation at its end. A parenthesis at the end belongs to the URL
/// if it was opened in it; a mark of emphasis belongs to it if no emphasis was opened before.
fn trimmed(url: &str, before: &str) -> usize {
    let near = tail_bytes(before, EMPHASIS);
    let near = near.rfind("\n\n").map_or(near, |blank| &near[blank..]);
    let mut surplus = url
        .matches(')')
        .count()
        .saturating_sub(url.matches('(').count());
    let mut url = url;
    while let Some(last) = url.chars().next_back() {
        let is_stray = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '\\' => true,
            '*' | '_' | '~' => opens_emphasis(near, last),
            ')' if surplus > 0 => {
                surplus -= 1;
                true
            }
            _ => false,
        };
        if !is_stray {
            break;
        }
        url = &url[..url.len() - last.len_utf8()];
    }
    url.len()
}

/// Whether `text` contains `mark` before a word.
fn opens_emphasis(text: &str, mark: char) -> bool {
    let is_border = |char: char| char.is_whitespace() || "([{\"'>*_~".contains(char);
    text.match_indices(mark).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + mark.len_utf8()..].chars().next();
        before.is_none_or(is_border) && !after.is_some_and(char::is_whitespace)
    })
}

/// Replaces the characters of a link that mean something.
pub(super) fn neutralise(link: &mut [u8]) {
    for byte in link {
        if matches!(
            byte,
            b'_' | b'*' | b'~' | b'$' | b'&' | b'[' | b']' | b'\\' | b'!'
        ) {
            *byte = NEUTRAL;
        }
    }
}

/// The text of a link, whose source can have escapes: `a\_b`, `a&amp;b`.
pub(super) fn text(source: &str) -> Cow<'_, str> {
    if !source.contains('\\') && !source.contains("&amp;") {
        return Cow::Borrowed(source);
    }
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(char) = chars.next() {
        match chars.peek() {
            Some(next) if char == '\\' && next.is_ascii_punctuation() => {}
            _ => text.push(char),
        }
        if char == '\\' {
            text.extend(chars.next());
        }
    }
    Cow::Owned(text.replace("&amp;", "&"))
}

/// The destination of the link that is shown as `text`.
pub(super) fn destination(text: &str) -> String {
    let start = STARTS.iter().find(|(start, _)| text.starts_with(start));
    let scheme = start.map_or("", |(_, scheme)| scheme);
    [scheme, text].concat()
}
