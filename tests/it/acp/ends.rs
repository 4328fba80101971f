//! How a connection of an editor ends, and lines that are no messages: nothing is lost, and nothing hangs.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::acp;
use super::wire::Editor;
use crate::support::cli::Home;

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

#[test]
fn a_huge_line_is_refused_and_the_next_is_read() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let huge = "x".repeat(osier_rpc::LINE_LIMIT + 1);
    editor.running().say(&huge);
    let fault = editor.until(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(
        fault["error"],
        json!({"code": -32700, "message": "the line has more than 33554432 bytes and was not read"})
    );
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
}

#[test]
fn a_reply_to_nothing_and_a_batch_change_nothing() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.say(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}));
    editor.say(&json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]));
    let fault = editor.until(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(fault["error"]["code"], -32600);
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
}

#[test]
fn a_signal_stops_what_runs_and_keeps_what_was_said() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzslow"));
    editor.update("agent_message_chunk");
    editor.running().signal(Signal::TERM);
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(130), ""));
    let stored = home.session();
    let answer = stored
        .iter()
        .any(|entry| entry["message"]["content"][0]["text"] == "begun");
    assert!(answer, "{stored:#?}");
}

#[test]
fn when_nobody_reads_any_more_the_agent_ends_and_its_session_is_whole() {
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
    // Whether it sees the closed pipe with this answer or the next, it ends; its input stays open.
    while say(request(4, "session/list", json!({}))).is_ok() && child.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(home.sessions().len(), 1);
}

#[test]
fn a_session_that_another_program_has_says_so_and_a_deleted_one_is_gone() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.call("session/prompt", prompt(&session, "hi"));
    let (mut other, own) = Editor::with_session(acp(&home), &home);
    let load = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    let (_, message) = other.refused("session/load", load.clone());
    assert!(message.contains("another"), "{message}");
    let (_, message) = other.refused("session/delete", json!({"sessionId": session}));
    assert!(message.contains("another"), "{message}");
    let (code, message) = editor.refused("session/delete", json!({"sessionId": session}));
    assert_eq!(
        (code, message),
        (
            -32600,
            format!("the session `{session}` is open: close it first")
        )
    );
    // The other one goes on.
    let ended = other.call("session/prompt", prompt(&own, "more"));
    assert_eq!(ended["stopReason"], "end_turn");
    editor.call("session/close", json!({"sessionId": session}));
    assert_eq!(
        editor.call("session/delete", json!({"sessionId": session})),
        json!({})
    );
    let (code, _) = editor.refused("session/load", load);
    assert_eq!(code, -32002);
    let listed = editor.call("session/list", json!({}));
    let listed = listed["sessions"].as_array().unwrap().iter();
    assert!(
        !listed
            .map(|session| &session["sessionId"])
            .any(|id| *id == session)
    );
}
