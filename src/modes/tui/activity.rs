//! The line that says what is going on: working, waiting to try again, or nothing.

use std::time::{Duration, Instant};

use crate::base::{clock, text};
use crate::term::face::Token;
use crate::term::row::{Row, Span};
use crate::term::widgets::spinner;

/// How long a toast stays.
pub const TOAST_TIME: Duration = Duration::from_secs(4);

/// What is going on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Work {
    #[default]
    Idle,
    /// A run is on since then.
    Working { since: Instant },
    /// A failed call is tried again at `until`.
    Retrying {
        since: Instant,
        until: Instant,
        attempt: u32,
        attempts: u32,
        reason: String,
    },
    /// A command of the user runs since then.
    Shell { since: Instant },
}

/// The state of the line.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    pub work: Work,
    reduced_motion: bool,
    toast: Option<Toast>,
}

#[derive(Debug, Clone)]
struct Toast {
    text: String,
    error: bool,
    until: Instant,
}

impl Activity {
    pub fn new(reduced_motion: bool) -> Self {
        Self {
            reduced_motion,
            ..Self::default()
        }
    }

    pub fn is_idle(&self) -> bool {
        self.work == Work::Idle
    }

    /// Shows a line for a moment.
    pub fn toast(&mut self, text: impl Into<String>, error: bool, now: Instant) {
        self.toast = Some(Toast {
            text: text.into(),
            error,
            until: now + TOAST_TIME,
        });
    }

    /// When the line looks different without anything having happened.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        let toast = self
            .toast
            .as_ref()
            .map(|toast| toast.until)
            .filter(|until| *until > now);
        let tick = self.since().map(|since| {
            let elapsed = now.saturating_duration_since(since);
            if self.reduced_motion {
                return since + Duration::from_secs(elapsed.as_secs() + 1);
            }
            now + spinner::until_next(elapsed)
        });
        [toast, tick].into_iter().flatten().min()
    }

    /// The row at `now`, with `right` at its right edge.
    pub fn row(&self, now: Instant, width: u16, right: Option<&str>) -> Row {
        let mut row = Row::default();
        if let Some(since) = self.since() {
            let elapsed = now.saturating_duration_since(since);
            let mark = if self.reduced_motion {
                "·"
            } else {
                spinner::frame(elapsed)
            };
            row.push(mark, Token::Working);
            row.push(format!(" {}", self.label(now, elapsed)), Token::Muted);
        }
        if let Some(toast) = self.toast.as_ref().filter(|toast| toast.until > now) {
            let token = if toast.error {
                Token::Error
            } else {
                Token::Success
            };
            let separator = if row.spans.is_empty() { "" } else { "  " };
            row.push(
                format!("{separator}{}", text::single_line(&toast.text)),
                token,
            );
        }
        let width = usize::from(width);
        let Some(right) = right else {
            return clip(row, width);
        };
        // Where both do not fit, the left side gives way: the right says where the reader is.
        let right = text::truncate(right, width);
        let room = width - text::width(&right);
        let mut row = clip(row, room.saturating_sub(1));
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

    fn label(&self, now: Instant, elapsed: Duration) -> String {
        let seconds = clock::human_duration(elapsed.as_secs() * 1000);
        let seconds = seconds.replace(".0s", "s").replace("0ms", "0s");
        match &self.work {
            Work::Idle => String::new(),
            Work::Working { .. } => format!("Working · esc interrupts · {seconds}"),
            Work::Shell { .. } => format!("Running · esc stops it · {seconds}"),
            Work::Retrying {
                until,
                attempt,
                attempts,
                reason,
                ..
            } => {
                let left = until.saturating_duration_since(now).as_secs_f32().ceil();
                format!("Trying again in {left}s ({attempt}/{attempts}) · esc gives up · {reason}")
            }
        }
    }
}

/// Cuts a row at `width`.
fn clip(mut row: Row, width: usize) -> Row {
    let mut left = width;
    for span in &mut row.spans {
        let shown = text::truncate(&span.text, left);
        left = left.saturating_sub(text::width(&shown));
        if shown.len() != span.text.len() {
            *span = Span {
                text: shown.into(),
                ..span.clone()
            };
        }
    }
    row
}
