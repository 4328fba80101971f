//! How a connection ends, and invalid lines: nothing is lost, and nothing hangs.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::acp;
use super::editor::Editor;
use crate::support::cli::Home;

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

#[test]
fn long_line_is_rejected_and_the_next_is_read() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let huge = "x".repeat(osier_rpc::LINE_LIMIT + 1);
    editor.running().say(&huge);
    let response = editor.wait_for(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(
        response["error"],
        json!({"code": -32700, "message": "the line is longer than 33554432 bytes and was ignored"})
    );
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
}

#[test]
fn invalid_messages_have_no_effect() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.send_line(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}));
    editor.notify("$/cancel_request", json!([1]));
    editor.send_line(&json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]));
    let response = editor.wait_for(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(response["error"]["code"], -32600);
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
}

#[test]
fn signal_cancels_the_turn_and_stores_it() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzslow"));
    editor.update("agent_message_chunk");
    editor.running().signal(Signal::TERM);
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(143), ""));
    let stored = home.session();
    let answer = stored
        .iter()
        .any(|entry| entry["message"]["content"][0]["text"] == "begun");
    assert!(answer, "{stored:#?}");
}

#[test]
fn agent_exits_when_its_output_closes() {
    let home = Home::new();
    let mut child = acp(&home).command().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = child.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    let mut say =
        |line: Value| std::io::Write::write_all(&mut stdin, format!("{line}\n").as_bytes());
    let request = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    say(request(1, "initialize", json!({"protocolVersion": 1}))).unwrap();
    let new = json!({"cwd": home.work(), "mcpServers": []});
    say(request(2, "session/new", new)).unwrap();
    let session = loop {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if let Some(session) = line["result"]["sessionId"].as_str() {
            break session.to_owned();
        }
    };
    say(request(3, "session/prompt", prompt(&session, "hi"))).unwrap();
    while !lines.next().unwrap().unwrap().contains("stopReason") {}
    drop(lines);
    // The agent exits at this or the next response, although its input stays open.
    while say(request(4, "session/list", json!({}))).is_ok() && child.try_wait().unwrap().is_none()
    {
        osier_testing::poll::pause();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(home.sessions().len(), 1);
}

#[test]
fn session_of_another_process_is_rejected_and_deleted_session_is_gone() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.call("session/prompt", prompt(&session, "hi"));
    let (mut other, own) = Editor::with_session(acp(&home), &home);
    let load = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    let (_, message) = other.call_error("session/load", load.clone());
    assert!(message.contains("another"), "{message}");
    let (_, message) = other.call_error("session/delete", json!({"sessionId": session}));
    assert!(message.contains("another"), "{message}");
    let (code, message) = editor.call_error("session/delete", json!({"sessionId": session}));
    assert_eq!(
        (code, message),
        (
            -32600,
            format!("session `{session}` is open; close it first with `session/close`")
        )
    );
    // The other agent continues.
    let ended = other.call("session/prompt", prompt(&own, "more"));
    assert_eq!(ended["stopReason"], "end_turn");
    editor.call("session/close", json!({"sessionId": session}));
    assert_eq!(
        editor.call("session/delete", json!({"sessionId": session})),
        json!({})
    );
    let (code, _) = editor.call_error("session/load", load);
    assert_eq!(code, -32002);
    let listed = editor.call("session/list", json!({}));
    let listed = listed["sessions"].as_array().unwrap().iter();
    assert!(
        !listed
            .map(|session| &session["sessionId"])
            .any(|id| *id == session)
    );
}
