//! osier as an MCP server, tested by hand-written messages and by the client of the public SDK.

#![expect(
    clippy::needless_pass_by_value,
    reason = "calls with `json!` read better"
)]

use std::process::{Command, Stdio};

use osier_testing::skip;
use serde_json::{Value, json};

use super::peer;
use crate::support::PROGRAM;
use crate::support::cli::{Home, Running};

/// A home with a model that runs a command and then answers. It is slow if the prompt contains `zzslow`.
fn home() -> Home {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "zzslow"}, "repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
        {"when": {"toolResult": ""}, "repeat": true, "steps": [{"text": "It is done."}]},
        {"when": {"user": "zzfail"}, "repeat": true, "steps": [{"fail": {"type": "auth_error", "message": "no key"}}]},
        {"repeat": true, "steps": [{"tool": "bash", "arguments": {"command": "echo made > made.txt"}}]},
    ]);
    home.file("model.json", json!({ "turns": turns }).to_string());
    home
}

fn start(home: &Home) -> Running {
    let arguments = [
        "mcp",
        "serve",
        "--model",
        "script/model.json",
        "--permissions",
        "yolo",
    ];
    home.cli().args(arguments).start()
}

fn send(server: &mut Running, id: Value, method: &str, params: Value) {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    server.say(&request.to_string());
}

/// The answer to the request `id`, and the notifications before it.
fn answer(server: &mut Running, id: &Value) -> (Value, Vec<Value>) {
    let mut lines = server.until(|line| line.get("id") == Some(id));
    let answer = lines.pop().unwrap();
    (answer, lines)
}

fn asked(server: &mut Running, id: u64, method: &str, params: Value) -> Value {
    send(server, json!(id), method, params);
    answer(server, &json!(id)).0
}

fn call(prompt: &str, more: Value) -> Value {
    let mut arguments = json!({ "prompt": prompt });
    for (name, value) in more.as_object().into_iter().flatten() {
        arguments[name] = value.clone();
    }
    json!({"name": "run_prompt", "arguments": arguments})
}

fn initialize(server: &mut Running) -> Value {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let answer = asked(server, 0, "initialize", params);
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    answer
}

#[test]
fn a_prompt_runs_in_a_session_and_reports_progress() {
    let home = home();
    let mut server = start(&home);
    let initialized = initialize(&mut server);
    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["result"]["capabilities"], json!({"tools": {}}));
    let mut params = call("make it", json!({}));
    params["_meta"] = json!({"progressToken": "p"});
    send(&mut server, json!("a"), "tools/call", params);
    let (first, told) = answer(&mut server, &json!("a"));
    let told = told.iter().map(|line| &line["params"]);
    let told: Vec<Value> = told.cloned().collect();
    let progress = |count: u64, message: &str| json!({"progressToken": "p", "progress": count, "message": message});
    assert_eq!(
        told,
        [
            progress(1, "request 1 to the model"),
            progress(2, "bash: echo made > made.txt"),
            progress(3, "request 2 to the model"),
        ]
    );
    let result = &first["result"];
    let session = result["structuredContent"]["session"].as_str().unwrap();
    assert_eq!(
        *result,
        json!({"content": [{"type": "text", "text": "It is done."}],
            "structuredContent": {"answer": "It is done.", "session": session}, "isError": false})
    );
    assert!(home.work().join("made.txt").exists());
    let again = asked(
        &mut server,
        2,
        "tools/call",
        call("more", json!({"session": session})),
    );
    assert_eq!(again["result"]["structuredContent"]["session"], session);
    assert_eq!(home.sessions().len(), 1);
    server.close_input();
    let (_, code, errors) = server.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}

#[test]
fn a_failure_is_a_result_and_what_osier_lacks_is_named() {
    let home = home();
    let mut server = start(&home);
    let early = asked(&mut server, 1, "tools/list", json!({}));
    assert_eq!(early["error"]["message"], "send `initialize` first");
    initialize(&mut server);
    let failed = asked(&mut server, 2, "tools/call", call("zzfail", json!({})));
    assert_eq!(failed["result"]["isError"], true);
    let text = failed["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("no key"), "{text}");
    let odd = asked(
        &mut server,
        3,
        "tools/call",
        call("x", json!({"model": "y"})),
    );
    let text = &odd["result"]["content"][0]["text"];
    assert_eq!(
        *text,
        "`run_prompt` has no argument `model`; expected `prompt` and `session`"
    );
    for (method, params, code, message) in [
        (
            "resources/list",
            json!({}),
            -32601,
            "osier has no method `resources/list`",
        ),
        (
            "logging/setLevel",
            json!({"level": "info"}),
            -32601,
            "osier has no method `logging/setLevel`",
        ),
        (
            "tools/call",
            json!({"name": "bash"}),
            -32602,
            "osier has no tool `bash`; it has `run_prompt`",
        ),
    ] {
        let refused = asked(&mut server, 4, method, params);
        assert_eq!(refused["error"], json!({"code": code, "message": message}));
    }
    server.say("no JSON");
    let (refused, _) = answer(&mut server, &Value::Null);
    assert_eq!(refused["error"]["code"], -32700);
    server.say(r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#);
    let (refused, _) = answer(&mut server, &Value::Null);
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(
        asked(&mut server, 10, "ping", json!({}))["result"],
        json!({})
    );
    server.close_input();
    assert_eq!(server.end().1, Some(0));
}

#[test]
fn a_cancelled_call_has_no_answer_and_its_run_ends() {
    let home = home();
    let mut server = start(&home);
    initialize(&mut server);
    let mut params = call("zzslow", json!({}));
    params["_meta"] = json!({"progressToken": 1});
    send(&mut server, json!(1), "tools/call", params);
    server.until(|line| line["method"] == "notifications/progress");
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    send(&mut server, json!(2), "ping", json!({}));
    let (_, before) = answer(&mut server, &json!(2));
    assert!(
        before.iter().all(|line| line.get("id") != Some(&json!(1))),
        "{before:?}"
    );
    // The server ends only when the cancelled run is over.
    server.close_input();
    let (rest, code, _) = server.end();
    assert_eq!(code, Some(0));
    assert!(
        !rest.iter().any(|line| line.contains("\"id\":1")),
        "{rest:?}"
    );
}

/// The client of the public SDK calls the tool.
#[test]
fn the_client_of_the_public_sdk_runs_a_prompt() {
    if !skip::has(&["node"], "apt install nodejs") {
        return;
    }
    let Some(folder) = peer("conformance") else {
        return;
    };
    let modules = folder.parent().and_then(std::path::Path::parent).unwrap();
    let home = home();
    let script = r#"
const root = process.argv[2];
const { Client } = await import(root + "/@modelcontextprotocol/sdk/dist/esm/client/index.js");
const { StdioClientTransport } = await import(root + "/@modelcontextprotocol/sdk/dist/esm/client/stdio.js");
const transport = new StdioClientTransport({ command: process.argv[3], cwd: process.cwd(), env: process.env,
  args: ["mcp", "serve", "--model", "script/model.json", "--permissions", "yolo"] });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const told = [];
const { tools } = await client.listTools();
const call = { name: "run_prompt", arguments: { prompt: "make it" } };
const result = await client.callTool(call, undefined, { onprogress: (progress) => told.push(progress.message) });
console.log(JSON.stringify({ server: client.getServerVersion().name, tools: tools.map((tool) => tool.name), told,
  answer: result.structuredContent.answer }));
await client.close();
"#;
    let path = home.file("client.mjs", script);
    #[expect(clippy::disallowed_methods, reason = "the script is run")]
    let mut command = Command::new("node");
    let output = command
        .stdin(Stdio::null())
        .arg(path)
        .arg(modules)
        .arg(PROGRAM)
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let printed: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    assert_eq!(
        printed,
        json!({"server": "osier", "tools": ["run_prompt"], "answer": "It is done.",
            "told": ["request 1 to the model", "bash: echo made > made.txt", "request 2 to the model"]})
    );
}
