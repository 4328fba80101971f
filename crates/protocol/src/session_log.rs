//! The log of a session: warnings, errors, retries and failed calls, which no message has.

use osier_agent::{LogKind, LogSeverity, Severity};
use osier_base::clock;
use serde::{Deserialize, Serialize};

use crate::Event;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    pub severity: Severity,
    pub text: String,
}

impl LogLine {
    /// The line for an event, if it belongs in the log.
    pub fn of(event: &Event) -> Option<Self> {
        use osier_agent::Event as E;
        let (severity, text) = match event {
            Event::Notice { severity, text, .. } | Event::Agent(E::Notice { severity, text }) => {
                (*severity, text.clone())
            }
            Event::SessionFailed { message, .. } => (Severity::Error, message.clone()),
            Event::Agent(E::Log { entry }) => {
                let severity = match entry.severity {
                    LogSeverity::Warning => Severity::Warning,
                    LogSeverity::Error => Severity::Error,
                    LogSeverity::Verbose | LogSeverity::Trace => return None,
                };
                let kind = match entry.kind {
                    LogKind::Llm => "model call",
                    LogKind::Tool | LogKind::Mcp => "tool call",
                };
                let text = format!("{kind} {}: {}", entry.remote_identifier, entry.message);
                (severity, text)
            }
            Event::Agent(E::RetryScheduled {
                attempt,
                max_attempts,
                delay_ms,
                status,
            }) => {
                let wait = clock::human_duration(*delay_ms);
                let reason = status.message();
                let text = format!("retry {attempt}/{max_attempts} in {wait}: {reason}");
                (Severity::Warning, text)
            }
            Event::Agent(E::ProviderSwitched { from, to, status }) => {
                let text = format!("switched from {from} to {to}: {}", status.message());
                (Severity::Warning, text)
            }
            _ => return None,
        };
        (severity != Severity::Info).then(|| Self {
            timestamp: clock::now_ms(),
            severity,
            text,
        })
    }

    /// The line for people: time, severity, text.
    pub fn shown(&self) -> String {
        let severity = match self.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        format!(
            "{} {severity}: {}",
            clock::rfc3339(self.timestamp),
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use osier_llm::TurnStatus;

    use super::*;

    #[test]
    fn retries_warnings_and_errors_are_logged_and_other_events_are_not() {
        let notice = |severity| Event::Notice {
            severity,
            text: "it is late".to_owned(),
            request: None,
        };
        let line = |event: &Event| LogLine::of(event).map(|line| (line.severity, line.text));
        assert_eq!(line(&notice(Severity::Info)), None);
        assert_eq!(
            line(&notice(Severity::Error)),
            Some((Severity::Error, "it is late".to_owned()))
        );
        let retry = Event::Agent(osier_agent::Event::RetryScheduled {
            attempt: 1,
            max_attempts: 5,
            delay_ms: 2000,
            status: TurnStatus::Timeout {
                message: "no answer".to_owned(),
            },
        });
        let text = "retry 1/5 in 2.0s: no answer".to_owned();
        assert_eq!(line(&retry), Some((Severity::Warning, text)));
        assert_eq!(line(&Event::ShutDown), None);
        let shown = LogLine {
            timestamp: 0,
            severity: Severity::Warning,
            text: "late".to_owned(),
        };
        assert_eq!(shown.shown(), "1970-01-01T00:00:00.000Z warning: late");
    }
}
