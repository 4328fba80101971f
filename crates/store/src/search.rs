//! Finding text in the messages of the current branch.
//!
//! The file is searched as bytes, in large pieces and from its end: what is sought is written the way it
//! stands there, as JSON. Only a line with a match is read as an entry, and the match must be in what a
//! person can see of it.

use std::sync::atomic::{AtomicBool, Ordering};

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::bodies::{Bodies, Place, Record};
use super::entry::Entry;
use super::index::SessionIndex;
use super::tree::SessionTree;
use super::walk::into_message;
use osier_agent::AgentMessage;
use osier_llm::{AssistantBlock, ContentBlock};

/// Hits after which a search ends.
pub const HIT_LIMIT: usize = 5_000;
/// Hits that are told together; the first one is told at once.
const BATCH: usize = 256;
/// Bytes of the file that are read together.
const PIECE: u64 = 1 << 20;
/// Bytes of an excerpt before and after the match.
const BEFORE: usize = 32;
const AFTER: usize = 96;

/// A message that holds what was sought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    pub entry_id: String,
    /// The first match with what stands around it, as it was written: it may hold anything.
    pub excerpt: String,
}

/// What is sought.
#[derive(Debug, Clone)]
pub struct Needle {
    /// Finds it in text.
    text: Regex,
    /// Finds it in a line of the file.
    json: Regex,
}

impl Needle {
    /// The text `query`, whatever its case when it has no capitals; `None` for an empty one.
    pub fn new(query: &str) -> Option<Self> {
        if query.is_empty() {
            return None;
        }
        let quoted = serde_json::to_string(query).ok()?;
        let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let any_case = !query.chars().any(char::is_uppercase);
        let regex = |text: &str| {
            RegexBuilder::new(&regex::escape(text))
                .case_insensitive(any_case)
                .build()
                .ok()
        };
        Some(Self {
            text: regex(query)?,
            json: regex(inner)?,
        })
    }

    /// Whether it is in a line of a session's file, in whatever field.
    pub fn is_in_line(&self, line: &[u8]) -> bool {
        self.json.is_match(line)
    }

    /// The first match in `text`, by bytes.
    pub fn find(&self, text: &str) -> Option<std::ops::Range<usize>> {
        Some(self.text.find(text.as_bytes())?.range())
    }

    /// Every match in `text`, by bytes.
    pub fn find_all(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let matches = self.text.find_iter(text.as_bytes());
        matches.map(|found| found.range()).collect()
    }

    /// A hit, if what a person sees of the entry holds the text.
    fn hit(&self, entry: Entry) -> Option<SearchHit> {
        let entry_id = entry.id.clone();
        let mut excerpt = None;
        visible_texts(&into_message(entry)?, &mut |text| {
            if excerpt.is_none()
                && let Some(found) = self.find(text)
            {
                let start = text.floor_char_boundary(found.start.saturating_sub(BEFORE));
                let end = text.ceil_char_boundary(found.end + AFTER);
                excerpt = Some(text[start..end].to_owned());
            }
        });
        let excerpt = excerpt?;
        Some(SearchHit { entry_id, excerpt })
    }
}

/// Every text of a message that a transcript shows, folded or not.
fn visible_texts(message: &AgentMessage, see: &mut dyn FnMut(&str)) {
    match message {
        AgentMessage::Assistant(message) => {
            for block in &message.content {
                match block {
                    AssistantBlock::Text { text, .. } => see(text),
                    AssistantBlock::Thinking { thinking, .. } => see(thinking),
                    AssistantBlock::ToolCall(call) => {
                        see(&call.name);
                        strings(&call.arguments, see);
                    }
                }
            }
        }
        AgentMessage::ToolResult(message) => {
            let blocks = message.result.content.iter();
            blocks.filter_map(ContentBlock::as_text).for_each(&mut *see);
            strings(&message.details, see);
        }
        AgentMessage::ShellRun(run) => {
            see(&run.command);
            see(&run.output);
        }
        AgentMessage::Custom(message) if !message.display => {}
        message => see(&message.text()),
    }
}

fn strings(value: &serde_json::Value, see: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => see(text),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, see)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, see)),
        _ => {}
    }
}

/// Collects hits and hands them on: the first alone, so that it shows at once.
struct Batches<'a> {
    tell: &'a mut dyn FnMut(Vec<SearchHit>),
    waiting: Vec<SearchHit>,
    told: usize,
}

impl Batches<'_> {
    /// False when there are enough.
    fn add(&mut self, hit: SearchHit) -> bool {
        self.waiting.push(hit);
        if self.told == 0 || self.waiting.len() >= BATCH {
            self.flush();
        }
        self.told + self.waiting.len() < HIT_LIMIT
    }

    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.told += self.waiting.len();
            (self.tell)(std::mem::take(&mut self.waiting));
        }
    }
}

impl SessionIndex {
    /// Looks for `needle` from the newest message to the oldest and tells hits as they are found, until
    /// `stop` is set. Whether there are more than the limit.
    pub fn search(
        &self,
        needle: &Needle,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Vec<SearchHit>),
    ) -> bool {
        let mut batches = Batches {
            tell,
            waiting: Vec::new(),
            told: 0,
        };
        let mut left = self.look(|tree| tree.shown().len());
        let mut buffer = Vec::new();
        while left > 0 && !stop.load(Ordering::Relaxed) {
            let (piece, bodies) =
                self.look(|tree| (Piece::before(tree, left), tree.bodies().clone()));
            left = left.saturating_sub(piece.records.len().max(1));
            if !piece.search(needle, &bodies, &mut buffer, &mut batches) {
                batches.flush();
                return true;
            }
            // What was found in a piece need not wait for the next.
            batches.flush();
        }
        false
    }
}

/// Consecutive messages that stand near each other in the file.
#[derive(Debug, Default)]
struct Piece {
    /// Newest first.
    records: Vec<Record>,
}

impl Piece {
    /// The messages before the one at `end` of those shown, as many as are read together.
    fn before(tree: &SessionTree, end: usize) -> Self {
        let shown = tree.shown();
        let mut piece = Self::default();
        let mut upper: Option<u64> = None;
        // The branch may have moved meanwhile.
        for number in shown[..end.min(shown.len())].iter().rev() {
            let record = tree.record(*number);
            if let Place::Stored { offset, length } = record.place {
                let upper = *upper.get_or_insert(offset + u64::from(length));
                if upper.saturating_sub(offset) > PIECE && !piece.records.is_empty() {
                    break;
                }
            }
            piece.records.push(record);
        }
        piece
    }

    /// False when there are enough hits.
    fn search(
        &self,
        needle: &Needle,
        bodies: &Bodies,
        buffer: &mut Vec<u8>,
        batches: &mut Batches<'_>,
    ) -> bool {
        let stored = |record: &Record| match record.place {
            Place::Stored { offset, length } => Some((offset, offset + u64::from(length))),
            Place::Kept(_) => None,
        };
        let mut ranges = self.records.iter().filter_map(stored);
        let span = ranges.next().map(|(start, end)| {
            ranges.fold((start, end), |(low, high), (start, end)| {
                (low.min(start), high.max(end))
            })
        });
        let (start, end) = span.unwrap_or((0, 0));
        buffer.resize((end - start) as usize, 0);
        if bodies.read_at(buffer, start).is_err() {
            buffer.clear();
        }
        // One pass tells which lines are worth a closer look.
        let matches: Vec<usize> = LineMatches::new(needle, buffer).collect();
        for record in &self.records {
            let entry = match stored(record) {
                None => bodies.try_read(record),
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
