//! Summarises a session from the first and last kilobytes of its file.
//!
//! A list of a thousand sessions must not read a thousand conversations. So the message count of a long session is an
//! estimate, and a name is found only near the end, where `SessionStore::close` repeats it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;

use super::error::SessionError;
use super::load::header_from_name;
use memchr::memmem::find;
use osier_base::regular_file;
use osier_base::text::head_bytes;
use osier_protocol::{EntryKind, Header};

/// Bytes read at each end of a file.
pub(super) const WINDOW: usize = 16 * 1024;

/// Maximum bytes of a header, which can exceed the window.
const HEADER_LIMIT: usize = 1 << 20;

/// Maximum bytes of the first prompt.
const PROMPT_LIMIT: usize = 400;

/// One row of a session list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    pub id: String,
    pub path: PathBuf,
    pub cwd: String,
    pub name: Option<String>,
    /// The start of the first user message.
    pub first_prompt: Option<String>,
    /// The start of the last user message, if it is near the end of the file.
    pub last_prompt: Option<String>,
    /// Number of messages; an estimate unless `messages_exact` is set.
    pub messages: u64,
    pub messages_exact: bool,
    /// Milliseconds since the Unix epoch.
    pub created: i64,
    /// Time of the last use, else of the file; milliseconds since the epoch.
    pub modified: i64,
    /// Bytes of the file.
    pub size: u64,
    /// Id of the session that this one was forked from.
    pub parent_session: Option<String>,
}

/// Reads both ends of the session at `path`.
pub fn summarize(path: &Path) -> Result<SessionSummary, SessionError> {
    let failed = |error| SessionError::io("read", path, error);
    let mut file = regular_file::open_plain(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let not_a_session = || SessionError::NotASession {
        path: path.to_owned(),
        reason: "its first line is not a session header".into(),
    };
    if !metadata.is_file() {
        return Err(not_a_session());
    }
    let size = metadata.len();
    let head = read_head(&mut file, size).map_err(failed)?;
    let (first, rest) = split_line(&head).ok_or_else(not_a_session)?;
    let header = Header::parse(first)
        .ok()
        .or_else(|| header_from_name(path))
        .ok_or_else(not_a_session)?;
    let tail = read_tail(&file, size, head.len()).map_err(failed)?;
    let facts = Facts::of(rest, &tail);
    let written = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_millis() as i64);
    let created = milliseconds(&header.timestamp).unwrap_or(written);
    let messages_exact = (head.len() + tail.len()) as u64 >= size;
    Ok(SessionSummary {
        messages: if messages_exact {
            facts.messages
        } else {
            estimate(facts.messages, rest.len() + tail.len(), size)
        },
        messages_exact,
        name: facts.name,
        first_prompt: facts.first_prompt,
        last_prompt: facts.last_prompt,
        modified: facts.last_timestamp.unwrap_or(written),
        created,
        size,
        path: path.to_owned(),
        id: header.id,
        cwd: header.cwd,
        parent_session: header.parent_session,
    })
}

/// The start of the file: the window, or more for a long header. A short file is read completely.
fn read_head(file: &mut File, size: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(WINDOW.min(size as usize));
    file.take(WINDOW as u64).read_to_end(&mut head)?;
    while !head.contains(&b'\n') && head.len() < HEADER_LIMIT {
        let read = file.take(head.len() as u64).read_to_end(&mut head)?;
        if read == 0 {
            break;
        }
    }
    Ok(head)
}

/// The end of the file without the `read` bytes of its start.
fn read_tail(file: &File, size: u64, read: usize) -> io::Result<Vec<u8>> {
    let start = size.saturating_sub(WINDOW as u64).max(read as u64);
    let mut tail = vec![0; size.saturating_sub(start) as usize];
    let mut filled = 0;
    while filled < tail.len() {
        match file.read_at(&mut tail[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    tail.truncate(filled);
    Ok(tail)
}

#[derive(Default)]
struct Facts {
    name: Option<String>,
    first_prompt: Option<String>,
    last_prompt: Option<String>,
    messages: u64,
    last_timestamp: Option<i64>,
}

/// The fields of an entry that a list shows.
#[derive(Deserialize)]
struct Glance {
    timestamp: String,
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    message: Option<MessageStart>,
}

#[derive(Deserialize)]
struct MessageStart {
    role: String,
    text: Option<String>,
}

impl Facts {
    fn of(head: &[u8], tail: &[u8]) -> Self {
        let mut facts = Self::default();
        for line in head.split(|&byte| byte == b'\n') {
            facts.see(line);
        }
        for line in tail.split(|&byte| byte == b'\n') {
            facts.see(line);
        }
        let ends = [tail, head];
        let mut lines = ends
            .iter()
            .flat_map(|end| end.rsplit(|&byte| byte == b'\n'));
        facts.last_prompt = lines.find(|line| is_prompt(line)).and_then(prompt_of);
        facts
    }

    fn see(&mut self, line: &[u8]) {
        let is_message = says(line, r#""type":"message""#);
        self.messages += u64::from(is_message);
        let needed = self.first_prompt.is_none() && says(line, r#""role":"user""#);
        if is_message && !needed {
            self.last_timestamp = timestamp_of(line).or(self.last_timestamp);
            return;
        }
        let Ok(glance) = serde_json::from_slice::<Glance>(line) else {
            if needed {
                self.first_prompt = cut_prompt(line);
            }
            return;
        };
        if glance.kind == "session_info" {
            self.name = glance.name;
        }
        if !EntryKind::is_use_type(&glance.kind) {
            return;
        }
        self.last_timestamp = milliseconds(&glance.timestamp).or(self.last_timestamp);
        if let Some(message) = glance.message.filter(|message| message.role == "user") {
            self.first_prompt = message.text.as_deref().map(shorten);
        }
    }
}

/// Whether the start of an entry's line contains `part`.
fn says(line: &[u8], part: &str) -> bool {
    find(&line[..line.len().min(200)], part.as_bytes()).is_some()
}

fn is_prompt(line: &[u8]) -> bool {
    says(line, r#""type":"message""#) && says(line, r#""role":"user""#)
}

/// The start of the prompt in the line of its entry. The line can be cut off.
fn prompt_of(line: &[u8]) -> Option<String> {
    match serde_json::from_slice::<Glance>(line) {
        Ok(glance) => glance.message?.text.as_deref().map(shorten),
        Err(_) => cut_prompt(line),
    }
}

/// The timestamp in the fixed start of an entry's line.
fn timestamp_of(line: &[u8]) -> Option<i64> {
    const KEY: &[u8] = b"\"timestamp\":\"";
    let at = find(&line[..line.len().min(120)], KEY)? + KEY.len();
    let length = line[at..].iter().position(|&byte| byte == b'"')?;
    milliseconds(std::str::from_utf8(&line[at..at + length]).ok()?)
}

/// The start of the prompt in a line that extends beyond the window.
fn cut_prompt(line: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\"text\":\"";
    let text = &line[find(line, KEY)? + KEY.len()..];
    let text = &text[..text.len().min(PROMPT_LIMIT)];
    // The cut may split an escape or a character: at most eleven bytes of a surrogate pair.
    (0..=11.min(text.len())).find_map(|less| {
        let quoted = [b"\"", &text[..text.len() - less], b"\""].concat();
        serde_json::from_slice::<String>(&quoted).ok()
    })
}

fn shorten(text: &str) -> String {
    head_bytes(text, PROMPT_LIMIT).to_owned()
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes.iter().position(|&byte| byte == b'\n') {
        Some(newline) => Some((&bytes[..newline], &bytes[newline + 1..])),
        None if bytes.is_empty() => None,
        None => Some((bytes, &[])),
    }
}

fn estimate(seen: u64, bytes: usize, size: u64) -> u64 {
    (seen as f64 * size as f64 / bytes.max(1) as f64).round() as u64
}

/// Milliseconds since the Unix epoch.
pub fn milliseconds(timestamp: &str) -> Option<i64> {
    let time = timestamp.parse::<jiff::Timestamp>().ok()?;
    Some(time.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_or_label_is_no_use_of_the_session() {
        let message = r#"{"type":"message","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","text":"go"}}"#;
        let named =
            r#"{"type":"session_info","timestamp":"2026-01-02T10:00:00.000Z","name":"first"}"#;
        let labelled =
            r#"{"type":"label","timestamp":"2026-01-03T10:00:00.000Z","targetId":"a","label":"l"}"#;
        let facts = Facts::of(format!("{message}\n{named}\n{labelled}").as_bytes(), b"");
        assert_eq!(facts.name.as_deref(), Some("first"));
        let last = message.replace("go", "again");
        let facts_of_two = Facts::of(format!("{message}\n{last}").as_bytes(), b"");
        let prompts = (facts_of_two.first_prompt, facts_of_two.last_prompt);
        assert_eq!(prompts, (Some("go".to_owned()), Some("again".to_owned())));
        assert_eq!(
            facts.last_timestamp,
            milliseconds("2026-01-01T10:00:00.000Z")
        );
    }

    #[test]
    fn prompt_is_cut_between_characters_and_escapes() {
        for (line, expected) in [
            (r#"{"role":"user","text":"say \"hi"#, "say \"hi"),
            (r#"{"role":"user","text":"tab\"#, "tab"),
            (r#"{"role":"user","text":"x\ud83d\ude0"#, "x"),
        ] {
            assert_eq!(cut_prompt(line.as_bytes()).as_deref(), Some(expected));
        }
        assert_eq!(
            cut_prompt("\"text\":\"漢".as_bytes()[..10].into()),
            Some(String::new())
        );
    }
}
