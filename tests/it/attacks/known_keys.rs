//! Keys that osier knows, in every way out to a program: a tool, a file and the model itself say them.

use serde_json::{Value, json};

use crate::support::cli::{Cli, Home};

/// The value of a header in `models.json`, without a form that looks like a key.
const KEY: &str = "plain words of lab 77";

fn home() -> Home {
    let home = Home::new();
    let models = json!({"providers": {"lab": {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions",
        "headers": {"X-Custom": KEY}, "models": [{"id": "m"}]}}});
    home.config("models.json", models.to_string());
    home.file("notes.txt", format!("note: {KEY}\n"));
    let turns = json!([
        {"steps": [{"tool": "read", "arguments": {"file_path": "notes.txt"}}]},
        {"steps": [{"text": format!("it says {KEY}.")}]},
    ]);
    home.file("model.json", json!({"turns": turns}).to_string());
    home
}

#[test]
fn lines_for_programs_have_no_key_that_osier_knows() {
    let message = json!({"type": "message", "content": "go"}).to_string() + "\n";
    let user = json!({"type": "user", "message": {"role": "user", "content": "go"}});
    let stream = "--input-format stream-json --output-format stream-json --verbose";
    let home = home();
    for (name, arguments, input) in [
        ("json", "--json go", String::new()),
        ("json with input", "--json", message),
        ("stream-json", stream, format!("{user}\n")),
    ] {
        let cli = home.cli().args(["--model", "script/model.json"]);
        let cli = arguments.split(' ').fold(cli, Cli::arg);
        let ended = cli.stdin(input).run();
        assert!(!ended.stdout.contains(KEY), "{name}: {}", ended.stdout);
        let is_shown = ended.stdout.contains("note: [key removed]");
        assert!(is_shown, "{name}: {} {}", ended.stdout, ended.stderr);
    }
}

#[test]
fn rpc_has_no_key_that_osier_knows() {
    let home = home();
    let cli = home.cli().args(["rpc", "--model", "script/model.json"]);
    let mut running = cli.start();
    running.say(&json!({"id": 1, "type": "prompt", "message": "go"}).to_string());
    let mut lines = running.until(|line| line["type"] == "agent_settled");
    running.say(&json!({"id": 2, "type": "get_messages"}).to_string());
    lines.extend(running.until(|line| line["id"] == 2));
    let all: String = lines.iter().map(ToString::to_string).collect();
    assert!(!all.contains(KEY), "{all}");
    // The result of the tool, and the messages of the session.
    assert!(all.matches("note: [key removed]").count() >= 2, "{all}");
    running.close_input();
    running.end();
}

/// The texts of all streamed parts in a line.
fn deltas(line: &Value, all: &mut String) {
    match line {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "delta" => all.push_str(text),
                    _ => deltas(value, all),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| deltas(part, all)),
        _ => {}
    }
}

/// The model cuts the key into parts. An end that only begins like the key is complete.
#[test]
fn streamed_parts_together_have_no_key_that_osier_knows() {
    for chunk in [1, 2, 7, 20] {
        let home = home();
        let text = format!("it says {KEY}. {KEY} plain wo");
        let turns = json!([
            {"steps": [
                {"thinking": format!("so {KEY}!"), "chunk": chunk},
                {"tool": "bash", "arguments": {"command": format!("true {KEY}")}, "chunk": chunk},
            ]},
            {"steps": [{"text": text, "chunk": chunk}]},
        ]);
        home.file("model.json", json!({"turns": turns}).to_string());
        let cli = home
            .cli()
            .args(["--model", "script/model.json", "--json", "go"]);
        let ended = cli.args(["--permissions", "yolo"]).run();
        let mut all = String::new();
        for line in ended.stdout.lines() {
            deltas(&serde_json::from_str(line).unwrap(), &mut all);
        }
        let expected = "so [key removed]!{\"command\":\"true [key removed]\"}\
            it says [key removed]. [key removed] plain wo";
        assert_eq!(all, expected, "{chunk}: {}", ended.stderr);
    }
}
