//! Print mode: only the answer on standard output; the log on standard error.
//!
//! On a terminal the log is coloured, to distinguish it from the answer.

use std::io::{self, Write};

use osier_agent::{
    AccountingEntry, AgentMessage, Direction, LogEntry, LogKind, LogSeverity, RunOutcome, Severity,
    Subscription,
};
use osier_base::clock;
use osier_base::terminal_output::StyledWrite;
use osier_base::text::sanitize;
use osier_base::visible::visible;
use osier_llm::{Delta, StopReason};
use osier_protocol::{CheckpointEvent, Effect, Event, Op, changed_outside, final_text};
use osier_session::SessionHandle;

use super::prompt_request::PromptRequest;
use osier_protocol::Prompt;

/// Selects and formats the log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogOptions {
    pub verbose: bool,
    pub trace_llm: bool,
    pub trace_tools: bool,
}

/// The outputs of print mode.
pub struct Sinks<'a> {
    pub answer: &'a mut dyn Write,
    pub log: &'a mut dyn StyledWrite,
    /// One JSON line per model call and tool call.
    pub accounting: Option<&'a mut dyn Write>,
}

/// Shorter waits before a retry are not reported.
const SHOWN_DELAY_MS: u64 = 1000;

/// The last answer, and why it is incomplete.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    cut: Option<&'static str>,
}

const THINKING: &str = "\x1b[37m";
const GREY: &str = "\x1b[90m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// Why an answer is not complete although the call succeeded.
pub(super) fn cut_reason(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Length => Some(
            "the answer is incomplete: it reached the output limit of the model; ask for less at once, or raise \
             `maxTokens` in models.json",
        ),
        StopReason::Refusal => Some(
            "the answer is incomplete: the model or the content filter of its provider refused; change the prompt",
        ),
        _ => None,
    }
}

/// Runs the prompts one after the other until one fails. Returns the outcome of the last run.
pub async fn run(
    session: &SessionHandle,
    mut events: Subscription<Event>,
    prompts: Vec<Prompt>,
    options: LogOptions,
    mut sinks: Sinks<'_>,
) -> io::Result<RunOutcome> {
    let mut outcome = RunOutcome::Completed;
    let mut answer = Answer::default();
    let mut path = None;
    for prompt in prompts {
        let request = session.next_request();
        session.ask(request, prompt.into());
        answer = Answer::default();
        let ended = handle_events(
            &mut events,
            request,
            &mut answer,
            &mut path,
            options,
            &mut sinks,
        );
        let Some(ended) = ended.await? else {
            return Ok(RunOutcome::Interrupted);
        };
        outcome = ended;
        if outcome != RunOutcome::Completed || answer.cut.is_some() {
            break;
        }
    }
    if outcome == RunOutcome::Completed && !answer.text.is_empty() {
        writeln!(sinks.answer, "{}", answer.text.trim_end())?;
        sinks.answer.flush()?;
    }
    if let (RunOutcome::Completed, Some(reason)) = (&outcome, answer.cut) {
        write_notice(sinks.log, Severity::Error, reason, options);
        let message = reason.to_owned();
        outcome = RunOutcome::Stopped { message };
    }
    session.send(Op::ShutDown);
    while let Some(event) = events.recv().await
        && event != Event::ShutDown
    {
        write_damage(&event, &mut path, options, &mut sinks);
    }
    Ok(outcome)
}

/// Handles the events of one run, for the prompt that `request` sent, and stores the text of the last answer. `None` when
/// the session shut down first.
async fn handle_events(
    events: &mut Subscription<Event>,
    request: u64,
    answer: &mut Answer,
    path: &mut Option<String>,
    options: LogOptions,
    sinks: &mut Sinks<'_>,
) -> io::Result<Option<RunOutcome>> {
    let mut prompt = PromptRequest::new(request);
    while let Some(event) = events.recv().await {
        write_damage(&event, path, options, sinks);
        if let Some(outcome) = prompt.on_event(&event) {
            return Ok(Some(outcome));
        }
        match event {
            Event::Notice { severity, text, .. } => {
                write_notice(sinks.log, severity, &text, options);
            }
            // Do not continue in a session other than the requested one.
            Event::SessionFailed { message, .. } => {
                write_notice(sinks.log, Severity::Error, &message, options);
                return Ok(Some(RunOutcome::Stopped { message }));
            }
            Event::Checkpoint(CheckpointEvent::FilesChangedOutside { paths, more }) => {
                let text = changed_outside(&paths, more);
                write_notice(sinks.log, Severity::Info, &text, options);
            }
            Event::CallReviewed {
                tool_name, review, ..
            } => {
                let severity = match review.decision {
                    Effect::Allow => Severity::Info,
                    Effect::Ask | Effect::Deny => Severity::Warning,
                };
                let text = format!("{tool_name}: {}", review.line());
                write_notice(sinks.log, severity, &text, options);
            }
            Event::ShutDown => break,
            Event::Agent(event) => match event {
                osier_agent::Event::Log { entry } if shows(&entry, options) => {
                    write_log(sinks.log, shade_of(&entry), &log_line(&entry), "\n");
                }
                osier_agent::Event::Accounting { entry } => write_accounting(sinks, &entry)?,
                osier_agent::Event::Notice { severity, text } => {
                    write_notice(sinks.log, severity, &text, options);
                }
                osier_agent::Event::RetryScheduled {
                    attempt,
                    max_attempts,
                    delay_ms,
                    ..
                } if delay_ms >= SHOWN_DELAY_MS => {
                    let wait = clock::human_duration(delay_ms);
                    let text = format!("retrying in {wait} ({attempt}/{max_attempts})");
                    write_notice(sinks.log, Severity::Warning, &text, options);
                }
                osier_agent::Event::MessageUpdate {
                    delta: Delta::ThinkingDelta { delta, .. },
                    ..
                } if options.verbose => write_thinking(sinks.log, &delta),
                osier_agent::Event::MessageUpdate {
                    delta: Delta::ThinkingEnd { .. },
                    ..
                } if options.verbose => write_thinking(sinks.log, "\n"),
                osier_agent::Event::MessageEnd { message, .. } => {
                    if let Some(text) = final_text(&message) {
                        answer.text = text;
                    }
                    if let AgentMessage::Assistant(message) = &*message {
                        answer.cut = cut_reason(message.stop_reason);
                    }
                }
                osier_agent::Event::AgentSettled { outcome } => return Ok(Some(outcome)),
                _ => {}
            },
            _ => {}
        }
    }
    Ok(None)
}

/// Warns about damage of the session file, whose `path` comes with its opening.
fn write_damage(
    event: &Event,
    path: &mut Option<String>,
    options: LogOptions,
    sinks: &mut Sinks<'_>,
) {
    let contents = match event {
        Event::SessionOpened { session, .. } => {
            path.clone_from(&session.path);
            session.contents
        }
        Event::SessionIndexed { contents } => Some(*contents),
        _ => None,
    };
    if let Some(text) = contents.and_then(|contents| contents.damage(path.as_deref())) {
        write_notice(sinks.log, Severity::Warning, &text, options);
    }
}

fn write_accounting(sinks: &mut Sinks<'_>, entry: &AccountingEntry) -> io::Result<()> {
    let Some(file) = &mut sinks.accounting else {
        return Ok(());
    };
    let line = serde_json::to_string(entry)?;
    writeln!(file, "{line}")
}

/// Writes to the log. A failed write to standard error does not affect the answer.
fn write_log(log: &mut dyn StyledWrite, shade: &str, text: &str, end: &str) {
    let written = log.styled(shade, text, RESET);
    let _ = written.and_then(|()| log.write_all(end.as_bytes()));
}

/// Thinking is shown on a terminal only, where its colour tells it from the answer.
fn write_thinking(log: &mut dyn StyledWrite, text: &str) {
    if log.is_terminal() {
        write_log(log, THINKING, &sanitize(text), "");
    }
}

fn write_notice(log: &mut dyn StyledWrite, severity: Severity, text: &str, options: LogOptions) {
    let (name, shade) = match severity {
        Severity::Info if !options.verbose => return,
        Severity::Info => ("VRB", GREY),
        Severity::Warning => ("WRN", YELLOW),
        Severity::Error => ("ERR", RED),
    };
    write_log(log, shade, &format!("[{name}] {}", visible(text)), "\n");
}

/// Whether the options include this entry. Warnings and errors are always included.
pub fn shows(entry: &LogEntry, options: LogOptions) -> bool {
    match (entry.severity, entry.kind) {
        (LogSeverity::Warning | LogSeverity::Error, _) => true,
        (LogSeverity::Verbose, _) => options.verbose,
        (LogSeverity::Trace, LogKind::Llm) => options.trace_llm,
        (LogSeverity::Trace, LogKind::Tool | LogKind::Mcp) => options.trace_tools,
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

impl std::fmt::Debug for Sinks<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sinks").finish_non_exhaustive()
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
        assert!(shows(&warning, LogOptions::default()));
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
