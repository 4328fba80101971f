//! Print mode: only the last answer, as text.

use osier_peers::formats::{Effect, Format, RunEnd};
use osier_protocol::Event;

/// The last answer, or the value that matches the schema.
#[derive(Debug, Default)]
pub struct TextFormat {
    answer: String,
}

impl Format for TextFormat {
    fn event(&mut self, _event: &Event, _effect: &mut Effect) {}

    fn end(&mut self, end: &RunEnd, _effect: &mut Effect) {
        self.answer = match &end.structured {
            Some(value) => value.to_string(),
            None => end.answer.trim_end().to_owned(),
        };
    }

    fn continues(&self) -> bool {
        false
    }

    fn finish(&mut self, effect: &mut Effect) {
        if !self.answer.is_empty() {
            effect.output.extend(self.answer.bytes());
            effect.output.push(b'\n');
        }
    }
}
