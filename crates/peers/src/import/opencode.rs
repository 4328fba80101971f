//! Imports sessions of opencode: an export (`opencode export ID`), or a session in its database, named as
//! `opencode.db/ID`. Both have a session and its messages, each with parts.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, params};
use serde_json::{Value, json};

use super::blocks;
use super::draft::Draft;
use super::error::ImportError;
use super::lines::{LINE_LIMIT, regular, text};
use osier_agent::{AgentMessage, ToolResultMessage};
use osier_base::{json, regular_file};
use osier_llm::{
    AssistantBlock, AssistantMessage, ContentBlock, Cost, StopReason, ToolCall, ToolResult, Usage,
};
use osier_protocol::EntryKind;

/// The name of the database.
const DATABASE: &str = "opencode.db";

/// A session of the database, for lists.
#[derive(Debug)]
pub(super) struct Listed {
    pub path: PathBuf,
    pub cwd: String,
    pub title: String,
    pub modified: i64,
}

/// The sessions in the database in `folder` that no other session started.
pub(super) fn list(folder: &Path) -> Vec<Listed> {
    let file = folder.join(DATABASE);
    let rows = open(&file).and_then(|database| {
        let mut query = database.prepare(
            "SELECT id, directory, title, time_updated FROM session WHERE parent_id IS NULL",
        )?;
        let rows = query.query_map([], |row| {
            let text = |index| {
                let value = column(row, index);
                value.as_str().unwrap_or_default().to_owned()
            };
            Ok(Listed {
                path: file.join(text(0)),
                cwd: text(1),
                title: text(2),
                modified: number(&column(row, 3)),
            })
        })?;
        rows.collect::<Result<Vec<_>, _>>()
    });
    // A database of another version may have other tables: then no session is found.
    rows.unwrap_or_default()
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    // SQLite would wait for a pipe.
    if !regular_file::is_database(file) {
        return Err(rusqlite::Error::InvalidPath(file.to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags)
}

/// Whether `path` names a session of opencode.
pub(super) fn is_session(path: &Path) -> bool {
    in_database(path).is_some() || document(path).is_some()
}

/// The database and the id that `path` names.
fn in_database(path: &Path) -> Option<(&Path, String)> {
    let file = path.parent()?;
    let id = path.file_name()?.to_str()?.to_owned();
    (file.file_name()? == DATABASE && file.is_file()).then_some((file, id))
}

/// Bytes of a file that show whether it can be an export.
const START: u64 = 4096;

/// The export in a file, and whether its end is missing.
fn document(path: &Path) -> Option<(Value, bool)> {
    let (start, _) = regular_file::head(path, START).ok()?;
    if !start.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let (text, _) = regular_file::head(path, LINE_LIMIT).ok()?;
    let value = json::from_record::<Value>(&text).map(|value| (value, false));
    let (value, is_cut) = value
        .or_else(|_| json::from_record(&closed(&text)).map(|value| (value, true)))
        .ok()?;
    let id = value.pointer("/info/id").and_then(Value::as_str)?;
    (id.starts_with("ses") && value["messages"].is_array()).then_some((value, is_cut))
}

/// A document whose end is missing, up to its last complete object or list, with closing brackets
/// for those that are open there.
fn closed(document: &[u8]) -> Vec<u8> {
    let (mut open, mut in_text, mut is_escaped) = (Vec::new(), false, false);
    let (mut end, mut depth) = (0, 0);
    for (at, byte) in document.iter().enumerate() {
        if in_text {
            in_text = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop();
                end = at + 1;
                depth = open.len();
            }
            _ => {}
        }
    }
    // Brackets that were opened after the end are dropped.
    open.truncate(depth);
    let closing = open.into_iter().rev();
    document[..end].iter().copied().chain(closing).collect()
}

/// Reads the session that `path` names.
pub(super) fn read(path: &Path, draft: &mut Draft) -> Result<(), ImportError> {
    let (found, is_cut) = match in_database(path) {
        Some((file, id)) => {
            let found = stored(file, &id).map_err(|error| ImportError::Unrecognised {
                path: path.to_owned(),
                reason: error.to_string(),
            });
            (found?, false)
        }
        None => document(path).unwrap_or_default(),
    };
    read_export(found, draft);
    if is_cut {
        draft.line += 1;
        draft.damaged();
    }
    Ok(())
}

/// Reads a session in the form of an export.
pub(super) fn read_export(export: Value, draft: &mut Draft) {
    Reader::default().session(&regular(export), draft);
}

/// A session of the database in the form of an export.
fn stored(file: &Path, id: &str) -> rusqlite::Result<Value> {
    let database = open(file)?;
    let info = database.query_row(
        "SELECT directory, title, time_created, parent_id FROM session WHERE id = ?1",
        params![id],
        |row| {
            Ok(json!({
                "id": id,
                "directory": column(row, 0),
                "title": column(row, 1),
                "time": {"created": column(row, 2)},
                "parentID": column(row, 3),
            }))
        },
    )?;
    let mut query = database
        .prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let messages = query.query_map(params![id], |row| {
        let mut info = data(row, 1);
        if let Value::Object(fields) = &mut info {
            fields.insert("id".to_owned(), column(row, 0));
        }
        Ok((column(row, 0), info))
    })?;
    let mut parts = database.prepare("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")?;
    let mut all = Vec::new();
    for message in messages {
        let (id, info) = message?;
        let rows = parts.query_map(params![id.as_str()], |row| Ok(data(row, 0)))?;
        let parts = rows.collect::<Result<Vec<_>, _>>()?;
        all.push(json!({"info": info, "parts": parts}));
    }
    Ok(json!({"info": info, "messages": all}))
}

/// A value of a row, whatever its type; null for binary data.
fn column(row: &Row<'_>, index: usize) -> Value {
    match row.get_ref(index) {
        Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into(),
        Ok(ValueRef::Integer(number)) => number.into(),
        Ok(ValueRef::Real(number)) => number.into(),
        _ => Value::Null,
    }
}

/// A value of a row that is JSON; null if it is not JSON.
fn data(row: &Row<'_>, index: usize) -> Value {
    let text = column(row, index);
    let text = text.as_str().unwrap_or_default();
    json::from_record(text.as_bytes()).unwrap_or_default()
}

#[derive(Debug, Default)]
struct Reader {
    /// The entry that the conversation continues from.
    at: Option<String>,
    /// The model of the last message.
    model: String,
    count: u64,
}

impl Reader {
    fn session(&mut self, session: &Value, draft: &mut Draft) {
        let info = &session["info"];
        draft.id = text(info, "id").map(str::to_owned);
        draft.cwd = text(info, "directory").map(str::to_owned);
        draft.timestamp = Some(time(&info["time"]["created"]));
        for message in session["messages"].as_array().into_iter().flatten() {
            draft.line += 1;
            let info = &message["info"];
            let parts = message["parts"].as_array().map(Vec::as_slice);
            let parts = parts.unwrap_or_default();
            match text(info, "role") {
                Some("user") => self.user(info, parts, draft),
                Some("assistant") => self.assistant(info, parts, draft),
                _ => draft.damaged(),
            }
        }
        if let Some(title) = text(info, "title").filter(|title| !title.is_empty()) {
            let kind = EntryKind::SessionInfo {
                name: Some(title.to_owned()),
            };
            self.add(kind, &info["time"]["created"], draft);
        }
    }

    fn add(&mut self, kind: EntryKind, created: &Value, draft: &mut Draft) {
        self.count += 1;
        let id = draft.add(
            &self.count.to_string(),
            self.at.clone(),
            &time(created),
            kind,
        );
        self.at = Some(id);
    }

    fn user(&mut self, info: &Value, parts: &[Value], draft: &mut Draft) {
        let created = &info["time"]["created"];
        let mut content = Vec::new();
        for part in parts {
            let is_synthetic = part["synthetic"] == true || part["ignored"] == true;
            match text(part, "type").unwrap_or_default() {
                "text" if is_synthetic => draft.drop("notes from the program to the model"),
                "text" => content.extend(text(part, "text").map(ContentBlock::text)),
                "file" => match file(part) {
                    Some(block) => content.push(block),
                    None => draft.drop("attached files"),
                },
                "compaction" => {}
                other => draft.drop(format!("parts of type `{other}`")),
            }
        }
        let prompt = blocks::prompt(content, number(created));
        if prompt.text.trim().is_empty() && prompt.attachments.is_empty() {
            return;
        }
        self.add(
            EntryKind::message(AgentMessage::User(prompt)),
            created,
            draft,
        );
    }

    fn assistant(&mut self, info: &Value, parts: &[Value], draft: &mut Draft) {
        let created = &info["time"]["created"];
        let own = |name: &str| text(info, name).unwrap_or_default().to_owned();
        let (provider, model) = (own("providerID"), own("modelID"));
        let name = format!("{provider}/{model}");
        if name != self.model && !model.is_empty() {
            self.model = name;
            let (provider, model_id) = (provider.clone(), model.clone());
            self.add(
                EntryKind::ModelChange { provider, model_id },
                created,
                draft,
            );
        }
        let (mut content, mut results) = (Vec::new(), Vec::new());
        for part in parts {
            match text(part, "type").unwrap_or_default() {
                "text" => content.push(AssistantBlock::Text {
                    text: text(part, "text").unwrap_or_default().to_owned(),
                    signature: None,
                }),
                "reasoning" => content.push(AssistantBlock::Thinking {
                    thinking: text(part, "text").unwrap_or_default().to_owned(),
                    signature: None,
                    redacted: false,
                }),
                "tool" => {
                    let (calls, answers) = tool(part, draft);
                    content.extend(calls.into_iter().map(AssistantBlock::ToolCall));
                    results.extend(answers);
                }
                "step-start" | "step-finish" | "snapshot" | "patch" => {}
                other => draft.drop(format!("parts of type `{other}`")),
            }
        }
        if info["summary"] == true {
            let texts = content.iter().filter_map(|block| match block {
                AssistantBlock::Text { text, .. } => Some(text.as_str()),
                _ => None,
            });
            let kind = EntryKind::Compaction {
                summary: texts.collect::<Vec<_>>().join("\n"),
                first_kept_entry_id: String::new(),
                tokens_before: 0,
                window: 0,
                details: Value::Null,
            };
            return self.add(kind, created, draft);
        }
        blocks::set_apart(&mut content);
        let error = info.pointer("/error/data/message").and_then(Value::as_str);
        let error = error.or_else(|| text(&info["error"], "name"));
        let answer = AssistantMessage {
            stop_reason: stop_reason(info, !results.is_empty()),
            content,
            provider,
            model,
            // Never a wire format of osier: signatures of other programs are shown and not sent back.
            api: "opencode".to_owned(),
            usage: usage(info),
            error_message: error.map(str::to_owned),
            timestamp: number(created),
            ..AssistantMessage::default()
        };
        self.add(
            EntryKind::message(AgentMessage::Assistant(answer)),
            created,
            draft,
        );
        for result in results {
            let kind = EntryKind::message(AgentMessage::ToolResult(result));
            self.add(kind, created, draft);
        }
    }
}

/// The calls and results of a part.
fn tool(part: &Value, draft: &mut Draft) -> (Vec<ToolCall>, Vec<ToolResultMessage>) {
    let state = &part["state"];
    let id = text(part, "callID").unwrap_or_default().to_owned();
    let calls = draft.map_call(ToolCall {
        id: id.clone(),
        name: text(part, "tool").unwrap_or_default().to_owned(),
        arguments: state["input"].clone(),
        ..ToolCall::default()
    });
    let failed = text(state, "status") == Some("error");
    let printed = match text(state, "status") {
        Some("completed") => text(state, "output"),
        Some("error") => text(state, "error"),
        _ => return (calls, Vec::new()),
    };
    let printed = printed.unwrap_or_default();
    let time = |name: &str| state["time"][name].as_u64().unwrap_or(0);
    let mut content = vec![ContentBlock::text(printed)];
    let files = state["attachments"].as_array();
    content.extend(files.into_iter().flatten().filter_map(file));
    let result = ToolResult {
        tool_name: String::new(),
        tool_call_id: id,
        content,
        is_error: failed,
        timestamp: i64::try_from(time("end")).unwrap_or(0),
    };
    let duration_ms = time("end").saturating_sub(time("start"));
    let result = draft.result(result, details(&state["metadata"]), duration_ms);
    (calls, draft.with_further(result))
}

/// The exit code of a command, or the diff of a change.
fn details(metadata: &Value) -> Value {
    if let Some(exit) = metadata["exit"].as_i64() {
        return json!({"exitCode": exit});
    }
    let Some(diff) = text(metadata, "diff") else {
        return Value::Null;
    };
    let lines = diff
        .lines()
        .filter(|line| !line.starts_with("Index: ") && !line.starts_with("====="));
    let mut clean = String::new();
    for line in lines {
        clean.push_str(line);
        clean.push('\n');
    }
    let count = |sign: char, head: &str| {
        let lines = clean.lines();
        let lines = lines.filter(|line| line.starts_with(sign) && !line.starts_with(head));
        lines.count()
    };
    json!({
        "linesAdded": count('+', "+++ "),
        "linesRemoved": count('-', "--- "),
        "diff": clean,
    })
}

/// An image in a data URL.
fn file(part: &Value) -> Option<ContentBlock> {
    let data = text(part, "url")?.strip_prefix("data:")?;
    let (mime_type, data) = data.split_once(";base64,")?;
    mime_type
        .starts_with("image/")
        .then(|| ContentBlock::Image {
            data: data.to_owned(),
            mime_type: mime_type.to_owned(),
        })
}

fn stop_reason(info: &Value, has_results: bool) -> StopReason {
    match text(info, "finish").unwrap_or_default() {
        "tool-calls" => StopReason::ToolUse,
        "length" => StopReason::Length,
        "content-filter" => StopReason::Refusal,
        _ if text(&info["error"], "name") == Some("MessageAbortedError") => StopReason::Aborted,
        _ if info["error"].is_object() => StopReason::Error,
        _ if has_results => StopReason::ToolUse,
        _ => StopReason::Stop,
    }
}

fn usage(info: &Value) -> Usage {
    let tokens = &info["tokens"];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Usage {
        input: count(&tokens["input"]),
        output: count(&tokens["output"]),
        reasoning: count(&tokens["reasoning"]),
        cache_read: count(&tokens["cache"]["read"]),
        cache_write: count(&tokens["cache"]["write"]),
        cost: Cost {
            total: info["cost"].as_f64().unwrap_or(0.0).max(0.0),
            ..Cost::default()
        },
        ..Usage::default()
    }
}

fn time(milliseconds: &Value) -> String {
    osier_base::clock::rfc3339(number(milliseconds))
}

/// A number, which may be a text or have a fraction.
fn number(value: &Value) -> i64 {
    let text = value
        .as_str()
        .and_then(|text| text.trim().parse::<f64>().ok());
    let fraction = value.as_f64().or(text).map(|number| number as i64);
    value.as_i64().or(fraction).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::ImportSource;

    /// The tables of opencode 1.18, as far as they are read.
    const TABLES: &str = "
        CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, title TEXT NOT NULL,
            time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
            data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, data TEXT NOT NULL);";

    #[test]
    fn answers_have_the_cost_that_opencode_stored() {
        let info = json!({"cost": 0.25, "tokens": {"input": 3, "output": 4, "cache": {"read": 5, "write": 6}}});
        let expected = Usage {
            input: 3,
            output: 4,
            cache_read: 5,
            cache_write: 6,
            cost: Cost {
                total: 0.25,
                ..Cost::default()
            },
            ..Usage::default()
        };
        assert_eq!(usage(&info), expected);
    }

    #[test]
    fn a_session_of_the_database_is_the_same_as_its_export() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"));
        let fixture = fixture.join("../../tests/fixtures/exchange/opencode.json");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(DATABASE);
        let database = Connection::open(&file).unwrap();
        database.execute_batch(TABLES).unwrap();
        let (export, is_cut) = document(&fixture).unwrap();
        assert!(!is_cut);
        let info = &export["info"];
        let id = info["id"].as_str().unwrap();
        database
            .execute(
                "INSERT INTO session VALUES (?1, NULL, ?2, ?3, ?4, ?5), ('ses_child', ?1, '/', 'child', 0, 0)",
                params![
                    id,
                    info["directory"].as_str(),
                    info["title"].as_str(),
                    info["time"]["created"].as_i64(),
                    info["time"]["updated"].as_i64()
                ],
            )
            .unwrap();
        for message in export["messages"].as_array().unwrap() {
            let info = &message["info"];
            let message_id = info["id"].as_str();
            database
                .execute(
                    "INSERT INTO message VALUES (?1, ?2, ?3, ?4)",
                    params![
                        message_id,
                        id,
                        info["time"]["created"].as_i64(),
                        info.to_string()
                    ],
                )
                .unwrap();
            for part in message["parts"].as_array().unwrap() {
                database
                    .execute(
                        "INSERT INTO part VALUES (?1, ?2, ?3)",
                        params![part["id"].as_str(), message_id, part.to_string()],
                    )
                    .unwrap();
            }
        }
        drop(database);
        let listed = list(folder.path());
        let shown: Vec<(&str, &str)> = listed
            .iter()
            .map(|session| (session.cwd.as_str(), session.title.as_str()))
            .collect();
        assert_eq!(shown, [("/home/me/project", "All done.")]);
        let entries = |path: &Path| {
            assert!(is_session(path));
            let mut draft = Draft::new(ImportSource::Opencode);
            read(path, &mut draft).unwrap();
            draft.entries
        };
        let stored = entries(&listed[0].path);
        assert_eq!(stored, entries(&fixture));
        assert_eq!(stored.len(), 20);
        // A cut export is read up to its end.
        let whole = std::fs::read(&fixture).unwrap();
        let cut = folder.path().join("cut.json");
        let mut least = 0;
        for end in (whole.len() / 4..whole.len()).step_by(997) {
            osier_base::atomic_file::write(&cut, &whole[..end]).unwrap();
            let mut draft = Draft::new(ImportSource::Opencode);
            assert!(is_session(&cut), "{end}");
            read(&cut, &mut draft).unwrap();
            assert!(draft.entries.len() >= least, "{end}");
            least = draft.entries.len().saturating_sub(2);
        }
        assert!(least > 10, "{least}");
        let unknown = file.join("ses_unknown");
        assert!(read(&unknown, &mut Draft::new(ImportSource::Opencode)).is_err());
    }
}
