//! The prompt history of all sessions: one JSON line for each prompt in `history.jsonl`, appended with one write so
//! that several processes can share the file.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use osier_agent::Severity;
use osier_base::{clock, private, regular_file};
use osier_protocol::Event;

use crate::emitter::Emitter;

/// Bytes read from the end of the file.
const READ_LIMIT: u64 = 1024 * 1024;
/// Longest prompt that is stored, in bytes.
const PROMPT_LIMIT: usize = 64 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct HistoryLine {
    text: String,
    timestamp: i64,
}

/// The prompt history of a user.
#[derive(Debug)]
pub(crate) struct PromptHistory {
    path: PathBuf,
}

impl PromptHistory {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Publishes the newest prompts.
    pub(crate) fn list(&self, emitter: &Emitter) {
        let (path, emitter) = (self.path.clone(), emitter.clone());
        osier_base::task::spawn_blocking(move || {
            let prompts = load(&path);
            emitter.post(Event::History { prompts });
        });
    }

    /// Appends a prompt.
    pub(crate) fn add(&self, text: &str, emitter: &Emitter) {
        if let Err(error) = append(&self.path, text) {
            let path = self.path.display();
            let text = format!("cannot add the prompt to the history `{path}`: {error}");
            emitter.notice(Severity::Warning, text);
        }
    }
}

/// The newest prompts, oldest first, without consecutive duplicates. A missing file has none; lines that cannot be
/// parsed are skipped.
fn load(path: &Path) -> Vec<String> {
    let Ok(text) = tail(path) else {
        return Vec::new();
    };
    let mut prompts: Vec<String> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<HistoryLine>(line) else {
            continue;
        };
        if prompts.last() != Some(&line.text) {
            prompts.push(line.text);
        }
    }
    prompts
}

/// Appends `text`, unless it is blank or too long.
fn append(path: &Path, text: &str) -> io::Result<()> {
    if text.trim().is_empty() || text.len() > PROMPT_LIMIT {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        private::create_folder(folder)?;
    }
    let line = HistoryLine {
        text: text.to_owned(),
        timestamp: clock::now_ms(),
    };
    let mut file = regular_file::open_append(path, private::FILE_MODE)?;
    let mut bytes = Vec::new();
    // A full disk or a crash leaves part of a line.
    if !ends_with_newline(&mut file)? {
        bytes.push(b'\n');
    }
    serde_json::to_writer(&mut bytes, &line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

/// Whether a new line can follow the end of `file`.
fn ends_with_newline(file: &mut fs::File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = regular_file::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(READ_LIMIT)))?;
    let mut bytes = Vec::new();
    file.take(READ_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_loaded_in_order_without_consecutive_duplicates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/history.jsonl");
        for text in ["one", "two\nlines", "two\nlines", "  ", "three"] {
            append(&path, text).unwrap();
        }
        regular_file::open_append(&path, private::FILE_MODE)
            .unwrap()
            .write_all(b"{torn")
            .unwrap();
        assert_eq!(load(&path), ["one", "two\nlines", "three"]);
        append(&path, "after the torn line").unwrap();
        let loaded = load(&path);
        assert_eq!(
            loaded,
            ["one", "two\nlines", "three", "after the torn line"]
        );
        assert_eq!(load(&folder.path().join("none")), Vec::<String>::new());
    }
}
