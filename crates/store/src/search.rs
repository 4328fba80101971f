//! Text search in the messages of the current branch.
//!
//! The file is searched as bytes, in large blocks from its end, for the JSON form of the query. Only matching lines
//! are parsed, and the match must be in visible text.

use osier_protocol::SearchHit;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::bytes::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization as _;

use super::entry_reader::{EntryReader, Location, Record};
use super::index::EntryIndex;
use super::tree::SessionTree;
use super::walk::into_message;
use osier_agent::AgentMessage;
use osier_base::json::each_text;
use osier_llm::{AssistantBlock, ContentBlock};
use osier_protocol::Entry;

/// Maximum number of hits.
pub(crate) const HIT_LIMIT: usize = 5_000;
/// Hits per report; the first one is reported at once.
const BATCH: usize = 256;
/// Bytes read in one block.
const PIECE: u64 = 1 << 20;
/// Bytes of an excerpt before the match.
const BEFORE: usize = 32;
const AFTER: usize = 96;

/// A compiled query.
#[derive(Debug, Clone)]
pub struct Needle {
    /// Matches text.
    text: Regex,
    /// Matches a line of the file.
    json: Regex,
}

impl Needle {
    /// Searches for `query`, ignoring case if it has no capitals; `None` for an empty query. Composed and decomposed
    /// characters are the same.
    pub fn new(query: &str) -> Option<Self> {
        if query.is_empty() {
            return None;
        }
        let quoted = serde_json::to_string(query).ok()?;
        let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let any_case = !query.chars().any(char::is_uppercase);
        let regex = |text: &str| {
            RegexBuilder::new(&in_all_forms(text))
                .case_insensitive(any_case)
                .build()
                .ok()
        };
        Some(Self {
            text: regex(query)?,
            json: regex(inner)?,
        })
    }

    /// Whether a line of a session file contains it, in any field.
    pub fn is_in_line(&self, line: &[u8]) -> bool {
        self.json.is_match(line)
    }

    /// The first match in `text`, as a byte range.
    pub fn find(&self, text: &str) -> Option<std::ops::Range<usize>> {
        Some(self.text.find(text.as_bytes())?.range())
    }

    /// All matches in `text`, as byte ranges.
    pub fn find_all(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let matches = self.text.find_iter(text.as_bytes());
        matches.map(|found| found.range()).collect()
    }

    /// A hit, if the visible text of the entry matches.
    fn hit(&self, entry: Entry) -> Option<SearchHit> {
        let entry_id = entry.id.clone();
        let (mut excerpt, mut count) = (None, 0);
        let message = into_message(entry)?;
        visible_texts(&message, &mut |text| {
            let found = self.find_all(text);
            count += found.len();
            if excerpt.is_none()
                && let Some(found) = found.first()
            {
                let start = text.floor_char_boundary(found.start.saturating_sub(BEFORE));
                let end = text.ceil_char_boundary(found.end + AFTER);
                excerpt = Some(text[start..end].to_owned());
            }
        });
        if let AgentMessage::ToolResult(message) = &message {
            // Details repeat what the content says.
            let blocks = message.result.content.iter();
            let texts = blocks.filter_map(ContentBlock::as_text);
            count = texts.map(|text| self.find_all(text).len()).sum();
        }
        Some(SearchHit {
            entry_id,
            excerpt: excerpt?,
            count: count.max(1),
        })
    }
}

/// A pattern for `text`, in which an accent can be a part of its letter or a character of its own.
fn in_all_forms(text: &str) -> String {
    if text.is_ascii() {
        return regex::escape(text);
    }
    let mut pattern = String::new();
    for character in text.nfc() {
        let parts: Vec<char> = std::iter::once(character).nfd().collect();
        let whole = regex::escape(character.encode_utf8(&mut [0; 4]));
        let [_, .., _] = parts[..] else {
            pattern.push_str(&whole);
            continue;
        };
        let forms = (1..parts.len()).map(|count| {
            let (composed, marks) = parts.split_at(count);
            let composed = composed.iter().copied().nfc();
            regex::escape(&composed.chain(marks.iter().copied()).collect::<String>())
        });
        let forms: Vec<String> = std::iter::once(whole).chain(forms).collect();
        // Writing to a string cannot fail.
        let _ = write!(pattern, "(?:{})", forms.join("|"));
    }
    pattern
}

/// Calls `see` with every text of a message that a transcript shows, folded or not.
pub(super) fn visible_texts(message: &AgentMessage, see: &mut dyn FnMut(&str)) {
    match message {
        AgentMessage::Assistant(message) => {
            for block in &message.content {
                match block {
                    AssistantBlock::Text { text, .. } => see(text),
                    AssistantBlock::Thinking { thinking, .. } => see(thinking),
                    AssistantBlock::ToolCall(call) => {
                        see(&call.name);
                        each_text(&call.arguments, see);
                    }
                }
            }
        }
        AgentMessage::ToolResult(message) => {
            let blocks = message.result.content.iter();
            blocks.filter_map(ContentBlock::as_text).for_each(&mut *see);
            each_text(&message.details, see);
        }
        AgentMessage::ShellRun(run) => {
            see(&run.command);
            see(&run.output);
        }
        AgentMessage::Custom(message) if !message.display => {}
        message => see(&message.text()),
    }
}

/// Collects hits and reports them; the first one alone, so that it appears at once.
struct Batches<'a> {
    tell: &'a mut dyn FnMut(Vec<SearchHit>),
    waiting: Vec<SearchHit>,
    reported: usize,
}

impl Batches<'_> {
    /// False when the limit is reached.
    fn add(&mut self, hit: SearchHit) -> bool {
        self.waiting.push(hit);
        if self.reported == 0 || self.waiting.len() >= BATCH {
            self.flush();
        }
        self.reported + self.waiting.len() < HIT_LIMIT
    }

    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.reported += self.waiting.len();
            (self.tell)(std::mem::take(&mut self.waiting));
        }
    }
}

impl EntryIndex {
    /// Searches for `needle` from the newest message to the oldest and reports hits until `stop` is set. Returns
    /// whether there are more than the limit.
    pub fn search(
        &self,
        needle: &Needle,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Vec<SearchHit>),
    ) -> bool {
        let mut batches = Batches {
            tell,
            waiting: Vec::new(),
            reported: 0,
        };
        let mut left = self.read(|tree| tree.shown().len());
        let mut buffer = Vec::new();
        while left > 0 && !stop.load(Ordering::Relaxed) {
            let (piece, entry_reader) =
                self.read(|tree| (Piece::before(tree, left), tree.entry_reader().clone()));
            left = left.saturating_sub(piece.records.len().max(1));
            if !piece.search(needle, &entry_reader, &mut buffer, &mut batches) {
                batches.flush();
                return true;
            }
            // Hits of this block need not wait for the next one.
            batches.flush();
        }
        false
    }
}

/// Consecutive messages that are close together in the file.
#[derive(Debug, Default)]
struct Piece {
    /// Newest first.
    records: Vec<Record>,
}

impl Piece {
    /// The next block of messages before index `end` of the shown ones.
    fn before(tree: &SessionTree, end: usize) -> Self {
        let shown = tree.shown();
        let mut piece = Self::default();
        let mut upper: Option<u64> = None;
        // The branch may have changed meanwhile.
        for number in shown[..end.min(shown.len())].iter().rev() {
            let record = tree.record(*number);
            if let Location::Stored { offset, length } = record.location {
                let upper = *upper.get_or_insert(offset + u64::from(length));
                if upper.saturating_sub(offset) > PIECE && !piece.records.is_empty() {
                    break;
                }
            }
            piece.records.push(record);
        }
        piece
    }

    /// False when the limit is reached.
    fn search(
        &self,
        needle: &Needle,
        entry_reader: &EntryReader,
        buffer: &mut Vec<u8>,
        batches: &mut Batches<'_>,
    ) -> bool {
        let stored = |record: &Record| match record.location {
            Location::Stored { offset, length } => Some((offset, offset + u64::from(length))),
            Location::Memory(_) => None,
        };
        let mut ranges = self.records.iter().filter_map(stored);
        let span = ranges.next().map(|(start, end)| {
            ranges.fold((start, end), |(low, high), (start, end)| {
                (low.min(start), high.max(end))
            })
        });
        let (start, end) = span.unwrap_or((0, 0));
        buffer.resize((end - start) as usize, 0);
        if entry_reader.read_at(buffer, start).is_err() {
            buffer.clear();
        }
        // One pass finds the lines to parse.
        let matches: Vec<usize> = LineMatches::new(needle, buffer).collect();
        for record in &self.records {
            let entry = match stored(record) {
                None => entry_reader.try_read(record),
                Some((from, to)) => {
                    let range = (from - start) as usize..(to - start) as usize;
                    let first = matches.partition_point(|at| *at < range.start);
                    let touched = matches.get(first).is_some_and(|at| *at < range.end);
                    touched
                        .then(|| Entry::parse(buffer.get(range)?).ok())
                        .flatten()
                }
            };
            if let Some(hit) = entry.and_then(|entry| needle.hit(entry))
                && !batches.add(hit)
            {
                return false;
            }
        }
        true
    }
}

/// The first match in each line of a buffer.
struct LineMatches<'a> {
    needle: &'a Needle,
    buffer: &'a [u8],
    at: usize,
}

impl<'a> LineMatches<'a> {
    fn new(needle: &'a Needle, buffer: &'a [u8]) -> Self {
        Self {
            needle,
            buffer,
            at: 0,
        }
    }
}

impl Iterator for LineMatches<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let rest = self.buffer.get(self.at..)?;
        let found = self.at + self.needle.json.find(rest)?.start();
        let newline = memchr::memchr(b'\n', &self.buffer[found..]);
        self.at = newline.map_or(self.buffer.len(), |newline| found + newline + 1);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_match_in_every_form() {
        let composed = "le sp\u{e9}cial \u{1ebf}";
        let decomposed = "le spe\u{301}cial e\u{302}\u{301}";
        let half = "le spe\u{301}cial \u{ea}\u{301}";
        for query in [
            "sp\u{e9}",
            "spe\u{301}",
            "SP\u{c9}",
            "\u{1ebf}",
            "e\u{302}\u{301}",
        ] {
            let query = &query.to_lowercase();
            let needle = Needle::new(query).unwrap();
            for text in [composed, decomposed, half] {
                let found = &text[needle.find(text).unwrap()];
                let (found, expected) = (found.nfc(), query.nfc());
                assert!(found.eq(expected), "{query} {text}");
                assert!(needle.is_in_line(format!("{{\"text\":\"{text}\"}}").as_bytes()));
            }
        }
        let needle = Needle::new("\u{e9}.").unwrap();
        assert_eq!(needle.find("e\u{301}x"), None);
        assert_eq!(needle.find("E\u{301}."), Some(0..4));
        assert_eq!(Needle::new("\u{e9}").unwrap().find("e"), None);
    }
}
