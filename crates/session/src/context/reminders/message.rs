//! The messages that remind the model.

use osier_agent::{AgentMessage, CustomMessage};
use osier_base::{clock, text, visible};
use serde_json::Value;

/// Maximum bytes of a name in a reminder.
const NAME_BYTES: usize = 200;

/// The name of a file or branch, which can be chosen to look like the end of a reminder.
pub(super) fn clean(name: &str) -> String {
    let name = text::single_line(&visible::visible(text::head_bytes(name, NAME_BYTES)));
    name.replace(['<', '>'], "?")
}

/// A message that the model gets and the user does not see.
pub(crate) fn message(kind: &str, text: &str, details: Value) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        kind: kind.to_owned(),
        text: format!("<system-reminder>\n{text}\n</system-reminder>"),
        display: false,
        details,
        timestamp: clock::now_ms(),
    })
}
