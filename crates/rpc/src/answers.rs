//! Answers that are more than the fields of one event: shaped, or gathered from several.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the rows of the table share one signature"
)]

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::command::{First, Heard, Step};
use super::view::View;
use osier_agent::{AgentMessage, QueueMode, UserMessage};
use osier_llm::ThinkingLevel;
use osier_protocol::{AddedCommand, Op, PageAt, SessionInfo, StoredMessage, TreeOp};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// A run began with it.
    Started,
    /// It waits in a queue.
    Queued,
    /// A plug-in's command has taken it: no run follows from it.
    Handled,
}

/// Answer to `prompt`, `steer` and `follow_up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prompted {
    pub disposition: Disposition,
}

/// Answer to `clear_queue`: what waited, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    pub steering: Vec<UserMessage>,
    pub follow_up: Vec<UserMessage>,
}

/// Answer to the commands that set a queue's mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QueueModes {
    pub steering: QueueMode,
    pub follow_up: QueueMode,
}

/// Answer to `get_messages`: those of the current branch, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    pub messages: Vec<StoredMessage>,
}

/// Answer to `get_last_assistant_text`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastText {
    /// Not set while there is no answer.
    pub text: Option<String>,
}

/// Answer to `get_fork_messages`: the prompts of the current branch, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prompts {
    pub messages: Vec<PromptEntry>,
}

/// A prompt and the entry it stands in.
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
pub struct Opened {
    pub session: SessionInfo,
}

/// Answer to `get_session_stats`: counts of the open session, on all branches.
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
    /// Tokens of every call, cached ones included.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    pub entries: usize,
    pub branches: usize,
}

/// Answer to `get_commands`: the slash commands that a prompt may begin with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Commands {
    pub commands: Vec<AddedCommand>,
}

/// Answer to `get_available_thinking_levels`: those of the model, weakest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Levels {
    pub levels: Vec<ThinkingLevel>,
}

/// What a search has found, in the order it was told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hits {
    pub hits: Vec<osier_protocol::SearchHit>,
    /// There are more than the limit.
    pub cut: bool,
}

/// What a search of the tree has found: numbers of the outline, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeHits {
    pub entries: Vec<u32>,
}

/// The step that ends every op: nothing more comes.
pub(super) const ENDED: &str = "op_ended";

pub(super) fn prompted(_: &mut Value, heard: &Heard<'_>) -> Step {
    let disposition = match heard.kind {
        "agent_start" => Disposition::Started,
        "queue_update" => Disposition::Queued,
        ENDED => Disposition::Handled,
        _ => return Step::Pass,
    };
    Step::Done(json!(Prompted { disposition }))
}

pub(super) fn cleared(fields: Map<String, Value>, view: &View) -> Result<Value, String> {
    let mut messages = list(&fields, "messages");
    let follow_up = messages.split_off(view.steering.min(messages.len()));
    Ok(json!({"steering": messages, "followUp": follow_up}))
}

/// The field that holds the whole answer.
pub(super) fn status(mut fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    Ok(fields.remove("status").unwrap_or_default())
}

pub(super) fn state(mut fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    Ok(fields.remove("state").unwrap_or_default())
}

pub(super) fn levels(fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    let levels = fields
        .get("status")
        .map(|status| &status["model"]["thinkingLevels"]);
    Ok(json!({"levels": levels}))
}

pub(super) fn opened(mut fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    Ok(json!({"session": fields.remove("session")}))
}

pub(super) fn shell_run(mut fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    Ok(fields.remove("run").unwrap_or_default())
}

pub(super) fn lane(fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    if fields.contains_key("kept") {
        return Ok(Value::Object(fields));
    }
    let files = texts(&fields, "files").join("`, `");
    Err(format!(
        "nothing was written: `{files}` changed meanwhile; `force` keeps what is there aside"
    ))
}

pub(super) fn login(fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    match fields.get("error").and_then(Value::as_str) {
        Some(error) => Err(error.to_owned()),
        None => Ok(Value::Object(fields)),
    }
}

pub(super) fn stats(mut fields: Map<String, Value>, _: &View) -> Result<Value, String> {
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

/// The compaction that was asked for, not one that came by itself.
pub(super) fn compacted(_: &mut Value, heard: &Heard<'_>) -> Step {
    match heard.kind {
        "compaction_end" if heard.fields.get("reason") == Some(&json!("manual")) => {
            let outcome = heard.fields.get("outcome").cloned().unwrap_or_default();
            match outcome["message"].as_str() {
                Some(message) => Step::Failed(message.to_owned()),
                None => Step::Done(outcome),
            }
        }
        _ => Step::Pass,
    }
}

/// Every message of the branch, page by page.
pub(super) fn messages(kept: &mut Value, heard: &Heard<'_>) -> Step {
    let Some(page) = page(heard) else {
        return Step::Pass;
    };
    let last = page.last().map(|message| message["entryId"].clone());
    gather(kept, page.clone());
    match last {
        Some(last) if heard.fields.get("atEnd") == Some(&json!(false)) => {
            Step::Ask(read_page, json!({"at": "after", "entryId": last}))
        }
        _ => Step::Done(json!({"messages": taken(kept)})),
    }
}

/// The prompts among them.
pub(super) fn prompts(kept: &mut Value, heard: &Heard<'_>) -> Step {
    match messages(kept, heard) {
        Step::Done(answer) => {
            let messages = answer["messages"].as_array().into_iter().flatten();
            let prompts = messages.filter(|message| message["role"] == "user");
            let prompts = prompts
                .map(|message| json!({"entryId": message["entryId"], "text": message["text"]}));
            Step::Done(json!({"messages": prompts.collect::<Vec<_>>()}))
        }
        step => step,
    }
}

/// The text of the last answer, from the end backwards.
pub(super) fn last_text(_: &mut Value, heard: &Heard<'_>) -> Step {
    let Some(page) = page(heard) else {
        return Step::Pass;
    };
    let text = page.iter().rev().find_map(|message| {
        let message: StoredMessage = serde_json::from_value(message.clone()).ok()?;
        match &*message.message {
            AgentMessage::Assistant(answer) => Some(answer.text()).filter(|text| !text.is_empty()),
            _ => None,
        }
    });
    match page.first() {
        Some(first) if text.is_none() && heard.fields.get("atStart") == Some(&json!(false)) => {
            Step::Ask(
                read_page,
                json!({"at": "before", "entryId": first["entryId"]}),
            )
        }
        _ => Step::Done(json!(LastText { text })),
    }
}

pub(super) fn hits(kept: &mut Value, heard: &Heard<'_>) -> Step {
    match heard.kind {
        "search_hits" => gather(kept, list(heard.fields, "hits")),
        ENDED => return Step::Done(json!({"hits": taken(kept), "cut": false})),
        _ => return Step::Pass,
    }
    if heard.fields.get("done") == Some(&json!(true)) {
        let cut = heard.fields.get("cut").cloned().unwrap_or_default();
        return Step::Done(json!({"hits": taken(kept), "cut": cut}));
    }
    Step::Keep
}

pub(super) fn tree_hits(kept: &mut Value, heard: &Heard<'_>) -> Step {
    match heard.kind {
        "tree_hits" => gather(kept, list(heard.fields, "entries")),
        ENDED => return Step::Done(json!({"entries": taken(kept)})),
        _ => return Step::Pass,
    }
    if heard.fields.get("done") == Some(&json!(true)) {
        return Step::Done(json!({"entries": taken(kept)}));
    }
    Step::Keep
}

/// Asks for the messages at a place.
pub(super) fn read_page(request: u64, at: Value) -> Option<Op> {
    let page: PageAt = serde_json::from_value(at).ok()?;
    Some(Op::ReadTranscript { request, page })
}

pub(super) fn first_page(_: &Map<String, Value>, _: &View) -> Result<First, String> {
    Ok(First::Numbered(read_page, json!({"at": "start"})))
}

pub(super) fn last_page(_: &Map<String, Value>, _: &View) -> Result<First, String> {
    Ok(First::Numbered(read_page, json!({"at": "end"})))
}

pub(super) fn commands(_: &Map<String, Value>, view: &View) -> Result<First, String> {
    let commands = match &view.commands {
        Value::Null => json!([]),
        commands => commands.clone(),
    };
    Ok(First::Data(json!({"commands": commands})))
}

/// A place that is gone on from, for `branch`.
pub(super) fn branch(given: &Map<String, Value>, _: &View) -> Result<First, String> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
    let op = match (text("entryId"), text("summary")) {
        (None, None) => TreeOp::UndoPrompt,
        (None, Some(_)) => return Err("`summary` needs an `entryId` to go to".to_owned()),
        (entry_id, None) => TreeOp::Branch { entry_id },
        (entry_id, Some(summary)) => TreeOp::MoveTo {
            entry_id,
            summarize: true,
            instructions: Some(summary).filter(|text| !text.trim().is_empty()),
        },
    };
    Ok(First::Request(Op::Tree(op)))
}

fn page<'a>(heard: &'a Heard<'_>) -> Option<&'a Vec<Value>> {
    let is_page = heard.kind == "transcript_page";
    heard.fields.get("messages")?.as_array().filter(|_| is_page)
}

fn gather(kept: &mut Value, more: Vec<Value>) {
    match kept {
        Value::Array(kept) => kept.extend(more),
        kept => *kept = Value::Array(more),
    }
}

fn taken(kept: &mut Value) -> Value {
    match kept.take() {
        Value::Null => json!([]),
        kept => kept,
    }
}

fn list(fields: &Map<String, Value>, name: &str) -> Vec<Value> {
    let list = fields.get(name).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

fn texts(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let texts = list(fields, name).into_iter();
    texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
