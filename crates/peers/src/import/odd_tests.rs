//! Sessions of other programs with one odd value: it costs at most its own line.

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

/// The places of all values in `value`, as JSON pointers, up to a depth.
fn places(value: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    if depth == 0 {
        return;
    }
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(parts) => (0..)
            .zip(parts)
            .map(|(at, part): (usize, _)| (at.to_string(), part))
            .collect(),
        _ => return,
    };
    for (name, member) in members {
        let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        places(member, &place, depth - 1, found);
        found.push(place);
    }
}

fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(7),
        json!(-1.5e300),
        json!(u64::MAX),
        json!(""),
        json!("12"),
        json!("\u{fffd}\u{0}"),
        json!([]),
        json!([[]]),
        json!([{"type": 3}]),
        json!({}),
        json!({"type": "text", "text": 5}),
    ]
}

fn check(source: ImportSource, fixture: &str, depth: usize) {
    let lines: Vec<Value> = fixture
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let all = read(source, &lines);
    assert!(all.len() > 3, "{all:?}");
    let mut faults = Vec::new();
    for index in 0..lines.len() {
        let mut others = lines.clone();
        others.remove(index);
        let without = read(source, &others);
        let mut found = Vec::new();
        places(&lines[index], "", depth, &mut found);
        for place in &found {
            for odd in odd_values() {
                // A new root and more turns that were rolled back are no mistakes.
                let is_root = odd.is_null() && place.to_lowercase().contains("parent");
                if is_root || place.ends_with("num_turns") {
                    continue;
                }
                let mut changed = lines.clone();
                *changed[index].pointer_mut(place).unwrap() = odd.clone();
                let mut texts = read(source, &changed);
                for text in &without {
                    match texts.iter().position(|have| have == text) {
                        Some(at) => drop(texts.remove(at)),
                        None => faults.push(format!(
                            "line {} {place} = {odd}: lost {text:.40}",
                            index + 1
                        )),
                    }
                }
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn an_odd_value_of_claude_code_costs_at_most_its_line() {
    check(
        ImportSource::Claude,
        include_str!("../../../../tests/fixtures/exchange/claude.jsonl"),
        4,
    );
}

#[test]
fn an_odd_value_of_codex_costs_at_most_its_line() {
    check(
        ImportSource::Codex,
        include_str!("../../../../tests/fixtures/exchange/codex.jsonl"),
        4,
    );
}

#[test]
fn an_odd_value_of_pi_costs_at_most_its_line() {
    check(
        ImportSource::Pi,
        include_str!("../../../../tests/fixtures/exchange/pi.jsonl"),
        4,
    );
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
