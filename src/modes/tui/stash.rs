//! Prompts that are put aside, to be taken back in any session.

use std::time::Instant;

use super::app::App;
use super::overlays::stash;
use crate::coding::host::Op;
use crate::coding::stash::Stashed;

impl App {
    /// Puts what is typed aside; with nothing typed, lists what was put aside.
    pub(super) fn put_aside(&mut self, now: Instant) {
        if self.editor.is_empty() {
            return self.open_stash();
        }
        if !self.layers.is_empty() {
            return;
        }
        let text = self.editor.text();
        self.editor.clear();
        self.ops.push(Op::StashPrompt { text });
        let keys = self.keymap.keys_for("global", "stash");
        let key = keys.first().map_or("/stash", String::as_str);
        let text = format!("put aside; {key} in an empty prompt brings it back");
        self.toast(&text, false, now);
    }

    /// Lists what was put aside.
    pub(super) fn open_stash(&mut self) {
        self.layers.push(stash::ID, stash::picker(&self.stash));
        self.ops.push(Op::ListStash);
    }

    pub(super) fn stash_told(&mut self, prompts: &[Stashed]) {
        self.stash = prompts.to_vec();
        self.renew(stash::ID, stash::picker(&self.stash));
    }

    /// Puts a prompt back into the editor. What is typed there takes its place.
    pub(super) fn take_stashed(&mut self, id: &str) {
        let Some(place) = self.stash.iter().position(|prompt| prompt.id == id) else {
            return;
        };
        let taken = self.stash.remove(place);
        let typed = self.editor.text();
        if !typed.trim().is_empty() {
            self.ops.push(Op::StashPrompt { text: typed });
        }
        self.editor.set_text(&taken.text);
        self.ops.push(Op::DropStashed { stashed: taken.id });
    }
}
