//! Sessions of other programs with odd values.

use std::path::Path;

use osier_agent::AgentMessage;
use osier_llm::Usage;
use osier_llm::catalogue::Catalogue;
use osier_protocol::ImportSource;
use serde_json::{Value, json};

use super::draft::Draft;
use super::lines::{Read, regular};
use super::{claude, codex, opencode, pi};

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
    branch(&draft(source, lines))
}

fn draft(source: ImportSource, lines: &[Value]) -> Draft {
    let mut draft = Draft::new(source);
    let mut reader: Box<dyn Read> = match source {
        ImportSource::Claude => Box::new(claude::Reader::new(Path::new("/none/session.jsonl"))),
        ImportSource::Codex => Box::new(codex::Reader::default()),
        _ => Box::new(pi::Reader::default()),
    };
    for (number, line) in (1..).zip(lines) {
        draft.line = number;
        match line {
            Value::Object(_) => reader.line(regular(line.clone()), &mut draft),
            _ => draft.damaged(),
        }
    }
    reader.end(&mut draft);
    draft
}

fn read_export(export: &Value) -> Vec<String> {
    let mut draft = Draft::new(ImportSource::Opencode);
    opencode::read_export(export.clone(), &mut draft);
    branch(&draft)
}

/// The places of all values below `at` in `document`, as JSON pointers, and `at` itself.
fn places(document: &Value, at: &str) -> Vec<String> {
    let names: Vec<String> = match document.pointer(at).unwrap() {
        Value::Object(members) => members.keys().cloned().collect(),
        Value::Array(parts) => (0..parts.len()).map(|at| at.to_string()).collect(),
        _ => Vec::new(),
    };
    let below = names.iter().flat_map(|name| {
        let name = name.replace('~', "~0").replace('/', "~1");
        places(document, &format!("{at}/{name}"))
    });
    below.chain([at.to_owned()]).collect()
}

fn odd_values() -> [Value; 10] {
    [
        Value::Null,
        json!(true),
        json!(7),
        json!(-1.5e300),
        json!(""),
        json!("12"),
        json!("\u{fffd}\u{0}"),
        json!([]),
        json!([{"type": 3}]),
        json!({"type": "text", "text": 5}),
    ]
}

/// Puts odd values at each place of each of `units`, in turn. The result must still contain all
/// texts that do not depend on the unit.
fn check(document: &Value, units: &[String], read: impl Fn(&Value) -> Vec<String>) {
    let all = read(document);
    assert!(all.len() >= 3, "{all:?}");
    let mut changed = document.clone();
    let mut put = |place: &str, value: Value| {
        let old = std::mem::replace(changed.pointer_mut(place).unwrap(), value);
        let texts = read(&changed);
        *changed.pointer_mut(place).unwrap() = old;
        texts
    };
    let mut faults = Vec::new();
    let mut turn = 0;
    for unit in units {
        // A branch that starts at a missing line is attached to the previous line, whose texts are
        // no part of the branch.
        let mut without = put(unit, Value::Null);
        without.retain(|text| all.contains(text));
        for place in places(document, unit) {
            let odd_values = odd_values();
            turn += 1;
            // Most of the structure is above this depth.
            let depth = place[unit.len()..].matches('/').count();
            let count = if depth <= 2 { 3 } else { 1 };
            let in_turn = odd_values.iter().cycle().skip(turn % 10).step_by(4);
            for odd in in_turn.take(count) {
                // A new root, or more turns that were rolled back, are valid changes.
                let is_root = odd.is_null() && place.to_lowercase().contains("parent");
                if is_root || place.ends_with("num_turns") {
                    continue;
                }
                let mut texts = put(&place, odd.clone());
                for text in &without {
                    match texts.iter().position(|have| have == text) {
                        Some(at) => drop(texts.remove(at)),
                        None => faults.push(format!("{place} = {odd}: lost {text:.40}")),
                    }
                }
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

fn check_lines(source: ImportSource, fixture: &str) {
    let lines = fixture
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let document = Value::Array(lines.collect());
    let count = document.as_array().unwrap().len();
    let units: Vec<String> = (0..count).map(|at| format!("/{at}")).collect();
    check(&document, &units, |document| {
        read(source, document.as_array().unwrap())
    });
}

#[test]
fn an_odd_value_of_claude_code_costs_at_most_its_line() {
    let fixture = include_str!("../../../../tests/fixtures/exchange/claude.jsonl");
    check_lines(ImportSource::Claude, fixture);
}

#[test]
fn an_odd_value_of_codex_costs_at_most_its_line() {
    let fixture = include_str!("../../../../tests/fixtures/exchange/codex.jsonl");
    check_lines(ImportSource::Codex, fixture);
}

#[test]
fn an_odd_value_of_pi_costs_at_most_its_line() {
    let fixture = include_str!("../../../../tests/fixtures/exchange/pi.jsonl");
    let (before_branch, _) = fixture.split_once("{\"type\":\"branch_summary\"").unwrap();
    for part in [before_branch, fixture] {
        check_lines(ImportSource::Pi, part);
    }
}

#[test]
fn an_odd_value_of_opencode_costs_at_most_its_part() {
    let fixture = include_str!("../../../../tests/fixtures/exchange/opencode.json");
    let export: Value = serde_json::from_str(fixture).unwrap();
    let mut units = vec!["/info".to_owned()];
    for (index, message) in export["messages"].as_array().unwrap().iter().enumerate() {
        units.push(format!("/messages/{index}/info"));
        let parts = message["parts"].as_array().unwrap();
        units.extend((0..parts.len()).map(|part| format!("/messages/{index}/parts/{part}")));
    }
    check(&export, &units, read_export);
}

/// A count of any size is valid.
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

/// Values that other versions and programs write in place of the usual ones are read with their
/// meaning.
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

/// A slash command of the user is a prompt with the typed text; a notification of the program is
/// not a prompt.
#[test]
fn prompts_of_claude_code_are_what_the_user_asked() {
    let line = |uuid: &str, parent: Value, is_meta: bool, content: Value| {
        json!({"type": "user", "uuid": uuid, "parentUuid": parent, "isMeta": is_meta, "timestamp": "2026-11-25T08:18:55.966Z",
            "message": {"role": "user", "content": content}})
    };
    let command = "<command-message>greet</command-message>\n<command-name>/greet</command-name>\n<command-args>Ada</command-args>";
    let output = "<local-command-stdout>Set model</local-command-stdout>";
    let note = "<task-notification>\n<status>completed</status>\n</task-notification>";
    let lines = [
        line("a", Value::Null, false, json!(command)),
        line(
            "b",
            json!("a"),
            true,
            json!([{"type": "text", "text": "Greet Ada."}]),
        ),
        line(
            "c",
            json!("b"),
            false,
            json!("<command-name>/model</command-name>"),
        ),
        line("d", json!("c"), false, json!(output)),
        line("e", json!("d"), true, json!("a note")),
        line("f", json!("e"), false, json!(note)),
    ];
    let draft = draft(ImportSource::Claude, &lines);
    let messages = draft
        .entries
        .iter()
        .map(|entry| match entry.kind.as_message() {
            Some(AgentMessage::User(prompt)) => (prompt.typed.clone(), prompt.text.clone()),
            Some(AgentMessage::Custom(note)) => (Some(note.kind.clone()), note.text.clone()),
            other => panic!("{other:?}"),
        });
    let pair = |name: &str, text: &str| (Some(name.to_owned()), text.to_owned());
    assert_eq!(
        messages.collect::<Vec<_>>(),
        [pair("/greet Ada", "Greet Ada."), pair("notification", note)]
    );
}

#[test]
fn answers_of_claude_code_have_the_list_price() {
    let answer = |model: &str| {
        json!({"type": "assistant", "uuid": model, "parentUuid": null, "message": {"id": model, "model": model,
            "content": [{"type": "text", "text": "x"}], "usage": {"input_tokens": 10, "output_tokens": 2}}})
    };
    let catalogue = Catalogue::default();
    let price = &catalogue.get("anthropic/claude-opus-5-5").unwrap().price;
    assert!(price.input > 0.0);
    let used = Usage {
        input: 10,
        output: 2,
        ..Usage::default()
    };
    for (model, expected) in [
        ("claude-opus-5-5", used.priced(price)),
        ("claude-opus-5-5-20260101", used.priced(price)),
        ("claude-unknown-1", used),
    ] {
        let draft = draft(ImportSource::Claude, &[answer(model)]);
        match draft.entries[0].kind.as_message() {
            Some(AgentMessage::Assistant(answer)) => assert_eq!(answer.usage, expected, "{model}"),
            other => panic!("{other:?}"),
        }
    }
}
