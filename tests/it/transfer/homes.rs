//! Homes that other agents make in the test: each real program plays the same session against a scripted server, and osier
//! imports what it stored. A new version that stores something else is seen here.

use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::peers::{PeerProgram, find};
use crate::support::web_server::{ReceivedRequest, WebServer, plain};

const PROMPT: &str = "zzcount";
const COMMAND: &str = "wc -l a.txt";
/// A model that all price lists have.
const CLAUDE_MODEL: &str = "claude-sonnet-4-5";

/// One answer: a call of the program's shell tool, or a text.
enum Said {
    Call { name: String, arguments: String },
    Text(&'static str),
}

/// The answer of the model to a request, in any format: a call to the first prompt, a text to its result and to all else.
fn said(request: &Value) -> Said {
    let names: Vec<&str> = request["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str().or(tool["function"]["name"].as_str()))
        .collect();
    let shell = ["Bash", "bash", "exec_command", "shell_command"]
        .into_iter()
        .find(|name| names.contains(name));
    let messages = request["messages"]
        .as_array()
        .or(request["input"].as_array());
    let messages = messages.into_iter().flatten();
    let text: String = messages.map(Value::to_string).collect();
    let has_result = text.contains("2 a.txt");
    match shell {
        Some(name) if !has_result && text.contains(PROMPT) => {
            let field = if name == "exec_command" {
                "cmd"
            } else {
                "command"
            };
            Said::Call {
                name: name.to_owned(),
                arguments: json!({field: COMMAND, "description": "counts"}).to_string(),
            }
        }
        _ if has_result => Said::Text("Two lines."),
        _ => Said::Text("A title"),
    }
}

fn events(events: &[Value], named: bool) -> Vec<u8> {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        let head = if named {
            format!("event: {name}\n")
        } else {
            String::new()
        };
        format!("{head}data: {event}\n\n")
    });
    let end = if named { "" } else { "data: [DONE]\n\n" };
    let body = lines.collect::<String>() + end;
    plain("200 OK", "content-type: text/event-stream\r\n", &body)
}

/// Every answer has 1000 input tokens and 500 output tokens.
fn answer(asked: &ReceivedRequest, number: usize) -> Vec<u8> {
    let path = asked.line.split(['?', ' ']).nth(1).unwrap_or_default();
    if path.ends_with("/count_tokens") {
        let json = "content-type: application/json\r\n";
        return plain("200 OK", json, r#"{"input_tokens": 100}"#);
    }
    let format: fn(&Value, usize) -> Vec<u8> = match path.rsplit('/').next() {
        Some("messages") => messages,
        Some("completions") => completions,
        Some("responses") => responses,
        _ => return plain("404 Not Found", "", "{}"),
    };
    format(&asked.json(), number)
}

fn messages(request: &Value, number: usize) -> Vec<u8> {
    let (start, delta, reason) = match said(request) {
        Said::Text(text) => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Said::Call { name, arguments } => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments}),
            "tool_use",
        ),
    };
    let usage = json!({"input_tokens": 1000, "output_tokens": 1, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0});
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "content": [],
        "model": CLAUDE_MODEL, "stop_reason": null, "stop_sequence": null, "usage": usage});
    let ended = json!({"stop_reason": reason, "stop_sequence": null});
    events(
        &[
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": start}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 500}}),
            json!({"type": "message_stop"}),
        ],
        true,
    )
}

fn completions(request: &Value, number: usize) -> Vec<u8> {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let (delta, reason) = match said(request) {
        Said::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Said::Call { name, arguments } => {
            let function = json!({"name": name, "arguments": arguments});
            let call = json!({"index": 0, "id": format!("call_{number}"), "type": "function", "function": function});
            (
                json!({"role": "assistant", "tool_calls": [call]}),
                "tool_calls",
            )
        }
    };
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500});
    let mut last = chunk(json!({}), json!(reason));
    last["usage"] = usage;
    events(&[chunk(delta, Value::Null), last], false)
}

fn responses(request: &Value, number: usize) -> Vec<u8> {
    let item = match said(request) {
        Said::Text(text) => {
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            json!({"id": "msg", "type": "message", "status": "completed", "role": "assistant", "content": [part]})
        }
        Said::Call { name, arguments } => {
            json!({"id": "fc", "type": "function_call", "status": "completed",
            "call_id": format!("call_{number}"), "name": name, "arguments": arguments})
        }
    };
    let usage = json!({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 500,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1500});
    let response = json!({"id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": "m"});
    let (mut begun, mut ended) = (response.clone(), response);
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    ended["status"] = json!("completed");
    ended["output"] = json!([item]);
    ended["usage"] = usage;
    events(
        &[
            json!({"type": "response.created", "sequence_number": 0, "response": begun}),
            json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item}),
            json!({"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item}),
            json!({"type": "response.completed", "sequence_number": 3, "response": ended}),
        ],
        true,
    )
}

/// A program, its files in the home folder, and its two runs: `SERVER` stands for the server.
struct Peer {
    package: &'static str,
    flag: &'static str,
    file: (&'static str, &'static str),
    runs: [&'static [&'static str]; 2],
}

const PEERS: [Peer; 4] = [
    Peer {
        package: "@anthropic-ai/claude-code",
        flag: "--claude",
        file: (".claude/settings.json", "{}"),
        runs: [
            &[
                "-p",
                PROMPT,
                "--permission-mode",
                "bypassPermissions",
                "--model",
                CLAUDE_MODEL,
            ],
            &["-c", "-p", "again", "--model", CLAUDE_MODEL],
        ],
    },
    Peer {
        package: "@openai/codex",
        flag: "--codex",
        file: (
            ".codex/config.toml",
            "model = \"m\"\nmodel_provider = \"here\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n\
             [model_providers.here]\nname = \"here\"\nbase_url = \"SERVER/v1\"\nwire_api = \"responses\"\n",
        ),
        runs: [
            &["exec", "--skip-git-repo-check", PROMPT],
            &["exec", "--skip-git-repo-check", "resume", "--last", "again"],
        ],
    },
    Peer {
        package: "@earendil-works/pi-coding-agent",
        flag: "--pi",
        file: (
            ".pi/agent/models.json",
            r#"{"providers": {"here": {"baseUrl": "SERVER/v1", "api": "openai-completions", "apiKey": "x", "models": [
                {"id": "m", "name": "m", "contextWindow": 200000, "maxTokens": 8000, "input": ["text"], "reasoning": false,
                 "cost": {"input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0}}]}}}"#,
        ),
        runs: [
            &["-p", PROMPT, "--provider", "here", "--model", "m"],
            &["-c", "-p", "again", "--provider", "here", "--model", "m"],
        ],
    },
    Peer {
        package: "opencode-ai",
        flag: "--opencode",
        file: (
            ".config/opencode/opencode.json",
            r#"{"autoupdate": false, "share": "disabled", "model": "here/m", "small_model": "here/m", "provider": {"here": {
                "npm": "@ai-sdk/openai-compatible", "name": "here", "options": {"baseURL": "SERVER/v1", "apiKey": "x"},
                "models": {"m": {"name": "m", "limit": {"context": 200000, "output": 8000}, "cost": {"input": 3, "output": 15}}}}}}"#,
        ),
        runs: [&["run", PROMPT], &["run", "-c", "again"]],
    },
];

impl Peer {
    /// Lets the program play the session in a new home.
    fn play(&self, program: &PeerProgram, home: &Home) {
        home.file("a.txt", "one\ntwo\n");
        let server = WebServer::start(answer);
        let (name, text) = self.file;
        let path = home.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.replace("SERVER", &server.url());
        osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
        for arguments in self.runs {
            let ran = program.run_with(&server.url(), &home.home(), &home.work(), arguments);
            assert!(ran.success, "{arguments:?}: {}", ran.text);
        }
    }
}

/// A line for each message of the only session, with the tokens and the cost of answers.
fn messages_of(home: &Home) -> Vec<String> {
    let entries = home.session();
    let messages = entries.iter().map(|entry| &entry["message"]);
    let rows = messages
        .filter(|message| message.is_object())
        .map(|message| {
            let blocks = message["content"].as_array();
            let first = blocks.and_then(|blocks| blocks.first());
            let text = first.and_then(|block| block["text"].as_str());
            match message["role"].as_str().unwrap() {
                "user" => format!("user: {}", message["text"].as_str().unwrap()),
                "toolResult" => {
                    // Codex adds a head to the output.
                    let last = text.unwrap().lines().last().unwrap().to_owned();
                    format!(
                        "result of {}: {last}",
                        message["toolName"].as_str().unwrap()
                    )
                }
                "assistant" => {
                    let call =
                        first.map(|block| format!("{} {}", block["name"], block["arguments"]));
                    let usage = &message["usage"];
                    format!(
                        "{}: {} ({} in, {} out, ${:.4})",
                        message["model"].as_str().unwrap(),
                        text.map_or_else(|| call.unwrap(), str::to_owned),
                        usage["input"],
                        usage["output"],
                        usage["cost"]["total"].as_f64().unwrap(),
                    )
                }
                role => format!("{role}?"),
            }
        });
    rows.collect()
}

#[test]
fn sessions_of_new_homes_are_imported_whole() {
    for peer in PEERS {
        let Some(program) = find(peer.package) else {
            continue;
        };
        let home = Home::new();
        peer.play(&program, &home);
        let imported = home.cli().args(["import", peer.flag]).run();
        assert_eq!(imported.code, Some(0), "{}: {}", peer.flag, imported.stderr);
        let model = if peer.flag == "--claude" {
            CLAUDE_MODEL
        } else {
            "m"
        };
        // Codex stores no prices, and osier knows none of this model.
        let cost = if peer.flag == "--codex" {
            "0.0000"
        } else {
            "0.0105"
        };
        let tokens = format!("(1000 in, 500 out, ${cost})");
        assert_eq!(
            messages_of(&home),
            [
                format!("user: {PROMPT}"),
                format!("{model}: \"bash\" {} {tokens}", json!({"command": COMMAND})),
                "result of bash: 2 a.txt".to_owned(),
                format!("{model}: Two lines. {tokens}"),
                "user: again".to_owned(),
                format!("{model}: Two lines. {tokens}"),
            ],
            "{}: {}",
            peer.flag,
            imported.stdout
        );
    }
}
