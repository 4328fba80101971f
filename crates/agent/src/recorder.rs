//! Turns what a run does into log entries and accounting, and publishes them.

use super::core::Core;
use super::event::Event;
use super::log::{AccountingEntry, Direction, LogEntry, LogKind, LogSeverity};
use super::message::ToolResultMessage;
use super::tool::ToolOrigin;
use osier_base::{clock, text};
use osier_llm::{AssistantMessage, ContentBlock, Model, ToolCall, TurnStatus};

/// Longest value of one argument in a log line, in columns.
const ARGUMENT_WIDTH: usize = 60;

/// Writes the log of one run.
pub(super) struct Recorder<'a> {
    core: &'a Core,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(core: &'a Core) -> Self {
        Self { core }
    }

    /// A request is on its way: `(messages, bytes on the wire, last turn)`.
    pub(super) fn call_started(
        &self,
        turn: u32,
        model: &Model,
        (messages, bytes, last_turn): (usize, usize, bool),
        body: Option<String>,
    ) {
        let ending = if last_turn { " (final turn)" } else { "" };
        let message = format!("messages {messages}, {bytes} bytes{ending}");
        let entry = llm_entry(
            LogSeverity::Verbose,
            turn,
            Direction::Request,
            model,
            message,
        );
        self.log(entry.clone());
        if let Some(body) = body {
            let message = format!("request: {body}");
            self.log(LogEntry {
                severity: LogSeverity::Trace,
                message,
                ..entry
            });
        }
    }

    /// A call ended, however it did.
    pub(super) fn call_ended(
        &self,
        turn: u32,
        model: &Model,
        answer: &AssistantMessage,
        status: &TurnStatus,
    ) {
        let usage = answer.usage;
        if status.is_success() {
            let message = format!(
                "input {}, output {} tokens, {}ms, {} bytes",
                usage.context_tokens(),
                usage.output,
                answer.duration_ms,
                answer_bytes(answer),
            );
            let entry = llm_entry(
                LogSeverity::Verbose,
                turn,
                Direction::Response,
                model,
                message,
            );
            self.log(entry.clone());
            if self.core.config.trace {
                let content = serde_json::to_string(answer).unwrap_or_default();
                let message = format!("response: {content}");
                self.log(LogEntry {
                    severity: LogSeverity::Trace,
                    message,
                    ..entry
                });
            }
        }
        self.core.publish(Event::Accounting {
            entry: AccountingEntry::Llm {
                timestamp: answer.timestamp,
                provider: model.provider.clone(),
                model: model.id.clone(),
                usage,
                latency_ms: answer.duration_ms,
                status: status_name(status).to_owned(),
            },
        });
    }

    /// A call failed; `fatal` when nothing is tried after it.
    pub(super) fn call_failed(&self, turn: u32, model: &Model, status: &TurnStatus, fatal: bool) {
        let severity = if fatal {
            LogSeverity::Error
        } else {
            LogSeverity::Warning
        };
        let message = format!("{}: {}", status_name(status), status.message());
        let entry = llm_entry(severity, turn, Direction::Response, model, message);
        self.log(LogEntry { fatal, ..entry });
    }

    /// Something other than a model call ended the run.
    pub(super) fn fatal(&self, turn: u32, message: &str) {
        self.log(LogEntry {
            timestamp: clock::now_ms(),
            severity: LogSeverity::Error,
            turn,
            subturn: 0,
            direction: Direction::Response,
            kind: LogKind::Llm,
            remote_identifier: "agent".to_owned(),
            fatal: true,
            message: message.to_owned(),
        });
    }

    pub(super) fn tool_started(&self, turn: u32, place: usize, call: &ToolCall) {
        let message = format!("{}({})", call.name, compact_arguments(call));
        self.log(self.tool_entry((turn, place), Direction::Request, &call.name, message));
        if self.core.config.trace {
            let message = format!("params: {}", call.arguments);
            let entry = self.tool_entry((turn, place), Direction::Request, &call.name, message);
            self.log(LogEntry {
                severity: LogSeverity::Trace,
                ..entry
            });
        }
    }

    pub(super) fn tool_ended(&self, turn: u32, place: usize, message: &ToolResultMessage) {
        let name = &message.result.tool_name;
        let texts = message
            .result
            .content
            .iter()
            .filter_map(ContentBlock::as_text);
        let characters: u64 = texts.map(|text| text.chars().count() as u64).sum();
        let line = format!("{}ms, {characters} chars", message.duration_ms);
        let entry = self.tool_entry((turn, place), Direction::Response, name, line);
        self.log(entry.clone());
        if !message.status.is_success() {
            let status = serde_json::to_string(&message.status).unwrap_or_default();
            self.log(LogEntry {
                severity: LogSeverity::Warning,
                message: status,
                ..entry.clone()
            });
        }
        if self.core.config.trace {
            let content = serde_json::to_string(&message.result.content).unwrap_or_default();
            let message = format!("result: {content}");
            self.log(LogEntry {
                severity: LogSeverity::Trace,
                message,
                ..entry
            });
        }
        self.core.publish(Event::Accounting {
            entry: AccountingEntry::Tool {
                timestamp: message.result.timestamp,
                tool: name.clone(),
                latency_ms: message.duration_ms,
                status: message.status.name().to_owned(),
                characters,
            },
        });
    }

    fn tool_entry(
        &self,
        (turn, place): (u32, usize),
        direction: Direction,
        name: &str,
        message: String,
    ) -> LogEntry {
        let origin = self
            .core
            .state()
            .toolbox
            .get(name)
            .map(|tool| tool.origin());
        let (kind, remote_identifier) = match origin {
            Some(ToolOrigin::Server { server, tool }) => (LogKind::Mcp, format!("{server}:{tool}")),
            _ => (LogKind::Tool, name.to_owned()),
        };
        LogEntry {
            timestamp: clock::now_ms(),
            severity: LogSeverity::Verbose,
            turn,
            subturn: u32::try_from(place + 1).unwrap_or(u32::MAX),
            direction,
            kind,
            remote_identifier,
            fatal: false,
            message,
        }
    }

    fn log(&self, entry: LogEntry) {
        self.core.publish(Event::Log { entry });
    }
}

fn llm_entry(
    severity: LogSeverity,
    turn: u32,
    direction: Direction,
    model: &Model,
    message: String,
) -> LogEntry {
    LogEntry {
        timestamp: clock::now_ms(),
        severity,
        turn,
        subturn: 0,
        direction,
        kind: LogKind::Llm,
        remote_identifier: format!("{}:{}", model.provider, model.id),
        fatal: false,
        message,
    }
}

/// `path:/etc/hosts, limit:10`: one line, long values cut.
fn compact_arguments(call: &ToolCall) -> String {
    let Some(arguments) = call.arguments.as_object() else {
        return String::new();
    };
    let show = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text::single_line(text),
        None => value.to_string(),
    };
    let fields = arguments.iter().map(|(name, value)| {
        let value = show(value);
        format!("{name}:{}", text::truncate(&value, ARGUMENT_WIDTH))
    });
    fields.collect::<Vec<_>>().join(", ")
}

/// Bytes of everything the model wrote.
fn answer_bytes(answer: &AssistantMessage) -> usize {
    let calls = answer
        .tool_calls()
        .map(|call| call.arguments.to_string().len() + call.name.len());
    answer.text().len() + calls.sum::<usize>()
}

/// The status's name in logs and accounting: its serde tag.
fn status_name(status: &TurnStatus) -> &'static str {
    match status {
        TurnStatus::Success { .. } => "success",
        TurnStatus::RateLimit { .. } => "rate_limit",
        TurnStatus::AuthError { .. } => "auth_error",
        TurnStatus::QuotaExceeded { .. } => "quota_exceeded",
        TurnStatus::ModelError { .. } => "model_error",
        TurnStatus::NetworkError { .. } => "network_error",
        TurnStatus::Timeout { .. } => "timeout",
        TurnStatus::InvalidResponse { .. } => "invalid_response",
        TurnStatus::ContextOverflow { .. } => "context_overflow",
        TurnStatus::Aborted => "aborted",
    }
}
