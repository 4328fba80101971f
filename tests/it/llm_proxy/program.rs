//! The complete program behind an osier server: its models, its calls, and the errors of a failing server.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::TOKEN;
use crate::support::cli::{Home, ProgramOutput, lines_of};
use crate::support::stalled_proxy::{self, HALF, StalledProxy};
use crate::support::web_server::{ReceivedRequest, WebServer, events, json as answer};

fn models() -> Value {
    json!({"models": [
        {"provider": "acme", "id": "large", "name": "Acme Large", "api": "anthropic-messages",
         "contextWindow": 200_000, "maxTokens": 8_000, "thinkingLevels": ["off", "high"],
         "input": ["text", "image"], "cost": {"input": 3, "output": 15}},
        {"provider": "acme", "id": "a b", "api": "anthropic-messages", "contextWindow": 1, "maxTokens": 1},
        {"provider": "other", "id": "small", "api": "openai-responses", "contextWindow": 1000, "maxTokens": 100},
        {"provider": "newer", "id": "x", "api": "telepathy", "contextWindow": 1000, "maxTokens": 100},
        7,
    ]})
}

fn said(text: &str) -> Vec<u8> {
    let usage = json!({"input": 100, "output": 20, "cost": {"total": 0.5}});
    events(&[
        json!({"type": "start"}),
        json!({"type": "delta", "delta": {"type": "text_start", "index": 0}}),
        json!({"type": "delta", "delta": {"type": "text_delta", "index": 0, "delta": text}}),
        json!({"type": "delta", "delta": {"type": "text_end", "index": 0}}),
        json!({"type": "done", "stopReason": "stop", "usage": usage}),
    ])
}

fn refused() -> Vec<u8> {
    let error = json!({"error": {"type": "authentication_error", "message": "who are you"}});
    answer("401 Unauthorized", &error)
}

/// A server with one valid token; `stream` answers its calls.
fn server(stream: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> WebServer {
    WebServer::start(move |asked: &ReceivedRequest, before| {
        if asked.header("authorization") != format!("Bearer {TOKEN}") {
            return refused();
        }
        match asked.line.as_str() {
            "GET /team/api/models" => answer("200 OK", &models()),
            "POST /team/api/proxy/stream" => stream(before),
            _ => answer(
                "404 Not Found",
                &json!({"error": {"message": "no such place"}}),
            ),
        }
    })
}

/// Runs with the server at `url` and the test's token.
fn ask(home: &Home, url: &str, token: &str, arguments: &[&str]) -> ProgramOutput {
    let mut cli = home.cli().args(["--proxy", url]);
    for argument in arguments {
        cli = cli.arg(*argument);
    }
    cli.environment("OSIER_PROXY_TOKEN", token)
        .environment("ANTHROPIC_API_KEY", "sk-ant-never-sent")
        .run()
}

#[test]
fn run_uses_the_first_model_of_the_proxy_and_counts_usage() {
    let server = server(|_| said("from afar"));
    let home = Home::new();
    let url = format!("{}/team/", server.url());
    let ended = ask(
        &home,
        &url,
        TOKEN,
        &["--accounting", "used.jsonl", "-p", "hello"],
    );
    assert_eq!(ended, ProgramOutput::new(0, "from afar\n", ""));
    assert_eq!(
        server.lines(),
        ["GET /team/api/models", "POST /team/api/proxy/stream"]
    );
    let asked = &server.asked()[1];
    let body = asked.json();
    assert_eq!(
        (&body["provider"], &body["model"]),
        (&json!("acme"), &json!("large"))
    );
    assert!(!format!("{asked:?}").contains("never-sent"));
    let used = lines_of(&home.work().join("used.jsonl"));
    assert_eq!(used.len(), 1, "{used:#?}");
    assert_eq!(
        (&used[0]["provider"], &used[0]["model"]),
        (&json!("acme"), &json!("large"))
    );
    let usage = &used[0]["usage"];
    assert_eq!(
        (&usage["input"], &usage["output"], &usage["cost"]["total"]),
        (&json!(100), &json!(20), &json!(0.5))
    );
    // The next run continues the conversation with its model.
    let ended = ask(&home, &url, TOKEN, &["--continue", "-p", "more"]);
    assert_eq!(ended, ProgramOutput::new(0, "from afar\n", ""));
    let messages = server.asked()[3].json()["context"]["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
    assert_eq!(messages[1]["api"], "anthropic-messages");
}

#[test]
fn stored_token_and_setting_select_the_proxy_and_its_models() {
    let server = server(|_| said("by the setting"));
    let home = Home::new();
    let settings = format!(
        "discover_local_models = false\nproxy = \"{}/team\"\n",
        server.url()
    );
    home.config("settings.toml", settings);
    let login = home
        .cli()
        .args(["auth", "login", "proxy"])
        .stdin(TOKEN)
        .run();
    assert_eq!(login, ProgramOutput::new(0, "proxy: key …7890\n", ""));
    let listed = home.cli().args(["models"]).run();
    let names: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        ["acme/large", "other/small", "demo/tour"],
        "{}",
        listed.stdout
    );
    let ended = home.cli().args(["--model", "small", "-p", "hello"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "by the setting\n", ""));
    let missing = home
        .cli()
        .args(["--model", "gpt-none", "-p", "hello"])
        .run();
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(
        missing.stderr.contains("unknown model `gpt-none`"),
        "{}",
        missing.stderr
    );
}

#[test]
fn proxy_errors_name_the_cause_and_the_fix() {
    let server = server(|_| said("never"));
    let home = Home::new();
    let url = format!("{}/team", server.url());
    let ended = ask(&home, &url, "another-token-12345678", &["-p", "hello"]);
    assert_eq!(ended.code, Some(1));
    let told = server.normal(&ended.stderr);
    let expected = "`osier server SERVER` answered 401: who are you \
                    (sign in with `osier auth login proxy`, or set OSIER_PROXY_TOKEN)";
    assert!(told.contains(expected), "{told}");
    assert!(!told.contains("another-token"), "{told}");

    let ended = home.cli().args(["--proxy", &url, "-p", "hello"]).run();
    assert_eq!(ended.code, Some(1));
    let expected = "no key for `proxy`: set OSIER_PROXY_TOKEN or run `osier auth login proxy`";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let refused = ["GET /team/api/models", "POST /team/api/proxy/stream"];
    assert_eq!(server.lines(), refused);

    drop(server);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let once = ["--max-retries", "0", "-p", "hello"];
    let ended = ask(&home, &format!("http://{address}"), TOKEN, &once);
    assert_eq!(ended.code, Some(1));
    let expected = format!("cannot reach `{address}`");
    assert!(ended.stderr.contains(&expected), "{}", ended.stderr);

    let ended = ask(&home, "http://models.example", TOKEN, &["-p", "hello"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("use an https URL or a server on this machine"),
        "{}",
        ended.stderr
    );
}

#[test]
fn proxy_failure_is_retried_and_a_broken_proxy_is_named() {
    let busy = json!({"type": "failed", "usage": {},
        "status": {"type": "rate_limit", "message": "`acme` answered 429: slow down", "retryAfterMs": 1}});
    let server = server(move |before| match before {
        1 => events(std::slice::from_ref(&busy)),
        2 => answer(
            "500 Oops",
            &json!({"error": {"message": "the server fell over"}}),
        ),
        3 => events(&[json!({"type": "riddle"})]),
        _ => said("at last"),
    });
    let home = Home::new();
    let url = format!("{}/team", server.url());
    let ended = ask(&home, &url, TOKEN, &["-p", "hello"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "at last\n"),
        "{}",
        ended.stderr
    );
    let told = server.normal(&ended.stderr);
    for expected in [
        "`acme` answered 429: slow down",
        "`osier server SERVER` answered 500: the server fell over",
        "the osier server sent an invalid answer",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(server.lines().len(), 5);
}

/// The last answer of the only session: its stop reason and its text.
fn kept(home: &Home) -> (String, String) {
    let lines = home.session();
    let mut answers = lines
        .iter()
        .filter(|line| line["message"]["role"] == "assistant");
    let answer = &answers.next_back().expect("an answer")["message"];
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    let reason = answer["stopReason"].as_str().unwrap_or_default();
    (reason.to_owned(), text.to_owned())
}

#[test]
fn signals_and_closed_input_cancel_the_call_on_the_proxy() {
    for sent in [Signal::INT, Signal::TERM] {
        let server = StalledProxy::start();
        let home = Home::new();
        let run = home
            .cli()
            .args(["--proxy", server.url(), "--json", "hello"])
            .environment("OSIER_PROXY_TOKEN", stalled_proxy::TOKEN);
        let mut running = run.start();
        running.close_input();
        running.until_said(HALF);
        assert!(server.is_held());
        running.signal(sent);
        let (_, code, errors) = running.end();
        let expected = Some(128 + sent.as_raw());
        assert_eq!((code, errors.as_str()), (expected, ""), "{sent:?}");
        server.is_left();
        assert_eq!(kept(&home), ("aborted".to_owned(), HALF.to_owned()));
    }
}

#[test]
fn json_interrupt_cancels_the_call_and_the_next_prompt_is_a_new_call() {
    let server = StalledProxy::start();
    let home = Home::new();
    let run = home
        .cli()
        .args(["--proxy", server.url(), "--json", "hello"])
        .environment("OSIER_PROXY_TOKEN", stalled_proxy::TOKEN);
    let mut running = run.start();
    running.until_said(HALF);
    running.say(r#"{"type":"interrupt"}"#);
    running.until(|event| event["type"] == "interrupted");
    server.is_left();
    running.say(r#"{"type":"message","content":"again"}"#);
    running.until_said(HALF);
    assert!(server.is_held());
    // A killed program cannot cancel the call, but its connection closes.
    running.signal(Signal::KILL);
    server.is_left();
    drop(running);
    assert_eq!(kept(&home), ("aborted".to_owned(), HALF.to_owned()));
}
