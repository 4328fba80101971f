//! Which screen of the terminal is used, and the rows of inline mode.

use std::time::Instant;

use super::screen::Screen;
use crate::conversation::Printing;
use crate::screen::inline;
use osier_term::terminal::Alternate;

impl Screen {
    /// Chooses the screen for the next frame.
    pub(super) fn choose_screen(&mut self, is_leaving: bool) {
        let size = self.terminal.size();
        let app = &self.tabs.front.app;
        let alternate = match inline::is_on(app) {
            true if is_leaving || !inline::covers_screen(app, size) => Alternate::Off,
            false if !self.writer.has_region() => Alternate::Always,
            _ => Alternate::Borrowed,
        };
        let is_inline = alternate == Alternate::Off;
        if self.writer.is_inline() != is_inline {
            let keeps_content = self.terminal.switch_screen(alternate);
            self.forget_pictures();
            self.writer
                .set_inline(is_inline, !self.terminal.kind().keeps_rows);
            if is_inline && !keeps_content {
                self.writer.forget_region();
            }
        }
    }

    /// The terminal was released: the next inline frame begins at its cursor.
    pub(super) fn begin_region(&mut self) {
        if self.writer.has_region() {
            self.writer
                .set_inline(true, !self.terminal.kind().keeps_rows);
            self.writer.forget_region();
        }
    }

    /// Prints the end of the conversation, which stays in the terminal in inline mode.
    pub(super) fn print_rest(&mut self, printing: Printing) {
        if inline::is_on(&self.tabs.front.app) && self.terminal.is_active() {
            self.draw_at(Instant::now(), printing);
        }
    }
}
