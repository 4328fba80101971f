//! Keys that osier knows, in every way out to a program: a tool, a file and the model itself say them.

use serde_json::json;

use crate::support::cli::Home;

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
    let user =
        json!({"type": "user", "message": {"role": "user", "content": "go"}}).to_string() + "\n";
    let rpc = [
        json!({"id": 1, "type": "set_event_mode", "mode": "all"}),
        json!({"id": 2, "type": "prompt", "message": "go"}),
        json!({"id": 3, "type": "get_messages"}),
    ];
    let rpc: String = rpc.iter().map(|line| format!("{line}\n")).collect();
    let logs = home();
    for (name, arguments, input) in [
        ("json", &["-p", "go", "--json"][..], String::new()),
        ("json input", &["--json"], message),
        (
            "stream-json",
            &[
                "-p",
                "--input-format",
                "stream-json",
                "--output-format",
                "stream-json",
                "--verbose",
            ],
            user,
        ),
        ("log", &["-p", "go", "--json", "--verbose"], String::new()),
        ("rpc", &["rpc"], rpc),
    ] {
        let mut cli = logs.cli();
        for argument in arguments {
            cli = cli.arg(*argument);
        }
        let ended = cli
            .args(["--model", "script/model.json"])
            .stdin(input)
            .run();
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains(KEY), "{name}: {all}");
        assert!(all.contains("[key removed]"), "{name}: {all}");
    }
}
