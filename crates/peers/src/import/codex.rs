//! Imports Codex rollouts: requests and answers (`response_item`), and events (`event_msg`), in order of
//! time. The items of one response become one answer. Turns that were rolled back become a branch.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::blocks;
use super::draft::Draft;
use super::lines::{Read, text};
use osier_agent::AgentMessage;
use osier_llm::{
    AssistantBlock, AssistantMessage, ContentBlock, StopReason, ThinkingLevel, ToolCall,
    ToolResult, Usage,
};
use osier_protocol::EntryKind;

#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The entry that the conversation continues from.
    at: Option<String>,
    /// The parent of each prompt.
    prompts: Vec<Option<String>>,
    /// Blocks of the current answer, and the time of the first.
    answer: Vec<AssistantBlock>,
    answered: String,
    /// Index of the last answer, for its usage.
    last_answer: Option<usize>,
    provider: String,
    model: String,
    effort: String,
    /// Data of events about a call, for the result that follows.
    call_events: HashMap<String, CallEvent>,
    count: u64,
}

/// Data of an event about a call.
#[derive(Debug, Default)]
struct CallEvent {
    details: Value,
    failed: bool,
    duration_ms: u64,
}

/// Text that Codex inserts as a prompt.
const OWN: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
];

impl Read for Reader {
    fn line(&mut self, value: Value, draft: &mut Draft) {
        let time = text(&value, "timestamp").unwrap_or_default().to_owned();
        let item = value.get("payload").unwrap_or(&value);
        match text(&value, "type") {
            Some("session_meta") => self.meta(item, draft),
            Some("turn_context") => self.context(item, &time, draft),
            Some("response_item") => self.item(item, &time, draft),
            Some("event_msg") => self.event(item, draft),
            Some("token_usage_record") => {
                self.end_answer(draft);
                self.usage(item.get("usage"), draft);
            }
            Some("compacted") => self.compacted(item, &time, draft),
            // Early versions have no envelope: a line is an item.
            Some("message" | "reasoning" | "function_call" | "function_call_output") => {
                self.item(item, &time, draft);
            }
            None if value.get("instructions").is_some() => self.meta(item, draft),
            Some(other) => draft.drop(format!("lines of type `{other}`")),
            None => draft.drop("lines without a type"),
        }
    }

    fn end(&mut self, draft: &mut Draft) {
        self.end_answer(draft);
    }
}

impl Reader {
    fn meta(&mut self, item: &Value, draft: &mut Draft) {
        if draft.id.is_some() {
            // The line belongs to the parent session, whose start a fork repeats.
            return;
        }
        draft.id = text(item, "id").map(str::to_owned);
        draft.timestamp = text(item, "timestamp").map(str::to_owned);
        draft.cwd = text(item, "cwd").map(str::to_owned);
        draft.parent = text(item, "forked_from_id").map(str::to_owned);
        text(item, "model_provider")
            .unwrap_or("openai")
            .clone_into(&mut self.provider);
    }

    /// Sets the model and level of the turn.
    fn context(&mut self, item: &Value, time: &str, draft: &mut Draft) {
        let model = text(item, "model").unwrap_or_default();
        if !model.is_empty() && model != self.model {
            self.end_answer(draft);
            model.clone_into(&mut self.model);
            let (provider, model_id) = (self.provider.clone(), model.to_owned());
            self.add(EntryKind::ModelChange { provider, model_id }, time, draft);
        }
        let effort = text(item, "effort").unwrap_or_default();
        if effort != self.effort
            && let Some(thinking_level) = ThinkingLevel::from_name(effort)
        {
            self.end_answer(draft);
            effort.clone_into(&mut self.effort);
            self.add(
                EntryKind::ThinkingLevelChange { thinking_level },
                time,
                draft,
            );
        }
    }

    fn add(&mut self, kind: EntryKind, time: &str, draft: &mut Draft) {
        self.count += 1;
        let id = draft.add(&self.count.to_string(), self.at.clone(), time, kind);
        self.at = Some(id);
    }

    fn item(&mut self, item: &Value, time: &str, draft: &mut Draft) {
        if self.answer.is_empty() {
            time.clone_into(&mut self.answered);
        }
        let own = |name: &str| text(item, name).unwrap_or_default().to_owned();
        let kind = text(item, "type").unwrap_or_default();
        match kind {
            "message" => self.message(item, time, draft),
            "reasoning" => {
                let thinking = ["summary", "content"].map(|name| texts_of(item.get(name)));
                self.answer.push(AssistantBlock::Thinking {
                    redacted: thinking.iter().all(String::is_empty),
                    thinking: thinking
                        .into_iter()
                        .find(|part| !part.is_empty())
                        .unwrap_or_default(),
                    signature: text(item, "encrypted_content").map(str::to_owned),
                });
            }
            "function_call" => {
                let arguments = item.get("arguments").cloned().unwrap_or_default();
                self.call(own("call_id"), own("name"), arguments, draft);
            }
            "custom_tool_call" => {
                let arguments = json!({"input": own("input")});
                self.call(own("call_id"), own("name"), arguments, draft);
            }
            "local_shell_call" | "web_search_call" | "tool_search_call" => {
                let id = text(item, "call_id").or_else(|| text(item, "id"));
                let arguments = item
                    .get("action")
                    .or_else(|| item.get("arguments"))
                    .cloned();
                let arguments = arguments
                    .filter(Value::is_object)
                    .unwrap_or_else(|| json!({}));
                let name = kind.trim_end_matches("_call").to_owned();
                self.call(id.unwrap_or_default().to_owned(), name, arguments, draft);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.result(item, time, draft);
            }
            other => draft.drop(format!("items of type `{other}`")),
        }
    }

    fn call(&mut self, id: String, name: String, arguments: Value, draft: &mut Draft) {
        let calls = draft.map_call(ToolCall {
            id,
            name,
            arguments,
            ..ToolCall::default()
        });
        self.answer
            .extend(calls.into_iter().map(AssistantBlock::ToolCall));
    }

    fn message(&mut self, item: &Value, time: &str, draft: &mut Draft) {
        match text(item, "role").unwrap_or_default() {
            "assistant" => {
                let text = texts_of(item.get("content"));
                self.answer.push(AssistantBlock::Text {
                    text,
                    signature: None,
                });
            }
            "user" => {
                let timestamp = milliseconds(time);
                let mut content = blocks::content(item.get("content"), draft);
                content.retain(|block| !is_frame(block));
                let prompt = blocks::prompt(content, timestamp);
                let own = OWN
                    .iter()
                    .any(|own| prompt.text.trim_start().starts_with(own));
                if own || is_harness(item) {
                    return draft.drop("notes from the program to the model");
                }
                if prompt.text.trim().is_empty() && prompt.attachments.is_empty() {
                    return;
                }
                self.end_answer(draft);
                self.prompts.push(self.at.clone());
                self.add(EntryKind::message(AgentMessage::User(prompt)), time, draft);
            }
            _ => draft.drop("instructions of the program"),
        }
    }

    /// Stores the pending answer.
    fn end_answer(&mut self, draft: &mut Draft) {
        if self.answer.is_empty() {
            return;
        }
        let mut content = std::mem::take(&mut self.answer);
        blocks::set_apart(&mut content);
        let calls = content
            .iter()
            .any(|block| matches!(block, AssistantBlock::ToolCall(_)));
        let time = self.answered.clone();
        let answer = AssistantMessage {
            content,
            provider: self.provider.clone(),
            model: self.model.clone(),
            // Never a wire format of osier: signatures of other programs are shown and not sent back.
            api: "codex".to_owned(),
            stop_reason: if calls {
                StopReason::ToolUse
            } else {
                StopReason::Stop
            },
            timestamp: milliseconds(&time),
            ..AssistantMessage::default()
        };
        self.last_answer = Some(draft.entries.len());
        self.add(
            EntryKind::message(AgentMessage::Assistant(answer)),
            &time,
            draft,
        );
    }

    fn result(&mut self, item: &Value, time: &str, draft: &mut Draft) {
        self.end_answer(draft);
        let call_id = text(item, "call_id").unwrap_or_default().to_owned();
        let output = item.get("output");
        // Some versions wrap the text.
        let inner = match output {
            Some(Value::Object(members)) => members.get("content").or_else(|| members.get("body")),
            other => other,
        };
        let content = blocks::content(inner, draft);
        let success = output
            .and_then(|output| output.get("success"))
            .and_then(Value::as_bool);
        let call_events = self.call_events.remove(&call_id).unwrap_or_default();
        let is_error = call_events.failed || success == Some(false);
        let result = ToolResult {
            tool_name: String::new(),
            tool_call_id: call_id,
            content,
            is_error,
            timestamp: milliseconds(time),
        };
        let message = draft.result(result, call_events.details, call_events.duration_ms);
        for message in draft.with_further(message) {
            let kind = EntryKind::message(AgentMessage::ToolResult(message));
            self.add(kind, time, draft);
        }
    }

    fn event(&mut self, item: &Value, draft: &mut Draft) {
        match text(item, "type").unwrap_or_default() {
            "token_count" => {
                self.end_answer(draft);
                let usage = item.pointer("/info/last_token_usage");
                self.usage(usage, draft);
            }
            "item_completed" => {
                if let Some(item) = item.get("item") {
                    self.tell(text(item, "id"), item, draft);
                }
            }
            "exec_command_end" | "patch_apply_end" => {
                self.tell(text(item, "call_id"), item, draft);
            }
            "turn_aborted" => {
                self.end_answer(draft);
                if let Some(answer) = self.last_answer(draft) {
                    answer.stop_reason = StopReason::Aborted;
                }
            }
            "thread_rolled_back" => {
                self.end_answer(draft);
                let turns = item.get("num_turns").and_then(Value::as_u64).unwrap_or(1);
                for _ in 0..turns {
                    let Some(before) = self.prompts.pop() else {
                        break;
                    };
                    self.at = before;
                }
            }
            "error" | "stream_error" => draft.drop("errors that were shown"),
            // The other events are screen output that repeats the items.
            _ => {}
        }
    }

    /// Stores the data of an event about a call until its result arrives.
    fn tell(&mut self, call: Option<&str>, item: &Value, draft: &Draft) {
        let Some(call) = call.filter(|call| draft.knows_call(call)) else {
            return;
        };
        let mut call_events = CallEvent::default();
        if let Some(exit) = item.get("exit_code").and_then(Value::as_i64) {
            call_events.details = json!({"exitCode": exit});
            call_events.failed = exit != 0;
        }
        if let Some(Value::Object(changes)) = item.get("changes") {
            call_events.details = changed(changes);
            let failed = text(item, "status").is_some_and(|status| status != "completed");
            call_events.failed =
                failed || item.get("success").and_then(Value::as_bool) == Some(false);
        }
        call_events.duration_ms = item
            .get("duration_ms")
            .or_else(|| item.get("duration").and_then(|duration| duration.get("ms")))
            .and_then(Value::as_u64)
            .unwrap_or(0);
        self.call_events.insert(call.to_owned(), call_events);
    }

    fn last_answer<'a>(&self, draft: &'a mut Draft) -> Option<&'a mut AssistantMessage> {
        let entry = draft.entries.get_mut(self.last_answer?)?;
        match &mut entry.kind {
            EntryKind::Message {
                message: AgentMessage::Assistant(answer),
            } => Some(answer),
            _ => None,
        }
    }

    /// The usage of the last answer; a repeated report counts once.
    fn usage(&mut self, value: Option<&Value>, draft: &mut Draft) {
        let Some(value) = value else { return };
        let count = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
        let cached = count("cached_input_tokens");
        let written = count("cache_write_input_tokens");
        if let Some(answer) = self.last_answer(draft)
            && answer.usage == Usage::default()
        {
            answer.usage = Usage {
                input: count("input_tokens").saturating_sub(cached.saturating_add(written)),
                output: count("output_tokens"),
                cache_read: cached,
                cache_write: written,
                reasoning: count("reasoning_output_tokens"),
                ..Usage::default()
            };
        }
    }

    fn compacted(&mut self, item: &Value, time: &str, draft: &mut Draft) {
        self.end_answer(draft);
        let mut summary = text(item, "message").unwrap_or_default().to_owned();
        if summary.trim().is_empty() {
            let history = item.get("replacement_history").and_then(Value::as_array);
            let last = history.and_then(|history| history.last());
            summary = last
                .map(|last| texts_of(last.get("content")))
                .unwrap_or_default();
        }
        if summary.trim().is_empty() {
            return draft.drop("encrypted summaries");
        }
        let kind = EntryKind::Compaction {
            summary,
            first_kept_entry_id: String::new(),
            tokens_before: 0,
            window: 0,
            details: Value::Null,
        };
        self.add(kind, time, draft);
    }
}

fn milliseconds(time: &str) -> i64 {
    blocks::milliseconds(Some(&Value::from(time)))
}

/// Whether a text only surrounds an image.
fn is_frame(block: &ContentBlock) -> bool {
    let text = block.as_text().unwrap_or_default().trim();
    text == "</image>" || (text.starts_with("<image name=") && text.ends_with('>'))
}

/// Whether the program wrote the text, not the user.
fn is_harness(item: &Value) -> bool {
    let origin = item.pointer(
        "/internal_chat_message_metadata_passthrough/content_item_metadata/0/provenance/type",
    );
    origin.and_then(Value::as_str) == Some("harness")
}

/// The texts of a list of blocks.
fn texts_of(blocks: Option<&Value>) -> String {
    let blocks = blocks::parts(blocks);
    let texts = blocks.iter().filter_map(|block| text(block, "text"));
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Changes of files as one diff.
fn changed(changes: &serde_json::Map<String, Value>) -> Value {
    let mut diff = String::new();
    for (path, change) in changes {
        let old = text(change, "unified_diff").map(str::to_owned);
        let whole = |sign: char| {
            let content = text(change, "content")?;
            let count = content.lines().count();
            let range = match sign {
                '+' => format!("@@ -0,0 +1,{count} @@\n"),
                _ => format!("@@ -1,{count} +0,0 @@\n"),
            };
            let lines: Vec<String> = content
                .lines()
                .map(|line| format!("{sign}{line}\n"))
                .collect();
            Some(range + &lines.concat())
        };
        let body = old.or_else(|| match text(change, "type") {
            Some("delete") => whole('-'),
            _ => whole('+'),
        });
        if let Some(body) = body {
            let name = path.trim_start_matches('/');
            let _ = write!(diff, "--- a/{name}\n+++ b/{name}\n{body}");
        }
    }
    let count = |sign: char, head: &str| {
        let lines = diff.lines();
        lines
            .filter(|line| line.starts_with(sign) && !line.starts_with(head))
            .count()
    };
    let path = changes.keys().next().cloned().unwrap_or_default();
    json!({
        "filePath": path,
        "linesAdded": count('+', "+++ "),
        "linesRemoved": count('-', "--- "),
        "diff": diff,
    })
}
