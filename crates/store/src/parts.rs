//! Finds the lines of a session file and parses their starts, in parts of the file that several threads read at the same time.
//! The results come in the order of the file.
//!
//! The calling thread reads parts too, so that it needs no other thread.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use memchr::memmem;
use parking_lot::{Condvar, Mutex};

use super::envelope::{Envelope, START, begins};
use super::lines::Lines;
use osier_llm::Usage;
use osier_protocol::Tag;

/// Bytes of a part. The lines of a part are in memory until they are in the index.
const PART: u64 = if cfg!(test) { 4 << 10 } else { 8 << 20 };
/// A longer line is damage. Answers and outputs have limits, a prompt can have many images.
const LONGEST_LINE: usize = if cfg!(test) { 8 << 20 } else { 256 << 20 };
/// Bytes per read in the search for the first line of a part.
const BLOCK: u64 = 64 << 10;
/// Bytes at the end of an answer's line that contain its usage.
const USAGE_WINDOW: usize = 1024;
/// The start of an answer's usage.
const USAGE: &[u8] = b"\"usage\":{";
/// More threads would wait for the disk.
const MAX_THREADS: usize = 4;

/// A line of the file.
#[derive(Debug)]
pub(super) enum FoundLine {
    /// An entry, of which the start is enough.
    Entry {
        offset: u64,
        length: usize,
        envelope: Envelope,
        /// The usage of an answer.
        usage: Option<Box<Usage>>,
    },
    /// A line that must be parsed completely.
    Unusual {
        offset: u64,
        length: usize,
        terminated: bool,
    },
    /// A line until `end` that is no entry of osier.
    TooLong { end: u64 },
}

/// Passes the lines of `file` from `start` on to `take`. `length` is the length of the file, which may grow. Stops when `stop`
/// is set, or at the first error.
pub(super) fn lines(
    file: &File,
    (start, length): (u64, u64),
    stop: &AtomicBool,
    take: &mut dyn FnMut(FoundLine) -> io::Result<()>,
) -> io::Result<()> {
    let count = (length.saturating_sub(start) / PART) as usize + 1;
    let parts = Parts {
        file,
        start,
        count,
        next: AtomicUsize::new(0),
        done: Mutex::new((0..count).map(|_| None).collect()),
        ready: Condvar::new(),
        stop,
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let helpers = threads.min(MAX_THREADS).min(count) - 1;
    thread::scope(|scope| {
        for _ in 0..helpers {
            let helper = thread::Builder::new().name("session-part".into());
            // Without it, this thread reads more.
            let _ = helper.spawn_scoped(scope, || while parts.read_next() {});
        }
        let taken =
            (0..count).try_for_each(|part| parts.get(part)?.into_iter().try_for_each(&mut *take));
        // The helpers end after the parts that they read.
        parts.next.store(count, Ordering::Relaxed);
        taken
    })
}

/// The lines of a part, or why it was not read.
type Part = io::Result<Vec<FoundLine>>;

struct Parts<'a> {
    file: &'a File,
    start: u64,
    count: usize,
    /// The next part that nobody reads.
    next: AtomicUsize,
    done: Mutex<Vec<Option<Part>>>,
    ready: Condvar,
    stop: &'a AtomicBool,
}

impl Parts<'_> {
    /// Reads a part that nobody reads; false if there is none.
    fn read_next(&self) -> bool {
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        if part >= self.count {
            return false;
        }
        let mut claim = Claim {
            parts: self,
            part,
            result: Some(Err(io::Error::other("a thread failed"))),
        };
        claim.result = Some(self.read(part));
        true
    }

    /// The lines of `part`. Reads other parts until they are there.
    fn get(&self, part: usize) -> Part {
        loop {
            if let Some(lines) = self.done.lock()[part].take() {
                return lines;
            }
            if !self.read_next() {
                break;
            }
        }
        let mut done = self.done.lock();
        loop {
            if let Some(lines) = done[part].take() {
                return lines;
            }
            self.ready.wait(&mut done);
        }
    }

    /// The bytes in which the lines of a part begin.
    fn range(&self, part: usize) -> Range<u64> {
        let at = |part: usize| self.start + part as u64 * PART;
        // The file may have grown.
        let end = if part + 1 == self.count {
            u64::MAX
        } else {
            at(part + 1)
        };
        at(part)..end
    }

    fn read(&self, part: usize) -> Part {
        let range = self.range(part);
        let mut found = Vec::new();
        let begin = match part {
            0 => Some(range.start),
            _ => first_line(self.file, &range)?,
        };
        let Some(begin) = begin else {
            return Ok(found);
        };
        let starts = LineStarts::new();
        let mut lines = Lines::within(self.file, begin..range.end);
        while lines.position() < range.end {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if let Some(end) = lines.skip_longer(LONGEST_LINE)? {
                found.push(FoundLine::TooLong { end });
                continue;
            }
            let Some(line) = lines.next_line()? else {
                break;
            };
            let (offset, length) = (line.offset, line.bytes.len());
            let known = line.terminated.then(|| starts.parse(line.bytes)).flatten();
            found.push(match known {
                Some((envelope, usage)) => FoundLine::Entry {
                    offset,
                    length,
                    envelope,
                    usage,
                },
                None => FoundLine::Unusual {
                    offset,
                    length,
                    terminated: line.terminated,
                },
            });
        }
        Ok(found)
    }
}

/// A part that a thread reads. Dropping it publishes the result, also of a thread that panicked.
struct Claim<'a> {
    parts: &'a Parts<'a>,
    part: usize,
    result: Option<Part>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.parts.done.lock()[self.part] = self.result.take();
        self.parts.ready.notify_all();
    }
}

/// The start of the first line that begins in `range`.
fn first_line(file: &File, range: &Range<u64>) -> io::Result<Option<u64>> {
    let mut block = vec![0; (range.end - range.start).min(BLOCK) as usize + 1];
    // The line begins here if a newline is before it.
    let mut at = range.start - 1;
    while at < range.end - 1 {
        let length = match file.read_at(&mut block, at) {
            Ok(0) => return Ok(None),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if let Some(newline) = memchr::memchr(b'\n', &block[..length]) {
            let begin = at + newline as u64 + 1;
            return Ok((begin < range.end).then_some(begin));
        }
        at += length as u64;
    }
    Ok(None)
}

/// Parses the starts of lines.
struct LineStarts {
    /// Finds a second record within a line.
    starts: memmem::Finder<'static>,
    usage: memmem::FinderRev<'static>,
}

impl LineStarts {
    fn new() -> Self {
        Self {
            starts: memmem::Finder::new(START),
            usage: memmem::FinderRev::new(USAGE),
        }
    }

    /// The start of a complete line, and the usage if it is an answer; `None` if the line must be parsed completely.
    fn parse(&self, line: &[u8]) -> Option<(Envelope, Option<Box<Usage>>)> {
        let envelope = Envelope::of(line)?;
        if envelope.tag.is_read_whole() || self.holds_another(line) {
            return None;
        }
        let is_answer = envelope.tag == Tag::Assistant;
        let usage = is_answer.then(|| self.usage_in(line)).flatten();
        Some((envelope, usage.map(Box::new)))
    }

    /// Whether a second record starts within the line because a newline was lost.
    fn holds_another(&self, line: &[u8]) -> bool {
        let rest = &line[1..];
        self.starts.find_iter(rest).any(|at| begins(&rest[at..]))
    }

    /// The usage of an answer, which follows its content. Quotes within strings are escaped, so text cannot match.
    fn usage_in(&self, line: &[u8]) -> Option<Usage> {
        let end = &line[line.len().saturating_sub(USAGE_WINDOW)..];
        let at = self.usage.rfind(end)? + USAGE.len() - 1;
        let mut values = serde_json::Deserializer::from_slice(&end[at..]).into_iter();
        values.next()?.ok()
    }
}
