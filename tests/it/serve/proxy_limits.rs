//! The limits of the users of `osier serve --proxy`: every call counts, however it ends.

use serde_json::{Value, json};

use super::http_client::{Events, Http};
use super::llm_proxy::{add, serve, vendor};
use crate::support::cli::{Home, Running};
use crate::support::model_server::{Answer, Gate, Server};

/// A call of at most 1000 output tokens, which cost $1.
fn call() -> Value {
    let hello = json!({"role": "user", "content": [{"type": "text", "text": "hello"}]});
    json!({"provider": "vendor", "model": "one",
           "context": {"systemPrompt": "", "messages": [hello], "tools": []}})
}

fn user(url: &str, token: &str) -> Http {
    let http = Http::new(url.trim_start_matches("http://"));
    http.header("authorization", &format!("Bearer {token}"))
}

/// A proxy whose model writes 400 bytes and then waits for the gate; a user with these arguments.
struct Proxy {
    home: Home,
    gate: Gate,
    _model: Server,
    server: Running,
    user: Http,
    token: String,
}

impl Proxy {
    fn start(arguments: &[&str]) -> Self {
        let gate = Gate::new();
        let answer = Answer::stream()
            .text(&"text ".repeat(80))
            .gate(&gate)
            .done();
        let model = Server::start([answer]);
        let home = Home::new();
        vendor(&home, &model);
        let token = add(&home, &[&["ann"], arguments].concat());
        let (server, url) = serve(&home);
        Self {
            home,
            gate,
            _model: model,
            server,
            user: user(&url, &token),
            token,
        }
    }

    /// Starts a call and waits for the first text.
    fn begin(&self) -> Events {
        self.begin_call(&call())
    }

    fn begin_call(&self, call: &Value) -> Events {
        let mut events = self
            .user
            .events("POST", "/api/proxy/stream", &call.to_string());
        loop {
            let (_, frame) = events.next().expect("a frame");
            if frame["delta"]["type"] == "text_delta" {
                return events;
            }
        }
    }

    fn refused(&self) -> (u16, String) {
        self.user.post("/api/proxy/stream", &call()).code()
    }

    fn month(&self) -> Value {
        self.user.get("/api/usage").json()["month"].clone()
    }

    /// The usage once the only call has ended.
    fn month_of_one_call(&self) -> Value {
        loop {
            let month = self.month();
            if month["calls"] == 1 {
                return month;
            }
        }
    }

    fn listed(&self) -> String {
        self.home
            .cli()
            .args(["serve", "users", "list"])
            .run()
            .stdout
    }
}

#[test]
fn parallel_calls_cannot_exceed_the_limit() {
    let proxy = Proxy::start(&["--limit", "1.5"]);
    let mut running = proxy.begin();
    for _ in 0..5 {
        assert_eq!(proxy.refused(), (402, "quota_exceeded".to_owned()));
    }
    proxy.gate.open();
    running.until("done");
    let used = json!({"calls": 1, "tokens": 16, "cost": 0.016});
    assert_eq!(proxy.month(), used);
    // The rest of the reservation is free again.
    proxy.gate.open();
    proxy.begin().until("done");
    assert_eq!(proxy.month()["calls"], 2);
}

#[test]
fn calls_at_the_same_time_are_limited_per_user() {
    let proxy = Proxy::start(&["--calls", "2"]);
    let (_one, _two) = (proxy.begin(), proxy.begin());
    assert_eq!(proxy.refused(), (429, "rate_limited".to_owned()));
}

#[test]
fn uploads_without_an_end_block_only_their_user() {
    let proxy = Proxy::start(&[]);
    let bob = add(&proxy.home, &["bob"]);
    let bob = proxy
        .user
        .clone()
        .header("authorization", &format!("Bearer {bob}"));
    let (upload, large) = (" ".repeat(1_100_000), "a".repeat(1_100_000));
    let endless = proxy.user.clone().header("content-length", "30000000");
    let waiting: Vec<_> = (0..8)
        .map(|_| endless.send("POST", "/api/proxy/stream", &upload))
        .collect();
    let token = std::fs::read_to_string(proxy.home.home().join("serve.token")).expect("a token");
    let owner = format!("Bearer {}", token.trim());
    let owner = proxy.user.clone().header("authorization", &owner);
    let markdown = owner.post("/api/markdown", &json!({"texts": [{"text": large}]}));
    assert_eq!(markdown.status, 200);
    // The model of the call of another user is unknown, so its body was read.
    let mut unknown = call();
    unknown["model"] = json!("none");
    unknown["context"]["systemPrompt"] = json!(large);
    let unknown = bob.post("/api/proxy/stream", &unknown);
    assert_eq!(unknown.code(), (404, "not_found".to_owned()));
    drop(waiting);
}

#[test]
fn leaving_before_the_end_counts_the_call() {
    let proxy = Proxy::start(&[]);
    drop(proxy.begin());
    let month = proxy.month_of_one_call();
    // 400 bytes of text are 100 tokens; the input is estimated as well.
    let tokens = month["tokens"].as_u64().expect("tokens");
    assert!((100..200).contains(&tokens), "{month}");
    assert!(month["cost"].as_f64().expect("a cost") >= 0.1, "{month}");
}

#[test]
fn an_image_is_not_counted_as_text() {
    let proxy = Proxy::start(&[]);
    let mut call = call();
    let image = json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(400_000)});
    call["context"]["messages"][0]["content"] = json!([image]);
    drop(proxy.begin_call(&call));
    // 1,200 for the image, 4 for the message and 100 for the answer.
    let used = json!({"calls": 1, "tokens": 1304, "cost": 1.304});
    assert_eq!(proxy.month_of_one_call(), used);
}

#[test]
fn sigterm_settles_running_calls() {
    let proxy = Proxy::start(&[]);
    let _running = proxy.begin();
    proxy.server.signal(rustix::process::Signal::TERM);
    let Proxy { home, server, .. } = proxy;
    server.end();
    let listed = home.cli().args(["serve", "users", "list"]).run().stdout;
    // Settled with the estimate and not with the reservation, which is above $1.
    assert!(listed.starts_with("ann  this month $0.1"), "{listed}");
    assert!(listed.contains(", 1 call, 1"), "{listed}");
}

#[test]
fn calls_of_a_killed_server_count_as_spent() {
    let proxy = Proxy::start(&["--limit", "1.0"]);
    let _running = proxy.begin();
    proxy.server.signal(rustix::process::Signal::KILL);
    let Proxy {
        home,
        server,
        token,
        ..
    } = proxy;
    server.end();
    let (_server, url) = serve(&home);
    let user = user(&url, &token);
    let month = user.get("/api/usage").json()["month"].clone();
    assert_eq!(month["calls"], 1, "{month}");
    assert!(month["cost"].as_f64().expect("a cost") > 1.0, "{month}");
    let refused = user.post("/api/proxy/stream", &call()).code();
    assert_eq!(refused, (402, "quota_exceeded".to_owned()));
}

#[test]
fn users_see_their_usage_and_only_their_models() {
    let proxy = Proxy::start(&["--limit", "20", "--model", "vendor/two"]);
    let none = json!({"calls": 0, "tokens": 0, "cost": 0.0});
    let expected = json!({"name": "ann", "monthlyLimit": 20.0, "maxCalls": 32,
        "models": ["vendor/two"], "month": none, "total": none});
    assert_eq!(proxy.user.get("/api/usage").json(), expected);
    assert_eq!(proxy.user.get("/api/models").json(), json!({"models": []}));
    assert_eq!(proxy.refused(), (404, "not_found".to_owned()));
}

#[test]
fn replaced_token_has_the_history() {
    let proxy = Proxy::start(&[]);
    proxy.gate.open();
    proxy.begin().until("done");
    let before = proxy.listed();
    let replaced = proxy
        .home
        .cli()
        .args(["serve", "users", "token", "ann"])
        .run();
    assert_eq!(replaced.code, Some(0), "{}", replaced.stderr);
    assert_eq!(
        proxy.user.get("/api/usage").code(),
        (401, "unauthorized".to_owned())
    );
    assert_eq!(proxy.listed(), before);
    assert!(before.contains("$0.0160, 1 call, 16 tokens"), "{before}");
}

#[test]
fn each_delta_arrives_before_the_model_sends_the_next_one() {
    let gate = Gate::new();
    let mut answer = Answer::stream();
    let words: Vec<String> = (0..20).map(|number| format!("word {number} ")).collect();
    for word in &words {
        answer = answer.text(word).gate(&gate);
    }
    let model = Server::start([answer.done()]);
    let home = Home::new();
    vendor(&home, &model);
    let token = add(&home, &["ann"]);
    let (_server, url) = serve(&home);
    let user = user(&url, &token);
    let mut events = user.events("POST", "/api/proxy/stream", &call().to_string());
    let mut received = Vec::new();
    for _ in &words {
        // The model waits at the gate until this text has arrived.
        received.push(loop {
            let (_, frame) = events.next().expect("a frame");
            if frame["delta"]["type"] == "text_delta" {
                break frame["delta"]["delta"].as_str().expect("text").to_owned();
            }
        });
        gate.open();
    }
    assert_eq!(received, words);
    events.until("done");
}
