//! The status line: working, waiting to retry, or idle.
//!
//! While the model works, it changes several times a second, also over slow connections. To send few bytes, spinner and
//! clock share a face, so that a change needs no colour codes, and nothing moves when a number gets another digit.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::toast::{self, ToastLine};
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
    /// The key that queues the prompt, while there is one.
    pub(crate) queue_key: Option<String>,
    /// The name of work that is no answer of the model.
    task: Option<&'static str>,
    streamed: Streamed,
    server: Server,
}

/// Whether the client has a connection to the server that does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Server {
    /// This program does the work itself, or the client has not joined a session yet.
    #[default]
    None,
    Heard,
    /// The connection was lost at this time; the rest of the activity is what was known then.
    Silent {
        since: Instant,
    },
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
        self.task = None;
        self.streamed = Streamed::default();
    }

    /// Stores whether the client is connected to the server.
    pub(crate) fn set_connected(&mut self, is_connected: bool, now: Instant) {
        self.server = match self.server {
            _ if is_connected => Server::Heard,
            Server::Heard => Server::Silent { since: now },
            unchanged => unchanged,
        };
    }

    /// Names the work that runs, until it ends.
    pub(crate) fn begin_task(&mut self, task: &'static str) {
        self.task = Some(task);
    }

    pub(crate) fn end_task(&mut self) {
        self.task = None;
    }

    pub(crate) fn end(&mut self) {
        self.work = Work::Idle;
        self.task = None;
    }

    /// A run has ended; a command of the user may continue. Returns since when the run was on.
    pub(crate) fn settle(&mut self, runs_shell: bool, now: Instant) -> Option<Instant> {
        let since = self.run_since();
        self.task = None;
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

    /// Updates the step that the run waits for.
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
        let (since, is_silent) = match self.server {
            Server::Silent { since } => (Some(since), true),
            Server::None | Server::Heard => (self.since(), false),
        };
        let since = since.filter(|_| !self.settings.screen_reader);
        let tick = since.map(|since| {
            let elapsed = now.saturating_duration_since(since);
            if is_silent || self.settings.reduced_motion {
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

    /// The number of rows of the status line at `now`: a reason or a toast that is too long for one has more.
    pub(crate) fn height(&self, now: Instant, width: u16, asks: bool) -> u16 {
        let below = self.below(now, width, asks).len();
        u16::try_from(below).unwrap_or_default().saturating_add(1)
    }

    /// The rows of the status line below its first one.
    pub(crate) fn below(&self, now: Instant, width: u16, asks: bool) -> Vec<Row> {
        if self.settings.screen_reader {
            return Vec::new();
        }
        let width = usize::from(width);
        let is_silent = matches!(self.server, Server::Silent { .. });
        if let Work::Retrying { reason, .. } = &self.work
            && !is_silent
        {
            if self
                .reason_fits(&self.label_row(now, asks), width)
                .is_some()
            {
                return Vec::new();
            }
            let reason = text::single_line(reason);
            return toast::wrapped(&reason, Token::Text, width, " /log shows all");
        }
        let Some((toast, token)) = self.toast.line(now) else {
            return Vec::new();
        };
        let label = self.label_row(now, asks).width();
        if label + 2 + text::width(&toast) <= width {
            return Vec::new();
        }
        let mut rows = toast::wrapped(&toast, token, width, "");
        if label == 0 {
            rows.remove(0);
        }
        rows
    }

    /// The reason of a retry, if it fits behind the label.
    fn reason_fits(&self, label: &Row, width: usize) -> Option<String> {
        let Work::Retrying { reason, .. } = &self.work else {
            return None;
        };
        if let Server::Silent { .. } = self.server {
            return None;
        }
        let reason = format!(" · {}", text::single_line(reason));
        (label.width() + text::width(&reason) <= width).then_some(reason)
    }

    /// The running work, and for how long it runs.
    fn label_row(&self, now: Instant, asks: bool) -> Row {
        let mut row = Row::default();
        if let Server::Silent { since } = self.server {
            let text = self.last_known(since, now, asks);
            row.push(
                if self.settings.screen_reader {
                    ""
                } else {
                    "· "
                },
                Token::Warning,
            );
            row.push(text, Token::Warning);
            return row;
        }
        if let Some(since) = self.since() {
            let elapsed = now.saturating_duration_since(since);
            let mark = if self.settings.reduced_motion {
                "·"
            } else {
                spinner::frame(elapsed)
            };
            if self.settings.screen_reader {
                row.push(self.summary(asks), Token::Working);
            } else {
                row.push(mark, Token::Working);
                self.label(since, elapsed, asks, &mut row);
            }
        }
        row
    }

    /// The first row of the status line, with `right` at the right edge. `asks`: a question waits for the user.
    pub(crate) fn row(&self, now: Instant, width: u16, right: Option<&str>, asks: bool) -> Row {
        let mut row = self.label_row(now, asks);
        if let Some(reason) = self.reason_fits(&row, usize::from(width))
            && !self.settings.screen_reader
        {
            row.push(reason, Token::Text);
        }
        let is_long = !self.below(now, width, asks).is_empty();
        let is_retrying = matches!(self.work, Work::Retrying { .. });
        if let Some((toast, token)) = self.toast.line(now).filter(|_| is_long && !is_retrying) {
            if row.spans.is_empty() {
                row = toast::wrapped(&toast, token, usize::from(width), "").swap_remove(0);
            }
        } else if let Some((toast, token)) = self.toast.line(now) {
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
        // Keys at the right have the row for themselves.
        let taken = right.map_or(0, |right| text::width(right) + 3);
        let fits = |hint: &&String| taken + text::width(hint) <= usize::from(width);
        let hint = self.hint.as_ref().filter(|_| row.spans.is_empty());
        if let Some(hint) = hint.filter(|hint| taken == 0 || fits(hint)) {
            if !self.settings.screen_reader {
                row.push("  ", Token::Muted);
            }
            row.push(hint.clone(), Token::Text);
        }
        let width = usize::from(width);
        // A notice that fits only without the position is read first.
        let is_notice = is_retrying || self.toast.is_shown(now);
        let fits = |right: &&str| !is_notice || row.width() + text::width(right) < width;
        let Some(right) = right.filter(fits) else {
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

    /// The text without a connection: since when nothing is known, and the last known work. It offers no key, because nothing can be
    /// interrupted.
    fn last_known(&self, lost: Instant, now: Instant, asks: bool) -> String {
        let step = self
            .task
            .or(self.step.as_ref().map(|(step, _)| step.as_str()));
        let work = match &self.work {
            Work::Idle => None,
            Work::Working { .. } if asks => Some("waiting for you"),
            Work::Working { .. } => Some(step.unwrap_or("working")),
            Work::Retrying { .. } => Some("waiting to retry"),
            Work::Shell { .. } => Some("running your command"),
        };
        if self.settings.screen_reader {
            let work = work.unwrap_or("nothing ran");
            return format!("Not connected, last known: {work} ");
        }
        let silent = running_time(now.saturating_duration_since(lost));
        match work.zip(self.since()) {
            None => format!("Not connected for {silent}"),
            Some((work, since)) => {
                let reached = running_time(lost.saturating_duration_since(since));
                format!("Not connected for {silent} · last known: {work}, {reached}")
            }
        }
    }

    /// The text without times and counts.
    fn summary(&self, asks: bool) -> String {
        match &self.work {
            Work::Idle => String::new(),
            Work::Working { .. } if asks => "Waiting for you, esc to interrupt ".to_owned(),
            Work::Working { .. } => match self.task {
                Some(task) => format!("Working, {task}, esc to interrupt "),
                None => "Working, esc to interrupt ".to_owned(),
            },
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
                if let Some(key) = self.queue_key.as_ref().filter(|_| !asks) {
                    row.push(format!("{key} to queue · "), Token::Muted);
                }
                let step = self.step.as_ref().filter(|(_, begun)| {
                    !asks && (since + elapsed).saturating_duration_since(*begun) >= STEP_TIME
                });
                let step = self.task.or(step.map(|(step, _)| step.as_str()));
                let tokens = self.streamed.shown / BYTES_PER_TOKEN;
                let tokens = (!asks && elapsed >= STEP_TIME && tokens > 0).then_some(tokens);
                row.push(timed(elapsed, step, tokens), Token::Working);
            }
            Work::Shell { .. } => {
                row.push(" Running · esc to stop · ", Token::Muted);
                row.push(running_time(elapsed), Token::Working);
            }
            Work::Retrying {
                until,
                delay,
                attempt,
                attempts,
                ..
            } => {
                // Counted by the seconds of the clock: the spinner rests when one of them is over.
                let second = since + Duration::from_secs(elapsed.as_secs());
                let left = until.saturating_duration_since(second).min(*delay);
                let seconds = |time: Duration| time.as_millis().div_ceil(1000);
                let digits = seconds(*delay).to_string().len();
                row.push(" Retrying in ", Token::Muted);
                row.push(format!("{:>digits$}", seconds(left)), Token::Working);
                let rest = format!("s ({attempt}/{attempts}) · esc to cancel");
                row.push(rest, Token::Muted);
            }
        }
    }
}

/// A time that runs: `9s`, `4:05`, `2h07`.
pub(crate) fn running_time(elapsed: Duration) -> String {
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
        return running_time(elapsed);
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

    /// The texts of all rows of the status line.
    fn rows(activity: &Activity, now: Instant, width: u16) -> Vec<String> {
        let first = activity.row(now, width, None, false);
        let rows = std::iter::once(first).chain(activity.below(now, width, false));
        rows.map(|row| row.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_reason_has_two_rows_and_a_task_is_named_until_it_ends() {
        let mut activity = without_motion();
        let now = Instant::now();
        activity.begin(now);
        activity.begin_task("summarizing the earlier conversation");
        let shown = |activity: &Activity| rows(activity, now, 44);
        let text = activity.row(now, 80, None, false).text();
        let expected = "· Working · esc to interrupt · 0s    summarizing the earlier conversation";
        assert_eq!(text, expected);
        activity.end();
        assert_eq!(shown(&activity), [""]);
        activity.work = Work::Retrying {
            since: now,
            until: now + Duration::from_secs(2),
            delay: Duration::from_secs(2),
            attempt: 3,
            attempts: 5,
            reason: "bad answered 500: the server had an error while it processed your request"
                .to_owned(),
        };
        let expected = [
            "· Retrying in 2s (3/5) · esc to cancel",
            "  bad answered 500: the server had an error",
            "  while it processed your request",
        ];
        assert_eq!(shown(&activity), expected);
        assert_eq!(activity.height(now, 44, false), 3);
        let narrow: Vec<String> = activity
            .below(now, 30, false)
            .iter()
            .map(Row::text)
            .collect();
        assert!(narrow[1].ends_with("… /log shows all"), "{narrow:?}");
    }

    #[test]
    fn a_toast_that_is_too_long_for_one_row_has_two() {
        let mut activity = without_motion();
        let now = Instant::now();
        let text = "answer, 2 lines: sent to tmux, which ignores it";
        activity.toast.show(&crate::actions::Toast::info(text), now);
        let shown = |activity: &Activity| rows(activity, now, 40);
        let rows = ["  answer, 2 lines: sent to tmux, which", "  ignores it"];
        assert_eq!(shown(&activity), rows);
        activity.begin(now);
        let working = "· Working · esc to interrupt · 0s";
        assert_eq!(shown(&activity), [working, rows[0], rows[1]]);
    }

    #[test]
    fn a_notice_is_not_cut_by_the_position() {
        let mut activity = without_motion();
        let now = Instant::now();
        let row = |activity: &Activity| activity.row(now, 40, Some("↓ end"), false).text();
        activity
            .toast
            .show(&crate::actions::Toast::info("answer, 2 lines: copied"), now);
        assert_eq!(row(&activity), "  answer, 2 lines: copied          ↓ end");
        let text = "enter exports to this file, .html";
        activity.toast.show(&crate::actions::Toast::info(text), now);
        assert_eq!(row(&activity), format!("  {text}"));
    }

    /// Without a connection, the work may have ended: the line has no spinner, and no key that would do nothing.
    #[test]
    fn without_a_connection_the_last_known_state_is_shown() {
        let mut activity = without_motion();
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let text = |activity: &Activity, seconds| activity.row(at(seconds), 80, None, false).text();
        // Until the client has joined, the start page shows the state.
        activity.set_connected(false, now);
        assert_eq!(text(&activity, 3), "");
        activity.set_connected(true, now);
        activity.begin(now);
        activity.step = Some(("writing".to_owned(), now));
        activity.set_connected(false, at(22));
        let shown = "· Not connected for 1:08 · last known: writing, 22s";
        assert_eq!(text(&activity, 90), shown);
        assert_eq!(activity.next_change(at(90)), Some(at(91)));
        activity.end();
        assert_eq!(text(&activity, 90), "· Not connected for 1:08");
        activity.set_connected(true, at(91));
        assert_eq!(text(&activity, 91), "");
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
