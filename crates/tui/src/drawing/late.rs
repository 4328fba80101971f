//! A view that opens while the user types, because its contents took a moment: until the typing pauses, keys belong to the editor.

use std::time::{Duration, Instant};

/// The pause after which the view takes keys.
const PAUSE: Duration = Duration::from_millis(700);

/// When the user last typed into the editor, and the view that has opened since.
#[derive(Debug, Default)]
pub(crate) struct Late {
    typed: Option<Instant>,
    view: Option<&'static str>,
}

impl Late {
    /// A character was typed into the editor.
    pub(crate) fn typed(&mut self, now: Instant) {
        self.typed = Some(now);
    }

    /// The user gave a command: the view that opens now is wanted.
    pub(crate) fn forget(&mut self) {
        self.typed = None;
    }

    /// An event has opened the view with this id while the editor has text.
    pub(crate) fn opened(&mut self, view: Option<&'static str>, now: Instant) {
        self.view = view.filter(|_| self.is_typing(now));
    }

    /// Whether a key is still meant for the editor although the view with the id `top` is in front.
    pub(crate) fn holds(&mut self, top: Option<&'static str>, now: Instant) -> bool {
        let is_held = self.view.is_some() && self.view == top && self.is_typing(now);
        if !is_held {
            self.view = None;
        }
        is_held
    }

    fn is_typing(&self, now: Instant) -> bool {
        self.typed
            .is_some_and(|typed| now.saturating_duration_since(typed) < PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_waits_for_a_pause_in_the_typing() {
        let (mut late, now) = (Late::default(), Instant::now());
        late.opened(Some("diff"), now);
        assert!(!late.holds(Some("diff"), now), "nothing was typed");
        late.typed(now);
        late.opened(Some("diff"), now + PAUSE / 2);
        assert!(late.holds(Some("diff"), now + PAUSE / 2));
        late.typed(now + PAUSE / 2);
        assert!(late.holds(Some("diff"), now + PAUSE));
        assert!(!late.holds(Some("diff"), now + PAUSE * 2));
        late.typed(now + PAUSE * 2);
        assert!(
            !late.holds(Some("diff"), now + PAUSE * 2),
            "it was reached once"
        );
        late.forget();
        late.opened(Some("tree"), now + PAUSE * 2);
        assert!(
            !late.holds(Some("tree"), now + PAUSE * 2),
            "a command was given"
        );
    }
}
