//! What needs a person: asked, answered, dismissed by time, by the end of the input, and by choice.

use serde_json::{Value, json};

use super::wire::Wire;
use super::{rpc, script};
use crate::support::cli::Home;

/// Starts a run that asks whether a command may run, and gives the request.
fn asked(wire: &mut Wire) -> Value {
    wire.call("prompt", json!({"message": "zztool"}));
    wire.until(|line| line["type"] == "ui_request" && line["method"] == "permission")
}

fn asking(home: &Home) -> Wire {
    Wire::start(rpc(home, &script()).args(["--permissions", "ask"]))
}

/// How the tool call of the run ended.
fn ended(wire: &mut Wire) -> Value {
    let end = wire.event("tool_execution_end");
    wire.event("agent_settled");
    end["result"]["status"]["type"].clone()
}

fn reply(wire: &mut Wire, fields: Value) {
    let mut line = fields;
    line["type"] = json!("ui_response");
    wire.say(&line);
}

#[test]
fn a_permission_is_asked_and_a_yes_lets_the_call_run() {
    let home = Home::new();
    let mut wire = asking(&home);
    let request = asked(&mut wire);
    assert_eq!(
        (&request["tool"], &request["subject"]["command"]),
        (&json!("bash"), &json!("echo made > made.txt"))
    );
    assert!(!home.work().join("made.txt").exists());
    let listed = wire.call("list_questions", json!({}));
    assert_eq!(listed["questions"][0]["id"], request["id"]);
    reply(&mut wire, json!({"id": request["id"], "confirmed": true}));
    let closed = wire.event("ui_closed");
    assert_eq!(
        closed,
        json!({"type": "ui_closed", "id": request["id"], "reason": "answered"})
    );
    assert_eq!(ended(&mut wire), "success");
    assert!(home.work().join("made.txt").exists());
    // The rule of a grant covers the next call.
    let request = asked(&mut wire);
    let grant = json!({"type": "session", "pattern": request["patterns"][0]});
    let answer = json!({"type": "allow", "grant": grant});
    reply(&mut wire, json!({"id": request["id"], "answer": answer}));
    assert_eq!(ended(&mut wire), "success");
    wire.call("prompt", json!({"message": "zztool"}));
    assert_eq!(ended(&mut wire), "success");
}

#[test]
fn a_no_has_a_reason_and_a_reply_that_does_not_fit_is_refused() {
    let home = Home::new();
    let mut wire = asking(&home);
    let request = asked(&mut wire);
    reply(&mut wire, json!({"id": request["id"], "value": "yes"}));
    let fault = wire.event("response");
    assert_eq!(
        fault["error"],
        "the reply requires `confirmed`, true or false; or `cancelled: true`"
    );
    reply(&mut wire, json!({"id": "other", "confirmed": true}));
    assert_eq!(
        wire.event("response")["error"],
        "no question `other` is open; it was answered or withdrawn"
    );
    reply(
        &mut wire,
        json!({"id": request["id"], "confirmed": false, "value": "use a file"}),
    );
    let end = wire.event("tool_execution_end");
    assert_eq!(end["result"]["status"]["type"], "denied");
    assert!(end.to_string().contains("use a file"), "{end}");
    assert!(!home.work().join("made.txt").exists());
}

#[test]
fn a_request_that_waits_too_long_is_dismissed() {
    let home = Home::new();
    let mut wire = asking(&home);
    wire.call("hello", json!({"uiTimeoutMs": 1}));
    let request = asked(&mut wire);
    assert_eq!(request["timeoutMs"], 1);
    let closed = wire.event("ui_closed");
    assert_eq!(
        (&closed["id"], &closed["reason"]),
        (&request["id"], &json!("timeout"))
    );
    assert_eq!(ended(&mut wire), "denied");
    reply(&mut wire, json!({"id": request["id"], "confirmed": true}));
    let fault = wire.event("response")["error"].take();
    assert!(fault.as_str().unwrap().starts_with("no request"), "{fault}");
}

#[test]
fn an_abort_takes_the_request_back() {
    let home = Home::new();
    let mut wire = asking(&home);
    let request = asked(&mut wire);
    wire.call("abort", json!({}));
    let closed = wire.event("ui_closed");
    assert_eq!(
        (&closed["id"], &closed["reason"]),
        (&request["id"], &json!("withdrawn"))
    );
    assert_eq!(
        wire.event("agent_settled")["outcome"]["type"],
        "interrupted"
    );
}

#[test]
fn a_client_without_a_person_gets_no_requests() {
    let home = Home::new();
    let mut wire = asking(&home);
    wire.call("hello", json!({"ui": false}));
    wire.call("prompt", json!({"message": "zztool"}));
    assert_eq!(ended(&mut wire), "denied");
    assert!(!home.work().join("made.txt").exists());
}

#[test]
fn the_end_of_the_input_dismisses_what_is_asked() {
    let home = Home::new();
    let mut wire = asking(&home);
    asked(&mut wire);
    wire.running().close_input();
    let (lines, code, _) = wire.end();
    let end = lines
        .iter()
        .find(|line| line["type"] == "tool_execution_end");
    assert_eq!(end.unwrap()["result"]["status"]["type"], "denied");
    assert_eq!(code, Some(0));
}

#[test]
fn a_client_that_is_an_interface_hears_questions_as_they_are() {
    let home = Home::new();
    let mut wire = asking(&home);
    wire.call("hello", json!({"events": "all"}));
    // What was told before is told as it is told by default.
    wire.seen.clear();
    wire.call("prompt", json!({"message": "zztool"}));
    let id = wire.event("question_asked")["question"]["id"].take();
    let answer = json!({"type": "allow", "grant": {"type": "once"}});
    let op = json!({"type": "answer_question", "id": id, "answer": answer});
    wire.call("op", json!({"op": op}));
    assert_eq!(wire.event("question_closed")["id"], id);
    assert_eq!(ended(&mut wire), "success");
    assert!(!wire.seen.contains("ui_request"));
}
