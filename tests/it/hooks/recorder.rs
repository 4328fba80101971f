//! The same session in Claude Code and in osier: each event's JSON is compared key by key.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::*;
use crate::support::peers::{self, PeerProgram};
use crate::support::web_server::{ReceivedRequest, WebServer, plain};

const MODEL: &str = "claude-sonnet-4-5";
/// The events of the session.
#[rustfmt::skip]
const RECORDED: [&str; 16] = [
    "SessionStart", "InstructionsLoaded", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest", "PostToolUse",
    "PostToolUseFailure", "PostToolBatch", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "PreCompact", "PostCompact",
    "SessionEnd",
];

/// A call of the session: osier's tool, Claude Code's tool, and the input.
type Call = (&'static str, &'static str, Value);

/// Keys of Claude Code that osier lacks, as `docs/hooks.md` says, for one event or for all events about a tool.
const LACKS: &[(&str, &str)] = &[
    // A subagent of osier ends with its call.
    ("Agent", ".tool_response.agentId"),
    ("Agent", ".tool_response.canContinueAgent"),
    ("Agent", ".tool_response.canReadOutputFile"),
    ("Agent", ".tool_response.isAsync"),
    ("Agent", ".tool_response.outputFile"),
    ("Stop", ".background_tasks[].agent_type"),
    ("Stop", ".background_tasks[].description"),
    ("Stop", ".background_tasks[].id"),
    ("Stop", ".background_tasks[].status"),
    ("Stop", ".background_tasks[].type"),
    ("SubagentStop", ".background_tasks[].agent_type"),
    ("SubagentStop", ".background_tasks[].description"),
    ("SubagentStop", ".background_tasks[].id"),
    ("SubagentStop", ".background_tasks[].status"),
    ("SubagentStop", ".background_tasks[].type"),
    // Claude Code sends a list for some tools; osier always sends a text.
    ("PostToolBatch", ".tool_calls[].tool_response"),
    ("PostToolBatch", ".tool_calls[].tool_response[].text"),
    ("PostToolBatch", ".tool_calls[].tool_response[].type"),
    ("UserPromptExpansion", ".command_source"),
];

/// The answers of the model, by the number of its answers before.
fn turns(work: &Path) -> Vec<Vec<Call>> {
    let file = work.join("a.txt");
    vec![
        vec![
            ("read", "Read", json!({"file_path": file})),
            (
                "bash",
                "Bash",
                json!({"command": "echo out; echo err >&2", "description": "prints"}),
            ),
        ],
        vec![(
            "edit",
            "Edit",
            json!({"file_path": file, "old_string": "two", "new_string": "2"}),
        )],
        vec![(
            "write",
            "Write",
            json!({"file_path": work.join("b.txt"), "content": "new\n"}),
        )],
        vec![(
            "bash",
            "Bash",
            json!({"command": "touch made; exit 3", "description": "fails"}),
        )],
        vec![(
            "task",
            "Agent",
            json!({"description": "sub", "prompt": "SUBTASK say", "subagent_type": "general-purpose"}),
        )],
    ]
}

/// A server of Anthropic's format that plays the turns; `is_ours` chooses osier's names of tools.
fn model(turns: Vec<Vec<Call>>, is_ours: bool) -> WebServer {
    WebServer::start(move |asked, _| answer(asked, &turns, is_ours))
}

fn answer(asked: &ReceivedRequest, turns: &[Vec<Call>], is_ours: bool) -> Vec<u8> {
    let path = asked.line.split(['?', ' ']).nth(1).unwrap_or_default();
    if path.ends_with("/count_tokens") {
        return plain(
            "200 OK",
            "content-type: application/json\r\n",
            r#"{"input_tokens": 100}"#,
        );
    }
    if !path.ends_with("/messages") {
        return plain("404 Not Found", "", "{}");
    }
    let request = asked.json();
    if asked.body.contains("FAIL please") {
        let error =
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "bad"}});
        return plain(
            "400 Bad Request",
            "content-type: application/json\r\n",
            error.to_string(),
        );
    }
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let of_model = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    let has_tools = request["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    let is_sub_agent = messages
        .first()
        .is_some_and(|message| message.to_string().contains("SUBTASK"));
    let calls = turns
        .get(of_model.count())
        .filter(|_| has_tools && !is_sub_agent);
    stream(messages.len(), calls.map(Vec::as_slice), is_ours)
}

/// An answer with calls, or with a text, to `count` messages.
fn stream(count: usize, calls: Option<&[Call]>, is_ours: bool) -> Vec<u8> {
    let mut body = String::new();
    let mut event = |kind: &str, mut fields: Value| {
        fields["type"] = json!(kind);
        let _ = write!(body, "event: {kind}\ndata: {fields}\n\n");
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0});
    // Claude Code merges messages with the same id.
    let message = json!({"id": format!("msg_{count}"), "type": "message", "role": "assistant", "content": [],
        "model": MODEL, "stop_reason": null, "stop_sequence": null, "usage": usage});
    event("message_start", json!({ "message": message }));
    let text = || {
        let block = json!({"type": "text", "text": ""});
        vec![(block, json!({"type": "text_delta", "text": "done"}))]
    };
    let call = |(index, (ours, theirs, input)): (usize, &Call)| {
        let name = if is_ours { ours } else { theirs };
        let id = format!("toolu_{count}_{index}");
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        (
            block,
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        )
    };
    let blocks = calls.map_or_else(text, |calls| calls.iter().enumerate().map(call).collect());
    for (index, (block, delta)) in blocks.into_iter().enumerate() {
        event(
            "content_block_start",
            json!({"index": index, "content_block": block}),
        );
        event(
            "content_block_delta",
            json!({"index": index, "delta": delta}),
        );
        event("content_block_stop", json!({"index": index}));
    }
    let reason = calls.map_or("end_turn", |_| "tool_use");
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    event(
        "message_delta",
        json!({"delta": delta, "usage": {"output_tokens": 20}}),
    );
    event("message_stop", json!({}));
    plain("200 OK", "content-type: text/event-stream\r\n", &body)
}

/// A project, and hooks that write each event to a file of its own in `events`.
fn project(home: &Home) -> Value {
    write(&home.work().join("a.txt"), "one\ntwo\nthree\n");
    write(&home.work().join("CLAUDE.md"), "Be short.\n");
    write(
        &home.work().join(".claude/commands/hey.md"),
        "---\ndescription: says hey\n---\nSay hey to $ARGUMENTS\n",
    );
    let events = home.home().join("events");
    std::fs::create_dir_all(&events).unwrap();
    let command = format!("cat > \"$(mktemp '{}/XXXXXXXX')\"", events.display());
    let hooks = RECORDED.map(|event| (event.to_owned(), hook(&command)));
    json!({"hooks": Value::Object(hooks.into_iter().collect())})
}

/// The keys of each event, by event and tool, with the types of their values.
fn recorded(home: &Home) -> BTreeMap<(String, String), BTreeMap<String, &'static str>> {
    let mut all: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for entry in std::fs::read_dir(home.home().join("events")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        let name = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let keys = all
            .entry((name("hook_event_name"), name("tool_name")))
            .or_default();
        add_keys(&event, String::new(), keys);
    }
    all
}

fn add_keys(value: &Value, place: String, keys: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                add_keys(value, format!("{place}.{name}"), keys);
            }
            return;
        }
        Value::Array(items) => {
            for item in items {
                add_keys(item, format!("{place}[]"), keys);
            }
            "list"
        }
        Value::String(_) => "text",
        Value::Number(_) => "number",
        Value::Bool(_) => "flag",
        Value::Null => "null",
    };
    keys.insert(place, kind);
}

fn in_claude_code(program: &PeerProgram, home: &Home) {
    let settings = project(home);
    write(
        &home.home().join(".claude/settings.json"),
        &settings.to_string(),
    );
    let server = model(turns(&home.work()), false);
    for arguments in runs_of_session() {
        let arguments = [&arguments[..], &["--model", MODEL]].concat();
        let ran = program.run_with(&server.url(), &home.home(), &home.work(), &arguments);
        let fails = arguments.contains(&"FAIL please");
        assert_eq!(ran.success, !fails, "{arguments:?}: {}", ran.text);
    }
}

fn in_osier(home: &Home) {
    let settings = project(home);
    home.config("hooks.json", settings.to_string());
    home.config(
        "settings.toml",
        format!("{}subagents = true\n", crate::support::cli::SETTINGS),
    );
    let server = model(turns(&home.work()), true);
    let name = format!("anthropic/{MODEL}");
    let url = server.url();
    for arguments in runs_of_session() {
        let options = ["--trust", "--model", &name, "--base-url", &url];
        let arguments = [&arguments[..], &options].concat();
        let cli = home.cli().environment("ANTHROPIC_API_KEY", "none");
        let ran = arguments.iter().fold(cli, |cli, word| cli.arg(*word)).run();
        let code = i32::from(arguments.contains(&"FAIL please"));
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
    }
}

/// The command lines of the session, which both programs know.
fn runs_of_session() -> [Vec<&'static str>; 5] {
    let free = "bypassPermissions";
    [
        vec!["-p", "go now", "--permission-mode", free],
        vec!["-p", "/hey you", "--permission-mode", free],
        vec!["-c", "-p", "/compact keep it"],
        vec!["-p", "go again", "--permission-mode", "default"],
        vec!["-p", "FAIL please"],
    ]
}

#[test]
fn events_have_the_keys_of_claude_codes() {
    let Some(program) = peers::find("@anthropic-ai/claude-code") else {
        return;
    };
    let (theirs, ours) = (Home::new(), Home::new());
    in_claude_code(&program, &theirs);
    in_osier(&ours);
    let (theirs, ours) = (recorded(&theirs), recorded(&ours));
    let mut lacks = BTreeSet::new();
    for ((event, tool), keys) in &theirs {
        let Some(own) = ours.get(&(event.clone(), tool.clone())) else {
            lacks.insert(format!("{event} {tool} does not happen"));
            continue;
        };
        for (key, kind) in keys {
            let known = LACKS.contains(&(event.as_str(), key.as_str()))
                || LACKS.contains(&(tool.as_str(), key.as_str()));
            match own.get(key) {
                None if !known => {
                    lacks.insert(format!("{event} {tool} has no `{key}`"));
                }
                Some(own) if own != kind && !known => {
                    lacks.insert(format!("{event} {tool}: `{key}` is a {own}, not a {kind}"));
                }
                _ => {}
            }
        }
    }
    assert_eq!(lacks, BTreeSet::new());
    let events: BTreeSet<&str> = ours.keys().map(|(event, _)| event.as_str()).collect();
    assert_eq!(events, RECORDED.into());
}
