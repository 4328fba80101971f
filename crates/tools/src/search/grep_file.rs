//! Searches one file: its matching lines and their context, limited in size.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::files::encoding::decode;
use crate::files::line_window::complete_characters;
use osier_base::text::sanitize;
use osier_base::without_links;

/// Bytes of a line that are shown; a longer line shows the part around the match.
pub(crate) const MAX_LINE: usize = 500;
/// Bytes before the match in a longer line.
const BEFORE_MATCH: usize = 120;
/// Maximum result bytes of one file.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum size of a line, or of a file that is searched as a whole; larger ones are skipped.
const MAX_HELD_LINE: usize = 16 * 1024 * 1024;
const MAX_HELD_FILE: usize = 128 * 1024 * 1024;

/// A compiled search pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    matcher: RegexMatcher,
    /// The pattern can match across lines, so the complete file must be in memory.
    across_lines: bool,
}

/// How a pattern is interpreted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meaning {
    pub(crate) ignore_case: bool,
    pub(crate) literal: bool,
}

impl Pattern {
    /// # Errors
    /// The pattern is invalid; contains the reason.
    pub(crate) fn new(pattern: &str, meaning: Meaning) -> Result<Self, String> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .case_insensitive(meaning.ignore_case)
            .fixed_strings(meaning.literal)
            .crlf(true);
        if let Ok(matcher) = builder.build(pattern) {
            let across_lines = false;
            return Ok(Self {
                matcher,
                across_lines,
            });
        }
        // The pattern most likely names a line end, so it needs more than one line.
        let matcher = builder.line_terminator(None).build(pattern);
        Ok(Self {
            matcher: matcher.map_err(|error| error.to_string())?,
            across_lines: true,
        })
    }

    /// A searcher for this pattern; every thread needs its own.
    pub(crate) fn searcher(&self, context: usize) -> Searcher {
        let held = if self.across_lines {
            MAX_HELD_FILE
        } else {
            MAX_HELD_LINE
        };
        let mut builder = SearcherBuilder::new();
        if !self.across_lines {
            builder.line_terminator(grep_matcher::LineTerminator::crlf());
        }
        builder
            .before_context(context)
            .after_context(context)
            .multi_line(self.across_lines)
            .heap_limit(Some(held))
            .build()
    }
}

/// The matches of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileMatches {
    pub(crate) lines: Vec<Line>,
    pub(crate) matches: usize,
    /// There are more matches than the limit.
    pub(crate) more: bool,
    /// The file has NUL bytes: they ended the search, or count as line ends in an explicitly named file.
    pub(crate) binary: bool,
    pub(crate) cut_lines: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// The first line of a match.
    Match(u64, String),
    /// A further line of a match.
    Further(u64, String),
    Context(u64, String),
    /// Lines are omitted here.
    Gap,
}

/// Searches `path` for at most `limit` matches. `named` is true for an explicitly named file, of which binary
/// data is searched too.
pub(crate) fn search(
    path: &Path,
    pattern: &Pattern,
    searcher: &mut Searcher,
    limit: usize,
    named: bool,
    stop: &CancellationToken,
) -> io::Result<FileMatches> {
    searcher.set_binary_detection(if named {
        BinaryDetection::convert(0)
    } else {
        BinaryDetection::quit(0)
    });
    let gatherer = || Gatherer {
        pattern,
        limit,
        stop,
        found: FileMatches::default(),
        bytes: 0,
    };
    let mut gathered = gatherer();
    let mut source = Source {
        file: without_links::open(path)?,
        stop,
        utf8: Utf8Check::default(),
    };
    let mut searched = searcher.search_reader(&pattern.matcher, &mut source, &mut gathered);
    // The text of another encoding is searched as `read` shows it. The searcher itself knows UTF-16.
    if searched.is_ok() && source.utf8.is_broken && !gathered.found.binary {
        let bytes = source.complete()?;
        if let Some(decoded) = decode(&bytes).filter(|decoded| !decoded.encoding.is_unicode()) {
            gathered = gatherer();
            let text = decoded.text.as_bytes();
            searched = searcher.search_slice(&pattern.matcher, text, &mut gathered);
        }
    }
    let found = gathered.found;
    match searched {
        // The caller cancelled the search and needs no error.
        Err(_) if stop.is_cancelled() => Ok(found),
        Err(error) => Err(error),
        Ok(()) => Ok(found),
    }
}

/// A file whose search ends when it is cancelled.
struct Source<'a> {
    file: File,
    stop: &'a CancellationToken,
    utf8: Utf8Check,
}

impl Source<'_> {
    /// The bytes of the file from its start; none of a file that is too large to be searched as a whole.
    fn complete(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.file.metadata()?.len() <= MAX_HELD_FILE as u64 {
            self.file.rewind()?;
            self.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        let count = self.file.read(buffer)?;
        self.utf8.feed(&buffer[..count]);
        Ok(count)
    }
}

/// Whether bytes that come in parts are UTF-8.
#[derive(Debug, Default)]
struct Utf8Check {
    /// The start of a character that continues in the next part.
    start: Vec<u8>,
    is_broken: bool,
}

impl Utf8Check {
    fn feed(&mut self, part: &[u8]) {
        if self.is_broken {
            return;
        }
        let joined;
        let mut bytes = part;
        if !self.start.is_empty() {
            joined = [&self.start, part].concat();
            bytes = &joined;
        }
        let (mut start, mut is_broken) = (Vec::new(), false);
        if let Err(error) = str::from_utf8(bytes) {
            is_broken = error.error_len().is_some();
            start.extend_from_slice(&bytes[error.valid_up_to()..]);
        }
        self.is_broken = is_broken;
        self.start = start;
    }
}

/// Collects the results of a searcher.
struct Gatherer<'a> {
    pattern: &'a Pattern,
    limit: usize,
    stop: &'a CancellationToken,
    found: FileMatches,
    bytes: usize,
}

impl Gatherer<'_> {
    fn line(&mut self, line: &[u8], is_match: bool) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = || match self.pattern.matcher.find(line) {
            Ok(Some(found)) if is_match => found.start(),
            _ => 0,
        };
        let shown = if line.len() > MAX_LINE {
            self.found.cut_lines += 1;
            around(line, at())
        } else {
            clean(line)
        };
        self.bytes += shown.len();
        shown
    }
}

impl Sink for &mut Gatherer<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.stop.is_cancelled() {
            return Ok(false);
        }
        let full = self.found.matches >= self.limit || self.bytes > MAX_BYTES;
        if full {
            self.found.more = true;
            return Ok(false);
        }
        self.found.matches += 1;
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            let text = self.line(line, true);
            self.found.lines.push(if number == first {
                Line::Match(number, text)
            } else {
                Line::Further(number, text)
            });
            if self.bytes > MAX_BYTES {
                break;
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let text = self.line(context.bytes(), false);
        let number = context.line_number().unwrap_or_default();
        self.found.lines.push(Line::Context(number, text));
        Ok(!self.stop.is_cancelled())
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.found.lines.push(Line::Gap);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _offset: u64) -> io::Result<bool> {
        self.found.binary = true;
        Ok(true)
    }
}

/// The part of a long line around byte `at`.
fn around(line: &[u8], at: usize) -> String {
    let start = at.saturating_sub(BEFORE_MATCH).min(line.len() - MAX_LINE);
    let part = &line[start..start + MAX_LINE];
    let continued = part.iter().take(3);
    let continued = continued.take_while(|byte| start > 0 && (0x80..0xc0).contains(*byte));
    let part = complete_characters(&part[continued.count()..]);
    let before = if start > 0 { "…" } else { "" };
    let text = clean(part);
    format!("{before}{text}… [cut; the line has {} bytes]", line.len())
}

/// A line without control sequences.
fn clean(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.replace('\r', "␍").replace('\0', "␀");
    sanitize(&text).into_owned()
}
