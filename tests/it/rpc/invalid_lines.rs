//! Lines that are invalid, too long, incomplete or out of order: each is an error without side effects.

use serde_json::{Value, json};

use super::process::RpcProcess;
use super::{rpc, script};
use crate::support::cli::Home;

/// The response to a raw line, without its type.
fn answered(wire: &mut RpcProcess, line: &str) -> Value {
    wire.running().say(line);
    let mut answer = wire.event("response");
    answer.as_object_mut().unwrap().shift_remove("type");
    answer
}

/// The response to an invalid line.
fn fault(id: &Value, command: &str, code: &str, error: &str) -> Value {
    let mut fault = json!({"command": command, "success": false, "error": error, "code": code});
    if !id.is_null() {
        fault["id"] = id.clone();
    }
    fault
}

/// Invalid lines and their responses.
fn faults() -> [(&'static str, Value); 11] {
    let none = Value::Null;
    let of = |id: Value, command: &str, text: &str| fault(&id, command, "invalid_parameters", text);
    let parse = |id: &Value, text: &str| fault(id, "parse", "parse", text);
    let not_json = "the line is not valid JSON: expected ident at line 1 column 2";
    let no_type = "the object has no `type` with the name of a command";
    let id_type = "`id` must be a string or an integer";
    let unknown = "unknown command `promt`; did you mean `prompt`?";
    let missing = "`prompt` requires `message`: a string";
    let loud = "unknown parameter `loud` of `prompt`; expected one of `message`, `images`, `attachments`, \
                `streamingBehavior`";
    let image = "`images`: image 1 is not valid Base64: Invalid symbol 37, offset 0.";
    let wrong = "`page` is not a valid `PageAt`; `osier rpc --schema` describes all requests and their types";
    let no_op = "unknown request `promt`; did you mean `prompt`?";
    let no_text = "`prompt` requires `text`: a string";
    [
        ("not json", parse(&none, not_json)),
        (
            r#"["prompt"]"#,
            parse(&none, "the line is not a JSON object"),
        ),
        (r#"{"id":"a"}"#, parse(&json!("a"), no_type)),
        (r#"{"id":{},"type":"abort"}"#, parse(&none, id_type)),
        (
            r#"{"id":1,"type":"promt","message":"hi"}"#,
            fault(&json!(1), "promt", "unknown_command", unknown),
        ),
        (
            r#"{"id":2,"type":"prompt"}"#,
            of(json!(2), "prompt", missing),
        ),
        (
            r#"{"id":3,"type":"prompt","message":"hi","loud":true}"#,
            of(json!(3), "prompt", loud),
        ),
        (
            r#"{"id":4,"type":"prompt","message":"hi","images":[{"data":"%%%%"}]}"#,
            of(json!(4), "prompt", image),
        ),
        (
            r#"{"id":5,"type":"read_transcript","page":{"at":"nowhere"}}"#,
            of(json!(5), "read_transcript", wrong),
        ),
        (
            r#"{"id":6,"type":"op","op":{"type":"promt"}}"#,
            of(json!(6), "op", no_op),
        ),
        (
            r#"{"id":7,"type":"op","op":{"type":"prompt"}}"#,
            of(json!(7), "op", no_text),
        ),
    ]
}

#[test]
fn invalid_line_is_an_error_without_side_effects() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    for (line, expected) in faults() {
        assert_eq!(answered(&mut wire, line), expected, "{line}");
    }
    let state = wire.call("get_state", json!({}));
    assert_eq!(
        (&state["messageCount"], &state["isStreaming"]),
        (&json!(0), &json!(false))
    );
    assert!(!wire.seen.contains("agent_start"));
}

#[test]
fn oversized_line_is_an_error_and_the_next_is_read() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    let huge = "x".repeat(osier_rpc::LINE_LIMIT + 1);
    let answer = answered(&mut wire, &huge);
    assert_eq!(
        answer,
        json!({
            "command": "parse", "success": false, "code": "line_too_long",
            "error": "the line is longer than 33554432 bytes; split the command into shorter lines",
        })
    );
    assert_eq!(wire.call("get_state", json!({}))["messageCount"], 0);
}

#[test]
fn last_line_needs_no_newline_and_an_incomplete_one_is_an_error() {
    let home = Home::new();
    let half = rpc(&home, &script())
        .stdin(r#"{"id":1,"type":"get_st"#)
        .run();
    assert_eq!((half.code, half.stderr.as_str()), (Some(0), ""));
    let fault = half.stdout.lines().find(|line| line.contains("response"));
    assert!(fault.unwrap().contains("EOF while parsing"), "{fault:?}");
    let whole = rpc(&home, &script())
        .stdin(r#"{"id":1,"type":"prompt","message":"hi"}"#)
        .run();
    assert_eq!(whole.code, Some(0));
    let last = whole
        .stdout
        .lines()
        .rev()
        .find(|line| line.contains("agent_settled"));
    assert!(last.unwrap().contains("completed"), "{}", whole.stdout);
}

#[test]
fn responses_have_the_ids_of_their_commands() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    wire.say(&json!({"id": 9, "type": "bash", "command": "sleep 3600"}));
    wire.say(&json!({"id": "later", "type": "get_state"}));
    wire.say(&json!({"id": -3, "type": "list_tools"}));
    wire.say(&json!({"type": "list_questions"}));
    let mut ids: Vec<Value> = (0..3)
        .map(|_| wire.event("response")["id"].take())
        .collect();
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!("later"), json!(-3), Value::Null]);
    wire.say(&json!({"id": 2, "type": "abort_bash"}));
    let mut ids: Vec<Value> = (0..2)
        .map(|_| wire.event("response")["id"].take())
        .collect();
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!(2), json!(9)]);
}

#[test]
fn id_of_a_pending_command_cannot_be_reused() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    wire.event("session_opened");
    wire.say(&json!({"id": 1, "type": "bash", "command": "echo up; sleep 3600"}));
    wire.until(|line| line["type"] == "shell_update");
    wire.say(&json!({"id": 1, "type": "abort_bash"}));
    let refused = wire.event("response");
    assert_eq!(
        (&refused["command"], &refused["code"]),
        (&json!("abort_bash"), &json!("duplicate_id"))
    );
    wire.say(&json!({"id": 2, "type": "abort_bash"}));
    let ended = wire.until(|line| line["type"] == "response" && line["id"] == 1);
    assert_eq!(ended["data"]["cancelled"], true);
    // After the response, the id can be used again.
    wire.say(&json!({"id": 1, "type": "get_state"}));
    let state = wire.until(|line| line["type"] == "response" && line["id"] == 1);
    assert_eq!(state["success"], true);
}
