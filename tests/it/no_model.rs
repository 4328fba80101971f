//! Runs without a configured model: modes without a person fail, and models of local servers are found first.

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::web_server::{self, ReceivedRequest, WebServer};

const NO_MODEL: &str = "osier: no model is configured: no API key and no local model server found; sign in with \
                        `osier auth login`, set a key such as ANTHROPIC_API_KEY, or start Ollama; \
                        `--model demo/tour` runs a scripted demo\n";

/// An Ollama server with one model that answers `hello`.
fn ollama() -> WebServer {
    WebServer::start(|asked: &ReceivedRequest, _| {
        if asked.line.starts_with("GET /api/tags") {
            return web_server::json("200 OK", &json!({"models": [{"name": "real-model:1b"}]}));
        }
        if asked.line.starts_with("POST /api/show") {
            return web_server::json("200 OK", &json!({"capabilities": ["completion", "tools"]}));
        }
        let text = json!({"message": {"role": "assistant", "content": "hello"}, "done": false});
        let done = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
        let headers = "content-type: application/x-ndjson\r\n";
        web_server::plain("200 OK", headers, format!("{text}\n{done}\n"))
    })
}

#[test]
fn modes_without_a_person_fail_instead_of_running_the_demo() {
    let home = Home::new();
    for arguments in [["-p", "hi"], ["--json", "hi"], ["exec", "hi"]] {
        let ended = home.cli().args(arguments).run();
        assert_eq!(ended, ProgramOutput::new(1, "", NO_MODEL), "{arguments:?}");
    }
    assert_eq!(home.sessions(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_prompt_over_rpc_fails_without_a_model() {
    let home = Home::new();
    let mut running = home.cli().arg("rpc").start();
    running.say(r#"{"id": 1, "type": "prompt", "message": "hi"}"#);
    let seen = running.until(|event| event["type"] == "agent_settled");
    let outcome = &seen.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "failed", "{outcome}");
    let message = outcome["status"]["message"].as_str().unwrap();
    assert!(NO_MODEL.contains(message), "{message}");
}

#[test]
fn a_stored_demo_is_not_continued_by_a_run_without_a_person() {
    let home = Home::new();
    let demo = home
        .cli()
        .args(["-p", "--model", "demo/tour", "show me"])
        .run();
    assert_eq!(demo.code, Some(0), "{}", demo.stderr);
    let ended = home.cli().args(["-p", "-c", "and now?"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let refused = "[WRN] the session used the scripted model `demo/tour`; to play it again, start with `--model demo/tour`\n";
    assert!(ended.stderr.starts_with(refused), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no model is configured: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_first_prompt_waits_for_a_local_server() {
    let home = Home::new();
    home.config("settings.toml", "");
    let server = ollama();
    let run = |arguments: &[&str]| {
        let cli = home.cli().environment("OLLAMA_HOST", &server.url());
        arguments.iter().fold(cli, |cli, word| cli.arg(*word)).run()
    };
    assert_eq!(run(&["-p", "hi"]), ProgramOutput::new(0, "hello\n", ""));
    let named = run(&["-p", "-m", "real-model", "hi"]);
    assert_eq!(named, ProgramOutput::new(0, "hello\n", ""));
    let listed = run(&["models", "real-model"]);
    assert_eq!((listed.code, listed.stdout.lines().count()), (Some(0), 1));
    assert!(
        listed.stdout.starts_with("ollama/real-model:1b "),
        "{}",
        listed.stdout
    );
    let asked = server.lines();
    let calls = asked.iter().filter(|line| line.contains("/api/chat"));
    assert_eq!(calls.count(), 2, "{asked:?}");
}

#[test]
fn an_answer_that_was_cut_fails_and_says_so() {
    let home = Home::new();
    let cut = json!([{"repeat": true, "steps": [{"text": "the beginning"}, {"stop": "length"}]}]);
    let ended = home.scripted(&cut).args(["-p", "hi"]).run();
    let limit = "[ERR] the answer is incomplete: it reached the output limit of the model; ask for less at once, or \
                 raise `maxTokens` in models.json\n";
    assert_eq!(ended, ProgramOutput::new(1, "the beginning\n", limit));
    let refused = json!([{"repeat": true, "steps": [{"text": "I cannot"}, {"stop": "refusal"}]}]);
    let ended = home.scripted(&refused).args(["-p", "hi", "not run"]).run();
    let filter = "[ERR] the answer is incomplete: the model or the content filter of its provider refused; change \
                  the prompt\n";
    assert_eq!(ended, ProgramOutput::new(1, "I cannot\n", filter));
    let ended = home.scripted(&cut).args(["--json", "hi"]).run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
}

#[test]
fn words_of_other_agents_are_commands_and_not_prompts() {
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"text": "ran"}]}]);
    home.file("model.json", json!({"turns": turns}).to_string());
    for word in ["exec", "run"] {
        let ended = home
            .cli()
            .args([word, "--model", "script/model.json", "hi"])
            .run();
        assert_eq!(ended, ProgramOutput::new(0, "ran\n", ""), "{word}");
    }
    let update = home.cli().args(["update", "now"]).run();
    assert_eq!((update.code, update.stdout.as_str()), (Some(2), ""));
    assert!(
        update
            .stderr
            .starts_with("osier: osier does not update itself;"),
        "{}",
        update.stderr
    );
    let review = home.cli().args(["review", "this"]).run();
    assert_eq!((review.code, review.stdout.as_str()), (Some(2), ""));
    assert!(
        review
            .stderr
            .starts_with("osier: unknown command `review`;"),
        "{}",
        review.stderr
    );
}

#[test]
fn a_temperature_that_is_not_sent_is_reported() {
    let home = Home::new();
    let server = WebServer::start(|_, _| {
        web_server::events(&[
            json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "warm"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ])
    });
    let models = json!({"providers": {"here": {"baseUrl": server.url(), "api": "anthropic-messages", "apiKey": "k",
        "models": [{"id": "m", "thinkingLevels": ["off", "medium"]}]}}});
    home.config("models.json", models.to_string());
    let warm = ["-p", "--temperature", "1", "-m", "here/m", "hi"];
    let warning = "[WRN] `--temperature` is not sent: here/m does not accept it at this thinking level; choose \
                   `--thinking off` or another model\n";
    assert_eq!(
        home.cli().args(warm).run(),
        ProgramOutput::new(0, "warm\n", warning)
    );
    let off = home.cli().args(warm).args(["--thinking", "off"]).run();
    assert_eq!(off, ProgramOutput::new(0, "warm\n", ""));
    let sent: Vec<Value> = server
        .asked()
        .iter()
        .map(|asked| asked.json()["temperature"].clone())
        .collect();
    assert_eq!(sent, [Value::Null, json!(1.0)]);
}
