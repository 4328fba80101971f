//! The lines of `codex exec --json`, for `osier exec --json`: a thread, its turns, and items that start and complete.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::format::{Effect, Format, RunEnd};
use osier_agent::{
    AccountingEntry, AgentMessage, FileTarget, FileUse, RunOutcome, ToolResultMessage,
};
use osier_llm::{AssistantBlock, ContentBlock, Usage};
use osier_protocol::{Event, Prompt, TOOL as TODO, final_text};
use osier_tools::{BASH, ToolEffect};

/// The state of the format between events.
#[derive(Debug, Default)]
pub struct CodexFormat {
    /// The number of the next item.
    next: usize,
    /// The items of running calls, by call id.
    calls: BTreeMap<String, Value>,
    usage: Usage,
}

impl CodexFormat {
    fn item(&mut self, mut fields: Value) -> Value {
        fields["id"] = json!(format!("item_{}", self.next));
        self.next += 1;
        fields
    }

    fn answer(&mut self, blocks: &[AssistantBlock]) -> Vec<Value> {
        let mut lines = Vec::new();
        for block in blocks {
            let fields = match block {
                AssistantBlock::Text { text, .. } if !text.trim().is_empty() => {
                    json!({"type": "agent_message", "text": text})
                }
                AssistantBlock::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    json!({"type": "reasoning", "text": thinking})
                }
                _ => continue,
            };
            lines.push(json!({"type": "item.completed", "item": self.item(fields)}));
        }
        lines
    }

    fn call(&mut self, id: &str, tool: &str, arguments: &Value) -> Vec<Value> {
        let known = osier_tools::find(tool);
        let fields = match tool {
            BASH if arguments["command"].is_string() => json!({"type": "command_execution",
                "command": arguments["command"], "aggregated_output": "", "exit_code": null,
                "status": "in_progress"}),
            _ if known.is_some_and(|known| known.effect == ToolEffect::Changes) => {
                let targets = osier_tools::file_targets(tool, arguments, Path::new(""));
                let change = |target: &FileTarget| {
                    let is_new = target.purpose == FileUse::Write;
                    json!({"path": target.named, "kind": if is_new { "add" } else { "update" }})
                };
                let changes: Vec<Value> = targets.iter().map(change).collect();
                json!({"type": "file_change", "changes": changes, "status": "in_progress"})
            }
            TODO => {
                let items = arguments["items"].as_array().into_iter().flatten();
                let items: Vec<Value> = items
                    .map(|item| {
                        let text = item.get("text").or_else(|| item.get("content"));
                        let is_done = matches!(item["status"].as_str(), Some("completed" | "done"));
                        json!({"text": text, "completed": is_done})
                    })
                    .collect();
                json!({"type": "todo_list", "items": items})
            }
            _ => {
                let (server, name) = tool.split_once("__").unwrap_or(("osier", tool));
                json!({"type": "mcp_tool_call", "server": server, "tool": name, "arguments": arguments,
                    "result": null, "error": null, "status": "in_progress"})
            }
        };
        let item = self.item(fields);
        self.calls.insert(id.to_owned(), item.clone());
        vec![json!({"type": "item.started", "item": item})]
    }

    fn result(&mut self, call: &str, result: &ToolResultMessage) -> Vec<Value> {
        let Some(mut item) = self.calls.remove(call) else {
            return Vec::new();
        };
        let failed = result.result.is_error;
        let status = if failed { "failed" } else { "completed" };
        let text = text_of(&result.result.content);
        let kind = item["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "command_execution" => {
                item["aggregated_output"] = json!(text);
                let code = result.details.get("exitCode").cloned();
                item["exit_code"] = code.unwrap_or(json!(i32::from(failed)));
            }
            "mcp_tool_call" if failed => item["error"] = json!({"message": text}),
            "mcp_tool_call" => {
                item["result"] = json!({"content": [{"type": "text", "text": text}]});
            }
            _ => {}
        }
        if item.get("status").is_some() {
            item["status"] = json!(status);
        }
        vec![json!({"type": "item.completed", "item": item})]
    }
}

impl Format for CodexFormat {
    fn event(&mut self, event: &Event, effect: &mut Effect) {
        use osier_agent::Event as E;
        let lines = match event {
            Event::SessionOpened { session, .. } => {
                vec![json!({"type": "thread.started", "thread_id": session.id})]
            }
            Event::Agent(E::MessageEnd { message, .. }) => match &**message {
                AgentMessage::Assistant(answer) => self.answer(&answer.content),
                message => final_text(message).map_or_else(Vec::new, |text| {
                    let item = self.item(json!({"type": "agent_message", "text": text}));
                    vec![json!({"type": "item.completed", "item": item})]
                }),
            },
            Event::Agent(E::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            }) => self.call(call_id, tool_name, arguments),
            Event::Agent(E::ToolExecutionEnd {
                call_id, result, ..
            }) => self.result(call_id, result),
            Event::Agent(E::RetryScheduled {
                attempt,
                max_attempts,
                status,
                ..
            }) => {
                let message = format!("retrying {attempt}/{max_attempts}: {}", status.message());
                vec![json!({"type": "error", "message": message})]
            }
            Event::Agent(E::Accounting {
                entry: AccountingEntry::Llm { usage, .. },
            }) => {
                self.usage += *usage;
                Vec::new()
            }
            _ => Vec::new(),
        };
        effect.lines(&lines);
    }

    fn prompt(&mut self, _prompt: &Prompt, effect: &mut Effect) {
        self.usage = Usage::default();
        effect.line(&json!({"type": "turn.started"}));
    }

    fn end(&mut self, end: &RunEnd, effect: &mut Effect) {
        let used = self.usage;
        if end.of_command && !end.answer.is_empty() {
            let item = self.item(json!({"type": "agent_message", "text": end.answer}));
            effect.line(&json!({"type": "item.completed", "item": item}));
        }
        let line = match &end.outcome {
            RunOutcome::Completed => json!({"type": "turn.completed", "usage": {
                "input_tokens": used.input + used.cache_read + used.cache_write,
                "cached_input_tokens": used.cache_read, "cache_write_input_tokens": used.cache_write,
                "output_tokens": used.output, "reasoning_output_tokens": used.reasoning,
            }}),
            outcome => {
                let message = outcome.error().unwrap_or_else(|| "interrupted".to_owned());
                json!({"type": "turn.failed", "error": {"message": message}})
            }
        };
        effect.line(&line);
    }
}

fn text_of(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        ContentBlock::Image { .. } | ContentBlock::File { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
