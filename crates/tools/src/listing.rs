//! A result list for a model, limited in size and shown while it grows.

use super::live_output::Live;
use super::output::MODEL_BYTES;
use osier_agent::UpdateSink;

/// A text that grows line by line.
#[derive(Debug)]
pub(super) struct Listing {
    text: String,
    /// Bytes of the text that were sent to the screen.
    shown: usize,
    live: Live,
    full: bool,
}

impl Listing {
    pub(super) fn new(updates: UpdateSink) -> Self {
        Self {
            text: String::new(),
            shown: 0,
            live: Live::new(updates),
            full: false,
        }
    }

    /// Adds complete lines. Returns false, and adds nothing, when there is no room.
    pub(super) fn push(&mut self, lines: &str) -> bool {
        self.full |= self.text.len() + lines.len() > MODEL_BYTES;
        if !self.full {
            self.text.push_str(lines);
        }
        !self.full
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Shows the added lines, a few times per second at most.
    pub(super) fn show(&mut self) {
        let new = &self.text[self.shown..];
        if new.is_empty() {
            if self.live.due().is_some() {
                self.live.push(b"");
            }
            return;
        }
        self.live.push(new.as_bytes());
        self.shown = self.text.len();
    }

    /// The text, followed by each of `notices` on its own line.
    pub(super) fn end(mut self, notices: &[String]) -> String {
        self.show();
        self.live.end();
        for notice in notices {
            self.text.push_str(notice);
            self.text.push('\n');
        }
        self.text
    }
}
