//! Prompts: what an editor is told while they are answered, and how they end.

use serde_json::{Value, json};

use super::acp;
use super::wire::Editor;
use crate::support::cli::Home;

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

#[test]
fn a_prompt_is_answered_in_pieces_and_ends() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended, json!({"stopReason": "end_turn"}));
    let chunk = editor.update("agent_message_chunk");
    assert_eq!(chunk["content"], json!({"type": "text", "text": "answer"}));
    // The first prompt is the title until there is another.
    assert_eq!(editor.update("session_info_update")["title"], "hi");
    editor.call("session/prompt", prompt(&session, "more"));
    assert!(!editor.unread().contains(&"session_info_update"));
    let used = editor.update("usage_update");
    assert_eq!(used["used"], 110);
}

#[test]
fn a_tool_call_says_what_it_does_and_what_came_of_it() {
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
    let ended = editor.until(|line| line["params"]["update"]["status"] == "completed");
    let ended = &ended["params"]["update"];
    assert_eq!(ended["toolCallId"], call["toolCallId"]);
    assert!(ended["content"].to_string().contains("ran"), "{ended}");
    editor.forget();
    editor.call("session/prompt", prompt(&session, "zzwrite"));
    let ended = editor.until(|line| line["params"]["update"]["status"] == "completed");
    assert_eq!(
        ended["params"]["update"]["content"],
        json!([{
            "type": "diff", "path": home.work().join("made.txt"),
            "oldText": null, "newText": "one\ntwo\n",
        }])
    );
}

#[test]
fn a_permission_is_asked_of_the_editor() {
    let home = Home::new();
    let asks = acp(&home).args(["--permissions", "ask"]);
    let (mut editor, session) = Editor::with_session(asks, &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let request = editor.asked("session/request_permission");
    let asked = &request["params"];
    assert_eq!(asked["toolCall"]["content"][0]["newText"], "one\ntwo\n");
    assert!(!home.work().join("made.txt").exists());
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "once"}});
    editor.reply(&request, chosen);
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    assert!(home.work().join("made.txt").exists());
    let turn = editor.send("session/prompt", prompt(&session, "zzrun"));
    let request = editor.asked("session/request_permission");
    let no = json!({"outcome": {"outcome": "selected", "optionId": "no"}});
    editor.reply(&request, no);
    editor.answer(turn);
    editor.until(|line| line["params"]["update"]["status"] == "failed");
}

#[test]
fn a_cancel_stops_the_turn_and_what_it_asked() {
    let home = Home::new();
    let asks = acp(&home).args(["--permissions", "ask"]);
    let (mut editor, session) = Editor::with_session(asks, &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzslow"));
    editor.update("agent_message_chunk");
    let (code, message) = editor.refused("session/prompt", prompt(&session, "hi"));
    assert_eq!(
        (code, message.as_str()),
        (
            -32600,
            "the prompt before is not answered yet: cancel it first"
        )
    );
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let request = editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    editor.reply(&request, json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
    assert!(!home.work().join("made.txt").exists());
}

#[test]
fn a_model_that_fails_is_an_error_and_the_session_goes_on() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let (code, message) = editor.refused("session/prompt", prompt(&session, "zzfail"));
    assert_eq!(code, -32603);
    assert!(message.contains("who are you?"), "{message}");
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
}

#[test]
fn what_is_no_message_gets_an_error_and_nothing_else_happens() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.running().say("not json");
    let fault = editor.until(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(fault["error"]["code"], -32700);
    let (code, message) = editor.refused("session/fly", json!({}));
    assert_eq!(
        (code, message.as_str()),
        (-32601, "there is no method `session/fly`")
    );
    let (code, _) = editor.refused("session/prompt", prompt("nobody", "hi"));
    assert_eq!(code, -32002);
    let wrong =
        json!({"sessionId": session, "prompt": [{"type": "audio", "data": "", "mimeType": "a/b"}]});
    let (code, message) = editor.refused("session/prompt", wrong);
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "sound is not taken: no model here hears; send what was said as text"
        )
    );
    assert!(!editor.unread().contains(&"agent_message_chunk"));
    editor.running().close_input();
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}
