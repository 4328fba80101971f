//! Log entries and accounting of a run.

use std::borrow::Cow;

use osier_base::secrets::hide_known;
use osier_base::{clock, text};
use osier_llm::{AssistantMessage, ContentBlock, Model, ToolCall, TurnStatus};

use crate::core::Core;
use crate::data::{
    AccountingEntry, Direction, Event, LogEntry, LogKind, LogSeverity, ToolOrigin,
    ToolResultMessage,
};
use crate::interceptor::AgentAccess;

/// Maximum width of one argument in a log line, in columns.
const ARGUMENT_WIDTH: usize = 60;

/// Publishes the log entries and the accounting of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunLog<'a> {
    core: &'a Core,
}

/// A request in a log entry.
pub(super) struct RequestSummary {
    pub messages: usize,
    /// Length of the body.
    pub bytes: usize,
    pub is_last_turn: bool,
}

/// A tool call in a log entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallNumber {
    pub turn: u32,
    /// Index of the call within its answer.
    pub index: usize,
}

impl<'a> RunLog<'a> {
    pub(super) fn new(core: &'a Core) -> Self {
        Self { core }
    }

    /// Logs a request; `body` is set when tracing.
    pub(super) fn call_started(
        self,
        turn: u32,
        model: &Model,
        request: &RequestSummary,
        body: Option<String>,
    ) {
        let RequestSummary {
            messages, bytes, ..
        } = request;
        let suffix = if request.is_last_turn {
            " (final turn)"
        } else {
            ""
        };
        let message = format!("messages {messages}, {bytes} bytes{suffix}");
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

    /// Logs the end of a model call, whatever its status.
    pub(super) fn call_ended(
        self,
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

    /// Logs a failed model call; `fatal` when it is not retried.
    pub(super) fn call_failed(self, turn: u32, model: &Model, status: &TurnStatus, fatal: bool) {
        let severity = if fatal {
            LogSeverity::Error
        } else {
            LogSeverity::Warning
        };
        let message = format!("{}: {}", status_name(status), status.message());
        let entry = llm_entry(severity, turn, Direction::Response, model, message);
        self.log(LogEntry { fatal, ..entry });
    }

    /// Logs an error other than a failed model call that ended the run.
    pub(super) fn fatal(self, turn: u32, message: &str) {
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

    pub(super) fn tool_started(self, number: CallNumber, call: &ToolCall) {
        let message = format!("{}({})", call.name, compact_arguments(call));
        self.log(self.tool_entry(number, Direction::Request, &call.name, message));
        if self.core.config.trace {
            let message = format!("params: {}", call.arguments);
            let entry = self.tool_entry(number, Direction::Request, &call.name, message);
            self.log(LogEntry {
                severity: LogSeverity::Trace,
                ..entry
            });
        }
    }

    pub(super) fn tool_ended(self, number: CallNumber, message: &ToolResultMessage) {
        let name = &message.result.tool_name;
        let texts = message
            .result
            .content
            .iter()
            .filter_map(ContentBlock::as_text);
        let characters: u64 = texts.map(|text| text.chars().count() as u64).sum();
        let line = format!("{}ms, {characters} chars", message.duration_ms);
        let entry = self.tool_entry(number, Direction::Response, name, line);
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
        self,
        number: CallNumber,
        direction: Direction,
        name: &str,
        message: String,
    ) -> LogEntry {
        let toolbox = self.core.state().tools.toolbox.clone();
        let origin = toolbox.get(name).map(|tool| tool.origin());
        let (kind, remote_identifier) = match origin {
            Some(ToolOrigin::Server { server, tool }) => (LogKind::Mcp, format!("{server}:{tool}")),
            _ => (LogKind::Tool, name.to_owned()),
        };
        LogEntry {
            timestamp: clock::now_ms(),
            severity: LogSeverity::Verbose,
            turn: number.turn,
            subturn: u32::try_from(number.index + 1).unwrap_or(u32::MAX),
            direction,
            kind,
            remote_identifier,
            fatal: false,
            message,
        }
    }

    /// Publishes an entry without the keys of osier, because logs leave the machine.
    fn log(self, mut entry: LogEntry) {
        if let Cow::Owned(hidden) = hide_known(&entry.message) {
            entry.message = hidden;
        }
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

/// Arguments in one line with long values truncated: `path:/etc/hosts, limit:10`.
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

/// Bytes of the text and the calls of an answer.
fn answer_bytes(answer: &AssistantMessage) -> usize {
    let calls = answer
        .tool_calls()
        .map(|call| call.arguments.to_string().len() + call.name.len());
    answer.text().len() + calls.sum::<usize>()
}

/// The name of a status in logs and accounting, equal to its serde tag.
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
