//! Imports sessions of Claude Code, whose lines name their parents by uuid. An answer has one line per block,
//! and the results of parallel tools are children of their own calls; osier stores an answer as one entry,
//! followed by its results. Internal lines are counted.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::draft::Draft;
use super::lines::{Read, text};
use super::{blocks, subagent};
use osier_agent::{AgentMessage, CustomMessage};
use osier_llm::catalogue::Catalogue;
use osier_llm::{AssistantBlock, AssistantMessage, StopReason, ToolCall, ToolResult};
use osier_protocol::EntryKind;

#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The folder with the files of the session's subagents.
    subagents: Option<PathBuf>,
    /// Index of the entry of an answer, by the vendor's id.
    answers: HashMap<String, usize>,
    /// Maps the entry of an answer, or of one of its results, to the answer, or to the first of
    /// several answers in a row.
    answer_of: HashMap<String, String>,
    /// Maps that first answer to the last answer of its row, or to the last result.
    last_of: HashMap<String, String>,
    /// The boundary that the next summary replaces.
    boundary: Option<Boundary>,
    name: Option<String>,
    /// The slash command in the previous line, and the uuid of that line. The next line is its
    /// prompt.
    command: Option<(String, String)>,
}

#[derive(Debug)]
struct Boundary {
    parent: Option<String>,
    first_kept: Option<String>,
    tokens: u64,
}

/// Text that Claude Code inserts as a prompt.
const OWN: &[&str] = &[
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "Caveat: The messages below",
];

/// The start of a message of Claude Code to the model about a background task.
const NOTIFICATION: &str = "<task-notification>";

/// The slash command of a line, as it was typed.
fn command(line: &str) -> Option<String> {
    let part = |name: &str| {
        let (_, rest) = line.split_once(&format!("<{name}>"))?;
        let (part, _) = rest.split_once(&format!("</{name}>"))?;
        Some(part.trim())
    };
    let name = part("command-name")?.trim_start_matches('/');
    let arguments = part("command-args").unwrap_or_default();
    Some(format!("/{name} {arguments}").trim().to_owned())
}

impl Read for Reader {
    fn line(&mut self, value: Value, draft: &mut Draft) {
        let keep = |place: &mut Option<String>, name: &str| {
            if place.is_none() {
                *place = text(&value, name).map(str::to_owned);
            }
        };
        keep(&mut draft.id, "sessionId");
        keep(&mut draft.cwd, "cwd");
        keep(&mut draft.timestamp, "timestamp");
        let kind = text(&value, "type").unwrap_or_default();
        if let Some(name) = title(kind, &value) {
            self.name = Some(name.to_owned());
            return;
        }
        let own;
        let uuid = match text(&value, "uuid") {
            Some(uuid) => uuid,
            None if matches!(kind, "user" | "assistant") && value.get("message").is_some() => {
                own = format!("line {}", draft.line);
                &own
            }
            None => return draft.drop(format!("lines of type `{kind}`")),
        };
        let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        if flag("isSidechain") {
            return draft.drop("messages of subagents");
        }
        let parent = match value.get("parentUuid") {
            // A compaction starts a new root, and names the entry before it.
            Some(Value::Null) => {
                text(&value, "logicalParentUuid").and_then(|parent| draft.parent_of(parent))
            }
            Some(Value::String(parent)) => draft.parent_of(parent),
            _ => draft.behind_gap(),
        };
        let parent = self.behind_results(parent);
        let command = self.command.take();
        let typed = command
            .filter(|(line, _)| text(&value, "parentUuid") == Some(line.as_str()))
            .map(|(_, typed)| typed);
        match kind {
            "user" if flag("isCompactSummary") => self.summary(uuid, &value, parent, draft),
            "user" if flag("isMeta") && typed.is_none() => {
                draft.drop("notes from the program to the model");
                draft.alias(uuid, parent);
            }
            "user" => {
                let typed = typed.filter(|_| flag("isMeta"));
                self.user(uuid, &value, parent, typed, draft);
            }
            "assistant" => self.assistant(uuid, &value, parent, draft),
            "system" if text(&value, "subtype") == Some("compact_boundary") => {
                self.compacted(uuid, &value, draft);
            }
            other => {
                let what = match (other, text(&value, "subtype")) {
                    ("attachment", _) => "attachments of the program".to_owned(),
                    (other, Some(subtype)) => format!("lines of type `{other}` ({subtype})"),
                    (other, None) => format!("lines of type `{other}`"),
                };
                draft.drop(what);
                draft.alias(uuid, parent);
            }
        }
    }

    fn end(&mut self, draft: &mut Draft) {
        price(draft);
        if let Some(name) = self.name.take() {
            let (last, time) = draft.entries.last().map_or((None, String::new()), |entry| {
                (Some(entry.id.clone()), entry.timestamp.clone())
            });
            draft.add(
                "name",
                last,
                &time,
                EntryKind::SessionInfo { name: Some(name) },
            );
        }
    }
}

/// Adds costs at list prices, because Claude Code stores only tokens.
fn price(draft: &mut Draft) {
    static BUNDLED: LazyLock<Catalogue> = LazyLock::new(Catalogue::default);
    let is_date = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_digit());
    for at in 0..draft.entries.len() {
        let Some((_, answer)) = answer_at(Some(at), draft) else {
            continue;
        };
        let reference = format!("anthropic/{}", answer.model);
        let name = match reference.rsplit_once('-') {
            Some((name, date)) if is_date(date) => name,
            _ => &reference,
        };
        if let Some(model) = BUNDLED.get(name) {
            answer.usage = answer.usage.priced(&model.price);
        }
    }
}

/// The session name, which has its own lines.
fn title<'a>(kind: &str, value: &'a Value) -> Option<&'a str> {
    match kind {
        "summary" => text(value, "summary"),
        "custom-title" => text(value, "customTitle"),
        "ai-title" => text(value, "aiTitle"),
        _ => None,
    }
}

impl Reader {
    /// A reader of the session at `path`.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            subagents: Some(path.with_extension("").join("subagents")),
            ..Self::default()
        }
    }

    /// Details of a result: a file change as a diff, or the steps of a subagent from its own file.
    fn details(&self, line: &Value, draft: &mut Draft) -> Value {
        let given = line.get("toolUseResult");
        let agent = given.and_then(|given| text(given, "agentId"));
        let is_name = |id: &str| {
            id.chars()
                .all(|char| char.is_ascii_alphanumeric() || char == '-')
        };
        let steps = match (agent.filter(|id| is_name(id)), &self.subagents) {
            (Some(id), Some(folder)) => {
                subagent::details(&folder.join(format!("agent-{id}.jsonl")), draft)
            }
            _ => None,
        };
        steps.unwrap_or_else(|| details(given))
    }

    /// The new parent for children of an answer, or of one of its results: the last result, or the
    /// last answer of its row.
    fn behind_results(&self, parent: Option<String>) -> Option<String> {
        let parent = parent?;
        let answer = self.answer_of.get(&parent);
        let last = answer.and_then(|answer| self.last_of.get(answer));
        Some(last.cloned().unwrap_or(parent))
    }

    /// Imports a line of the user, or the prompt of the slash command `typed`.
    fn user(
        &mut self,
        uuid: &str,
        value: &Value,
        parent: Option<String>,
        typed: Option<String>,
        draft: &mut Draft,
    ) {
        let Some(said) = value
            .pointer("/message/content")
            .filter(|said| is_content(said))
        else {
            draft.damaged();
            return draft.alias(uuid, parent);
        };
        let mut rest = Vec::new();
        let mut last = parent;
        for part in blocks::parts(Some(said)) {
            if text(&part, "type") == Some("tool_result") {
                last = Some(self.result(uuid, &part, value, last, draft));
            } else {
                rest.push(part);
            }
        }
        let content = blocks::content(Some(&Value::Array(rest)), draft);
        let timestamp = blocks::milliseconds(value.get("timestamp"));
        let mut prompt = blocks::prompt(content, timestamp);
        prompt.typed = typed;
        if prompt.text.trim().is_empty() && prompt.attachments.is_empty() {
            return draft.alias(uuid, last);
        }
        if OWN
            .iter()
            .any(|own| prompt.text.trim_start().starts_with(own))
        {
            self.command = command(&prompt.text).map(|typed| (uuid.to_owned(), typed));
            draft.drop("commands of the program");
            return draft.alias(uuid, last);
        }
        let message = if prompt.text.trim_start().starts_with(NOTIFICATION) {
            AgentMessage::Custom(CustomMessage {
                kind: "notification".to_owned(),
                display: true,
                text: prompt.text,
                details: Value::Null,
                timestamp,
            })
        } else {
            AgentMessage::User(prompt)
        };
        let kind = EntryKind::message(message);
        draft.add(uuid, last, time(value), kind);
    }

    fn result(
        &mut self,
        uuid: &str,
        part: &Value,
        line: &Value,
        parent: Option<String>,
        draft: &mut Draft,
    ) -> String {
        let call_id = text(part, "tool_use_id").unwrap_or_default().to_owned();
        let is_error = part
            .get("is_error")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let content = blocks::content(part.get("content"), draft);
        let result = ToolResult {
            tool_name: String::new(),
            tool_call_id: call_id.clone(),
            content,
            is_error,
            timestamp: blocks::milliseconds(line.get("timestamp")),
        };
        let details = self.details(line, draft);
        let message = draft.result(result, details, 0);
        let answer = parent
            .as_ref()
            .and_then(|parent| self.answer_of.get(parent))
            .cloned();
        let kind = EntryKind::message(AgentMessage::ToolResult(message));
        // A line may contain several results; its children become children of the last one.
        let foreign = format!("{uuid}/{call_id}");
        let id = draft.add(&foreign, parent, time(line), kind);
        draft.alias(uuid, Some(id.clone()));
        if let Some(answer) = answer {
            self.answer_of.insert(id.clone(), answer.clone());
            self.last_of.insert(answer, id.clone());
        }
        id
    }

    fn assistant(&mut self, uuid: &str, value: &Value, parent: Option<String>, draft: &mut Draft) {
        let Some(message) = value.get("message").filter(|message| message.is_object()) else {
            draft.alias(uuid, parent);
            return draft.damaged();
        };
        let failed = value.get("isApiErrorMessage").and_then(Value::as_bool) == Some(true);
        let model = text(message, "model").unwrap_or_default();
        if model == "<synthetic>" && !failed {
            draft.drop("answers that no model wrote");
            return draft.alias(uuid, parent);
        }
        if !message.get("content").is_some_and(is_content) {
            draft.damaged();
        }
        let content = Self::content(message, draft);
        let own_id = text(message, "id").filter(|id| !id.is_empty());
        let row = self.row_before(parent.as_deref(), draft);
        let joined = self.joined(own_id, row.as_deref(), draft);
        if let Some((id, answer)) = answer_at(joined.filter(|_| !failed), draft) {
            answer.content.extend(content);
            blocks::set_apart(&mut answer.content);
            answer.usage = blocks::usage(message.get("usage"));
            if let (None, Some(own_id), Some(at)) = (&answer.response_id, own_id, joined) {
                answer.response_id = Some(own_id.to_owned());
                self.answers.insert(own_id.to_owned(), at);
            }
            if let Some(reason) = text(message, "stop_reason") {
                answer.stop_reason = stop_reason(reason);
            }
            return draft.alias(uuid, Some(id));
        }
        let answer = new_answer(message, content, failed, value.get("timestamp"));
        let name = own_id.unwrap_or(uuid).to_owned();
        self.answers.insert(name, draft.entries.len());
        let kind = EntryKind::message(AgentMessage::Assistant(answer));
        let id = draft.add(uuid, parent, time(value), kind);
        if let Some(row) = &row {
            self.last_of.insert(row.clone(), id.clone());
        }
        let row = row.unwrap_or_else(|| id.clone());
        self.answer_of.insert(id, row);
    }

    /// The row of answers that ends with the entry added last, if that is `parent`.
    fn row_before(&self, parent: Option<&str>, draft: &Draft) -> Option<String> {
        let last = draft.entries.last()?;
        let is_answer = matches!(last.kind.as_message(), Some(AgentMessage::Assistant(_)));
        let row = self.answer_of.get(&last.id).filter(|_| is_answer)?;
        (parent == Some(last.id.as_str())).then(|| row.clone())
    }

    /// The index of the answer that a line with `id` belongs to. A line directly after a row of
    /// answers belongs to the last of them if the line's id is missing, or is one of that row.
    fn joined(&self, id: Option<&str>, row: Option<&str>, draft: &mut Draft) -> Option<usize> {
        let known = id.and_then(|id| self.answers.get(id)).copied();
        let Some(row) = row else {
            return known;
        };
        let end = draft.entries.len() - 1;
        let (_, last) = answer_at(Some(end), draft)?;
        let is_open = last.error_message.is_none() && (id.is_none() || last.response_id.is_none());
        let entry = known.and_then(|known| draft.entries.get(known));
        let is_same = entry
            .and_then(|entry| self.answer_of.get(&entry.id))
            .map(String::as_str);
        if is_open || is_same == Some(row) {
            return Some(end);
        }
        known
    }

    fn content(message: &Value, draft: &mut Draft) -> Vec<AssistantBlock> {
        let mut content = Vec::new();
        for part in &blocks::parts(message.get("content")) {
            let own = |name: &str| text(part, name).map(str::to_owned);
            match text(part, "type").unwrap_or_default() {
                "text" => content.push(AssistantBlock::Text {
                    text: own("text").unwrap_or_default(),
                    signature: None,
                }),
                "thinking" => content.push(AssistantBlock::Thinking {
                    thinking: own("thinking").unwrap_or_default(),
                    signature: own("signature"),
                    redacted: false,
                }),
                "redacted_thinking" => content.push(AssistantBlock::Thinking {
                    thinking: String::new(),
                    signature: own("data"),
                    redacted: true,
                }),
                "tool_use" => {
                    let (id, name) = (
                        own("id").unwrap_or_default(),
                        own("name").unwrap_or_default(),
                    );
                    let calls = draft.map_call(ToolCall {
                        id,
                        name,
                        arguments: part.get("input").cloned().unwrap_or_else(|| json!({})),
                        ..ToolCall::default()
                    });
                    content.extend(calls.into_iter().map(AssistantBlock::ToolCall));
                }
                other => draft.drop(format!("content of type `{other}`")),
            }
        }
        content
    }

    fn compacted(&mut self, uuid: &str, value: &Value, draft: &mut Draft) {
        let logical = text(value, "logicalParentUuid").and_then(|parent| draft.id_of(parent));
        let parent = self.behind_results(logical).or_else(|| draft.last());
        let facts = value.get("compactMetadata").cloned().unwrap_or_default();
        let kept = facts
            .pointer("/preservedSegment/headUuid")
            .and_then(Value::as_str);
        self.boundary = Some(Boundary {
            parent: parent.clone(),
            first_kept: kept.and_then(|kept| draft.id_of(kept)),
            tokens: facts.get("preTokens").and_then(Value::as_u64).unwrap_or(0),
        });
        draft.alias(uuid, parent);
    }

    fn summary(&mut self, uuid: &str, value: &Value, parent: Option<String>, draft: &mut Draft) {
        let boundary = self.boundary.take().unwrap_or(Boundary {
            parent,
            first_kept: None,
            tokens: 0,
        });
        let said = value
            .get("message")
            .and_then(|message| message.get("content"));
        let kind = EntryKind::Compaction {
            summary: blocks::prompt(blocks::content(said, draft), 0).text,
            first_kept_entry_id: boundary.first_kept.unwrap_or_default(),
            tokens_before: boundary.tokens,
            window: 0,
            details: Value::Null,
        };
        draft.add(uuid, boundary.parent, time(value), kind);
    }
}

/// The answer at an index, with its id.
fn answer_at(at: Option<usize>, draft: &mut Draft) -> Option<(String, &mut AssistantMessage)> {
    let entry = draft.entries.get_mut(at?)?;
    match &mut entry.kind {
        EntryKind::Message {
            message: AgentMessage::Assistant(answer),
        } => Some((entry.id.clone(), answer)),
        _ => None,
    }
}

fn new_answer(
    message: &Value,
    content: Vec<AssistantBlock>,
    failed: bool,
    timestamp: Option<&Value>,
) -> AssistantMessage {
    let own = |name: &str| text(message, name).map(str::to_owned);
    let mut answer = AssistantMessage {
        content,
        provider: "anthropic".to_owned(),
        model: own("model").filter(|_| !failed).unwrap_or_default(),
        // Never a wire format of osier: signatures of other programs are shown and not sent back.
        api: "claude-code".to_owned(),
        usage: blocks::usage(message.get("usage")),
        stop_reason: text(message, "stop_reason").map_or(StopReason::Stop, stop_reason),
        timestamp: blocks::milliseconds(timestamp),
        response_id: own("id"),
        ..AssistantMessage::default()
    };
    blocks::set_apart(&mut answer.content);
    if failed {
        answer.error_message = Some(answer.text());
        answer.stop_reason = StopReason::Error;
        answer.content.clear();
    }
    answer
}

/// Whether `said` can be the content of a message.
fn is_content(said: &Value) -> bool {
    said.is_string() || said.is_array()
}

fn time(value: &Value) -> &str {
    text(value, "timestamp").unwrap_or_default()
}

/// Details of a result: a file change as a diff.
fn details(given: Option<&Value>) -> Value {
    let Some(given) = given.filter(|given| given.is_object()) else {
        return Value::Null;
    };
    let (Some(path), Some(hunks)) = (
        text(given, "filePath"),
        given.get("structuredPatch").and_then(Value::as_array),
    ) else {
        return Value::Null;
    };
    let name = path.trim_start_matches('/');
    let mut diff = format!("--- a/{name}\n+++ b/{name}\n");
    let (mut added, mut removed) = (0, 0);
    for hunk in hunks {
        let number = |name: &str| hunk.get(name).and_then(Value::as_u64).unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = writeln!(
            diff,
            "@@ -{},{} +{},{} @@",
            number("oldStart"),
            number("oldLines"),
            number("newStart"),
            number("newLines")
        );
        let lines = hunk.get("lines").and_then(Value::as_array);
        for line in lines.into_iter().flatten().filter_map(Value::as_str) {
            added += u64::from(line.starts_with('+'));
            removed += u64::from(line.starts_with('-'));
            diff.push_str(line);
            diff.push('\n');
        }
    }
    if hunks.is_empty() {
        return json!({"filePath": path});
    }
    json!({"filePath": path, "diff": diff, "linesAdded": added, "linesRemoved": removed})
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::Length,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Paused,
        _ => StopReason::Stop,
    }
}
