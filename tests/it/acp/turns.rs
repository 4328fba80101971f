//! Prompts: their updates, their permission requests and their stop reasons.

use osier_protocol::slash::{self, SlashClient};
use serde_json::{Value, json};

use super::acp;
use super::editor::Editor;
use crate::support::cli::Home;

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

#[test]
fn prompt_streams_chunks_and_ends() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
    let chunk = editor.update("agent_message_chunk");
    assert_eq!(chunk["content"], json!({"type": "text", "text": "answer"}));
    // The first prompt is the title of a session without a name.
    assert_eq!(editor.update("session_info_update")["title"], "hi");
    editor.call("session/prompt", prompt(&session, "more"));
    assert!(!editor.unread().contains(&"session_info_update"));
    let used = editor.update("usage_update");
    assert_eq!(used["used"], 110);
}

#[test]
fn tool_call_has_a_title_and_a_result() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.call("session/prompt", prompt(&session, "zzrun"));
    let thought = editor.update("agent_thought_chunk");
    assert_eq!(thought["content"]["text"], "Let me see.");
    let call = editor.update("tool_call");
    assert_eq!(
        (&call["title"], &call["kind"], &call["status"]),
        (
            &json!("bash touch made && echo ran"),
            &json!("execute"),
            &json!("in_progress")
        )
    );
    let ended = editor.wait_for(|line| line["params"]["update"]["status"] == "completed");
    let ended = &ended["params"]["update"];
    assert_eq!(ended["toolCallId"], call["toolCallId"]);
    assert!(ended["content"].to_string().contains("ran"), "{ended}");
    editor.clear_unread();
    editor.call("session/prompt", prompt(&session, "zzwrite"));
    let ended = editor.wait_for(|line| line["params"]["update"]["status"] == "completed");
    assert_eq!(
        ended["params"]["update"]["content"],
        json!([{
            "type": "diff", "path": home.work().join("made.txt"), "newText": "one\ntwo\n",
        }])
    );
}

#[test]
fn permission_is_requested_from_the_editor() {
    let home = Home::new();
    let asks = acp(&home).args(["--permissions", "ask"]);
    let (mut editor, session) = Editor::with_session(asks, &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let request = editor.request("session/request_permission");
    let asked = &request["params"];
    assert_eq!(asked["toolCall"]["content"][0]["newText"], "one\ntwo\n");
    assert!(!home.work().join("made.txt").exists());
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "once"}});
    editor.respond(&request, chosen);
    assert_eq!(editor.response(turn)["result"]["stopReason"], "end_turn");
    assert!(home.work().join("made.txt").exists());
    let turn = editor.send("session/prompt", prompt(&session, "zzrun"));
    let request = editor.request("session/request_permission");
    let no = json!({"outcome": {"outcome": "selected", "optionId": "no"}});
    editor.respond(&request, no);
    editor.response(turn);
    editor.wait_for(|line| line["params"]["update"]["status"] == "failed");
}

#[test]
fn cancel_stops_the_turn_and_its_request() {
    let home = Home::new();
    let asks = acp(&home).args(["--permissions", "ask"]);
    let (mut editor, session) = Editor::with_session(asks, &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzslow"));
    editor.update("agent_message_chunk");
    let (code, message) = editor.call_error("session/prompt", prompt(&session, "hi"));
    assert_eq!(
        (code, message.as_str()),
        (
            -32600,
            "a prompt is already running; cancel it first with `session/cancel`"
        )
    );
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let request = editor.request("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    editor.respond(&request, json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
    assert!(!home.work().join("made.txt").exists());
}

#[test]
fn model_failure_is_an_error_and_the_session_continues() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let (code, message) = editor.call_error("session/prompt", prompt(&session, "zzfail"));
    assert_eq!(code, -32603);
    assert!(message.contains("who are you?"), "{message}");
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
}

#[test]
fn invalid_message_is_an_error_without_side_effects() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.running().say("not json");
    let response = editor.wait_for(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(response["error"]["code"], -32700);
    let (code, message) = editor.call_error("session/fly", json!({}));
    assert_eq!(
        (code, message.as_str()),
        (-32601, "unknown method `session/fly`")
    );
    let (code, _) = editor.call_error("session/prompt", prompt("unknown", "hi"));
    assert_eq!(code, -32002);
    let wrong =
        json!({"sessionId": session, "prompt": [{"type": "audio", "data": "", "mimeType": "a/b"}]});
    let (code, message) = editor.call_error("session/prompt", wrong);
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "`recording` is not a wav, mp3, flac, ogg, aac, aiff or m4a file"
        )
    );
    assert!(!editor.unread().contains(&"agent_message_chunk"));
    editor.running().close_input();
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}

#[test]
fn plan_is_approved_with_the_mode_to_continue_in() {
    let home = Home::new();
    let (mut editor, session) =
        Editor::with_session(acp(&home).args(["--permissions", "plan"]), &home);
    assert_eq!(
        editor.update("current_mode_update")["currentModeId"],
        "plan"
    );
    let turn = editor.send("session/prompt", prompt(&session, "zzplan"));
    let asked = editor.request("session/request_permission");
    let call = &asked["params"]["toolCall"];
    let path = call["locations"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(
        (&call["title"], &call["kind"], &call["content"]),
        (
            &json!("Approve this plan?"),
            &json!("switch_mode"),
            &json!([{"type": "content", "content": {"type": "text", "text": "# Plan\n\n1. **Test**"}}]),
        )
    );
    let options = asked["params"]["options"].as_array().unwrap().iter();
    let options: Vec<_> = options
        .map(|option| [&option["optionId"], &option["kind"]])
        .collect();
    assert_eq!(
        json!(options),
        json!([
            ["ask", "allow_once"],
            ["auto", "allow_always"],
            ["yolo", "allow_always"],
            ["plan", "reject_once"]
        ])
    );
    // The user changes the plan in the editor, then approves it.
    osier_base::atomic_file::write(path.as_ref(), b"# Plan\n\n1. **Test twice**\n").unwrap();
    editor.respond(
        &asked,
        json!({"outcome": {"outcome": "selected", "optionId": "ask"}}),
    );
    assert_eq!(editor.response(turn)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.update("current_mode_update")["currentModeId"], "ask");
    let done = editor.wait_for(|line| line["params"]["update"]["status"] == "completed");
    let details = &done["params"]["update"]["rawOutput"];
    assert_eq!(
        *details,
        json!({"outcome": "approved", "plan": "# Plan\n\n1. **Test twice**", "planPath": path, "mode": "ask"})
    );
    // Keep planning: the turn ends, and the mode stays.
    editor.call(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "plan"}),
    );
    editor.clear_unread();
    let turn = editor.send("session/prompt", prompt(&session, "zzplan"));
    let asked = editor.request("session/request_permission");
    assert_eq!(asked["params"]["options"][0]["optionId"], "ask");
    editor.respond(
        &asked,
        json!({"outcome": {"outcome": "selected", "optionId": "plan"}}),
    );
    assert_eq!(editor.response(turn)["result"]["stopReason"], "end_turn");
    assert!(!editor.unread().contains(&"current_mode_update"));
}

#[test]
fn slash_commands_of_osier_answer_with_a_message() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let listed = editor.update("available_commands_update");
    let listed = listed["availableCommands"].as_array().unwrap().iter();
    let names: Vec<&str> = listed
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    let rows = slash::COMMANDS.iter();
    let rows = rows.filter(|row| row.works_in(SlashClient::Editor));
    let rows: Vec<&str> = rows.map(|row| row.name).collect();
    assert_eq!(names, rows);
    for (command, part) in [
        (
            "/permissions",
            "Permission mode: `yolo` (run everything unless denied). Sandbox: `off`.",
        ),
        (
            "/permissions ask",
            "Permission mode: `ask` (ask before changes).",
        ),
        (
            "/permissions fly",
            "unknown mode `fly`; expected one of `yolo`, `auto`, `ask`, `plan`",
        ),
        ("/rename", "expected a name: `/name TEXT`"),
        ("/rename first", "The session is called `first`."),
        ("/budget 5", "budget used: $0.00 of $5.00"),
        ("/session", " messages, 0 queued"),
        ("/lsp", "no language server has started"),
        ("/diff", "`/diff` works in the terminal"),
        ("/modle", "unknown command `/modle`; did you mean `/model`?"),
        (
            "/model script/model.json",
            "Model: `script/model.json`, thinking level",
        ),
        ("/model no such model", "no such model"),
        ("/thinking off", "Thinking level: `off`."),
        ("/tools", "`read`, `write`, `edit`, `bash`"),
        ("/mcp", "No MCP servers."),
        ("/context", "tokens are in use"),
        (
            "/usage",
            "Usage: this session, all time. No model calls yet.",
        ),
        ("/about", "osier 0."),
        ("/export out.md", "out.md`."),
        ("/reload", "Done."),
    ] {
        let answered = editor.call("session/prompt", prompt(&session, command));
        assert_eq!(answered["stopReason"], "end_turn", "{command}");
        let text = editor.update("agent_message_chunk")["content"]["text"].take();
        assert!(text.as_str().unwrap().contains(part), "{command}: {text}");
    }
    assert!(home.work().join("out.md").exists());
    // A compaction ends when the summary is stored or refused.
    let answered = editor.call("session/prompt", prompt(&session, "/compact"));
    assert_eq!(answered["stopReason"], "end_turn");
    // Other words after a slash are prompts.
    editor.clear_unread();
    editor.call("session/prompt", prompt(&session, "/etc/hosts is wrong"));
    assert_eq!(
        editor.update("agent_message_chunk")["content"]["text"],
        "answer"
    );
}
