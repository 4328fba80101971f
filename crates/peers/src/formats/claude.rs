//! The lines of Claude Code's `--output-format stream-json`, with its names of tools and their arguments
//! (<https://code.claude.com/docs/en/headless>, <https://code.claude.com/docs/en/agent-sdk/typescript#message-types>).

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::control::{Control, answer_request};
use super::facts::Facts;
use super::format::{AskedResult, Effect, Format, RunEnd};
use super::initialize::Initialize;
use osier_agent::{AccountingEntry, AgentMessage, CompactionOutcome, CompactionReason, RunOutcome};
use osier_agent::{ToolResultMessage, ToolStatus};
use osier_base::ids;
use osier_llm::{
    AssistantBlock, AssistantMessage, ContentBlock, Delta, StopReason, TurnStatus, Usage,
};
use osier_protocol::questions::Question;
use osier_protocol::{BudgetState, Event, Op, Prompt, final_text};

use crate::tools;

/// The lines that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Only the last line: `--output-format json`.
    Result,
    /// All messages: `--output-format stream-json`.
    Messages,
    /// Messages and the deltas of the model: `--include-partial-messages`.
    Partial,
}

/// The state of the format: facts about the session, and the totals of a run.
#[derive(Debug)]
pub struct ClaudeFormat {
    lines: Lines,
    /// Whether prompts are written, too: `--replay-user-messages`.
    replays: bool,
    facts: Facts,
    budget: BudgetState,
    run: Totals,
    control: Control,
}

#[derive(Debug)]
struct Totals {
    start: Instant,
    /// Milliseconds of model calls.
    calling: u64,
    turns: u32,
    usage: Usage,
    by_model: BTreeMap<String, Usage>,
    answer: String,
    stop: StopReason,
    denials: Vec<Value>,
    /// The calls that can be denied, by id.
    calls: BTreeMap<String, (String, Value)>,
}

impl Totals {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            calling: 0,
            turns: 0,
            usage: Usage::default(),
            by_model: BTreeMap::new(),
            answer: String::new(),
            stop: StopReason::default(),
            denials: Vec::new(),
            calls: BTreeMap::new(),
        }
    }
}

impl ClaudeFormat {
    /// `asks` says whether the program answers questions about permissions, `mode` is the permission mode that it set.
    pub fn new(lines: Lines, replays: bool, asks: bool, mode: Option<String>) -> Self {
        Self {
            control: Control::new(asks),
            lines,
            replays,
            facts: Facts {
                mode_name: mode,
                ..Facts::default()
            },
            budget: BudgetState::default(),
            run: Totals::new(),
        }
    }

    fn agent_event(&mut self, event: &osier_agent::Event) -> Vec<Value> {
        use osier_agent::Event as E;
        match event {
            E::Tools { tools } => {
                let offered = tools.iter().filter(|tool| tool.offered);
                self.facts.tools = offered.map(|tool| tools::theirs(&tool.name)).collect();
                Vec::new()
            }
            E::AgentStart => vec![self.line(self.facts.init())],
            E::TurnStart { .. } => {
                self.run.turns += 1;
                Vec::new()
            }
            E::MessageStart { id, message } => match &**message {
                AgentMessage::Assistant(_) if self.lines == Lines::Partial => {
                    vec![self.stream(&json!({"type": "message_start", "message": {
                        "id": id, "type": "message", "role": "assistant", "model": self.facts.model, "content": [],
                        "stop_reason": null, "stop_sequence": null, "usage": usage(&Usage::default()),
                    }}))]
                }
                _ => Vec::new(),
            },
            E::MessageUpdate { delta, .. } if self.lines == Lines::Partial => {
                vec![self.stream(&stream_event(delta))]
            }
            E::MessageEnd { id, message } => self.message(id, message),
            E::Accounting {
                entry:
                    AccountingEntry::Llm {
                        provider,
                        model,
                        usage,
                        latency_ms,
                        ..
                    },
            } => {
                self.run.calling += latency_ms;
                self.run.usage += *usage;
                *self
                    .run
                    .by_model
                    .entry(format!("{provider}/{model}"))
                    .or_default() += *usage;
                Vec::new()
            }
            E::RetryScheduled {
                attempt,
                max_attempts,
                delay_ms,
                status,
            } => vec![self.line(json!({"type": "system", "subtype": "api_retry",
                "attempt": attempt, "max_retries": max_attempts, "retry_delay_ms": delay_ms,
                "error_status": null, "error": error_kind(status),
                "error_message": status.message()}))],
            E::CompactionEnd {
                reason,
                outcome: CompactionOutcome::Done { tokens_before, .. },
            } => {
                let trigger = if *reason == CompactionReason::Manual {
                    "manual"
                } else {
                    "auto"
                };
                vec![
                    self.line(json!({"type": "system", "subtype": "compact_boundary",
                    "compact_metadata": {"trigger": trigger, "pre_tokens": tokens_before}})),
                ]
            }
            _ => Vec::new(),
        }
    }

    fn message(&mut self, id: &str, message: &AgentMessage) -> Vec<Value> {
        if let Some(text) = final_text(message) {
            self.run.answer = text;
        }
        match message {
            AgentMessage::Assistant(answer) => self.answer(id, answer),
            AgentMessage::ToolResult(result) => vec![self.result(result)],
            _ => Vec::new(),
        }
    }

    fn answer(&mut self, id: &str, answer: &AssistantMessage) -> Vec<Value> {
        self.run.stop = answer.stop_reason;
        if answer.usage.context_tokens() > 0 {
            self.facts.context = answer.usage.context_tokens();
        }
        let content: Vec<Value> = answer.content.iter().map(block).collect();
        for found in &answer.content {
            if let AssistantBlock::ToolCall(call) = found {
                let (name, input) = tools::claude_call(&call.name, &call.arguments);
                self.run.calls.insert(call.id.clone(), (name, input));
            }
        }
        let mut lines = Vec::new();
        if self.lines == Lines::Partial {
            lines.push(self.stream(&json!({"type": "message_delta",
                "delta": {"stop_reason": stop(answer.stop_reason), "stop_sequence": null},
                "usage": usage(&answer.usage)})));
            lines.push(self.stream(&json!({"type": "message_stop"})));
        }
        if !content.is_empty() {
            let mut line = json!({"type": "assistant", "message": {
                "id": id, "type": "message", "role": "assistant",
                "model": format!("{}/{}", answer.provider, answer.model), "content": content,
                "stop_reason": stop(answer.stop_reason), "stop_sequence": null, "usage": usage(&answer.usage),
            }, "parent_tool_use_id": null});
            if let Some(error) = &answer.error_message {
                line["error"] = json!("unknown");
                line["error_message"] = json!(error);
            }
            lines.push(self.line(line));
        }
        lines
    }

    fn result(&mut self, message: &ToolResultMessage) -> Value {
        let result = &message.result;
        if let (ToolStatus::Denied { .. }, Some((name, input))) =
            (&message.status, self.run.calls.get(&result.tool_call_id))
        {
            self.run.denials.push(json!({
                "tool_name": name, "tool_use_id": result.tool_call_id, "tool_input": input,
            }));
        }
        let content = match result.content.as_slice() {
            [ContentBlock::Text { text }] => json!(text),
            blocks => blocks.iter().map(result_block).collect(),
        };
        self.line(
            json!({"type": "user", "message": {"role": "user", "content": [{
            "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content,
            "is_error": result.is_error,
        }]}, "parent_tool_use_id": null}),
        )
    }

    fn is_cost_used_up(&self) -> bool {
        let limit = self.budget.limits.cost;
        limit.is_some_and(|limit| self.budget.used.cost >= limit)
    }

    /// A line with the fields that every line has.
    fn line(&self, mut line: Value) -> Value {
        line["session_id"] = json!(self.facts.session);
        line["uuid"] = json!(ids::prefixed("line"));
        line
    }

    fn stream(&self, event: &Value) -> Value {
        self.line(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}))
    }
}

impl Format for ClaudeFormat {
    /// Requests the tools: the answer arrives before the first run, whose first line names them.
    fn begin(&mut self, effect: &mut Effect) {
        effect.ops.push(osier_agent::Op::ListTools.into());
        effect.ops.push(Op::ListMcpServers);
    }

    fn event(&mut self, event: &Event, effect: &mut Effect) {
        self.control.event(event, &self.facts, effect);
        let lines = match event {
            Event::SessionOpened { session, .. } => {
                self.facts.session.clone_from(&session.id);
                self.facts.cwd = session.cwd.clone().into();
                Vec::new()
            }
            Event::ModelSelected { model, .. } => {
                self.facts.model = model.reference();
                self.facts.window = model.context_window;
                Vec::new()
            }
            Event::McpServers { servers } => {
                self.facts.servers.clone_from(servers);
                Vec::new()
            }
            Event::Commands { commands } => {
                self.facts.commands.clone_from(commands);
                Vec::new()
            }
            Event::Permissions { mode, .. } => {
                self.facts.mode = *mode;
                Vec::new()
            }
            Event::Budget { budget } => {
                self.budget = *budget;
                Vec::new()
            }
            Event::Agent(event) => self.agent_event(event),
            _ => Vec::new(),
        };
        if self.lines != Lines::Result {
            effect.lines(&lines);
        }
    }

    fn asked_ended(&mut self, ended: AskedResult, effect: &mut Effect) {
        answer_request(ended, effect);
    }

    fn prompt(&mut self, prompt: &Prompt, effect: &mut Effect) {
        self.run = Totals::new();
        if !self.replays || self.lines == Lines::Result {
            return;
        }
        let content = json!([{"type": "text", "text": prompt.text}]);
        effect.line(&self.line(
            json!({"type": "user", "message": {"role": "user", "content": content},
            "parent_tool_use_id": null, "isReplay": true}),
        ));
    }

    fn end(&mut self, end: &RunEnd, effect: &mut Effect) {
        let run = std::mem::replace(&mut self.run, Totals::new());
        let (subtype, is_error) = match &end.outcome {
            RunOutcome::Completed => ("success", false),
            RunOutcome::MaxTurns { .. } => ("error_max_turns", true),
            RunOutcome::Stopped { .. } if self.is_cost_used_up() => ("error_max_budget_usd", true),
            _ => ("error_during_execution", true),
        };
        let milliseconds = u64::try_from(run.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let by_model: BTreeMap<&String, Value> = run
            .by_model
            .iter()
            .map(|(model, used)| (model, model_usage(used)))
            .collect();
        let mut line = json!({
            "type": "result", "subtype": subtype, "is_error": is_error, "duration_ms": milliseconds,
            "duration_api_ms": run.calling, "num_turns": run.turns, "stop_reason": stop(run.stop),
            "total_cost_usd": run.usage.cost.total, "usage": usage(&run.usage), "modelUsage": by_model,
            "permission_denials": run.denials,
        });
        if !is_error {
            let answer = if end.of_command {
                &end.answer
            } else {
                &run.answer
            };
            line["result"] = json!(answer);
        }
        if let Some(error) = end.outcome.error() {
            line["errors"] = json!([error]);
        }
        if let Some(value) = &end.structured {
            line["structured_output"] = value.clone();
        }
        effect.line(&self.line(line));
    }

    fn input(&mut self, line: &[u8], effect: &mut Effect) {
        if let Some(initialize) = Initialize::of_line(line) {
            let agents = initialize.agents.into_iter();
            self.facts.agents = agents.map(|(name, _)| name).collect();
        }
        self.control.line(line, &mut self.facts, effect);
    }

    fn hook_call(&mut self, id: u64, callback: &str, input: &Value, effect: &mut Effect) {
        self.control.hook_call(id, callback, input, effect);
    }

    fn server_call(&mut self, id: u64, server: &str, message: &Value, effect: &mut Effect) {
        self.control.server_call(id, server, message, effect);
    }

    fn answers(&self, question: &Question) -> bool {
        self.control.answers(question, &self.facts)
    }
}

/// Claude Code's name of a failure.
fn error_kind(status: &TurnStatus) -> &'static str {
    match status {
        TurnStatus::RateLimit { .. } => "rate_limit",
        TurnStatus::AuthError { .. } => "authentication_failed",
        TurnStatus::QuotaExceeded { .. } => "billing_error",
        TurnStatus::ModelError {
            retryable: true, ..
        } => "server_error",
        TurnStatus::ModelError { .. } | TurnStatus::ContextOverflow { .. } => "invalid_request",
        _ => "unknown",
    }
}

fn block(block: &AssistantBlock) -> Value {
    match block {
        AssistantBlock::Text { text, .. } => json!({"type": "text", "text": text}),
        AssistantBlock::Thinking {
            thinking,
            signature,
            ..
        } => json!({
            "type": "thinking", "thinking": thinking, "signature": signature.as_deref().unwrap_or_default(),
        }),
        AssistantBlock::ToolCall(call) => {
            let (name, input) = tools::claude_call(&call.name, &call.arguments);
            json!({"type": "tool_use", "id": call.id, "name": name, "input": input})
        }
    }
}

fn result_block(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => json!({"type": "text", "text": text}),
        ContentBlock::Image { data, mime_type } => json!({"type": "image",
            "source": {"type": "base64", "media_type": mime_type, "data": data}}),
        ContentBlock::File {
            data, mime_type, ..
        } if mime_type == "application/pdf" => json!({"type": "document",
            "source": {"type": "base64", "media_type": mime_type, "data": data}}),
        file @ ContentBlock::File { .. } => json!({"type": "text", "text": file.description()}),
    }
}

/// A delta of the model, as Anthropic's API sends it.
fn stream_event(delta: &Delta) -> Value {
    let start = |index: usize, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let add = |index: usize, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    match delta {
        Delta::TextStart { index } => start(*index, json!({"type": "text", "text": ""})),
        Delta::TextDelta { index, delta } => {
            add(*index, json!({"type": "text_delta", "text": delta}))
        }
        Delta::ThinkingStart { index } => start(
            *index,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        Delta::ThinkingDelta { index, delta } => {
            add(*index, json!({"type": "thinking_delta", "thinking": delta}))
        }
        Delta::ToolcallStart { index, id, name } => start(
            *index,
            json!({"type": "tool_use", "id": id,
            "name": tools::theirs(name), "input": {}}),
        ),
        Delta::ToolcallDelta { index, delta } => add(
            *index,
            json!({"type": "input_json_delta", "partial_json": delta}),
        ),
        Delta::TextEnd { index, .. }
        | Delta::ThinkingEnd { index, .. }
        | Delta::ToolcallEnd { index, .. } => json!({"type": "content_block_stop", "index": index}),
    }
}

fn usage(usage: &Usage) -> Value {
    json!({"input_tokens": usage.input, "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write, "cache_read_input_tokens": usage.cache_read})
}

fn model_usage(usage: &Usage) -> Value {
    json!({"inputTokens": usage.input, "outputTokens": usage.output, "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_write, "webSearchRequests": 0, "costUSD": usage.cost.total})
}

fn stop(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::Stop => Some("end_turn"),
        StopReason::ToolUse => Some("tool_use"),
        StopReason::Length => Some("max_tokens"),
        StopReason::Refusal => Some("refusal"),
        StopReason::Paused => Some("pause_turn"),
        StopReason::Error | StopReason::Aborted | StopReason::Pending => None,
    }
}
