//! Several clients in one session: presence, the active writer, taking over, and leaving.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Server;
use super::websocket_client::WebSocketClient;
use crate::support::cli::{Home, without_time};

/// Reads up to a `presence` event, which is returned without its type.
fn presence(wire: &mut WebSocketClient) -> Value {
    let is_presence = |frame: &Value| frame["payload"]["type"] == "presence";
    let frame = wire.until(is_presence).pop().expect("who is there");
    let mut payload = without_time(&frame["payload"]);
    let fields = payload.as_object_mut().expect("an event");
    fields.shift_remove("type");
    payload
}

fn client(id: u64, name: &str) -> Value {
    json!({"id": id, "name": name})
}

fn away(id: u64, name: &str) -> Value {
    json!({"id": id, "name": name, "away": true})
}

/// A named client that is subscribed.
fn join(server: &Server, session: &str, name: &str) -> (WebSocketClient, Value) {
    let mut wire = server.socket();
    let answer = wire.join(1, session, name);
    (wire, answer)
}

/// The events of this type in the snapshot.
fn told(answer: &Value, kind: &str) -> Vec<Value> {
    let events = &answer["payload"]["data"]["snapshot"]["events"];
    let events = events.as_array().expect("events").iter();
    events
        .filter(|event| event["type"] == kind)
        .map(without_time)
        .collect()
}

#[test]
fn single_client_receives_no_presence() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let (mut anna, joined) = join(&server, &id, "anna");
    assert_eq!(told(&joined, "presence"), Vec::<Value>::new());
    anna.command(2, &id, &json!({"type": "prompt", "message": "hello"}));
    let frames = anna.settled();
    let of_others = |frame: &&Value| frame["payload"]["type"] == "presence";
    assert_eq!(frames.iter().find(of_others), None);
    anna.command(3, &id, &json!({"type": "take_over"}));
    let answer = json!({"type": "response", "id": 3, "command": "take_over", "success": true});
    assert_eq!(anna.answer(3)["payload"], answer);
}

#[test]
fn take_over_changes_the_active_writer() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let (mut anna, _) = join(&server, &id, "anna");
    anna.command(2, &id, &json!({"type": "prompt", "message": "zzslow"}));
    anna.until(|frame| frame["payload"]["delta"]["delta"] == "begun");
    let (mut bob, joined) = join(&server, &id, "bob");
    let both = [client(1, "anna"), client(2, "bob")];
    let seen = told(&joined, "presence");
    let expected = json!({"type": "presence", "clients": both, "writer": 1, "you": 2});
    assert_eq!(seen, [expected]);
    let expected = json!({"clients": both, "writer": 1, "you": 1});
    assert_eq!(presence(&mut anna), expected);

    let more = json!({"type": "steer", "message": "more"});
    let text = "anna has control of this session; take control, or wait until the run has ended";
    let refused = |command: &str, id: u64| {
        json!({
            "type": "response", "id": id, "command": command, "success": false,
            "data": {"writer": both[0]}, "error": text, "code": "occupied",
        })
    };
    bob.command(2, &id, &more);
    assert_eq!(bob.answer(2)["payload"], refused("steer", 2));
    bob.command(
        3,
        &id,
        &json!({"type": "op", "op": {"type": "new_session"}}),
    );
    assert_eq!(bob.answer(3)["payload"], refused("op", 3));
    let by_request = server
        .http()
        .post(&format!("/api/sessions/{id}/rpc"), &more);
    assert_eq!(by_request.status, 409);
    assert_eq!(by_request.json()["code"], "occupied");
    let prompt = json!({"message": "more"});
    let path = format!("/api/sessions/{id}/prompt");
    let by_request = server.http().post(&path, &prompt);
    assert_eq!(by_request.status, 409);
    let error = json!({"code": "occupied", "type": "occupied", "message": text});
    assert_eq!(by_request.json(), json!({"error": error}));
    // The client of the HTTP request was connected until its response.
    let three = [client(1, "anna"), client(2, "bob"), client(3, "a program")];
    let expected = json!({"clients": three, "writer": 1, "you": 2});
    assert_eq!(presence(&mut bob), expected);
    let expected = json!({"clients": both, "writer": 1, "you": 2});
    assert_eq!(presence(&mut bob), expected);
    // Read requests are allowed.
    bob.command(4, &id, &json!({"type": "get_tree"}));
    assert_eq!(bob.answer(4)["payload"]["success"], true);

    bob.command(5, &id, &json!({"type": "take_over"}));
    let notice = |wire: &mut WebSocketClient| {
        let is_notice = |frame: &Value| frame["payload"]["method"] == "notify";
        let frame = wire.until(is_notice).pop().expect("a notice");
        frame["payload"]["title"].clone()
    };
    while presence(&mut anna)["writer"] != 2 {}
    assert_eq!(notice(&mut anna), "bob took control");
    assert_eq!(notice(&mut bob), "bob took control");
    anna.command(6, &id, &more);
    assert_eq!(anna.answer(6)["payload"]["data"]["writer"], both[1]);
    bob.command(6, &id, &more);
    let queued = json!({"disposition": "queued"});
    assert_eq!(bob.answer(6)["payload"]["data"], queued);
    // Every client can stop the run.
    anna.command(7, &id, &json!({"type": "abort"}));
    assert_eq!(notice(&mut bob), "anna stopped the run");
    let expected = json!({"clients": both, "writer": null, "you": 2});
    assert_eq!(presence(&mut bob), expected);
    bob.settled();
    anna.settled();
    anna.command(8, &id, &json!({"type": "prompt", "message": "hello"}));
    let started = json!({"disposition": "started"});
    assert_eq!(anna.answer(8)["payload"]["data"], started);
}

#[test]
fn write_lock_is_released_when_its_client_leaves() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let (mut anna, _) = join(&server, &id, "anna");
    let (mut bob, _) = join(&server, &id, "bob");
    anna.command(2, &id, &json!({"type": "prompt", "message": "zzslow"}));
    bob.until(|frame| frame["payload"]["delta"]["delta"] == "begun");
    // A disconnected client stays in the list for a while and can reconnect.
    drop(anna);
    let cut = json!({"clients": [away(1, "anna"), client(2, "bob")], "writer": 1, "you": 2});
    assert_eq!(presence(&mut bob), cut);
    let more = json!({"type": "steer", "message": "more"});
    bob.command(3, &id, &more);
    assert_eq!(bob.answer(3)["payload"]["data"]["writer"], away(1, "anna"));
    let (mut anna, joined) = join(&server, &id, "anna");
    let both = [client(1, "anna"), client(2, "bob")];
    let back = json!({"type": "presence", "clients": both, "writer": 1, "you": 1});
    assert_eq!(told(&joined, "presence"), [back]);
    anna.command(3, &id, &more);
    assert_eq!(anna.answer(3)["payload"]["success"], true);
    let back = json!({"clients": both, "writer": 1, "you": 2});
    assert_eq!(presence(&mut bob), back);
    // A client that leaves releases the write lock at once, even during a run.
    anna.leave();
    let alone = json!({"clients": [both[1]], "writer": null, "you": 2});
    assert_eq!(presence(&mut bob), alone);
    bob.command(4, &id, &more);
    assert_eq!(bob.answer(4)["payload"]["success"], true);
    bob.command(5, &id, &json!({"type": "abort"}));
    bob.settled();
}

#[test]
fn requests_can_be_sent_with_opening_a_session() {
    let home = Home::new();
    let server = Server::start(&home);
    let mut wire = server.socket();
    let then = json!([
        {"id": 2, "type": "subscribe"},
        {"id": 3, "command": {"type": "get_state"}},
        {"id": 4, "type": "nonsense"},
    ]);
    wire.say(&json!({"id": 1, "type": "open", "open": {"join": true}, "then": then}));
    let opened = wire.next();
    assert_eq!(opened["payload"]["data"]["then"], 3);
    let id = opened["payload"]["data"]["id"].clone();
    let mut answers = BTreeMap::new();
    while answers.len() < 3 {
        let frame = wire.next();
        if let Some(known) = frame["payload"]["id"].as_u64() {
            answers.insert(known, frame);
        }
    }
    assert_eq!(answers[&2]["sessionId"], id);
    assert_eq!(answers[&3]["payload"]["data"]["sessionId"], id);
    assert_eq!(answers[&4]["payload"]["code"], "malformed");
}
