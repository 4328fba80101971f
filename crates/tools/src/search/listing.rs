//! A result list for a model, limited in size and shown while it grows.

use crate::commands::live_output::Live;
use crate::commands::output::MODEL_BYTES;
use osier_agent::UpdateSink;

/// A text that grows line by line.
#[derive(Debug)]
pub(crate) struct Listing {
    text: String,
    /// Bytes of the text that were sent to the screen.
    shown: usize,
    live: Live,
    full: bool,
}

impl Listing {
    pub(crate) fn new(updates: UpdateSink) -> Self {
        Self {
            text: String::new(),
            shown: 0,
            live: Live::new(updates),
            full: false,
        }
    }

    /// Adds complete lines. Returns false, and adds nothing, when there is no room.
    pub(crate) fn push(&mut self, lines: &str) -> bool {
        self.full |= self.text.len() + lines.len() > MODEL_BYTES;
        if !self.full {
            self.text.push_str(lines);
        }
        !self.full
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Shows the added lines, a few times per second at most.
    pub(crate) fn show(&mut self) {
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
    pub(crate) fn end(mut self, notices: &[String]) -> String {
        self.show();
        self.live.end();
        for notice in notices {
            self.text.push_str(notice);
            self.text.push('\n');
        }
        self.text
    }
}
