//! Answers that are computed from the fields of an event, or collected from several events.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the rows of the table share one signature"
)]

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::command::{EventFields, FirstStep, Step};
use super::tracked_state::TrackedState;
use osier_agent::UserMessage;
use osier_llm::ThinkingLevel;
use osier_protocol::slash::{self, SlashClient, SlashCommand};
use osier_protocol::{AddedCommand, Op, PageAt, SessionInfo, StoredMessage, TreeOp};

/// How a message was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// The message started a run.
    Started,
    /// The message was queued.
    Queued,
    /// The command of a plugin handled it; no run follows.
    Handled,
}

/// Answer to `prompt`, `steer` and `follow_up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptResult {
    pub disposition: Disposition,
}

/// Answer to `clear_queue`: the queued messages, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClearedQueue {
    pub steering: Vec<UserMessage>,
    pub follow_up: Vec<UserMessage>,
}

/// Answer to `get_messages`: messages of the current branch, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    pub messages: Vec<StoredMessage>,
    /// There are more messages after these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// Answer to `get_last_assistant_text`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastText {
    /// Not set if there is no answer yet.
    pub text: Option<String>,
}

/// Answer to `get_fork_messages`: the prompts of the current branch, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptEntries {
    pub messages: Vec<PromptEntry>,
    /// There are more prompts after these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A prompt and its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptEntry {
    pub entry_id: String,
    pub text: String,
}

/// Answer to the commands that open a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenedSession {
    pub session: SessionInfo,
}

/// Answer to `get_session_stats`: counts of the open session, over all branches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    pub session_id: String,
    /// Not set for a session that is not stored.
    pub session_file: Option<String>,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    /// Tokens of all calls, including cached ones.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    pub entries: usize,
    pub branches: usize,
}

/// Answer to `get_commands`: the slash commands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SlashCommands {
    /// Of templates, skills and plugins.
    pub commands: Vec<AddedCommand>,
    /// Of osier, as the browser chat has them; `run_command` runs the commands that need no screen.
    pub built_in: Vec<AddedCommand>,
}

/// Answer to `run_command`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandText {
    /// The answer, in Markdown. Not set for a command that has none, such as one that starts a run.
    pub text: Option<String>,
}

/// Answer to `get_available_thinking_levels`: the levels of the model, weakest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThinkingLevels {
    pub levels: Vec<ThinkingLevel>,
}

/// Answer to `search_transcript`: the hits, newest message first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchHits {
    pub hits: Vec<osier_protocol::SearchHit>,
    /// There are more hits than the limit.
    pub cut: bool,
}

/// Answer to `search_tree`: numbers of entries in the outline, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeHits {
    pub entries: Vec<u32>,
}

/// The event that ends every op.
pub(super) const OP_ENDED: &str = "op_ended";

pub(super) fn prompt_result(_: &mut Value, event: &EventFields<'_>) -> Step {
    let disposition = match event.kind {
        "agent_start" => Disposition::Started,
        "queue_update" => Disposition::Queued,
        OP_ENDED => Disposition::Handled,
        _ => return Step::Ignore,
    };
    Step::Done(json!(PromptResult { disposition }))
}

pub(super) fn cleared_queue(
    fields: Map<String, Value>,
    tracked: &TrackedState,
) -> Result<Value, String> {
    let mut messages = list_field(&fields, "messages");
    let follow_up = messages.split_off(tracked.steering.min(messages.len()));
    Ok(json!({"steering": messages, "followUp": follow_up}))
}

/// The field `status` is the complete answer.
pub(super) fn status(mut fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    Ok(fields.remove("status").unwrap_or_default())
}

pub(super) fn state(mut fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    Ok(fields.remove("state").unwrap_or_default())
}

pub(super) fn levels(fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    let levels = fields
        .get("status")
        .map(|status| &status["model"]["thinkingLevels"]);
    Ok(json!({"levels": levels}))
}

pub(super) fn opened_session(
    mut fields: Map<String, Value>,
    _: &TrackedState,
) -> Result<Value, String> {
    Ok(json!({"session": fields.remove("session")}))
}

pub(super) fn shell_run(mut fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    Ok(fields.remove("run").unwrap_or_default())
}

pub(super) fn lane(fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    if fields.contains_key("kept") {
        return Ok(Value::Object(fields));
    }
    let files = strings(&fields, "files").join("`, `");
    Err(format!(
        "nothing was written: `{files}` changed in the meantime; `force` overwrites the files and stores a copy"
    ))
}

pub(super) fn login(fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    match fields.get("error").and_then(Value::as_str) {
        Some(error) => Err(error.to_owned()),
        None => Ok(Value::Object(fields)),
    }
}

pub(super) fn stats(mut fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    let description = fields.remove("description").unwrap_or_default();
    let row = &description["session"];
    let path = row["path"].as_str().filter(|path| !path.is_empty());
    Ok(json!({
        "sessionId": row["id"], "sessionFile": path,
        "userMessages": row["prompts"], "assistantMessages": row["answers"],
        "toolCalls": row["toolCalls"], "tokens": row["tokens"], "cost": row["cost"],
        "entries": description["entries"], "branches": description["branches"],
    }))
}

/// Waits for the requested compaction, not an automatic one.
pub(super) fn compaction(_: &mut Value, event: &EventFields<'_>) -> Step {
    match event.kind {
        "compaction_end" if event.fields.get("reason") == Some(&json!("manual")) => {
            let outcome = event.fields.get("outcome").cloned().unwrap_or_default();
            match outcome["message"].as_str() {
                Some(message) => Step::Failed(message.to_owned()),
                None => Step::Done(outcome),
            }
        }
        _ => Step::Ignore,
    }
}

/// Collects the messages of the branch page by page, as many as the command asks for.
pub(super) fn messages(partial: &mut Value, event: &EventFields<'_>) -> Step {
    let after = |last: &Value| json!({"at": "after", "entryId": last});
    collect_pages(partial, event, Value::clone, after)
}

/// Collects the prompts of the branch, of which no other message is read.
pub(super) fn prompts(partial: &mut Value, event: &EventFields<'_>) -> Step {
    let prompt = |message: &Value| json!({"entryId": message["entryId"], "text": message["text"]});
    let after = |last: &Value| json!({"at": "prompts", "after": last});
    collect_pages(partial, event, prompt, after)
}

/// Adds a page to the answer, and requests the page `after` its last entry until the answer has as
/// many messages as the command asks for, or is as large as one answer may be.
fn collect_pages(
    partial: &mut Value,
    event: &EventFields<'_>,
    reduce: fn(&Value) -> Value,
    after: fn(&Value) -> Value,
) -> Step {
    let Some(page) = page(event) else {
        return Step::Ignore;
    };
    if event.fields.get("found") == Some(&json!(false))
        && let Some(after) = event.parameters.get("after")
    {
        let after = after.to_string();
        let after = osier_base::text::truncate(&after, CURSOR);
        return Step::Failed(format!("no message {after} on the current branch"));
    }
    let limit = event.parameters.get("limit").and_then(Value::as_u64);
    let limit = usize::try_from(limit.unwrap_or(MESSAGES)).unwrap_or(usize::MAX);
    let mut bytes = partial["bytes"].as_u64().unwrap_or_default() as usize;
    let mut messages = match partial["messages"].take() {
        Value::Array(messages) => messages,
        _ => Vec::new(),
    };
    let mut rest = page.iter();
    while messages.len() < limit
        && (bytes < ANSWER_BYTES || messages.is_empty())
        && let Some(message) = rest.next()
    {
        let message = reduce(message);
        bytes += size(&message);
        messages.push(message);
    }
    let is_full = !rest.as_slice().is_empty() || messages.len() >= limit || bytes >= ANSWER_BYTES;
    let at_end = event.fields.get("atEnd") != Some(&json!(false));
    match page.last() {
        Some(last) if !at_end && !is_full => {
            *partial = with_messages(messages, "bytes", json!(bytes));
            Step::Request(read_page, after(&last["entryId"]))
        }
        Some(_) if !at_end || !rest.as_slice().is_empty() => {
            Step::Done(with_messages(messages, "more", json!(true)))
        }
        _ => Step::Done(Value::Object(Map::from_iter([(
            "messages".to_owned(),
            Value::Array(messages),
        )]))),
    }
}

/// An object with the messages and one more field. `json!` would copy the messages for each page.
fn with_messages(messages: Vec<Value>, name: &str, value: Value) -> Value {
    let messages = ("messages".to_owned(), Value::Array(messages));
    Value::Object(Map::from_iter([messages, (name.to_owned(), value)]))
}

/// The largest width of an entry's id in an error, in columns.
const CURSOR: usize = 80;
/// Messages of an answer without a limit.
pub(super) const MESSAGES: u64 = 1_000;
/// Bytes after which an answer ends, whatever its limit.
const ANSWER_BYTES: usize = 16 << 20;

/// The approximate bytes of a value as text.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| size(value) + 1).sum(),
        Value::Object(fields) => {
            let sizes = fields
                .iter()
                .map(|(name, value)| name.len() + size(value) + 4);
            sizes.sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}

/// Searches the last answer with text, backwards from the end.
pub(super) fn last_text(_: &mut Value, event: &EventFields<'_>) -> Step {
    let Some(page) = page(event) else {
        return Step::Ignore;
    };
    let text = page.iter().rev().find_map(|message| {
        let message: StoredMessage = serde_json::from_value(message.clone()).ok()?;
        message.message.answer()
    });
    match page.first() {
        Some(first) if text.is_none() && event.fields.get("atStart") == Some(&json!(false)) => {
            Step::Request(
                read_page,
                json!({"at": "before", "entryId": first["entryId"]}),
            )
        }
        _ => Step::Done(json!(LastText { text })),
    }
}

pub(super) fn hits(partial: &mut Value, event: &EventFields<'_>) -> Step {
    match event.kind {
        "search_hits" => append(partial, list_field(event.fields, "hits")),
        OP_ENDED => return Step::Done(json!({"hits": collect_all(partial), "cut": false})),
        _ => return Step::Ignore,
    }
    if event.fields.get("done") == Some(&json!(true)) {
        let cut = event.fields.get("cut").cloned().unwrap_or_default();
        return Step::Done(json!({"hits": collect_all(partial), "cut": cut}));
    }
    Step::Partial
}

pub(super) fn tree_hits(partial: &mut Value, event: &EventFields<'_>) -> Step {
    match event.kind {
        "tree_hits" => append(partial, list_field(event.fields, "entries")),
        OP_ENDED => return Step::Done(json!({"entries": collect_all(partial)})),
        _ => return Step::Ignore,
    }
    if event.fields.get("done") == Some(&json!(true)) {
        return Step::Done(json!({"entries": collect_all(partial)}));
    }
    Step::Partial
}

/// The request for a page of messages.
pub(super) fn read_page(request: u64, at: Value) -> Option<Op> {
    let page: PageAt = serde_json::from_value(at).ok()?;
    Some(Op::ReadTranscript { request, page })
}

pub(super) fn first_page(
    parameters: &Map<String, Value>,
    _: &TrackedState,
) -> Result<FirstStep, String> {
    check_limit(parameters)?;
    let at = match parameters.get("after") {
        Some(after) => json!({"at": "after", "entryId": after}),
        None => json!({"at": "start"}),
    };
    Ok(FirstStep::Numbered(read_page, at))
}

/// Refuses a limit of 0: an empty page has no last entry at which the next page could begin.
fn check_limit(parameters: &Map<String, Value>) -> Result<(), String> {
    match parameters.get("limit").and_then(Value::as_u64) {
        Some(0) => Err("`limit` must be at least 1".to_owned()),
        _ => Ok(()),
    }
}

pub(super) fn first_prompts(
    parameters: &Map<String, Value>,
    _: &TrackedState,
) -> Result<FirstStep, String> {
    check_limit(parameters)?;
    let after = parameters.get("after");
    let at = json!({"at": "prompts", "after": after});
    Ok(FirstStep::Numbered(read_page, at))
}

pub(super) fn last_page(_: &Map<String, Value>, _: &TrackedState) -> Result<FirstStep, String> {
    Ok(FirstStep::Numbered(read_page, json!({"at": "end"})))
}

pub(super) fn commands(
    _: &Map<String, Value>,
    tracked: &TrackedState,
) -> Result<FirstStep, String> {
    let commands = tracked.commands.clone();
    let built_in = slash::of_client(SlashClient::Chat, &commands).map(SlashCommand::describe);
    let built_in = built_in.collect();
    Ok(FirstStep::Data(json!(SlashCommands { commands, built_in })))
}

/// The request of `branch`.
pub(super) fn branch(
    parameters: &Map<String, Value>,
    _: &TrackedState,
) -> Result<FirstStep, String> {
    let text = |name: &str| {
        parameters
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let op = match (text("entryId"), text("summary")) {
        (None, None) => TreeOp::UndoPrompt { with_files: false },
        (entry_id, None) => TreeOp::Branch { entry_id },
        (entry_id, Some(summary)) => TreeOp::MoveTo {
            last_prompt: entry_id.is_none(),
            entry_id,
            summarize: true,
            instructions: Some(summary).filter(|text| !text.trim().is_empty()),
            with_files: false,
        },
    };
    Ok(FirstStep::Request(Op::Tree(op)))
}

fn page<'a>(event: &'a EventFields<'_>) -> Option<&'a Vec<Value>> {
    let is_page = event.kind == "transcript_page";
    event.fields.get("messages")?.as_array().filter(|_| is_page)
}

fn append(partial: &mut Value, more: Vec<Value>) {
    match partial {
        Value::Array(partial) => partial.extend(more),
        partial => *partial = Value::Array(more),
    }
}

fn collect_all(partial: &mut Value) -> Value {
    match partial.take() {
        Value::Null => json!([]),
        partial => partial,
    }
}

fn list_field(fields: &Map<String, Value>, name: &str) -> Vec<Value> {
    let list_field = fields.get(name).and_then(Value::as_array);
    list_field.cloned().unwrap_or_default()
}

fn strings(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let strings = list_field(fields, name).into_iter();
    strings
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
