//! Prompts: their updates, their permission requests and their stop reasons.

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
    assert_eq!(ended, json!({"stopReason": "end_turn"}));
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
            &json!("bash echo ran"),
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
        (-32602, "audio is not supported; send text")
    );
    assert!(!editor.unread().contains(&"agent_message_chunk"));
    editor.running().close_input();
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}
