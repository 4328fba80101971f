//! Sessions of other programs with odd values.

use std::path::Path;

use osier_agent::AgentMessage;
use osier_protocol::ImportSource;
use serde_json::{Value, json};

use super::draft::Draft;
use super::lines::{Read, regular};
use super::{claude, codex, pi};

/// The lines of the texts of the branch that ends with the last entry, oldest first.
fn branch(draft: &Draft) -> Vec<String> {
    let mut at = draft.last();
    let mut texts = Vec::new();
    for entry in draft.entries.iter().rev() {
        if at.as_ref() != Some(&entry.id) {
            continue;
        }
        at.clone_from(&entry.parent_id);
        texts.extend(entry.kind.as_message().map(AgentMessage::text));
    }
    texts.reverse();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn read(source: ImportSource, lines: &[Value]) -> Vec<String> {
    let mut draft = Draft::new(source);
    let mut reader: Box<dyn Read> = match source {
        ImportSource::Claude => Box::new(claude::Reader::new(Path::new("/none/session.jsonl"))),
        ImportSource::Codex => Box::new(codex::Reader::default()),
        _ => Box::new(pi::Reader::default()),
    };
    for (number, line) in (1..).zip(lines) {
        draft.line = number;
        reader.line(regular(line.clone()), &mut draft);
    }
    reader.end(&mut draft);
    branch(&draft)
}

/// A count of any size is no fault.
#[test]
fn huge_counts_are_read() {
    let huge = u64::MAX;
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload});
    let message = |role: &str, text: &str| {
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}),
        )
    };
    let usage = json!({"input_tokens": huge, "cached_input_tokens": huge, "cache_write_input_tokens": huge});
    let lines = [
        message("user", "one"),
        message("assistant", "two"),
        line(
            "event_msg",
            json!({"type": "token_count", "info": {"last_token_usage": usage}}),
        ),
    ];
    assert_eq!(read(ImportSource::Codex, &lines), ["one", "two"]);
}

/// Values that other versions and programs write in place of the usual ones are read as what they mean.
#[test]
fn other_forms_of_the_same_values_are_read() {
    let claude = |lines: &[Value]| read(ImportSource::Claude, lines);
    let user = |uuid: Value, parent: Value, content: Value| {
        json!({"type": "user", "sessionId": 5, "uuid": uuid,
        "parentUuid": parent, "message": {"role": "user", "content": content}})
    };
    let answer = |uuid: Value, parent: Value, content: Value| {
        json!({"type": "assistant", "sessionId": 5, "uuid": uuid,
        "parentUuid": parent, "message": {"role": "assistant", "content": content}})
    };
    for lines in [
        [
            user(json!(1), Value::Null, json!("one")),
            answer(json!(2), json!(1), json!("two")),
            user(json!(3), json!(2), json!({"type": "text", "text": "three"})),
        ],
        [
            user(json!("a"), Value::Null, json!(["one"])),
            answer(
                Value::Null,
                json!("a"),
                json!({"type": "text", "text": "two"}),
            ),
            user(
                json!("c"),
                json!({}),
                json!([{"type": "text", "text": "three"}]),
            ),
        ],
    ] {
        assert_eq!(claude(&lines), ["one", "two", "three"]);
    }
}
