//! The interrupt key, pressed twice while nothing runs, opens the list of earlier prompts. The status line names the key
//! after the first run that changed files.

use std::time::{Duration, Instant};

use osier_tools::ToolEffect;

use crate::status::toast::TOAST_TIME;

/// Two presses within this time open the list: as long as the hint is shown.
const WINDOW: Duration = TOAST_TIME;

/// The first press, and whether the hint was shown.
#[derive(Debug, Default)]
pub(crate) struct Rewind {
    armed: Option<Instant>,
    hint: Hint,
}

/// The hint that files can be restored, which is shown after one run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Hint {
    #[default]
    Unknown,
    /// A file was changed in the current run.
    Wanted,
    Shown,
}

impl Rewind {
    /// Whether this press is the second one.
    pub(crate) fn confirms(&mut self, now: Instant) -> bool {
        let armed = self.armed.take();
        let is_second = armed.is_some_and(|since| now.saturating_duration_since(since) < WINDOW);
        if !is_second {
            self.armed = Some(now);
        }
        is_second
    }

    /// Another key was pressed: the next press is the first.
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
    }

    /// A tool has ended.
    pub(crate) fn on_tool(&mut self, name: &str, is_error: bool) {
        let changes = osier_tools::effect(name) == Some(ToolEffect::Changes);
        if self.hint == Hint::Unknown && !is_error && changes {
            self.hint = Hint::Wanted;
        }
    }

    /// Whether the hint is due now that a run has ended.
    pub(crate) fn take_hint(&mut self) -> bool {
        let is_due = self.hint == Hint::Wanted;
        if is_due {
            self.hint = Hint::Shown;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_presses_within_the_window_open_the_list() {
        let (mut rewind, now) = (Rewind::default(), Instant::now());
        assert!(!rewind.confirms(now));
        assert!(rewind.confirms(now + WINDOW / 2));
        assert!(!rewind.confirms(now + WINDOW));
        assert!(!rewind.confirms(now + WINDOW * 3));
        rewind.disarm();
        assert!(
            !rewind.confirms(now + WINDOW * 3),
            "another key was pressed"
        );
    }

    #[test]
    fn the_hint_is_due_once_after_a_changed_file() {
        let mut rewind = Rewind::default();
        rewind.on_tool("read", false);
        rewind.on_tool("edit", true);
        assert!(!rewind.take_hint());
        rewind.on_tool("edit", false);
        assert!(rewind.take_hint());
        rewind.on_tool("edit", false);
        assert!(!rewind.take_hint());
    }
}
