//! Questions to the user: answered, or dismissed by a timeout, by the end of the input, or by choice.

use serde_json::{Value, json};

use super::process::RpcProcess;
use super::{rpc, script};
use crate::support::cli::{Home, without_time};

/// Starts a run that requests permission for a command. Returns the request.
fn asked(wire: &mut RpcProcess) -> Value {
    wire.call("prompt", json!({"message": "zztool"}));
    wire.until(|line| line["type"] == "ui_request" && line["method"] == "permission")
}

fn asking(home: &Home) -> RpcProcess {
    RpcProcess::start(rpc(home, &script()).args(["--permissions", "ask"]))
}

/// The result of the tool call.
fn ended(wire: &mut RpcProcess) -> Value {
    let end = wire.event("tool_execution_end");
    wire.event("agent_settled");
    end["result"]["status"]["type"].clone()
}

fn reply(wire: &mut RpcProcess, fields: Value) {
    let mut line = fields;
    line["type"] = json!("ui_response");
    wire.say(&line);
}

#[test]
fn permission_request_is_answered_and_the_call_runs() {
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
        without_time(&closed),
        json!({"type": "ui_closed", "id": request["id"], "reason": "answered"})
    );
    assert_eq!(ended(&mut wire), "success");
    assert!(home.work().join("made.txt").exists());
    // The rule of the grant allows the next call.
    let request = asked(&mut wire);
    let grant = json!({"type": "session", "pattern": request["patterns"][0]});
    let answer = json!({"type": "allow", "grant": grant});
    reply(&mut wire, json!({"id": request["id"], "answer": answer}));
    assert_eq!(ended(&mut wire), "success");
    wire.call("prompt", json!({"message": "zztool"}));
    assert_eq!(ended(&mut wire), "success");
}

#[test]
fn denial_has_a_reason_and_an_invalid_reply_is_an_error() {
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
fn unanswered_request_times_out_as_dismissed() {
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
    assert!(
        fault.as_str().unwrap().starts_with("no question"),
        "{fault}"
    );
}

#[test]
fn abort_withdraws_the_request() {
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
fn non_interactive_client_gets_no_requests() {
    let home = Home::new();
    let mut wire = asking(&home);
    wire.call("hello", json!({"ui": false}));
    wire.call("prompt", json!({"message": "zztool"}));
    assert_eq!(ended(&mut wire), "denied");
    assert!(!home.work().join("made.txt").exists());
}

#[test]
fn end_of_input_dismisses_open_questions() {
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
fn interface_client_receives_question_events() {
    let home = Home::new();
    let mut wire = asking(&home);
    wire.call("hello", json!({"events": "all"}));
    // Earlier events have the default form.
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

#[test]
fn plan_is_changed_and_approved_or_refused_with_a_reason() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()).args(["--permissions", "plan"]));
    wire.call("prompt", json!({"message": "zzplan"}));
    let request = wire.until(|line| line["method"] == "plan");
    assert_eq!(
        (
            &request["method"],
            &request["title"],
            &request["subject"],
            &request["modes"]
        ),
        (
            &json!("plan"),
            &json!("Approve this plan?"),
            &json!({"type": "markdown", "text": "# Plan"}),
            &json!(["ask", "auto", "yolo"])
        )
    );
    reply(
        &mut wire,
        json!({"id": request["id"], "confirmed": false, "value": "Name the tests."}),
    );
    let end = wire.event("tool_execution_end");
    let told = "The user wants to keep planning: Name the tests. Plan mode stays on: change the plan and present it again.";
    assert_eq!(end["result"]["content"][0]["text"], told);
    wire.event("agent_settled");

    wire.call("prompt", json!({"message": "zzplan"}));
    let request = wire.until(|line| line["method"] == "plan");
    let answer = json!({"type": "approve", "mode": "auto", "plan": "# Other plan"});
    reply(&mut wire, json!({"id": request["id"], "answer": answer}));
    let end = wire.event("tool_execution_end");
    let details = &end["result"]["details"];
    assert_eq!(
        (&details["outcome"], &details["plan"], &details["mode"]),
        (&json!("approved"), &json!("# Other plan"), &json!("auto"))
    );
    wire.event("agent_settled");
    let listed = wire.call("list_permissions", json!({}));
    assert_eq!(listed["mode"], "auto", "{listed}");
}
