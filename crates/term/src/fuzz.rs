//! Invariants that hold for all input of a terminal, for fuzzing.

use crate::input::KeyCode;

use crate::input::{Decoder, InputEvent, PendingInput};
use osier_base::text;

pub use crate::keymap::fuzz::keymap;
pub use crate::theme::fuzz::theme;

/// Keys, pastes, the mouse and replies.
pub fn keys(data: &[u8]) {
    let whole = decoded(data, data.len().max(1));
    for size in [1, 2, 3, 7, 64] {
        assert_eq!(decoded(data, size), whole, "chunks of {size}");
    }
    assert!(whole.len() <= 2 * data.len(), "more events than bytes");
    for event in &whole {
        match event {
            InputEvent::Key(key) => assert!(
                !matches!(key.code, KeyCode::Char(char) if char.is_control()),
                "{key:?}"
            ),
            InputEvent::Paste(pasted) => {
                assert_eq!(text::sanitize(pasted), *pasted);
                assert!(pasted.len() <= 3 * data.len());
            }
            _ => {}
        }
    }
}

/// The events of `data` in chunks of `size` bytes, after which nothing comes.
fn decoded(data: &[u8], size: usize) -> Vec<InputEvent> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for chunk in data.chunks(size) {
        decoder.feed(chunk, &mut events);
    }
    decoder.expire(&mut events);
    // The rest of a sequence can still come.
    decoder.expire(&mut events);
    assert_eq!(decoder.pending(), PendingInput::Nothing);
    let typed = events.len();
    decoder.expire(&mut events);
    assert_eq!(events.len(), typed, "nothing expires twice");
    // The decoder is where it started.
    decoder.feed(b"a", &mut events);
    assert_eq!(
        events.pop(),
        Some(InputEvent::Key(crate::input::KeyPress::char('a')))
    );
    events
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_input_is_decoded() {
        osier_testing::fuzz::run_cases("keys", super::keys);
    }

    #[test]
    fn saved_keymaps_bind_what_they_say() {
        osier_testing::fuzz::run_cases("keymap", super::keymap);
    }

    #[test]
    fn saved_themes_have_valid_colours() {
        osier_testing::fuzz::run_cases("theme", super::theme);
    }
}
