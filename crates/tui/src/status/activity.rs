//! The status line: working, waiting to retry, or idle.
//!
//! While the model works, it changes several times a second, also over slow connections. To send few bytes, spinner and
//! clock share a face, so that a change needs no colour codes, and nothing moves when a number gets another digit.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::toast::ToastLine;
use osier_agent::Event as AgentEvent;
use osier_base::text;
use osier_llm::Delta;
use osier_settings::ScreenSettings;
use osier_term::widgets::spinner;
use osier_term::{Row, Token, sentence};

/// How long a step of a run takes before the line names it: short ones would only flicker.
const STEP_TIME: Duration = Duration::from_secs(3);

/// Columns of a time, to align the text after it.
const TIME_COLUMNS: usize = 5;

/// The current activity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Work {
    #[default]
    Idle,
    /// A run is on since then.
    Working { since: Instant },
    /// A failed call is tried again at `until`.
    Retrying {
        since: Instant,
        until: Instant,
        /// How long the wait is in all.
        delay: Duration,
        attempt: u32,
        attempts: u32,
        reason: String,
    },
    /// A command of the user runs since then.
    Shell { since: Instant },
}

/// The state of the line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    work: Work,
    pub(crate) settings: Arc<ScreenSettings>,
    pub(crate) toast: ToastLine,
    hint: Option<String>,
    /// The step that the run waits for, and its start.
    step: Option<(String, Instant)>,
    streamed: Streamed,
}

/// The bytes of answers that the run has received.
#[derive(Debug, Clone, Copy, Default)]
struct Streamed {
    bytes: usize,
    /// Second of the run in which the shown number was counted: it changes with the time, so that a tick writes both.
    second: u64,
    shown: usize,
}

/// Bytes of a token, about.
const BYTES_PER_TOKEN: usize = 4;

impl Activity {
    pub(crate) fn new(settings: Arc<ScreenSettings>) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.work == Work::Idle
    }

    /// A run of the agent, or a call of a model outside of one, begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.work = Work::Working { since: now };
        self.hint = None;
        self.step = None;
        self.streamed = Streamed::default();
    }

    pub(crate) fn end(&mut self) {
        self.work = Work::Idle;
    }

    /// A run has ended; a command of the user may continue. Returns since when the run was on.
    pub(crate) fn settle(&mut self, runs_shell: bool, now: Instant) -> Option<Instant> {
        let since = self.run_since();
        self.work = if runs_shell {
            Work::Shell { since: now }
        } else {
            Work::Idle
        };
        since
    }

    /// A command of the user begins; a run has priority.
    pub(crate) fn begin_shell(&mut self, now: Instant) {
        if self.is_idle() {
            self.work = Work::Shell { since: now };
        }
    }

    pub(crate) fn end_shell(&mut self) {
        if matches!(self.work, Work::Shell { .. }) {
            self.work = Work::Idle;
        }
    }

    /// A failed call is tried again later.
    pub(crate) fn begin_retry(&mut self, event: &AgentEvent, now: Instant) {
        if let AgentEvent::RetryScheduled {
            attempt,
            max_attempts,
            delay_ms,
            status,
        } = event
        {
            let delay = Duration::from_millis(*delay_ms);
            self.work = Work::Retrying {
                since: self.run_since().unwrap_or(now),
                until: now + delay,
                delay,
                attempt: *attempt,
                attempts: *max_attempts,
                reason: status.message().to_owned(),
            };
        }
    }

    /// Follows what the run waits for.
    pub(crate) fn follow(&mut self, event: &AgentEvent, now: Instant) {
        if let AgentEvent::MessageUpdate { delta, .. } = event {
            self.count(delta, now);
        }
        let step = match event {
            AgentEvent::TurnStart { .. } => "waiting for the model".to_owned(),
            AgentEvent::MessageUpdate { delta, .. } => match delta {
                Delta::ThinkingStart { .. } => "thinking".to_owned(),
                Delta::TextStart { .. } => "writing".to_owned(),
                Delta::ToolcallStart { name, .. } => format!("calling {}", text::single_line(name)),
                _ => return,
            },
            AgentEvent::ToolExecutionStart { tool_name, .. } => {
                format!("running {}", text::single_line(tool_name))
            }
            _ => return,
        };
        self.step = Some((step, now));
    }

    /// Counts what a model writes.
    fn count(&mut self, delta: &Delta, now: Instant) {
        let (Delta::TextDelta { delta, .. }
        | Delta::ThinkingDelta { delta, .. }
        | Delta::ToolcallDelta { delta, .. }) = delta
        else {
            return;
        };
        let elapsed = self
            .run_since()
            .map(|since| now.saturating_duration_since(since));
        let second = elapsed.unwrap_or_default().as_secs();
        let streamed = &mut self.streamed;
        streamed.bytes += delta.len();
        if streamed.second != second {
            (streamed.second, streamed.shown) = (second, streamed.bytes);
        }
    }

    /// The call that failed is tried again.
    pub(crate) fn end_retry(&mut self) {
        if let Work::Retrying { since, .. } = self.work {
            self.work = Work::Working { since };
        }
    }

    /// Since when a run is on, also while a failed call waits.
    pub(crate) fn run_since(&self) -> Option<Instant> {
        match self.work {
            Work::Working { since } | Work::Retrying { since, .. } => Some(since),
            Work::Idle | Work::Shell { .. } => None,
        }
    }

    /// When the line changes next without an event.
    pub(crate) fn next_change(&self, now: Instant) -> Option<Instant> {
        // A screen reader would read again what changes by itself.
        let since = self.since().filter(|_| !self.settings.screen_reader);
        let tick = since.map(|since| {
            let elapsed = now.saturating_duration_since(since);
            if self.settings.reduced_motion {
                return since + Duration::from_secs(elapsed.as_secs() + 1);
            }
            now + spinner::until_next(elapsed)
        });
        [self.toast.end(), tick].into_iter().flatten().min()
    }

    /// Shows a hint while nothing runs and no toast is shown, until the next run.
    pub(crate) fn set_hint(&mut self, hint: Option<String>) {
        self.hint = hint;
    }

    /// The row at `now`, with `right` at its right edge. `asks`: a question waits for the user.
    pub(crate) fn row(&self, now: Instant, width: u16, right: Option<&str>, asks: bool) -> Row {
        let mut row = Row::default();
        if let Some(since) = self.since() {
            let elapsed = now.saturating_duration_since(since);
            let mark = if self.settings.reduced_motion {
                "·"
            } else {
                spinner::frame(elapsed)
            };
            if self.settings.screen_reader {
                row.push(self.words(asks), Token::Working);
            } else {
                row.push(mark, Token::Working);
                self.label(since, elapsed, asks, &mut row);
            }
        }
        if let Some((toast, token)) = self.toast.line(now) {
            if let Some(time) = row
                .spans
                .last_mut()
                .filter(|time| time.face == Token::Working.into() && !self.settings.screen_reader)
            {
                time.text = format!("{:<TIME_COLUMNS$}", time.text).into();
            }
            if !self.settings.screen_reader || !row.spans.is_empty() {
                row.push("  ", token);
            }
            row.spans.extend(sentence(&toast, token));
        }
        if let Some(hint) = self.hint.as_ref().filter(|_| row.spans.is_empty()) {
            if !self.settings.screen_reader {
                row.push("  ", Token::Muted);
            }
            row.push(hint.clone(), Token::Muted);
        }
        let width = usize::from(width);
        let Some(right) = right else {
            return row.truncated(width);
        };
        // Where both do not fit, the left side is cut: the right shows the position.
        let right = text::truncate(right, width);
        let room = width - text::width(&right);
        let mut row = row.truncated(room.saturating_sub(1));
        row.push(" ".repeat(room.saturating_sub(row.width())), Token::Text);
        row.push(right.into_owned(), Token::Accent);
        row
    }

    fn since(&self) -> Option<Instant> {
        match &self.work {
            Work::Idle => None,
            Work::Working { since } | Work::Retrying { since, .. } | Work::Shell { since } => {
                Some(*since)
            }
        }
    }

    /// The text without times and counts.
    fn words(&self, asks: bool) -> String {
        match &self.work {
            Work::Idle => String::new(),
            Work::Working { .. } if asks => "Waiting for you, esc to interrupt ".to_owned(),
            Work::Working { .. } => "Working, esc to interrupt ".to_owned(),
            Work::Shell { .. } => "Running, esc to stop ".to_owned(),
            Work::Retrying {
                attempt,
                attempts,
                reason,
                ..
            } => format!("Retrying, {attempt} of {attempts}, esc to cancel: {reason} "),
        }
    }

    fn label(&self, since: Instant, elapsed: Duration, asks: bool, row: &mut Row) {
        match &self.work {
            Work::Idle => {}
            Work::Working { .. } => {
                let state = if asks {
                    " Waiting for you · esc to interrupt · "
                } else {
                    " Working · esc to interrupt · "
                };
                row.push(state, Token::Muted);
                let step = self.step.as_ref().filter(|(_, begun)| {
                    !asks && (since + elapsed).saturating_duration_since(*begun) >= STEP_TIME
                });
                let step = step.map(|(step, _)| step.as_str());
                let tokens = self.streamed.shown / BYTES_PER_TOKEN;
                let tokens = (!asks && elapsed >= STEP_TIME && tokens > 0).then_some(tokens);
                row.push(timed(elapsed, step, tokens), Token::Working);
            }
            Work::Shell { .. } => {
                row.push(" Running · esc to stop · ", Token::Muted);
                row.push(time(elapsed), Token::Working);
            }
            Work::Retrying {
                until,
                delay,
                attempt,
                attempts,
                reason,
                ..
            } => {
                // Counted by the seconds of the clock: the spinner rests when one of them is over.
                let second = since + Duration::from_secs(elapsed.as_secs());
                let left = until.saturating_duration_since(second).min(*delay);
                let seconds = |time: Duration| time.as_millis().div_ceil(1000);
                let digits = seconds(*delay).to_string().len();
                row.push(" Retrying in ", Token::Muted);
                row.push(format!("{:>digits$}", seconds(left)), Token::Working);
                let rest = format!("s ({attempt}/{attempts}) · esc to cancel · {reason}");
                row.push(rest, Token::Muted);
            }
        }
    }
}

fn time(elapsed: Duration) -> String {
    let mut text = String::with_capacity(TIME_COLUMNS);
    write_time(&mut text, elapsed);
    text
}

/// `9s`, `4:05`, `2h07`: at most five columns, of which a tick changes few.
fn write_time(text: &mut String, elapsed: Duration) {
    let seconds = elapsed.as_secs();
    let written = match seconds {
        0..60 => write!(text, "{seconds}s"),
        60..3600 => write!(text, "{}:{:02}", seconds / 60, seconds % 60),
        _ => write!(text, "{}h{:02}", seconds / 3600, seconds / 60 % 60),
    };
    // Writing to a string cannot fail.
    let _ = written;
}

/// A time, the step that it has reached, and the tokens of the answers. One allocation of the exact size: it is written
/// with every tick.
fn timed(elapsed: Duration, step: Option<&str>, tokens: Option<usize>) -> String {
    if step.is_none() && tokens.is_none() {
        return time(elapsed);
    }
    let step = step.unwrap_or_default();
    let gap = if step.is_empty() { "" } else { " · " };
    let digits = |number: usize| {
        number
            .checked_ilog10()
            .map_or(1, |digits| digits as usize + 1)
    };
    let written = tokens.map_or(0, |tokens| {
        let number = match tokens {
            0..1000 => digits(tokens),
            _ => digits(tokens / 1000) + ".0k".len(),
        };
        gap.len() + "≈".len() + number + " tokens".len()
    });
    let mut text = String::with_capacity(TIME_COLUMNS + 1 + step.len() + written);
    write_time(&mut text, elapsed);
    while text.len() <= TIME_COLUMNS {
        text.push(' ');
    }
    text.push_str(step);
    let written = match tokens {
        None => Ok(()),
        Some(tokens @ 0..1000) => write!(text, "{gap}≈{tokens} tokens"),
        Some(tokens) => {
            let (thousands, tenths) = (tokens / 1000, tokens % 1000 / 100);
            write!(text, "{gap}≈{thousands}.{tenths}k tokens")
        }
    };
    // Writing to a string cannot fail.
    let _ = written;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_motion() -> Activity {
        Activity::new(Arc::new(ScreenSettings {
            reduced_motion: true,
            ..ScreenSettings::default()
        }))
    }

    #[test]
    fn the_status_says_that_a_question_waits() {
        let mut activity = without_motion();
        let now = Instant::now();
        activity.begin(now);
        let text = |asks: bool| activity.row(now, 60, None, asks).text();
        assert_eq!(text(true), "· Waiting for you · esc to interrupt · 0s");
        assert_eq!(text(false), "· Working · esc to interrupt · 0s");
    }

    #[test]
    fn the_tokens_of_an_answer_are_counted_once_a_second() {
        let mut activity = without_motion();
        let now = Instant::now();
        activity.begin(now);
        let at = |millis| now + Duration::from_millis(millis);
        let mut write = |millis, bytes: usize| {
            let delta = Delta::TextDelta {
                index: 0,
                delta: "a".repeat(bytes),
            };
            activity.count(&delta, at(millis));
            activity.row(at(millis), 80, None, false).text()
        };
        let shown = |rest: &str| format!("· Working · esc to interrupt · {rest}");
        assert_eq!(write(2000, 400), shown("2s"));
        assert_eq!(write(4000, 400), shown("4s    ≈200 tokens"));
        assert_eq!(write(4900, 400), shown("4s    ≈200 tokens"));
        assert_eq!(write(65_000, 4000), shown("1:05  ≈1.3k tokens"));
        activity.step = Some(("writing".to_owned(), now));
        let text = activity.row(at(65_000), 80, None, false).text();
        assert_eq!(text, shown("1:05  writing · ≈1.3k tokens"));
        activity.begin(now);
        assert_eq!(activity.row(now, 80, None, false).text(), shown("0s"));
    }

    #[test]
    fn a_long_step_is_named() {
        let mut activity = without_motion();
        let now = Instant::now();
        activity.begin(now);
        activity.follow(&AgentEvent::TurnStart { turn: 1 }, now);
        let text = |seconds| {
            let at = now + Duration::from_secs(seconds);
            activity.row(at, 80, None, false).text()
        };
        assert_eq!(text(2), "· Working · esc to interrupt · 2s");
        assert_eq!(
            text(65),
            "· Working · esc to interrupt · 1:05  waiting for the model"
        );
    }
}
