//! Reads files: on all cores for the index, and one by one for an outline.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_base::without_links;

use crate::definition::{Definition, stored};
use crate::grammar;
use crate::index::FileState;
use crate::language::{self, Language};
use crate::scan::{Seen, scan};
use crate::walk::{FoundFile, threads};
use osier_base::file_stamp::FileStamp;

/// Maximum bytes of a file: programs make larger ones.
pub(crate) const SIZE_LIMIT: u64 = 1 << 20;
/// Maximum bytes of the first line: people write shorter ones.
const FIRST_LINE: usize = 20_000;
/// Number of files that a thread reads in one batch.
const CHUNK: usize = 32;

/// The text of a file and its version; without the text if it is not read.
pub(crate) fn text(root: &Path, path: &str, buffer: &mut Vec<u8>) -> Option<(FileStamp, bool)> {
    let mut file = open(root, path)?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let version = FileStamp::of(&metadata);
    buffer.clear();
    if version.size > SIZE_LIMIT {
        return Some((version, false));
    }
    let size = version.size as usize;
    buffer.resize(size, 0);
    let mut read = 0;
    while read < size {
        match file.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Some((version, false)),
        }
    }
    buffer.truncate(read);
    Some((version, is_text(buffer)))
}

/// The version of a file that exists.
pub(crate) fn version(root: &Path, path: &str) -> Option<FileStamp> {
    let metadata = std::fs::symlink_metadata(root.join(path)).ok()?;
    metadata.is_file().then(|| FileStamp::of(&metadata))
}

fn open(root: &Path, path: &str) -> Option<File> {
    without_links::open(&root.join(path)).ok()
}

fn is_text(text: &[u8]) -> bool {
    let head = &text[..text.len().min(FIRST_LINE)];
    !head[..head.len().min(1024)].contains(&0) && (head.len() < FIRST_LINE || head.contains(&b'\n'))
}

/// The files that one thread has read.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) files: Vec<ReadFile>,
    definitions: Vec<u8>,
    uses: Vec<u32>,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    /// The position of the file in the list of files.
    pub(crate) number: usize,
    pub(crate) version: FileStamp,
    pub(crate) state: FileState,
    definitions: Range<usize>,
    uses: Range<usize>,
}

impl Part {
    pub(crate) fn definitions(&self, file: &ReadFile) -> &[u8] {
        &self.definitions[file.definitions.clone()]
    }

    pub(crate) fn uses(&self, file: &ReadFile) -> &[u32] {
        &self.uses[file.uses.clone()]
    }

    fn read(&mut self, root: &Path, number: usize, file: &FoundFile, tools: &mut Tools) {
        let (definitions, uses) = (self.definitions.len(), self.uses.len());
        let found = text(root, &file.path, &mut tools.buffer);
        let language = language::numbered(file.language);
        let mut state = FileState::Skipped;
        if let (Some((_, true)), Some(language)) = (found, language) {
            let stored = &mut self.definitions;
            let mut define = |found: Definition| found.store(stored);
            let (text, seen) = (&tools.buffer, &mut tools.seen);
            scan(language, text, seen, &mut self.uses, &mut define);
            state = FileState::Scanned;
        }
        self.files.push(ReadFile {
            number,
            version: found.map(|(version, _)| version).unwrap_or_default(),
            state,
            definitions: definitions..self.definitions.len(),
            uses: uses..self.uses.len(),
        });
    }
}

struct Tools {
    buffer: Vec<u8>,
    seen: Seen,
}

/// Reads the files with these numbers.
pub(crate) fn files(root: &Path, found: &[FoundFile], numbers: &[usize]) -> Vec<Part> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut part = Part::default();
        let mut tools = Tools {
            buffer: Vec::new(),
            seen: Seen::new(),
        };
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(rest) = numbers.get(start..).filter(|rest| !rest.is_empty()) else {
                return part;
            };
            for number in &rest[..rest.len().min(CHUNK)] {
                part.read(root, *number, &found[*number], &mut tools);
            }
        }
    };
    if numbers.len() <= CHUNK {
        return vec![work()];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        let parts = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        parts.filter_map(Result::ok).collect()
    })
}

/// The versions of the files with these numbers, in their order.
pub(crate) fn versions(
    root: &Path,
    found: &[FoundFile],
    numbers: &[usize],
) -> Vec<Option<FileStamp>> {
    let size = numbers.len().div_ceil(threads()).max(CHUNK);
    let work = |part: &[usize]| -> Vec<Option<FileStamp>> {
        let paths = part.iter().map(|number| found[*number].path.as_str());
        paths.map(|path| version(root, path)).collect()
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = numbers
            .chunks(size)
            .map(|part| (part.len(), scope.spawn(move || work(part))))
            .collect();
        let parts = threads.into_iter().map(|(count, thread)| {
            let part = thread.join();
            part.unwrap_or_else(|_| vec![None; count])
        });
        parts.flatten().collect()
    })
}

/// The definitions of a text by its grammar. Where the grammar does not understand the text, they
/// come from the scan.
pub(crate) fn definitions(language: &Language, text: &[u8]) -> Vec<Definition> {
    let parsed = language
        .grammar
        .and_then(|grammar| grammar::definitions(grammar, text));
    let (mut found, is_complete) = parsed.unwrap_or_default();
    if !is_complete {
        let lines: Vec<u32> = found.iter().map(|found| found.line).collect();
        let mut define = |definition: Definition| {
            if !lines.contains(&definition.line) {
                found.push(definition);
            }
        };
        scan(
            language,
            text,
            &mut Seen::new(),
            &mut Vec::new(),
            &mut define,
        );
        osier_base::sort::by_key(&mut found, |definition| definition.line);
    }
    found.truncate(crate::definition::PER_FILE);
    found
}

/// The definitions with the numbers of uses that the index knows.
pub(crate) fn with_uses(mut found: Vec<Definition>, known: &[u8]) -> Vec<Definition> {
    let known: Vec<_> = stored(known).collect();
    for definition in &mut found {
        let same = known.iter().filter(|known| known.name == definition.name);
        definition.uses = same.map(|known| known.uses).max().unwrap_or(0);
    }
    found
}
