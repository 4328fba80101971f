//! JSON mode: messages in and events out, one JSON object per line.
//!
//! Input lines are `{"type":"message","content":…}`, `{"type":"interrupt"}` and, for a client that answers
//! questions, `{"type":"answer","id":…,"answer":…}`. Every event of the session is one line of output, with the time. An
//! invalid input line, such as one with an unknown field, causes an `error` line and has no other effect. After the end of
//! the input osier dismisses all questions.

use osier_agent::RunOutcome;
use osier_peers::formats::{Effect, Format, prompt_of};
use osier_protocol::questions::{Answer, Question};
use osier_protocol::{Event, Op, Prompt};
use osier_rpc::attachments;
use serde::Deserialize;
use serde_json::{Map, Value, json};

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
            Ok(Input::Message(prompt)) => effect.prompt = Some(prompt),
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

/// The types of input lines, each with the fields that it takes.
const TYPES: [(&str, &[&str]); 3] = [
    ("message", &["content", "images", "attachments"]),
    ("interrupt", &[]),
    ("answer", &["id", "answer"]),
];

/// A line of input.
#[derive(Debug)]
enum Input {
    Message(Prompt),
    Interrupt,
    /// Answers the pending question `id`.
    Answer {
        id: String,
        answer: Answer,
    },
}

/// Parses a line of input. The error names the part that is wrong and what is expected.
fn parse_line(line: &[u8]) -> Result<Input, String> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| format!("not valid JSON: {error}"))?;
    let valid = TYPES.map(|(name, _)| format!("`{name}`")).join(", ");
    let no_type = || format!("not an object with a `type`; expected one of {valid}");
    let Value::Object(mut fields) = value else {
        return Err(no_type());
    };
    let kind = fields.remove("type");
    let kind = kind.as_ref().and_then(Value::as_str).ok_or_else(no_type)?;
    let known = TYPES.iter().find(|(name, _)| *name == kind);
    let (_, known) =
        known.ok_or_else(|| format!("unknown type `{kind}`; expected one of {valid}"))?;
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        let known: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
        return Err(match known.as_slice() {
            [] => format!("unknown field `{unknown}`; `{kind}` takes none"),
            known => format!(
                "unknown field `{unknown}`; `{kind}` takes {}",
                known.join(", ")
            ),
        });
    }
    match kind {
        "message" => message(&fields).map(Input::Message),
        "answer" => {
            let id = fields.get("id").and_then(Value::as_str);
            let id = id.ok_or("missing field `id`")?.to_owned();
            let answer = fields.get("answer").ok_or("missing field `answer`")?;
            let answer = Answer::deserialize(answer).map_err(|error| format!("`answer`: {error}"));
            Ok(Input::Answer {
                id,
                answer: answer?,
            })
        }
        _ => Ok(Input::Interrupt),
    }
}

/// The prompt of a message: text or blocks, and files.
fn message(fields: &Map<String, Value>) -> Result<Prompt, String> {
    let content = fields.get("content").ok_or("missing field `content`")?;
    let mut prompt = prompt_of(content)?;
    prompt.attachments.extend(attachments(fields)?);
    Ok(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of one pixel.
    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn read(line: &Value) -> Result<Input, String> {
        parse_line(line.to_string().as_bytes())
    }

    fn sent(line: &Value) -> (String, Vec<String>) {
        match read(line) {
            Ok(Input::Message(prompt)) => {
                let files = prompt.attachments.iter();
                let files = files.map(|file| format!("{} {}", file.mime_type, file.content.len()));
                (prompt.text, files.collect())
            }
            other => panic!("{other:?}"),
        }
    }

    /// Every field of every type has an effect; any other field is refused by name.
    #[test]
    fn fields_have_an_effect_or_are_refused() {
        let picture = || {
            (
                "look".to_owned(),
                vec![format!("image/png {}", PIXEL.len())],
            )
        };
        let stored = json!({"id": "a", "kind": "image", "fileName": "a.png", "mimeType": "image/png",
            "size": 70, "content": PIXEL});
        for files in [
            json!({"content": "look", "images": [{"data": PIXEL, "mimeType": "image/png"}]}),
            json!({"content": "look", "attachments": [stored]}),
            json!({"content": [{"type": "text", "text": "look"}, {"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]}),
            json!({"content": [{"type": "text", "text": "look"},
                {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}),
        ] {
            let mut line = files;
            line["type"] = json!("message");
            assert_eq!(sent(&line), picture(), "{line}");
        }
        for (name, fields) in TYPES {
            let mut line =
                json!({"type": name, "content": "x", "id": "q", "answer": {"type": "yes"}});
            let line = line.as_object_mut().unwrap();
            line.retain(|field, _| field == "type" || fields.contains(&field.as_str()));
            let line = Value::Object(line.clone());
            assert!(read(&line).is_ok(), "{line}");
            let mut more = line.clone();
            more["extra"] = json!(1);
            let error = read(&more).unwrap_err();
            assert!(error.starts_with("unknown field `extra`"), "{error}");
            for field in fields {
                let mut wrong = line.clone();
                wrong[field] = json!(7);
                assert!(read(&wrong).is_err(), "{wrong}");
            }
        }
    }
}
