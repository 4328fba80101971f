//! A model server that enforces the rule of preserved thinking: a thinking block is valid only after the system prompt,
//! the tools and the messages with which it was produced
//! (<https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>). It rejects requests with other blocks.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::web_server::{self, ReceivedRequest, WebServer};

/// The thinking blocks of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ThinkingBlocks {
    valid: usize,
    invalid: usize,
}

const fn valid(valid: usize) -> ThinkingBlocks {
    ThinkingBlocks { valid, invalid: 0 }
}

struct Enforcing {
    server: WebServer,
    seen: Arc<Mutex<Vec<ThinkingBlocks>>>,
}

impl Enforcing {
    fn start() -> Self {
        let seen: Arc<Mutex<Vec<ThinkingBlocks>>> = Arc::default();
        let log = Arc::clone(&seen);
        let server = WebServer::start(move |asked: &ReceivedRequest, _| {
            let body = asked.json();
            let found = check(&body);
            log.lock().unwrap().push(found);
            if found.invalid > 0 {
                let message = "messages: thinking block is bound to a different prefix";
                let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
                return web_server::json("400 Bad Request", &error);
            }
            answer(&body)
        });
        Self { server, seen }
    }

    /// The thinking blocks of the requests since the last call.
    fn take(&self) -> Vec<ThinkingBlocks> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    fn home(&self) -> Home {
        let home = Home::new();
        let models = json!({"providers": {"here": {"baseUrl": self.server.url(), "api": "anthropic-messages",
            "apiKey": "k", "models": [{"id": "m", "contextWindow": 200_000,
                "thinkingLevels": ["off", "low", "medium", "high"],
                "compat": {"adaptiveThinking": true, "boundThinking": true}}]}}});
        home.config("models.json", models.to_string());
        home.config(
            "settings.toml",
            "discover_local_models = false\nmodel = \"here/m\"\n",
        );
        home
    }
}

/// The prefix before the message `end`, without cache marks, which are not part of it.
fn prefix(body: &Value, end: usize) -> String {
    let messages = body["messages"].as_array().unwrap();
    let mut parts = json!([body["system"], body["tools"], messages[..end]]);
    strip(&mut parts);
    let mut hasher = DefaultHasher::new();
    parts.to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn check(body: &Value) -> ThinkingBlocks {
    let mut seen = ThinkingBlocks::default();
    for (place, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] != "thinking" {
                continue;
            }
            if block["signature"] == json!(prefix(body, place)) {
                seen.valid += 1;
            } else {
                seen.invalid += 1;
            }
        }
    }
    seen
}

/// Thinks, and calls `ls`; after its result it answers. A summary has no tools.
fn answer(body: &Value) -> Vec<u8> {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap().to_string();
    let signature = prefix(body, messages.len());
    let calls = body["tools"].is_array()
        && body["tool_choice"]["type"] != "none"
        && !last.contains("\"tool_result\"");
    let id = format!("call_{}", messages.len());
    let (content, input, stop) = if calls {
        let block = json!({"type": "tool_use", "id": id, "name": "ls", "input": {}});
        (
            block,
            json!({"type": "input_json_delta", "partial_json": "{}"}),
            "tool_use",
        )
    } else {
        let block = json!({"type": "text", "text": ""});
        (
            block,
            json!({"type": "text_delta", "text": "done"}),
            "end_turn",
        )
    };
    web_server::events(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 10}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "signature_delta", "signature": signature}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": content}),
        json!({"type": "content_block_delta", "index": 1, "delta": input}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

fn run(home: &Home, arguments: &[&str]) {
    assert_eq!(
        ran(home, arguments),
        ProgramOutput::new(0, "done\n", ""),
        "{arguments:?}"
    );
}

fn ran(home: &Home, arguments: &[&str]) -> ProgramOutput {
    let cli = arguments
        .iter()
        .fold(home.cli().arg("-p"), |cli, word| cli.arg(*word));
    cli.run()
}

#[test]
fn thinking_is_replayed_while_nothing_before_it_changes() {
    let model = Enforcing::start();
    let home = model.home();
    run(&home, &["one"]);
    assert_eq!(model.take(), [valid(0), valid(1)]);
    run(&home, &["-c", "two"]);
    assert_eq!(model.take(), [valid(2), valid(3)]);
    run(&home, &["-c", "--thinking", "high", "three"]);
    assert_eq!(model.take(), [valid(4), valid(5)]);
}

#[test]
fn changes_of_instructions_and_tools_are_not_rejected() {
    for change in [
        &["--append-system-prompt", "Be brief."][..],
        &["--system-prompt", "You test."],
        &["--tools", "read,ls"],
    ] {
        let model = Enforcing::start();
        let home = model.home();
        run(&home, &["one"]);
        model.take();
        run(&home, &[&["-c"], change, &["two"]].concat());
        // Only the thinking of this run is valid.
        assert_eq!(model.take(), [valid(0), valid(1)], "{change:?}");
    }
}

#[test]
fn an_edited_instruction_file_is_not_rejected() {
    let model = Enforcing::start();
    let home = model.home();
    home.file("AGENTS.md", "Use tabs.\n");
    run(&home, &["one"]);
    home.file("AGENTS.md", "Use spaces.\n");
    model.take();
    run(&home, &["-c", "two"]);
    for seen in model.take() {
        assert_eq!(seen.invalid, 0);
    }
}

#[test]
fn the_last_turn_keeps_thinking_and_is_not_rejected() {
    let model = Enforcing::start();
    let home = model.home();
    run(&home, &["--max-turns", "2", "one"]);
    assert_eq!(model.take(), [valid(0), valid(1)]);
    // The answer to the notice about the last turn is not replayed with its thinking: the notice is not stored.
    run(&home, &["-c", "two"]);
    assert_eq!(model.take(), [valid(1), valid(2)]);
}

#[test]
fn a_session_that_is_resumed_elsewhere_is_not_rejected() {
    let model = Enforcing::start();
    let home = model.home();
    run(&home, &["one"]);
    model.take();
    std::fs::create_dir(home.work().join("elsewhere")).unwrap();
    let session = home.sessions()[0].to_string_lossy().into_owned();
    let output = ran(&home, &["--cwd", "elsewhere", "--resume", &session, "two"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "done\n"));
    for seen in model.take() {
        assert_eq!(seen.invalid, 0);
    }
}

#[test]
fn a_compaction_is_not_rejected() {
    let model = Enforcing::start();
    let home = model.home();
    for prompt in ["one", "two", "three"] {
        run(&home, &["-c", prompt]);
    }
    model.take();
    let mut running = home.cli().args(["rpc", "-c"]).start();
    running.say(r#"{"id": 1, "type": "compact"}"#);
    let ended = running.until(|event| event["type"] == "compaction_end");
    assert_eq!(
        ended.last().unwrap()["outcome"]["type"],
        "done",
        "{ended:?}"
    );
    running.say(r#"{"id": 2, "type": "prompt", "message": "four"}"#);
    let settled = running.until(|event| event["type"] == "agent_settled");
    assert_eq!(settled.last().unwrap()["outcome"]["type"], "completed");
    for seen in model.take() {
        assert_eq!(seen.invalid, 0);
    }
}

#[test]
fn a_server_that_starts_late_is_not_rejected() {
    let model = Enforcing::start();
    let home = model.home();
    run(&home, &["one"]);
    model.take();
    // A tool that was not there before.
    home.config("late.sh", include_str!("mcp_server.sh"));
    let script = home.home().join("late.sh");
    let servers = json!({"mcpServers": {"late": {"command": "sh", "args": [script]}}});
    home.config("mcp.json", servers.to_string());
    run(&home, &["-c", "two"]);
    for seen in model.take() {
        assert_eq!(seen.invalid, 0);
    }
}
