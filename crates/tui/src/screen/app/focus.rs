//! Whether a user sees the terminal.

use std::time::Instant;

/// The focus of the terminal, as far as the terminal reports it. tmux without `focus-events` and GNU screen never do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Focus {
    /// The last report.
    reported: Option<bool>,
    last_key: Option<Instant>,
}

impl Focus {
    pub(crate) fn report(&mut self, gained: bool) {
        self.reported = Some(gained);
    }

    pub(crate) fn on_key(&mut self, now: Instant) {
        self.last_key = Some(now);
    }

    /// Whether the terminal has the focus; true as long as nothing is reported.
    pub(crate) fn has_it(self) -> bool {
        self.reported.unwrap_or(true)
    }

    /// Whether nobody has seen what happened since `since`: the terminal lost the focus, or, without reports, no key
    /// came.
    pub(crate) fn is_away(self, since: Instant) -> bool {
        match self.reported {
            Some(has_it) => !has_it,
            None => self.last_key.is_none_or(|key| key <= since),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn without_reports_keys_show_that_a_user_is_there() {
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        let mut focus = Focus::default();
        focus.on_key(start);
        assert!(focus.is_away(start));
        focus.on_key(later);
        assert!(!focus.is_away(start));
        assert!(focus.is_away(later));
    }

    #[test]
    fn reports_are_believed() {
        let start = Instant::now();
        let mut focus = Focus::default();
        assert!(focus.has_it());
        focus.report(false);
        focus.on_key(start + Duration::from_secs(1));
        assert!(focus.is_away(start) && !focus.has_it());
        focus.report(true);
        assert!(!focus.is_away(start) && focus.has_it());
    }
}
