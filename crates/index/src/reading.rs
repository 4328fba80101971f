//! Reads a session file from the indexed position to its last complete line.
//!
//! The text comes in spans: runs of complete lines, a prompt with its answers or a part of that. A span is indexed as
//! one and read again as one for a match. Only one span and one line are in memory at a time.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::IndexError;
use super::facts::Facts;
use super::passage::passages;
use super::terms;
use osier_agent::AgentMessage;
use osier_base::text::composed;
use osier_protocol::{Entry, EntryKind, Header};
use osier_store::{Lines, header_from_name};

/// Bytes of text per span, and bytes of the file it covers.
const SPAN_TEXT: usize = 32 * 1024;
const SPAN_FILE: u64 = 128 * 1024;
/// Bytes of text after which a prompt starts a new span.
const TURN: usize = 4 * 1024;
/// Longer lines are skipped: a person has not typed them.
const LONGEST_LINE: usize = 32 << 20;
/// Bytes before a position that identify it.
const MARK: usize = 512;

/// A run of complete lines and its text.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub start: u64,
    pub finish: u64,
    pub text: &'a str,
}

/// Called for every span, with the facts up to its end.
pub(super) type EachSpan<'a> = dyn FnMut(&Facts, Span<'_>) -> Result<(), IndexError> + 'a;

/// Reads `file` from `seen`, with the facts up to there, to its last complete line. Returns the position after it.
pub(super) fn read(
    file: &File,
    path: &Path,
    facts: &mut Facts,
    seen: u64,
    now: i64,
    each: &mut EachSpan<'_>,
) -> Result<u64, IndexError> {
    let failed = |error| IndexError::io("read", path, error);
    let mut lines = Lines::from(file, seen);
    let mut reading = Reading {
        text: String::new(),
        start: seen,
        seen,
    };
    if seen == 0 {
        let Some(first) = next(&mut lines).map_err(failed)? else {
            return Ok(0);
        };
        let NextLine::Whole(offset, bytes) = first else {
            return Ok(0);
        };
        reading.seen = offset + bytes.len() as u64 + 1;
        reading.start = reading.seen;
        let header = Header::parse(bytes).ok();
        let damaged = header.is_none();
        // Neither header nor file name is valid, so it is not a session: its row stays empty.
        let Some(header) = header.or_else(|| header_from_name(path)) else {
            return Ok(reading.seen);
        };
        *facts = Facts::of(header);
        facts.damaged += u64::from(damaged);
    } else if facts.id.is_empty() {
        return Ok(seen);
    }
    while let Some(line) = next(&mut lines).map_err(failed)? {
        match line {
            NextLine::Torn => break,
            NextLine::TooLong(end) => {
                facts.damaged += 1;
                reading.seen = end;
            }
            NextLine::Whole(offset, bytes) => {
                let end = offset + bytes.len() as u64 + 1;
                reading.add_line(bytes, facts, now, each)?;
                reading.seen = end;
            }
        }
        if reading.is_full() {
            reading.close(facts, each)?;
        }
    }
    reading.close(facts, each)?;
    Ok(reading.seen)
}

/// The next line of a file.
enum NextLine<'a> {
    Whole(u64, &'a [u8]),
    /// A line that is skipped; the offset after it.
    TooLong(u64),
    /// A line without its end: an unfinished write.
    Torn,
}

fn next<'a>(lines: &'a mut Lines<'_>) -> io::Result<Option<NextLine<'a>>> {
    if let Some(end) = lines.skip_longer(LONGEST_LINE)? {
        return Ok(Some(NextLine::TooLong(end)));
    }
    let line = lines.next_line()?;
    Ok(line.map(|line| {
        if line.terminated {
            NextLine::Whole(line.offset, line.bytes)
        } else {
            NextLine::Torn
        }
    }))
}

/// The current span.
struct Reading {
    text: String,
    start: u64,
    /// Offset after the last line that was added.
    seen: u64,
}

impl Reading {
    fn add_line(
        &mut self,
        line: &[u8],
        facts: &mut Facts,
        now: i64,
        each: &mut EachSpan<'_>,
    ) -> Result<(), IndexError> {
        if line.is_empty() {
            return Ok(());
        }
        let Some(entry) = Entry::parse(line)
            .ok()
            .filter(|entry| !entry.kind.is_damaged())
        else {
            facts.damaged += 1;
            return Ok(());
        };
        let is_prompt = matches!(
            &entry.kind,
            EntryKind::Message {
                message: AgentMessage::User(_)
            }
        );
        if is_prompt && self.text.len() >= TURN {
            self.close(facts, each)?;
        }
        facts.see(&entry, now);
        passages(&entry, &mut |_, text| {
            self.text.push_str(&composed(text));
            self.text.push('\n');
        });
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.text.len() >= SPAN_TEXT || self.seen - self.start >= SPAN_FILE
    }

    fn close(&mut self, facts: &Facts, each: &mut EachSpan<'_>) -> Result<(), IndexError> {
        if !self.text.is_empty() {
            mark_pairs(&mut self.text);
            let span = Span {
                start: self.start,
                finish: self.seen,
                text: &self.text,
            };
            each(facts, span)?;
            self.text.clear();
        }
        self.start = self.seen;
        Ok(())
    }
}

/// Marks each ideograph and each pair of ideographs, so that the trigram index finds words of one
/// or two ideographs.
fn mark_pairs(text: &mut String) {
    let mut seen = HashSet::new();
    let mut marks = String::new();
    let mut before = None;
    for character in text.chars() {
        // SQLite ends a text at NUL.
        let here = terms::is_dense(character).then_some(character);
        if let Some(here) = here {
            if seen.insert((None, here)) {
                marks.extend([terms::MARK, terms::MARK, here]);
            }
            if before.is_some() && seen.insert((before, here)) {
                marks.push(terms::MARK);
                marks.extend(before);
                marks.push(here);
            }
        }
        before = here;
    }
    text.push_str(&marks);
}

/// A checksum of the bytes before the offset `place`, to detect whether a file that has grown is
/// still the same.
pub(super) fn mark(file: &File, place: u64) -> io::Result<u32> {
    let length = place.min(MARK as u64);
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, place - length)?;
    Ok(crc32fast::hash(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideographs_are_marked_alone_and_in_pairs() {
        let mut text = "漢字 a字漢".to_owned();
        mark_pairs(&mut text);
        assert_eq!(text, "漢字 a字漢\u{1}\u{1}漢\u{1}\u{1}字\u{1}漢字\u{1}字漢");
    }
}
