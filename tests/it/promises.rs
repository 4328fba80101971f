//! Flags for logs and costs in every mode without a screen: each has an effect, or it is refused by name.

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput, lines_of};

/// The ways to run a prompt. Flags follow the first argument.
const WAYS: [(&str, &[&str]); 7] = [
    ("text", &["-p", "--model", "script/model.json", "go"]),
    ("json", &["--json", "--model", "script/model.json", "go"]),
    (
        "stream-json",
        &[
            "-p",
            "--output-format",
            "stream-json",
            "--model",
            "script/model.json",
            "go",
        ],
    ),
    (
        "result",
        &[
            "-p",
            "--output-format",
            "json",
            "--model",
            "script/model.json",
            "go",
        ],
    ),
    (
        "codex",
        &["exec", "--json", "--model", "script/model.json", "go"],
    ),
    (
        "schema",
        &[
            "-p",
            "--json-schema",
            "{}",
            "--model",
            "script/model.json",
            "go",
        ],
    ),
    ("rpc", &["rpc", "--model", "script/model.json"]),
];

/// The first call fails once; then the model calls a tool and answers.
fn home() -> Home {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"fail": {"type": "rate_limit", "message": "the server is busy", "retryAfterMs": 1}}]},
        {"steps": [{"tool": "bash", "arguments": {"command": "echo out"}}]},
        {"steps": [{"text": "7"}]},
    ]);
    home.file("model.json", json!({"turns": turns}).to_string());
    home
}

fn run(home: &Home, way: (&str, &[&str]), flags: &[&str]) -> ProgramOutput {
    let (name, words) = way;
    let mut cli = home.cli();
    for word in words[..1].iter().chain(flags).chain(&words[1..]) {
        cli = cli.arg(*word);
    }
    let lines = match name {
        "rpc" => "{\"type\":\"prompt\",\"message\":\"go\"}\n",
        _ => "",
    };
    cli.stdin(lines).run()
}

#[test]
fn flags_for_logs_and_costs_have_an_effect_in_every_mode() {
    for way in WAYS {
        let name = way.0;
        let home = home();
        let plain = run(&home, way, &[]);
        assert_eq!(plain.code, Some(0), "{name}: {}", plain.stderr);
        for flag in ["--verbose", "--trace-llm", "--trace-mcp"] {
            let logged = run(&self::home(), way, &[flag]);
            let part = match flag {
                "--verbose" => "[VRB] → [1.0] llm script:model.json",
                "--trace-llm" => "[TRC] → [1.0] llm script:model.json: request",
                _ => "[TRC] → [1.1] tool bash",
            };
            // SDKs of Claude Code always give it.
            let has_effect = (name, flag) != ("stream-json", "--verbose");
            assert_eq!(
                logged.stderr.contains(part),
                has_effect,
                "{name} {flag}: {}",
                logged.stderr
            );
        }
        let home = self::home();
        let file = home.work().join("accounting.jsonl");
        run(&home, way, &["--accounting", file.to_str().unwrap()]);
        let kinds: Vec<Value> = lines_of(&file)
            .iter()
            .map(|line| line["type"].clone())
            .collect();
        assert_eq!(kinds, ["llm", "llm", "tool", "llm"], "{name}");
    }
}

/// Every way to start osier refuses what has no effect there, before it does anything else.
#[test]
fn every_way_in_refuses_what_has_no_effect() {
    let home = home();
    for (line, name) in [
        ("-p --login go", "--login"),
        ("-p --answers go", "--answers"),
        ("--json --screen-reader", "--screen-reader"),
        (
            "-p --output-format json --include-partial-messages go",
            "--include-partial-messages",
        ),
        (
            "-p --output-format stream-json --permission-prompt-tool stdio go",
            "--permission-prompt-tool",
        ),
        ("exec --json --models x go", "--models"),
        ("rpc --screen-reader", "--screen-reader"),
        ("rpc --schema --model x", "--model"),
        ("rpc --connect nowhere.sock --model x", "--model"),
        ("--mode rpc go", "prompts"),
        ("acp --continue", "--continue"),
        ("acp --login --model x", "--model"),
        ("--list-models --verbose", "--verbose"),
        ("--list-models --base-url http://127.0.0.1:1", "--base-url"),
        ("serve --listen 127.0.0.1:0 --tools read", "--tools"),
        ("attach unix:nowhere.sock --verbose", "--verbose"),
        ("attach unix:nowhere.sock --ssh x", "--ssh"),
        ("doctor --model x", "--model"),
        ("sessions list --print", "--print"),
        ("sessions show x --full --json", "--full"),
        ("import --list a.jsonl", "--list"),
        ("import --all a.jsonl", "--all"),
        ("mcp add --env A=b x https://localhost:1", "--env"),
        ("mcp add --header A:b x program", "--header"),
    ] {
        let mut cli = home.cli();
        for word in line.split(' ') {
            cli = cli.arg(word);
        }
        let ended = cli.run();
        assert_ne!(ended.code, Some(0), "{line}: {}", ended.stdout);
        assert!(ended.stderr.contains(name), "{line}: {}", ended.stderr);
        assert_eq!(home.sessions(), Vec::<std::path::PathBuf>::new(), "{line}");
    }
}

#[test]
fn schema_and_list_of_models_are_printed() {
    let home = home();
    let schema = home.cli().args(["rpc", "--schema"]).run();
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    let stored = std::fs::read_to_string("docs/rpc.schema.json").unwrap();
    assert_eq!(schema, serde_json::from_str::<Value>(&stored).unwrap());
    let listed = home.cli().args(["--list-models", "claude-opus-4"]).run();
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let mut ids = listed.stdout.lines();
    assert!(
        ids.all(|line| line.contains("claude-opus-4")),
        "{}",
        listed.stdout
    );
}

#[test]
fn a_retry_is_reported_in_every_mode() {
    for way in WAYS {
        let ended = run(&home(), way, &[]);
        let is_reported = match way.0 {
            "json" | "rpc" => ended
                .stdout
                .contains(r#"{"type":"retry_scheduled","attempt":1"#),
            "stream-json" => ended
                .stdout
                .contains(r#""subtype":"api_retry","attempt":1"#),
            "codex" => ended.stdout.contains(r#""message":"retrying 1/"#),
            _ => ended.stderr.contains("the server is busy"),
        };
        assert!(is_reported, "{}: {}{}", way.0, ended.stdout, ended.stderr);
    }
}

#[test]
fn log_of_a_run_is_kept_with_the_session() {
    let home = home();
    assert_eq!(run(&home, WAYS[0], &[]).code, Some(0));
    let logged = home.cli().arg("log").run();
    assert_eq!((logged.code, logged.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = logged.stdout.lines().collect();
    let has = |parts: &[&str]| {
        let mut lines = lines.iter();
        lines.any(|line| parts.iter().all(|part| line.contains(part)))
    };
    assert!(
        has(&["Z warning: retry 1/", "the server is busy"]),
        "{}",
        logged.stdout
    );
    assert!(
        has(&[
            "Z warning: model call script:model.json: ",
            "the server is busy"
        ]),
        "{}",
        logged.stdout
    );
    let json = home.cli().args(["sessions", "log", "--json"]).run();
    let first: Value = serde_json::from_str(json.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["severity"], "warning");
    let unknown = home.cli().args(["log", "nonesuch"]).run();
    assert_eq!(unknown.code, Some(2));
}

#[test]
fn complete_output_outlives_the_run() {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "seq 100000"}}]},
        {"steps": [{"text": "done"}]},
    ]);
    assert_eq!(home.scripted(&turns).args(["-p", "go"]).run().code, Some(0));
    let result = home.session().into_iter().find_map(|entry| {
        let text = entry["message"]["content"][0]["text"].as_str()?;
        let (_, rest) = text.split_once("full output: ")?;
        Some(rest.split(" …]").next()?.to_owned())
    });
    let path = result.expect("the path of the output");
    let path = path.split(';').next().unwrap();
    let output = std::fs::read_to_string(path).unwrap();
    assert!(output.ends_with("\n99999\n100000\n"), "{path}");
    let limited = home
        .scripted(&turns)
        .args(["-p", "--config", "output_limit=1", "go"])
        .run();
    assert_eq!(limited.code, Some(0));
}
