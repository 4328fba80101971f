//! A preview of a session without opening it: the start and the end of its current branch.

use osier_protocol::{Preview, PreviewLine};
use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::IndexError;
use osier_agent::AgentMessage;
use osier_base::regular_file;
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
    let file = regular_file::open_plain(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let read = |from: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, from).map(|()| bytes)
    };
    let head = read(0, size.min(HEAD)).map_err(failed)?;
    let mut first = branch(&entries(&head));
    first.truncate(2);
    let from = size.saturating_sub(TAIL).max(head.len() as u64);
    let tail = read(from, size - from).map_err(failed)?;
    // If the middle is not read, the first messages are those of the branch at the end of the first
    // part.
    let is_complete = from == head.len() as u64;
    let start: &[u8] = if is_complete { &head } else { &[] };
    let mut last = branch(&entries(&[start, &tail].concat()));
    if is_complete {
        let count = last.len().min(2);
        first = last.drain(..count).collect();
    }
    let last = last.split_off(last.len().saturating_sub(LAST));
    Ok(Preview { first, last })
}

/// The entries in these lines; incomplete lines are skipped.
fn entries(bytes: &[u8]) -> Vec<Entry> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| Entry::parse(line).ok()).collect()
}

/// The messages of the current branch, oldest first, as far as these entries contain it.
fn branch(entries: &[Entry]) -> Vec<PreviewLine> {
    let numbers: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(number, entry)| (entry.id.as_str(), number))
        .collect();
    // A move can lead to an entry that is not here: then the newest branch is shown.
    let leaf = entries.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Leaf { target_id, .. } => numbers.get(target_id.as_deref()?).copied(),
        _ => numbers.get(entry.id.as_str()).copied(),
    });
    let mut lines = Vec::new();
    let mut next = leaf;
    while let Some(number) = next {
        lines.extend(line_of(&entries[number]));
        let parent = entries[number].parent_id.as_deref();
        let parent = parent.and_then(|id| numbers.get(id).copied());
        // A damaged file must not make a circle.
        next = parent.filter(|parent| *parent < number);
    }
    lines.reverse();
    lines
}

fn line_of(entry: &Entry) -> Option<PreviewLine> {
    let (source, text) = match &entry.kind {
        EntryKind::Message {
            message: AgentMessage::User(message),
        } => (TextSource::Prompt, message.text.clone()),
        EntryKind::Message {
            message: AgentMessage::Assistant(answer),
        } => (TextSource::Answer, answer.text()),
        EntryKind::Compaction { summary, .. } | EntryKind::BranchSummary { summary, .. } => {
            (TextSource::Summary, summary.clone())
        }
        _ => return None,
    };
    let text = head_bytes(text.trim(), TEXT).to_owned();
    (!text.is_empty()).then_some(PreviewLine { source, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::UserMessage;
    use osier_protocol::Jump;

    fn entry(id: &str, parent: Option<&str>, kind: EntryKind) -> Entry {
        Entry {
            id: id.to_owned(),
            parent_id: parent.map(str::to_owned),
            timestamp: String::new(),
            kind,
        }
    }

    #[test]
    fn only_the_current_branch_is_shown() {
        let prompt = |text: &str| EntryKind::message(AgentMessage::User(UserMessage::new(text, 0)));
        let leaf = |target: &str| EntryKind::Leaf {
            target_id: Some(target.to_owned()),
            before_id: None,
            jump: Jump::Usual,
        };
        let mut entries = vec![
            entry("1", None, prompt("begin")),
            entry("2", Some("1"), prompt("left")),
            entry("3", None, leaf("1")),
            entry("4", Some("1"), prompt("right")),
        ];
        let texts = |entries: &[Entry]| {
            let lines = branch(entries).into_iter();
            lines.map(|line| line.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(&entries), ["begin", "right"]);
        entries.push(entry("5", None, leaf("2")));
        assert_eq!(texts(&entries), ["begin", "left"]);
        entries.push(entry("6", None, leaf("elsewhere")));
        assert_eq!(texts(&entries), ["begin", "left"]);
    }
}
