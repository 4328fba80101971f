//! `osier models --refresh` and the setting that runs it once a day, with valid and with hostile data.

use std::fs;

use serde_json::{Map, Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::web_server::{WebServer, plain};

fn fact(id: &str, price: f64) -> Value {
    json!({"id": id, "name": id, "tool_call": true, "reasoning": true,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": 300_000, "output": 50_000}, "cost": {"input": price, "output": 4.0}})
}

fn document() -> String {
    let models: Map<String, Value> = (0..25)
        .map(|at| (format!("gpt-new-{at}"), fact(&format!("gpt-new-{at}"), 1.5)))
        .collect();
    let anthropic = json!({"models": {"claude-haiku-5-5": fact("claude-haiku-5-5", 0.3)}});
    json!({"openai": {"models": models}, "anthropic": anthropic}).to_string()
}

/// Serves the document, and `304 Not Modified` to clients that have it.
fn publisher() -> WebServer {
    WebServer::start(|asked, _| match asked.header("if-none-match") {
        "\"v1\"" => plain("304 Not Modified", "", ""),
        _ => plain(
            "200 OK",
            "etag: \"v1\"\r\ncontent-type: application/json\r\n",
            document(),
        ),
    })
}

fn home(server: &WebServer) -> Home {
    let home = Home::new();
    let settings = format!(
        "discover_local_models = false\nrefresh_models = \"{}/api.json\"\n",
        server.url()
    );
    home.config("settings.toml", settings);
    home
}

fn listed(home: &Home, name: &str) -> String {
    let ended = home.cli().args(["models", name]).run();
    ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn refreshed_models_are_stored_and_models_json_overrides_them() {
    let server = publisher();
    let home = home(&server);
    let refresh = || home.cli().args(["models", "--refresh"]).run();
    let told = "25 new models, 1 with other prices or limits\n";
    assert_eq!(refresh(), ProgramOutput::new(0, told, ""));
    assert_eq!(
        listed(&home, "gpt-new-7"),
        "openai/gpt-new-7 300k $1.5/$4 per M thinking images no key"
    );
    assert!(
        listed(&home, "anthropic/claude-haiku-5-5")
            .starts_with("anthropic/claude-haiku-5-5 300k $0.3/$4 per M")
    );
    let own = json!({"providers": {"anthropic": {"models": [{"id": "claude-haiku-5-5", "cost": {"input": 9, "output": 9}}]}}});
    home.config("models.json", own.to_string());
    assert!(listed(&home, "anthropic/claude-haiku-5-5").contains("$9/$9 per M"));
    let again = refresh();
    assert_eq!(again.code, Some(0));
    assert!(
        again.stdout.starts_with("nothing was published since 20"),
        "{}",
        again.stdout
    );
    assert_eq!(server.lines(), ["GET /api.json", "GET /api.json"]);
    assert_eq!(server.asked()[0].header("authorization"), "");
}

#[test]
fn invalid_model_lists_change_nothing_and_are_reported() {
    let good = publisher();
    let home = home(&good);
    assert_eq!(home.cli().args(["models", "--refresh"]).run().code, Some(0));
    let path = home.home().join("published-models.json");
    let kept = fs::read(&path).unwrap();
    let half = &document()[..2000];
    let hostile: Map<String, Value> = (0..60)
        .map(|at| {
            (
                format!("m{at}"),
                json!({"id": "\u{1b}]0;owned\u{7}", "limit": {"context": 1, "output": 1}}),
            )
        })
        .collect();
    for (body, status, expected) in [
        (half.to_owned(), "200 OK", "it is not a list of models"),
        (
            "<html>login</html>".to_owned(),
            "200 OK",
            "it is not a list of models",
        ),
        (
            json!({"openai": {"models": hostile}}).to_string(),
            "200 OK",
            "only 0 of its models are plausible, 60 are not",
        ),
        (
            "x".repeat(33 * 1024 * 1024),
            "200 OK",
            "sent more than 33554432 bytes",
        ),
        (String::new(), "503 Service Unavailable", "answered 503"),
    ] {
        let bad = WebServer::start(move |_, _| plain(status, "", &body));
        let settings = format!("refresh_models = \"{}/api.json\"\n", bad.url());
        home.config("settings.toml", settings);
        let ended = home.cli().args(["models", "--refresh"]).run();
        assert_eq!(ended.code, Some(2), "{expected}: {ended:?}");
        assert!(
            ended.stderr.contains("cannot refresh the models"),
            "{}",
            ended.stderr
        );
        assert!(
            ended.stderr.contains(expected),
            "{expected}: {}",
            ended.stderr
        );
        assert_eq!(fs::read(&path).unwrap(), kept);
    }
    fs::remove_file(&path).unwrap();
    home.config("published-models.json", "{\"source\": ");
    let ended = home.cli().args(["config", "check"]).run();
    assert!(
        ended.stdout.contains("published-models.json: is damaged"),
        "{ended:?}"
    );
    assert!(listed(&home, "claude-haiku-5-5").contains("anthropic/claude-haiku-5-5"));
}

#[test]
fn refresh_setting_checks_once_a_day_in_the_background() {
    let server = publisher();
    let home = home(&server);
    home.file(
        "model.json",
        json!({"turns": [{"steps": [{"text": "hi"}]}]}).to_string(),
    );
    for _ in 0..2 {
        let mut running = home
            .cli()
            .args(["--json", "--model", "script/model.json"])
            .start();
        if !home.home().join("published-models.json").exists() {
            running.until(|event| event["type"] == "models");
        }
        running.close_input();
        assert_eq!(running.end().1, Some(0));
    }
    assert_eq!(server.lines(), ["GET /api.json"]);
    home.config("settings.toml", "discover_local_models = false\n");
    fs::remove_file(home.home().join("published-models.json")).unwrap();
    assert_eq!(
        home.cli()
            .args(["--model", "script/model.json", "-p", "x"])
            .run()
            .code,
        Some(0)
    );
    assert_eq!(server.lines(), ["GET /api.json"]);
}
