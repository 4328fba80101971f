//! A preview of a session without opening it: its start and its end.

use osier_protocol::{Preview, PreviewLine};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::IndexError;
use osier_agent::AgentMessage;
use osier_base::text::head_bytes;
use osier_protocol::{Entry, EntryKind, TextSource};

/// Bytes to read at the start and the end of the file.
const HEAD: u64 = 64 * 1024;
const TAIL: u64 = 128 * 1024;
/// Number of messages at the end.
const LAST: usize = 8;
/// Maximum bytes of a message.
const TEXT: usize = 1_500;

/// Reads the preview of the session at `path`.
pub fn preview(path: &Path) -> Result<Preview, IndexError> {
    let failed = |error| IndexError::io("read", path, error);
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let read = |from: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, from).map(|()| bytes)
    };
    let head = read(0, size.min(HEAD)).map_err(failed)?;
    let mut first = messages(&head);
    first.truncate(2);
    let from = size.saturating_sub(TAIL).max(head.len() as u64);
    let mut last = messages(&head).split_off(first.len());
    last.extend(messages(&read(from, size - from).map_err(failed)?));
    let last = last.split_off(last.len().saturating_sub(LAST));
    Ok(Preview { first, last })
}

/// The messages in these lines; incomplete lines are skipped.
fn messages(bytes: &[u8]) -> Vec<PreviewLine> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line_of(Entry::parse(line).ok()?))
        .collect()
}

fn line_of(entry: Entry) -> Option<PreviewLine> {
    let (source, text) = match entry.kind {
        EntryKind::Message {
            message: AgentMessage::User(message),
        } => (TextSource::Prompt, message.text),
        EntryKind::Message {
            message: AgentMessage::Assistant(answer),
        } => (TextSource::Answer, answer.text()),
        EntryKind::Compaction { summary, .. } | EntryKind::BranchSummary { summary, .. } => {
            (TextSource::Summary, summary)
        }
        _ => return None,
    };
    let text = head_bytes(text.trim(), TEXT).to_owned();
    (!text.is_empty()).then_some(PreviewLine { source, text })
}
