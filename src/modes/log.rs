//! The log on standard error and the accounting file, the same for every mode without a screen. On a terminal the log is
//! coloured, to distinguish it from the answer.

use std::io::{self, Write};

use osier_agent::{
    AgentMessage, Direction, LogEntry, LogKind, LogSeverity, RunOutcome, Severity, Subscription,
};
use osier_base::clock;
use osier_base::secrets::hide_known;
use osier_base::terminal_output::StyledWrite;
use osier_base::text::sanitize;
use osier_base::visible::visible;
use osier_llm::{Delta, StopReason};
use osier_protocol::{CheckpointEvent, Effect, Event, changed_outside};

use super::run::cut_reason;

/// Selects and formats the log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogOptions {
    pub verbose: bool,
    pub trace_llm: bool,
    pub trace_tools: bool,
}

impl LogOptions {
    /// Whether a flag asks for a log.
    pub fn is_asked(self) -> bool {
        self != Self::default()
    }
}

/// How much of warnings and errors is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Nothing: the output has all of it.
    Nothing,
    /// The output ends with the error.
    Warnings,
    Everything,
}

/// Shorter waits before a retry are not reported.
const SHOWN_DELAY_MS: u64 = 1000;

const THINKING: &str = "\x1b[37m";
const GREY: &str = "\x1b[90m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// Where the log and the accounting of a session go.
pub struct Log<'a> {
    pub options: LogOptions,
    pub level: LogLevel,
    pub out: &'a mut dyn StyledWrite,
    /// One JSON line per model call and tool call.
    pub accounting: Option<&'a mut dyn Write>,
}

osier_base::opaque_debug!(Log<'a>);

impl Log<'_> {
    /// Logs the events until the session shuts down.
    ///
    /// # Errors
    /// The accounting file cannot be written.
    pub async fn follow(mut self, mut events: Subscription<Event>) -> io::Result<()> {
        let mut path = None;
        let mut cut = None;
        while let Some(event) = events.recv().await {
            self.damage(&event, &mut path);
            match event {
                Event::Notice { severity, text, .. } => self.notice(severity, &text),
                Event::SessionFailed { message, .. } => self.notice(Severity::Error, &message),
                Event::Checkpoint(CheckpointEvent::FilesChangedOutside { paths, more }) => {
                    self.notice(Severity::Info, &changed_outside(&paths, more));
                }
                Event::CallReviewed {
                    tool_name, review, ..
                } => {
                    let severity = match review.decision {
                        Effect::Allow => Severity::Info,
                        Effect::Ask | Effect::Deny => Severity::Warning,
                    };
                    self.notice(severity, &format!("{tool_name}: {}", review.line()));
                }
                Event::SessionElsewhere { elsewhere } => {
                    self.notice(Severity::Warning, &elsewhere.message);
                }
                Event::SessionTakenOver { process } => {
                    let text = format!("process {process} took the session over");
                    self.notice(Severity::Warning, &text);
                }
                Event::ShutDown => break,
                Event::Agent(event) => self.agent_event(event, &mut cut)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn agent_event(
        &mut self,
        event: osier_agent::Event,
        cut: &mut Option<&'static str>,
    ) -> io::Result<()> {
        use osier_agent::Event as E;
        match event {
            E::Log { entry } if self.shows(&entry) => {
                self.write(shade_of(&entry), &log_line(&entry), "\n");
            }
            E::Accounting { entry } => {
                if let Some(file) = &mut self.accounting {
                    writeln!(file, "{}", serde_json::to_string(&entry)?)?;
                }
            }
            E::Notice { severity, text } => self.notice(severity, &text),
            E::RetryScheduled {
                attempt,
                max_attempts,
                delay_ms,
                ..
            } if delay_ms >= SHOWN_DELAY_MS => {
                let wait = clock::human_duration(delay_ms);
                let text = format!("retrying in {wait} ({attempt}/{max_attempts})");
                self.notice(Severity::Warning, &text);
            }
            E::MessageUpdate {
                delta: Delta::ThinkingDelta { delta, .. },
                ..
            } => self.thinking(&delta),
            E::MessageUpdate {
                delta: Delta::ThinkingEnd { .. },
                ..
            } => self.thinking("\n"),
            E::MessageEnd { message, .. } => {
                if let AgentMessage::Assistant(answer) = &*message {
                    // The loop warns about an answer without text.
                    *cut = cut_reason(answer).filter(|_| answer.stop_reason != StopReason::Stop);
                }
            }
            E::AgentSettled { outcome } => {
                if let Some(reason) = cut.take().filter(|_| outcome == RunOutcome::Completed) {
                    self.notice(Severity::Error, reason);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Warns about damage of the session file, whose `path` comes with its opening.
    fn damage(&mut self, event: &Event, path: &mut Option<String>) {
        let contents = match event {
            Event::SessionOpened { session, .. } => {
                path.clone_from(&session.path);
                session.contents
            }
            Event::SessionIndexed { contents } => Some(*contents),
            _ => None,
        };
        if let Some(text) = contents.and_then(|contents| contents.damage(path.as_deref())) {
            self.notice(Severity::Warning, &text);
        }
    }

    /// Thinking is shown on a terminal only, where its colour distinguishes it from the answer.
    fn thinking(&mut self, text: &str) {
        if self.options.verbose && self.out.is_terminal() {
            self.write(THINKING, &sanitize(text), "");
        }
    }

    fn notice(&mut self, severity: Severity, text: &str) {
        let (name, shade, is_shown) = match severity {
            Severity::Info => ("VRB", GREY, self.options.verbose),
            Severity::Warning => ("WRN", YELLOW, self.level != LogLevel::Nothing),
            Severity::Error => ("ERR", RED, self.level == LogLevel::Everything),
        };
        if is_shown {
            self.write(shade, &format!("[{name}] {}", visible(text)), "\n");
        }
    }

    fn shows(&self, entry: &LogEntry) -> bool {
        match (entry.severity, entry.kind) {
            (LogSeverity::Warning, _) => self.level != LogLevel::Nothing,
            (LogSeverity::Error, _) => self.level == LogLevel::Everything,
            (LogSeverity::Verbose, _) => self.options.verbose,
            (LogSeverity::Trace, LogKind::Llm) => self.options.trace_llm,
            (LogSeverity::Trace, LogKind::Tool | LogKind::Mcp) => self.options.trace_tools,
        }
    }

    /// A failed write to standard error does not affect the answer.
    fn write(&mut self, shade: &str, text: &str, end: &str) {
        let text = &*hide_known(text);
        let written = self.out.styled(shade, text, RESET);
        let _ = written.and_then(|()| self.out.write_all(end.as_bytes()));
    }
}

/// Formats a log line: `[VRB] → [1.0] llm anthropic:claude: messages 3, 1247 bytes`.
pub fn log_line(entry: &LogEntry) -> String {
    let severity = match entry.severity {
        LogSeverity::Verbose => "VRB",
        LogSeverity::Warning => "WRN",
        LogSeverity::Error => "ERR",
        LogSeverity::Trace => "TRC",
    };
    let arrow = match entry.direction {
        Direction::Request => '→',
        Direction::Response => '←',
    };
    let kind = match entry.kind {
        LogKind::Llm => "llm",
        LogKind::Tool => "tool",
        LogKind::Mcp => "mcp",
    };
    let LogEntry {
        turn,
        subturn,
        remote_identifier,
        message,
        ..
    } = entry;
    let remote_identifier = visible(remote_identifier);
    let message = match entry.severity {
        // JSON, which has no hidden control characters, and whose blanks are not counted.
        LogSeverity::Trace => sanitize(message),
        _ => visible(message),
    };
    format!("[{severity}] {arrow} [{turn}.{subturn}] {kind} {remote_identifier}: {message}")
}

fn shade_of(entry: &LogEntry) -> &'static str {
    match entry.severity {
        LogSeverity::Verbose | LogSeverity::Trace => GREY,
        LogSeverity::Warning => YELLOW,
        LogSeverity::Error => RED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_line_has_the_documented_format() {
        let entry = LogEntry {
            timestamp: 0,
            severity: LogSeverity::Verbose,
            turn: 1,
            subturn: 0,
            direction: Direction::Request,
            kind: LogKind::Llm,
            remote_identifier: "openai:gpt-5".into(),
            fatal: false,
            message: "messages 3, 1247 bytes".into(),
        };
        let line = "[VRB] → [1.0] llm openai:gpt-5: messages 3, 1247 bytes";
        assert_eq!(log_line(&entry), line);
        assert_eq!(shade_of(&entry), GREY);
        let warning = LogEntry {
            severity: LogSeverity::Warning,
            ..entry
        };
        assert_eq!(log_line(&warning), line.replace("VRB", "WRN"));
        assert_eq!(shade_of(&warning), YELLOW);
        let hidden = LogEntry {
            kind: LogKind::Tool,
            remote_identifier: "bash\u{1b}[2K".into(),
            message: "bash(command:touch x\rls -la)".into(),
            ..warning
        };
        assert_eq!(
            log_line(&hidden),
            "[WRN] → [1.0] tool bash^[[2K: bash(command:touch x␍ls -la)"
        );
    }
}
