//! A preview of a session without opening it: its start and its end.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::LibraryError;
use super::passage::Source;
use osier_agent::AgentMessage;
use osier_base::text::head_bytes;
use osier_store::{Entry, EntryKind};

/// Bytes of the file's start and end that are read.
const HEAD: u64 = 64 * 1024;
const TAIL: u64 = 128 * 1024;
/// Messages of the end.
const LAST: usize = 8;
/// Bytes of a message.
const TEXT: usize = 1_500;

/// One message, shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PreviewLine {
    /// `prompt`, `answer` or `summary`.
    pub source: Source,
    pub text: String,
}

/// The parts of a conversation that identify it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// How it began.
    pub first: Vec<PreviewLine>,
    /// How it ends, when that is something else.
    pub last: Vec<PreviewLine>,
}

/// Reads the preview of the session at `path`.
pub fn preview(path: &Path) -> Result<Preview, LibraryError> {
    let failed = |error| LibraryError::io("read", path, error);
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let read = |from: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, from).map(|()| bytes)
    };
    let head = read(0, size.min(HEAD)).map_err(failed)?;
    let mut first = said(&head);
    first.truncate(2);
    let from = size.saturating_sub(TAIL).max(head.len() as u64);
    let mut last = said(&head).split_off(first.len());
    last.extend(said(&read(from, size - from).map_err(failed)?));
    let last = last.split_off(last.len().saturating_sub(LAST));
    Ok(Preview { first, last })
}

/// The messages in these lines; incomplete lines are skipped.
fn said(bytes: &[u8]) -> Vec<PreviewLine> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line_of(Entry::parse(line).ok()?))
        .collect()
}

fn line_of(entry: Entry) -> Option<PreviewLine> {
    let (source, text) = match entry.kind {
        EntryKind::Message {
            message: AgentMessage::User(said),
        } => (Source::Prompt, said.text),
        EntryKind::Message {
            message: AgentMessage::Assistant(answer),
        } => (Source::Answer, answer.text()),
        EntryKind::Compaction { summary, .. } | EntryKind::BranchSummary { summary, .. } => {
            (Source::Summary, summary)
        }
        _ => return None,
    };
    let text = head_bytes(text.trim(), TEXT).to_owned();
    (!text.is_empty()).then_some(PreviewLine { source, text })
}
