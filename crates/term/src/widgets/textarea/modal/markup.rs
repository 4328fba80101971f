//! Tags as objects: `<b>` up to `</b>`, with what is between them.

use super::super::buffer::{Buffer, Position};
use super::object::Object;

/// A tag in the text.
#[derive(Debug)]
struct Tag<'a> {
    name: &'a str,
    closes: bool,
    start: Position,
    /// Behind its bracket.
    end: Position,
}

/// The tags of the text, without those that close themselves.
fn tags(buffer: &Buffer) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    for (line, source) in buffer.lines().iter().enumerate() {
        let text = &*source.text;
        for (start, _) in text.match_indices('<') {
            let inner = &text[start + 1..];
            let closes = inner.starts_with('/');
            let inner = &inner[usize::from(closes)..];
            let length = inner
                .find(|char: char| char.is_whitespace() || matches!(char, '>' | '/' | '<'))
                .unwrap_or(inner.len());
            let (name, rest) = inner.split_at(length);
            let Some(end) = rest.find('>') else { continue };
            let own = rest[..end].contains('<') || rest[..end].ends_with('/');
            if !name.starts_with(char::is_alphabetic) || own {
                continue;
            }
            let from = text.len() - rest.len();
            tags.push(Tag {
                name,
                closes,
                start: Position::new(line, start),
                end: Position::new(line, from + end + 1),
            });
        }
    }
    tags
}

/// What is between the tags around a place; the whole of it with the tags. A count goes further out.
pub(super) fn object(buffer: &Buffer, at: Position, whole: bool, times: usize) -> Option<Object> {
    let tags = tags(buffer);
    let mut open: Vec<&Tag<'_>> = Vec::new();
    let mut around: Vec<(&Tag<'_>, &Tag<'_>)> = Vec::new();
    for tag in &tags {
        if !tag.closes {
            open.push(tag);
            continue;
        }
        // What was opened since and not closed stands alone.
        let Some(place) = open.iter().rposition(|known| known.name == tag.name) else {
            continue;
        };
        let begin = open[place];
        open.truncate(place);
        if begin.start <= at && at < tag.end {
            around.push((begin, tag));
        }
    }
    let (begin, end) = around.get(times - 1)?;
    let (start, end) = if whole {
        (begin.start, end.end)
    } else {
        (begin.end, end.start)
    };
    Some(Object {
        start,
        end,
        lines: false,
    })
}
