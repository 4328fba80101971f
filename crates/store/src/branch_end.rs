//! Reads the end of the current branch from the end of the file, so that a session can be shown before the rest is
//! read.
//!
//! The last line gives the leaf; from there the parents are followed backwards. Anything unusual (a torn or damaged
//! line, a missing parent, a newer version) needs the full index.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::envelope::Envelope;
use super::load::{HEADER_LIMIT, Scan};
use super::page::{PAGE_BYTES, PAGE_MESSAGES};
use super::walk::{State, StateSearch, into_message};
use osier_protocol::{Entry, EntryKind, Header, PageAt, StoredMessage, Tag, VERSION};

/// Bytes to read from the end, tried in this order until one is enough.
const WINDOWS: &[u64] = &[512 << 10, 2 << 20, 8 << 20, 32 << 20];

/// The state in which a session was left.
#[derive(Debug, Clone)]
pub struct Ending {
    pub header: Header,
    /// The last messages of the current branch, oldest first.
    pub messages: Vec<StoredMessage>,
    /// No message precedes them.
    pub at_start: bool,
    /// `None` before every root.
    pub leaf: Option<String>,
    /// Model, level and name at the leaf, if the end of the file has them.
    pub state: State,
    /// The complete file was read.
    pub complete: bool,
}

/// The result of one attempt.
enum Try {
    Enough(Box<Ending>),
    /// The attempt needs more of the file.
    More,
    /// The end of the file is not reliable.
    Unclear,
}

impl Ending {
    /// The end of a session that was read completely.
    pub(super) fn of(scan: &Scan) -> Self {
        let leaf = scan.tree.leaf();
        let page = scan.tree.page(&PageAt::End).unwrap_or_default();
        Self {
            header: scan.header.clone(),
            messages: page.messages,
            at_start: page.at_start,
            state: scan.tree.state_at(leaf.as_deref()),
            leaf,
            complete: true,
        }
    }
}

/// Reads the end of `file`; `None` if it has at most `limit` bytes or its end is not enough.
pub(super) fn read(file: &File, limit: u64) -> Option<Ending> {
    let metadata = file.metadata().ok()?;
    let length = metadata.len();
    if !metadata.is_file() || length <= limit {
        return None;
    }
    let header = read_header(file, length)?;
    for window in WINDOWS {
        let start = length.saturating_sub(*window);
        let mut bytes = vec![0; (length - start) as usize];
        file.read_exact_at(&mut bytes, start).ok()?;
        match follow(&bytes, &header) {
            Try::Enough(ending) => return Some(*ending),
            Try::More if start > 0 => {}
            Try::More | Try::Unclear => return None,
        }
    }
    None
}

fn read_header(file: &File, length: u64) -> Option<Header> {
    let mut size = 4096;
    loop {
        let mut start = vec![0; size.min(length as usize)];
        file.read_exact_at(&mut start, 0).ok()?;
        if let Some(newline) = memchr::memchr(b'\n', &start) {
            let header = Header::parse(&start[..newline]).ok()?;
            return (header.version <= VERSION).then_some(header);
        }
        size *= 8;
        if start.len() as u64 == length || size > HEADER_LIMIT {
            return None;
        }
    }
}

/// The path from the leaf backwards, as far as it was read.
struct Path<'a> {
    header: &'a Header,
    leaf: Option<String>,
    /// The last line was read: `leaf` is known.
    begun: bool,
    /// The next entry on the path.
    next: Option<String>,
    messages: Vec<StoredMessage>,
    bytes: u64,
    state: StateSearch,
    /// The last session name on the path, once found.
    name: Option<String>,
    named: bool,
    /// The oldest message is a tool result whose call was not found yet.
    open: bool,
}

/// Follows the path through the lines of `bytes`, which end with the file.
fn follow(bytes: &[u8], header: &Header) -> Try {
    let Some((b'\n', bytes)) = bytes.split_last() else {
        return Try::Unclear;
    };
    let mut path = Path {
        header,
        leaf: None,
        begun: false,
        next: None,
        messages: Vec::new(),
        bytes: 0,
        state: StateSearch::default(),
        name: None,
        named: false,
        open: false,
    };
    let mut end = bytes.len();
    // The bytes before the first newline can be an incomplete line.
    while let Some(newline) = memchr::memrchr(b'\n', &bytes[..end]) {
        let line = &bytes[newline + 1..end];
        end = newline;
        let clear = line.trim_ascii().is_empty() || path.line(line);
        if !clear {
            return Try::Unclear;
        }
        if path.is_enough() {
            return Try::Enough(Box::new(path.finish()));
        }
    }
    Try::More
}

impl Path<'_> {
    /// Reads the next line backwards; false if it is unusual.
    fn line(&mut self, line: &[u8]) -> bool {
        let envelope = Envelope::of(line);
        // The start of a line is enough to skip entries that are not on the path.
        if let (Some(_), true, Some(next)) = (&envelope, self.begun, &self.next)
            && !line[b"{\"id\":\"".len()..].starts_with(next.as_bytes())
            && envelope.is_some_and(|envelope| envelope.tag != Tag::SessionInfo)
        {
            return true;
        }
        match Entry::parse(line) {
            Ok(entry) if !entry.kind.is_damaged() => self.entry(entry, line.len()),
            _ => return false,
        }
        true
    }

    fn entry(&mut self, entry: Entry, length: usize) {
        if let EntryKind::SessionInfo { name } = &entry.kind
            && !std::mem::replace(&mut self.named, true)
        {
            self.name.clone_from(name);
        }
        if !std::mem::replace(&mut self.begun, true) {
            self.leaf = match &entry.kind {
                EntryKind::Leaf { target_id, .. } => target_id.clone(),
                _ => Some(entry.id.clone()),
            };
            self.next.clone_from(&self.leaf);
        }
        let is_move = matches!(entry.kind, EntryKind::Leaf { .. });
        if is_move || self.next.as_ref() != Some(&entry.id) {
            return;
        }
        self.next.clone_from(&entry.parent_id);
        self.state.see(&entry);
        let tag = Tag::of(&entry.kind);
        if !tag.is_shown() {
            return;
        }
        self.open = tag == Tag::ToolResult;
        self.bytes += length as u64;
        let entry_id = entry.id.clone();
        if let Some(message) = into_message(entry) {
            let message = Arc::new(message);
            self.messages.push(StoredMessage { entry_id, message });
        }
    }

    fn is_enough(&self) -> bool {
        let full = self.messages.len() >= PAGE_MESSAGES || self.bytes >= PAGE_BYTES;
        self.begun && (self.next.is_none() || full && !self.open)
    }

    fn finish(mut self) -> Ending {
        self.messages.reverse();
        Ending {
            header: self.header.clone(),
            messages: self.messages,
            at_start: self.next.is_none(),
            leaf: self.leaf,
            state: self.state.finish(self.name),
            complete: false,
        }
    }
}
