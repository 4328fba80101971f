//! `osier serve --proxy`: another osier calls models with keys that stay on the server.

use serde_json::json;

use super::http_client::Http;
use crate::support::cli::{Home, Running};
use crate::support::model_server::{Answer, Server};

/// The model server behind the proxy, and its configuration.
pub(super) fn vendor(home: &Home, server: &Server) {
    let models = json!({"providers": {"vendor": {
        "baseUrl": server.url(), "api": "openai-chat-completions",
        "apiKey": "key-of-the-server-123456",
        "models": [{"id": "one", "contextWindow": 8000, "maxTokens": 1000,
                    "cost": {"input": 1000, "output": 1000}}],
    }}});
    home.config("models.json", models.to_string());
    let settings = "discover_local_models = false\nmodel = \"vendor/one\"\n";
    home.config("settings.toml", settings);
}

/// A proxy server and its URL.
pub(super) fn serve(home: &Home) -> (Running, String) {
    let words = ["serve", "--proxy", "--listen", "127.0.0.1:0"];
    let mut running = home.cli().args(words).start();
    let line = running.line().expect("a line that says where it listens");
    let url = line.split("/#").next().expect("an address").to_owned();
    (running, url)
}

pub(super) fn add(home: &Home, words: &[&str]) -> String {
    let mut cli = home.cli().args(["serve", "users", "add"]);
    for word in words {
        cli = cli.arg(*word);
    }
    let ended = cli.run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.stdout.trim().to_owned()
}

#[test]
fn the_llm_proxy_keeps_the_keys_and_counts_usage_per_user() {
    let model = Server::start([Answer::says("from the vendor")]);
    let home = Home::new();
    vendor(&home, &model);
    let ann = add(&home, &["ann", "--limit", "0.015"]);
    let bob = add(&home, &["bob"]);
    let (server, url) = serve(&home);
    let there = Home::new();
    let ask = |token: &str| {
        let run = there
            .cli()
            .args(["--proxy", &url, "--max-retries", "0", "-p", "hello"]);
        run.environment("OSIER_PROXY_TOKEN", token).run()
    };
    let answer = ask(&ann);
    assert_eq!(
        (answer.code, answer.stdout.trim()),
        (Some(0), "from the vendor"),
        "{}",
        answer.stderr
    );
    assert_eq!(
        model.requests()[0]["messages"].as_array().map(Vec::len),
        Some(2)
    );
    // 11 input and 5 output tokens at $1000 per million exceed the limit.
    let refused = ask(&ann);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("monthly limit reached"),
        "{}",
        refused.stderr
    );
    let other = ask(&bob);
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    let stranger = ask("osier-0123456789");
    assert_ne!(stranger.code, Some(0));
    let listed = home.cli().args(["serve", "users", "list"]).run().stdout;
    assert_eq!(
        listed,
        "ann  this month $0.0160 of $0.0150, 1 call, 16 tokens; total $0.0160\n\
         bob  this month $0.0160, 1 call, 16 tokens; total $0.0160\n"
    );

    // A user's token cannot open sessions, and lists only available models.
    let address = url.trim_start_matches("http://");
    let user = Http::new(address).header("authorization", &format!("Bearer {bob}"));
    let code = |answer: super::http_client::Answer| answer.code();
    assert_eq!(
        code(user.post("/api/sessions", &json!({}))),
        (403, "forbidden".into())
    );
    assert_eq!(code(user.get("/api/sessions")), (403, "forbidden".into()));
    // Nothing about the owner.
    let status = user.get("/api/status").json();
    let names: Vec<&String> = status.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["name", "version", "protocol"]);
    let models = user.get("/api/models").json();
    assert_eq!(models["models"][0]["id"], "one");
    assert!(!models.to_string().contains("key-of-the-server"));
    let unknown = json!({"provider": "vendor", "model": "two", "context": {"systemPrompt": "", "messages": [], "tools": []}});
    assert_eq!(
        code(user.post("/api/proxy/stream", &unknown)),
        (404, "not_found".into())
    );
    let broken = user.post("/api/proxy/stream", &json!({"model": 1}));
    assert_eq!(code(broken), (400, "malformed".into()));
    // The token of a removed user is rejected.
    let removed = home.cli().args(["serve", "users", "rm", "bob"]).run();
    assert_eq!(removed.stdout, "removed `bob`\n");
    assert_eq!(code(user.get("/api/models")), (401, "unauthorized".into()));
    drop(server);
}

#[test]
fn changed_files_apply_without_a_restart() {
    let model = Server::start([Answer::says("from the first")]);
    let home = Home::new();
    vendor(&home, &model);
    let ann = add(&home, &["ann"]);
    let (_server, url) = serve(&home);
    let user = Http::new(url.trim_start_matches("http://"));
    let user = user.header("authorization", &format!("Bearer {ann}"));
    let listed = || user.get("/api/models").json()["models"].clone();
    let ids = |models: serde_json::Value| {
        let models = models.as_array().cloned().unwrap_or_default();
        let ids = models
            .iter()
            .filter_map(|model| model["id"].as_str().map(str::to_owned));
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(listed()), ["one"]);
    let other = json!({"providers": {"vendor": {
        "baseUrl": model.url(), "api": "openai-chat-completions", "apiKey": "another-key-of-the-server",
        "models": [{"id": "one", "contextWindow": 8000, "maxTokens": 1000},
                   {"id": "two", "contextWindow": 8000, "maxTokens": 1000}],
    }}});
    home.config("models.json", other.to_string());
    assert_eq!(ids(listed()), ["one", "two"]);
    // An incomplete file is ignored: the previous configuration still applies.
    home.config("models.json", &other.to_string()[..40]);
    assert_eq!(ids(listed()), ["one", "two"]);
    // A user who was added later is accepted.
    let bob = add(&home, &["bob"]);
    let there = Home::new();
    let run = there
        .cli()
        .args(["--proxy", &url, "--model", "vendor/two", "-p", "hello"]);
    let answer = run.environment("OSIER_PROXY_TOKEN", &bob).run();
    assert_eq!(
        (answer.code, answer.stdout.trim()),
        (Some(0), "from the first"),
        "{}",
        answer.stderr
    );
}

#[test]
fn server_without_the_proxy_flag_serves_no_calls() {
    let home = Home::new();
    let server = super::Server::start(&home);
    let call = json!({"provider": "a", "model": "b", "context": {"systemPrompt": "", "messages": [], "tools": []}});
    let answer = server.http().post("/api/proxy/stream", &call);
    assert_eq!(answer.code(), (404, "not_found".into()));
}
