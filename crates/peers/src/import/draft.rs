//! A session during its import: entries in file order, and osier's ids for the ids of the other program.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use osier_base::json;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::tools;
use osier_agent::{AgentMessage, ToolResultMessage, ToolStatus};
use osier_llm::{ContentBlock, ToolCall, ToolResult};
use osier_protocol::{Dropped, Entry, EntryKind, ImportReport, ImportSource};

/// Maximum number of damaged lines named in a report.
const NAMED: usize = 20;
/// Maximum characters of the error of a call.
const ERROR: usize = 200;

/// The session that a reader builds.
#[derive(Debug)]
pub(super) struct Draft {
    source: ImportSource,
    /// The session's id in the other program.
    pub id: Option<String>,
    pub timestamp: Option<String>,
    pub cwd: Option<String>,
    /// Id of the parent session.
    pub parent: Option<String>,
    pub entries: Vec<Entry>,
    /// Number of the current line.
    pub line: u64,
    /// The new parent for the children of each entry of the other program; `None` for the root.
    ids: HashMap<String, Option<String>>,
    taken: HashSet<String>,
    dropped: Vec<Dropped>,
    damaged: usize,
    damaged_lines: Vec<u64>,
    /// Calls by their id in the other program. The list has several calls if one call became several.
    calls: HashMap<String, Vec<(String, String)>>,
    /// The number of subagents whose files were read.
    subagents: usize,
}

impl Draft {
    pub(super) fn new(source: ImportSource) -> Self {
        Self {
            source,
            id: None,
            timestamp: None,
            cwd: None,
            parent: None,
            entries: Vec::new(),
            line: 0,
            ids: HashMap::new(),
            taken: HashSet::new(),
            dropped: Vec::new(),
            damaged: 0,
            damaged_lines: Vec::new(),
            calls: HashMap::new(),
            subagents: 0,
        }
    }

    /// The call in osier's terms: one call, or several for a patch of several files.
    pub(super) fn map_call(&mut self, mut call: ToolCall) -> Vec<ToolCall> {
        let id = call.id.clone();
        (call.arguments, call.arguments_error) = arguments(call.arguments);
        let calls = tools::map(self.source, call);
        let names = calls
            .iter()
            .map(|call| (call.id.clone(), call.name.clone()));
        self.calls.insert(id, names.collect());
        calls
    }

    pub(super) fn knows_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// The message of a result, with osier's name of the tool if the call is known.
    pub(super) fn result(
        &self,
        mut result: ToolResult,
        details: Value,
        duration_ms: u64,
    ) -> ToolResultMessage {
        let known = self.calls.get(&result.tool_call_id);
        if let Some((_, name)) = known.and_then(|calls| calls.first()) {
            result.tool_name.clone_from(name);
        }
        let status = if result.is_error {
            let text = result.content.iter().find_map(ContentBlock::as_text);
            let message = text.unwrap_or_default().chars().take(ERROR).collect();
            ToolStatus::ExecutionError { message }
        } else {
            ToolStatus::Success
        };
        ToolResultMessage {
            status,
            result,
            details,
            duration_ms,
        }
    }

    /// The result of a call, and the results of the further calls that it became.
    pub(super) fn with_further(&self, result: ToolResultMessage) -> Vec<ToolResultMessage> {
        let calls = self.calls.get(&result.result.tool_call_id);
        let further = calls
            .map(|calls| calls.iter().skip(1))
            .into_iter()
            .flatten();
        let further = further.map(|(id, name)| ToolResultMessage {
            result: ToolResult {
                tool_call_id: id.clone(),
                tool_name: name.clone(),
                content: vec![ContentBlock::text("part of the call before")],
                ..result.result.clone()
            },
            details: Value::Null,
            duration_ms: 0,
            ..result.clone()
        });
        let further: Vec<_> = further.collect();
        std::iter::once(result).chain(further).collect()
    }

    /// Counts a subagent whose file was read.
    pub(super) fn join_subagent(&mut self) {
        self.subagents += 1;
    }

    /// Adds an entry with the id `foreign` of the other program and returns its new id. The same file always
    /// gives the same ids.
    pub(super) fn add(
        &mut self,
        foreign: &str,
        parent: Option<String>,
        timestamp: &str,
        kind: EntryKind,
    ) -> String {
        let id = self.fresh(foreign);
        self.ids.insert(foreign.to_owned(), Some(id.clone()));
        self.entries.push(Entry {
            id: id.clone(),
            parent_id: parent,
            timestamp: timestamp.to_owned(),
            kind,
        });
        id
    }

    /// The new id of `foreign`.
    pub(super) fn id_of(&self, foreign: &str) -> Option<String> {
        self.ids.get(foreign).cloned().flatten()
    }

    /// The new id of the parent `foreign`. After a gap, it is the previous entry.
    pub(super) fn parent_of(&mut self, foreign: &str) -> Option<String> {
        if let Some(known) = self.ids.get(foreign) {
            return known.clone();
        }
        self.behind_gap()
    }

    /// The parent of a line that names no parent, or an unknown one: the previous entry.
    pub(super) fn behind_gap(&mut self) -> Option<String> {
        let last = self.last();
        if last.is_some() {
            self.drop("links to a missing line, replaced by the line before");
        }
        last
    }

    /// Maps `foreign`, which has no entry of its own, to the entry `id`: its children become children of
    /// `id`.
    pub(super) fn alias(&mut self, foreign: &str, id: Option<String>) {
        self.ids.insert(foreign.to_owned(), id);
    }

    /// Id of the entry added last.
    pub(super) fn last(&self) -> Option<String> {
        self.entries.last().map(|entry| entry.id.clone())
    }

    fn fresh(&mut self, foreign: &str) -> String {
        let own = foreign.len() == 8
            && foreign
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if own && self.taken.insert(foreign.to_owned()) {
            return foreign.to_owned();
        }
        let mut round = 0_u32;
        loop {
            let id = short(&format!("{foreign}\0{round}"));
            if self.taken.insert(id.clone()) {
                return id;
            }
            round += 1;
        }
    }

    /// Counts something that cannot be imported.
    pub(super) fn drop(&mut self, what: impl Into<String>) {
        let what = what.into();
        match self.dropped.iter_mut().find(|known| known.what == what) {
            Some(known) => known.count += 1,
            None => self.dropped.push(Dropped {
                what,
                count: 1,
                line: self.line,
            }),
        }
    }

    /// Counts the current line as damaged.
    pub(super) fn damaged(&mut self) {
        self.damaged += 1;
        if self.damaged_lines.len() < NAMED {
            self.damaged_lines.push(self.line);
        }
    }

    /// Counts `count` lines as damaged, of which `lines` are known by their numbers.
    pub(super) fn damaged_lines(&mut self, count: usize, lines: &[u64]) {
        self.damaged += count;
        self.damaged_lines.extend(lines.iter().take(NAMED));
    }

    pub(super) fn has_messages(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.kind.as_message().is_some())
    }

    /// The id of the session: its own if it is valid, else one derived from it, so that a repeated import is
    /// detected.
    pub(super) fn session_id(&self, path: &Path) -> String {
        let id = self.id.clone();
        let id = id.unwrap_or_else(|| path.to_string_lossy().into_owned());
        if let Ok(id) = uuid::Uuid::try_parse(&id) {
            return id.hyphenated().to_string();
        }
        let digest = Sha256::digest(format!("{}\0{id}", self.source.name()));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
        id.hyphenated().to_string()
    }

    pub(super) fn report(&self, path: &Path) -> ImportReport {
        let count = |wanted: fn(&AgentMessage) -> bool| {
            let messages = self
                .entries
                .iter()
                .filter_map(|entry| entry.kind.as_message());
            messages.filter(|message| wanted(message)).count()
        };
        ImportReport {
            source: self.source,
            file: path.to_owned(),
            entries: self.entries.len(),
            prompts: count(|message| matches!(message, AgentMessage::User(_))),
            answers: count(|message| matches!(message, AgentMessage::Assistant(_))),
            tool_results: count(|message| matches!(message, AgentMessage::ToolResult(_))),
            damaged: self.damaged,
            damaged_lines: self.damaged_lines.clone(),
            dropped: self.dropped.clone(),
            subagents: self.subagents,
        }
    }
}

/// The arguments of a call, which some programs write as text. The second value is a text that is
/// not an object.
fn arguments(written: Value) -> (Value, Option<String>) {
    let raw = match written {
        Value::Object(_) => return (written, None),
        Value::Null => return (Value::Object(Map::new()), None),
        Value::String(raw) => raw,
        other => other.to_string(),
    };
    match json::from_record::<Value>(raw.as_bytes()) {
        Ok(arguments @ Value::Object(_)) => (arguments, None),
        _ if raw.trim().is_empty() => (Value::Object(Map::new()), None),
        _ => (Value::Null, Some(raw)),
    }
}

/// Eight hexadecimal digits of a hash of `text`.
fn short(text: &str) -> String {
    let digest = Sha256::digest(text);
    let number = digest[..4]
        .iter()
        .fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    format!("{number:08x}")
}
