//! Print mode: the answer to each prompt, as text.

use osier_peers::formats::{Effect, Format, RunEnd};
use osier_protocol::Event;

/// The answers, or the values that match the schema, with an empty line between two.
#[derive(Debug, Default)]
pub struct TextFormat {
    has_written: bool,
}

impl Format for TextFormat {
    fn event(&mut self, _event: &Event, _effect: &mut Effect) {}

    fn end(&mut self, end: &RunEnd, effect: &mut Effect) {
        let answer = match &end.structured {
            Some(value) => value.to_string(),
            None => end.answer.trim_end().to_owned(),
        };
        if answer.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.has_written, true) {
            effect.output.push(b'\n');
        }
        effect.output.extend(answer.bytes());
        effect.output.push(b'\n');
    }

    fn continues(&self) -> bool {
        false
    }
}
