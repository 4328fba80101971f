//! Imports sessions of pi: a header, then entries that name their parents, similar to osier's. The
//! first version has neither ids nor parents; versions before the third are read as far as they
//! have the same form.

use serde_json::{Value, json};

use super::draft::Draft;
use super::lines::{Read, text};
use super::{blocks, numbered_diff};
use osier_agent::CustomMessage;
use osier_agent::{AgentMessage, ShellRun, ToolResultMessage};
use osier_llm::{
    AssistantBlock, AssistantMessage, StopReason, ThinkingLevel, ToolCall, ToolResult, Usage,
};
use osier_protocol::EntryKind;

#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Number of entries read; used as ids in files without ids.
    count: u64,
}

impl Read for Reader {
    fn line(&mut self, value: Value, draft: &mut Draft) {
        let kind = text(&value, "type").unwrap_or_default().to_owned();
        if kind == "session" {
            draft.id = text(&value, "id").map(str::to_owned);
            draft.timestamp = text(&value, "timestamp").map(str::to_owned);
            draft.cwd = text(&value, "cwd").map(str::to_owned);
            return;
        }
        self.count += 1;
        let id = match text(&value, "id") {
            Some(id) => id.to_owned(),
            None => self.count.to_string(),
        };
        let parent = match value.get("parentId") {
            Some(Value::String(parent)) => draft.parent_of(parent),
            Some(Value::Null) => None,
            Some(_) => draft.behind_gap(),
            None => draft.last(),
        };
        let timestamp = text(&value, "timestamp").unwrap_or_default().to_owned();
        match entry(&kind, &value, draft) {
            Some(kind) => {
                draft.add(&id, parent, &timestamp, kind);
            }
            // The children of a skipped entry become children of its parent.
            None => draft.alias(&id, parent),
        }
    }
}

fn entry(kind: &str, value: &Value, draft: &mut Draft) -> Option<EntryKind> {
    let own = |name: &str| text(value, name).unwrap_or_default().to_owned();
    let known = |name: &str, draft: &Draft| text(value, name).and_then(|id| draft.id_of(id));
    let entry = match kind {
        "message" => {
            let message = value.get("message")?;
            EntryKind::message(self::message(message, draft)?)
        }
        "model_change" => EntryKind::ModelChange {
            provider: own("provider"),
            model_id: own("modelId"),
        },
        "thinking_level_change" => EntryKind::ThinkingLevelChange {
            thinking_level: ThinkingLevel::from_name(&own("thinkingLevel"))?,
        },
        "compaction" => EntryKind::Compaction {
            summary: own("summary"),
            first_kept_entry_id: known("firstKeptEntryId", draft).or_else(|| draft.last())?,
            tokens_before: value
                .get("tokensBefore")
                .and_then(Value::as_u64)
                .unwrap_or(0),
            window: 0,
            details: value.get("details").cloned().unwrap_or(Value::Null),
        },
        "branch_summary" => EntryKind::BranchSummary {
            from_id: known("fromId", draft).unwrap_or_default(),
            summary: own("summary"),
        },
        "label" => EntryKind::Label {
            target_id: known("targetId", draft)?,
            label: text(value, "label").map(str::to_owned),
        },
        "session_info" => EntryKind::SessionInfo {
            name: text(value, "name").map(str::to_owned),
        },
        "usage" => EntryKind::Usage {
            kind: own("kind"),
            provider: own("provider"),
            model: own("model"),
            usage: usage(value.get("usage")),
        },
        "custom" => EntryKind::Custom {
            custom_type: own("customType"),
            data: value.get("data").cloned().unwrap_or(Value::Null),
        },
        "custom_message" => {
            let timestamp = blocks::milliseconds(value.get("timestamp"));
            EntryKind::message(custom(value, own("customType"), timestamp, draft))
        }
        other => {
            draft.drop(format!("entries of type `{other}`"));
            return None;
        }
    };
    Some(entry)
}

fn custom(value: &Value, kind: String, timestamp: i64, draft: &mut Draft) -> AgentMessage {
    let said = blocks::content(value.get("content"), draft);
    let display = value.get("display").and_then(Value::as_bool);
    AgentMessage::Custom(CustomMessage {
        kind,
        text: blocks::prompt(said, 0).text,
        display: display.unwrap_or(true),
        details: value.get("details").cloned().unwrap_or(Value::Null),
        timestamp,
    })
}

fn message(value: &Value, draft: &mut Draft) -> Option<AgentMessage> {
    let timestamp = blocks::milliseconds(value.get("timestamp"));
    let role = text(value, "role").unwrap_or_default();
    let message = match role {
        "user" => {
            let said = blocks::content(value.get("content"), draft);
            AgentMessage::User(blocks::prompt(said, timestamp))
        }
        "assistant" => AgentMessage::Assistant(assistant(value, timestamp, draft)),
        "toolResult" => AgentMessage::ToolResult(tool_result(value, timestamp, draft)),
        "bashExecution" => AgentMessage::ShellRun(shell_run(value, timestamp)),
        "custom" | "hookMessage" => {
            let kind = text(value, "customType").unwrap_or("custom");
            custom(value, kind.to_owned(), timestamp, draft)
        }
        other => {
            draft.drop(format!("messages of role `{other}`"));
            return None;
        }
    };
    Some(message)
}

fn assistant(value: &Value, timestamp: i64, draft: &mut Draft) -> AssistantMessage {
    let own = |name: &str| text(value, name).unwrap_or_default().to_owned();
    let blocks = blocks::parts(value.get("content"));
    AssistantMessage {
        content: blocks
            .iter()
            .flat_map(|block| assistant_block(block, draft))
            .collect(),
        provider: own("provider"),
        model: own("model"),
        // Never a wire format of osier: signatures of other programs are shown and not sent back.
        api: format!("pi/{}", own("api")),
        usage: usage(value.get("usage")),
        stop_reason: stop_reason(&own("stopReason")),
        error_message: text(value, "errorMessage").map(str::to_owned),
        response_id: text(value, "responseId").map(str::to_owned),
        prefix_hash: None,
        timestamp,
        duration_ms: value.get("durationMs").and_then(Value::as_u64).unwrap_or(0),
    }
}

fn assistant_block(block: &Value, draft: &mut Draft) -> Vec<AssistantBlock> {
    let signature = |name: &str| text(block, name).map(str::to_owned);
    let own = |name: &str| text(block, name).unwrap_or_default().to_owned();
    match text(block, "type").unwrap_or_default() {
        "text" => vec![AssistantBlock::Text {
            text: own("text"),
            signature: signature("textSignature"),
        }],
        "thinking" => vec![AssistantBlock::Thinking {
            thinking: text(block, "thinking").unwrap_or_default().to_owned(),
            signature: signature("thinkingSignature"),
            redacted: block
                .get("redacted")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        }],
        "toolCall" => {
            let calls = draft.map_call(ToolCall {
                id: own("id"),
                name: own("name"),
                arguments: block.get("arguments").cloned().unwrap_or_else(|| json!({})),
                signature: signature("thoughtSignature"),
                ..ToolCall::default()
            });
            calls.into_iter().map(AssistantBlock::ToolCall).collect()
        }
        other => {
            draft.drop(format!("content of type `{other}`"));
            Vec::new()
        }
    }
}

fn tool_result(value: &Value, timestamp: i64, draft: &mut Draft) -> ToolResultMessage {
    let is_error = value
        .get("isError")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let content = blocks::content(value.get("content"), draft);
    let result = ToolResult {
        tool_name: text(value, "toolName").unwrap_or_default().to_owned(),
        tool_call_id: text(value, "toolCallId").unwrap_or_default().to_owned(),
        content,
        is_error,
        timestamp,
    };
    let duration_ms = value.get("durationMs").and_then(Value::as_u64).unwrap_or(0);
    draft.result(result, details(value.get("details")), duration_ms)
}

/// The details unchanged, except a diff with line numbers, which becomes a unified one.
fn details(value: Option<&Value>) -> Value {
    let mut details = value.cloned().unwrap_or(Value::Null);
    if let Value::Object(members) = &mut details
        && members
            .get("diff")
            .and_then(Value::as_str)
            .is_some_and(|diff| !diff.contains("@@ "))
        && let Some(Value::String(diff)) = members.remove("diff")
    {
        let unified = numbered_diff::unified(&diff);
        let name = match &unified {
            Some(_) => "diff",
            None => "numberedDiff",
        };
        members.insert(name.to_owned(), Value::String(unified.unwrap_or(diff)));
    }
    details
}

fn shell_run(value: &Value, timestamp: i64) -> ShellRun {
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    let exit = value.get("exitCode").and_then(Value::as_i64);
    ShellRun {
        command: text(value, "command").unwrap_or_default().to_owned(),
        output: text(value, "output").unwrap_or_default().to_owned(),
        exit_code: exit.and_then(|exit| i32::try_from(exit).ok()),
        cancelled: flag("cancelled"),
        truncated: flag("truncated"),
        full_output_path: text(value, "fullOutputPath").map(str::to_owned),
        exclude_from_context: flag("excludeFromContext"),
        duration_ms: 0,
        timestamp,
    }
}

/// Reads the usage, whose field names are the same as osier's; a missing or odd value counts as
/// zero.
fn usage(value: Option<&Value>) -> Usage {
    let mut usage = value.cloned().unwrap_or(Value::Null);
    if let Value::Object(members) = &mut usage {
        members.retain(|name, value| {
            serde_json::from_value::<Usage>(json!({name.as_str(): value})).is_ok()
        });
    }
    serde_json::from_value(usage).unwrap_or_default()
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "toolUse" => StopReason::ToolUse,
        "length" => StopReason::Length,
        "error" => StopReason::Error,
        "aborted" => StopReason::Aborted,
        "pending" | "deferred" => StopReason::Pending,
        _ => StopReason::Stop,
    }
}
