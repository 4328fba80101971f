//! JSON mode: messages in and events out, one JSON object per line.
//!
//! Input lines are `{"type":"message","content":…}`, `{"type":"interrupt"}` and, for a client that answers
//! questions, `{"type":"answer","id":…,"answer":…}`. Every event of the session is one line of output. An
//! invalid input line causes an `error` line and has no other effect. After the end of the input osier
//! dismisses all questions.

use osier_agent::RunOutcome;
use osier_peers::formats::{Effect, Format};
use osier_protocol::questions::{Answer, Question};
use osier_protocol::{Event, Op, Prompt};
use serde::Deserialize;
use serde_json::{Value, json};

/// Every event as a line.
#[derive(Debug, Default)]
pub struct JsonFormat;

impl Format for JsonFormat {
    fn event(&mut self, event: &Event, effect: &mut Effect) {
        effect.line(event);
        if let Event::Agent(osier_agent::Event::AgentSettled { outcome }) = event
            && *outcome == RunOutcome::Interrupted
        {
            effect.line(&json!({"type": "interrupted"}));
        }
    }

    fn input(&mut self, line: &[u8], effect: &mut Effect) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match parse_line(line) {
            Ok(Input::Message { content }) => {
                effect.prompt = Some(Prompt {
                    text: content.into_text(),
                    ..Prompt::default()
                });
            }
            Ok(Input::Interrupt) => effect.ops.push(osier_agent::Op::Abort.into()),
            Ok(Input::Answer { id, answer }) => effect.ops.push(Op::AnswerQuestion { id, answer }),
            Err(error) => effect.line(&json!({
                "type": "error",
                "message": format!("invalid input line: {error}"),
                "hint": "send {\"type\":\"message\",\"content\":\"…\"}, {\"type\":\"interrupt\"} or {\"type\":\"answer\",\"id\":\"…\",\"answer\":{…}}",
            })),
        }
    }

    fn answers(&self, _question: &Question) -> bool {
        true
    }
}

/// The types of input lines.
const TYPES: [&str; 3] = ["message", "interrupt", "answer"];

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Input {
    Message {
        content: Content,
    },
    Interrupt,
    /// Answers the pending question `id`.
    Answer {
        id: String,
        answer: Answer,
    },
}

/// Text, or a list of text blocks.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`content` must be a string or a list of `{\"type\":\"text\",\"text\":\"…\"}`"
)]
enum Content {
    Text(String),
    Blocks(Vec<TextBlock>),
}

#[derive(Debug, Deserialize)]
struct TextBlock {
    text: String,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Blocks(blocks) => blocks
                .into_iter()
                .map(|block| block.text)
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }
}

/// Parses a line of input. The error names the part that is wrong and what is expected.
fn parse_line(line: &[u8]) -> Result<Input, String> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| format!("not valid JSON: {error}"))?;
    let valid = TYPES.map(|name| format!("`{name}`")).join(", ");
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if TYPES.contains(&kind) => {}
        Some(kind) => return Err(format!("unknown type `{kind}`; expected one of {valid}")),
        None => {
            return Err(format!(
                "not an object with a `type`; expected one of {valid}"
            ));
        }
    }
    if let Some(answer) = value.get("answer") {
        Answer::deserialize(answer).map_err(|error| format!("`answer`: {error}"))?;
    }
    Input::deserialize(value).map_err(|error| error.to_string())
}
