//! How a connection ends: closed pipes on both sides, signals, and a session that another process has open.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::process::RpcProcess;
use super::{rpc, script};
use crate::support::cli::{Home, lines_of};

/// The texts of the messages of the only session, in order.
fn said(home: &Home) -> Vec<String> {
    let entries = home.session();
    let messages = entries.iter().filter(|entry| entry["type"] == "message");
    let text = |entry: &Value| {
        let message = &entry["message"];
        let text = message["text"].as_str().map(str::to_owned);
        text.or_else(|| message["content"][0]["text"].as_str().map(str::to_owned))
    };
    messages.filter_map(text).collect()
}

#[test]
fn run_finishes_after_the_input_ends() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    wire.send("prompt", json!({"message": "one"}));
    wire.running().close_input();
    let (lines, code, errors) = wire.end();
    let last = lines
        .iter()
        .rev()
        .find(|line| line["type"] == "agent_settled");
    assert_eq!(last.unwrap()["outcome"]["type"], "completed");
    assert_eq!(lines.last().unwrap()["type"], "shut_down");
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(said(&home), ["one", "answer"]);
}

#[test]
fn closed_output_ends_the_program_and_the_session_is_complete() {
    let home = Home::new();
    let mut child = rpc(&home, &script()).command().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = child.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    let say = |stdin: &mut std::process::ChildStdin, line: Value| {
        std::io::Write::write_all(stdin, format!("{line}\n").as_bytes())
    };
    say(&mut stdin, json!({"type": "prompt", "message": "one"})).unwrap();
    while !lines.next().unwrap().unwrap().contains("agent_settled") {}
    drop(lines);
    // osier exits when it notices the closed pipe, at this or the next response; its input stays open.
    while say(&mut stdin, json!({"type": "get_state"})).is_ok()
        && child.try_wait().unwrap().is_none()
    {
        osier_testing::poll::pause();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(said(&home), ["one", "answer"]);
}

#[test]
fn signal_stops_the_run_and_stores_the_partial_answer() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let home = Home::new();
        let mut wire = RpcProcess::start(rpc(&home, &script()));
        wire.call("prompt", json!({"message": "zzslow"}));
        wire.until(|line| line["delta"]["delta"] == "begun");
        wire.running().signal(signal);
        let (lines, code, errors) = wire.end();
        assert_eq!(lines.last().unwrap()["type"], "shut_down");
        let expected = Some(128 + signal.as_raw());
        assert_eq!((code, errors.as_str()), (expected, ""));
        assert_eq!(said(&home), ["zzslow", "begun"]);
    }
}

#[test]
fn pending_commands_fail_when_the_session_ends() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    wire.event("session_opened");
    let waits = wire.send("bash", json!({"command": "sleep 3600"}));
    wire.event("shell_start");
    let ends = wire.send("shut_down", json!({}));
    assert_eq!(wire.answer(ends)["success"], true);
    let answer = wire.answer(waits);
    // The command fails because the agent stops, or returns its outcome.
    let told = answer["code"] == "shutting_down" || answer["data"]["cancelled"] == true;
    assert!(told, "{answer}");
    let (_, code, _) = wire.end();
    assert_eq!(code, Some(0));
}

#[test]
fn session_open_in_another_process_is_an_error_with_its_id() {
    let home = Home::new();
    let mut first = RpcProcess::start(rpc(&home, &script()));
    first.call("prompt", json!({"message": "one"}));
    first.event("agent_settled");
    let state = first.call("get_state", json!({}));
    let path = state["sessionFile"].as_str().unwrap().to_owned();
    let mut second = RpcProcess::start(rpc(&home, &script()).args(["--resume", &path]));
    let failed = second.event("session_failed");
    let message = failed["message"].as_str().unwrap();
    assert!(
        message.contains("is open in another process") || message.contains("lock"),
        "{message}"
    );
    let refused = second.refused("get_tree", json!({}));
    assert!(refused.starts_with("no session is open"), "{refused}");
    let refused = second.refused("switch_session", json!({"target": path}));
    assert_eq!(refused, message);
    second.call("new_session", json!({}));
    second.call("prompt", json!({"message": "two"}));
    second.event("agent_settled");
    // The first process continues.
    first.call("prompt", json!({"message": "three"}));
    first.event("agent_settled");
    let messages = first.call("get_messages", json!({}));
    assert_eq!(messages["messages"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        lines_of(std::path::Path::new(&path))[0]["type"],
        "osier_session"
    );
}
