//! Sessions over the WebSocket: commands, numbered events, replay, several clients, faults.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::websocket_client::WebSocketClient;
use super::{Server, words};
use crate::support::cli::Home;

fn numbers(frames: &[Value]) -> Vec<u64> {
    let numbers = frames.iter().filter_map(|frame| frame["number"].as_u64());
    numbers.collect()
}

#[test]
fn commands_are_answered_and_events_are_numbered() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut wire = server.socket();
    wire.subscribe(1, &id, None);
    let subscribed = wire.answer(1);
    assert_eq!(subscribed["sessionId"], json!(id));
    let snapshot = &subscribed["payload"]["data"]["snapshot"];
    assert_eq!(snapshot["events"][0]["type"], "session_opened");
    assert_eq!(snapshot["session"]["state"], "idle");
    wire.command(2, &id, &json!({"type": "prompt", "message": "hello"}));
    let frames = wire.settled();
    let seen = numbers(&frames);
    let first = subscribed["payload"]["data"]["number"]
        .as_u64()
        .expect("a number")
        + 1;
    let expected: Vec<u64> = (first..first + seen.len() as u64).collect();
    assert_eq!(seen, expected);
    // A second client receives the same events from any number on.
    let mut other = server.socket();
    other.subscribe(1, &id, Some(seen[1]));
    let replayed = other.settled();
    assert_eq!(numbers(&replayed), seen[2..]);
    let told = |frames: &[Value]| -> Vec<Value> {
        let told = frames.iter().filter(|frame| frame["number"].is_u64());
        let mut told: Vec<Value> = told.cloned().collect();
        for frame in &mut told {
            // The only field that differs between clients.
            if let Some(payload) = frame["payload"].as_object_mut() {
                payload.shift_remove("you");
            }
        }
        told
    };
    assert_eq!(told(&replayed), told(&frames)[2..]);
    // Both receive all events, and each only its own responses.
    other.command(7, &id, &json!({"type": "prompt", "message": "again"}));
    let here = wire.settled();
    let there = other.settled();
    assert_eq!(told(&here), told(&there));
    let is_answer = |frame: &&Value| frame["type"] == "response";
    assert_eq!(here.iter().filter(is_answer).count(), 0);
    assert_eq!(there.iter().filter(is_answer).count(), 1);
    // A client that is not subscribed receives no events.
    wire.say(&json!({"id": 8, "type": "unsubscribe", "sessionId": id}));
    assert_eq!(wire.answer(8)["payload"]["success"], true);
    other.command(
        9,
        &id,
        &json!({"type": "set_session_name", "name": "named"}),
    );
    other.until(|frame| frame["payload"]["type"] == "session_renamed");
    wire.command(10, &id, &json!({"type": "get_state"}));
    let frames = wire.until(|frame| frame["payload"]["id"] == 10);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0]["payload"]["data"]["sessionName"], "named");
}

#[test]
fn gap_is_reported_with_a_snapshot() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut wire = server.socket();
    wire.subscribe(1, &id, None);
    wire.answer(1);
    wire.command(2, &id, &json!({"type": "prompt", "message": "zzslow"}));
    wire.until(|frame| frame["payload"]["type"] == "message_update");
    // During an answer the snapshot contains its text so far.
    let mut late = server.socket();
    late.subscribe(1, &id, Some(5));
    let gap = late
        .until(|frame| frame["type"] == "replay_gap")
        .pop()
        .expect("a gap");
    let events = gap["payload"]["events"].as_array().expect("events");
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    for kind in [
        "session_opened",
        "model_selected",
        "agent_start",
        "message_start",
    ] {
        assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
    }
    let said = events
        .iter()
        .filter_map(|event| event["delta"]["delta"].as_str());
    assert_eq!(said.collect::<String>(), "begun");
    assert_eq!(gap["payload"]["session"]["state"], "working");
    late.command(2, &id, &json!({"type": "abort"}));
    let rest = late.settled();
    let number = gap["number"].as_u64().expect("a number");
    assert!(numbers(&rest).iter().all(|known| *known > number));
}

#[test]
fn questions_reach_every_client_and_the_first_answer_counts() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({"permissions": "ask"}));
    let mut one = server.socket();
    let mut two = server.socket();
    for wire in [&mut one, &mut two] {
        wire.subscribe(1, &id, None);
        wire.answer(1);
    }
    one.command(2, &id, &json!({"type": "prompt", "message": "zztool"}));
    let asked = |frame: &Value| frame["type"] == "ui_request" && frame["payload"]["id"].is_string();
    let question = one.until(asked).pop().expect("a question");
    assert_eq!(two.until(asked).pop().expect("a question"), question);
    let listed = server.http().get("/api/sessions").json();
    assert_eq!(listed["open"][0]["state"], "waiting");
    // A client that connects later also receives the question.
    let mut three = server.socket();
    three.subscribe(1, &id, None);
    let snapshot = three.answer(1);
    let events = snapshot["payload"]["data"]["snapshot"]["events"].clone();
    let events = events.as_array().expect("events");
    assert_eq!(events.last(), Some(&question["payload"]));
    let reply = json!({"type": "ui_response", "id": question["payload"]["id"], "confirmed": true});
    // The client that started the run receives the question first.
    two.command(3, &id, &reply);
    two.until(|frame| frame["payload"]["code"] == "occupied");
    two.command(4, &id, &json!({"type": "take_over"}));
    two.answer(4);
    two.command(5, &id, &reply);
    one.until(|frame| frame["type"] == "ui_closed");
    three.until(|frame| frame["type"] == "ui_closed");
    one.settled();
    assert!(home.work().join("made.txt").is_file());
}

#[test]
fn invalid_frame_is_an_error_without_side_effects() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut wire = server.socket();
    let mut refused = |text: &str| {
        wire.say_text(text);
        let frame = wire.next();
        assert_eq!(frame["type"], "error", "{frame}");
        (
            frame["payload"]["code"].clone(),
            frame["payload"]["id"].clone(),
        )
    };
    assert_eq!(refused("{"), (json!("malformed"), Value::Null));
    assert_eq!(refused("[1]"), (json!("malformed"), Value::Null));
    assert_eq!(refused(r#"{"id":1}"#), (json!("malformed"), json!(1)));
    assert_eq!(
        refused(r#"{"id":2,"sessionId":5}"#),
        (json!("malformed"), json!(2))
    );
    assert_eq!(
        refused(r#"{"id":3,"command":{"type":"get_state"}}"#),
        (json!("malformed"), json!(3))
    );
    assert_eq!(
        refused(r#"{"id":4,"sessionId":"none","command":{"type":"get_state"}}"#),
        (json!("unknown_session"), json!(4))
    );
    assert_eq!(
        refused(r#"{"id":5,"type":"hello","protocol":9}"#),
        (json!("unsupported_protocol"), json!(5))
    );
    wire.say(&json!({"id": 6, "type": "hello", "protocol": 1}));
    assert_eq!(wire.answer(6)["payload"]["data"]["protocol"], 1);
    wire.command(7, &id, &json!({"type": "get_state"}));
    assert_eq!(wire.answer(7)["payload"]["success"], true);
}

#[test]
fn slow_client_blocks_nobody_and_receives_a_snapshot() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut slow = server.socket();
    slow.subscribe(1, &id, None);
    slow.answer(1);
    let mut quick = server.socket();
    quick.subscribe(1, &id, None);
    quick.answer(1);
    let long = "long ".repeat(100_000);
    for number in 0..40 {
        let name = format!("{number} {long}");
        quick.command(10, &id, &json!({"type": "set_session_name", "name": name}));
        quick.answer(10);
    }
    let frames = slow.until(|frame| frame["type"] == "replay_gap");
    let gap = frames.last().expect("a gap");
    assert_eq!(gap["payload"]["events"][0]["type"], "session_opened");
    slow.command(2, &id, &json!({"type": "prompt", "message": "hello"}));
    slow.settled();
}

#[test]
fn closed_session_is_reported() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut wire = server.socket();
    wire.subscribe(1, &id, None);
    wire.answer(1);
    assert_eq!(
        server.http().delete(&format!("/api/sessions/{id}")).status,
        200
    );
    wire.until(|frame| frame["payload"]["type"] == "shut_down");
}

#[test]
fn a_stopped_server_does_not_close_the_sessions_of_its_clients() {
    let home = Home::new();
    let server = Server::start(&home);
    let (stays, closes) = (server.open(&json!({})), server.open(&json!({})));
    let mut socket = server.socket();
    for (number, id) in [(1, &stays), (2, &closes)] {
        socket.subscribe(number, id, None);
        socket.answer(number);
    }
    let closed = server.http().delete(&format!("/api/sessions/{closes}"));
    assert_eq!(closed.status, 200, "{}", closed.text);
    assert_eq!(server.stop().0, Some(0));
    let (frames, code) = socket.until_closed();
    let ended = frames
        .iter()
        .filter(|frame| frame["payload"]["type"] == "shut_down");
    let ended: Vec<&Value> = ended.map(|frame| &frame["sessionId"]).collect();
    assert_eq!((ended, code), (vec![&json!(closes)], Some(1012)));
}

#[test]
fn a_frame_that_is_too_large_closes_the_socket_with_its_reason() {
    let home = Home::new();
    let server = Server::start(&home);
    let mut socket = server.socket();
    // The head of a masked text frame of one byte more than the limit.
    let length = 32 * 1024 * 1024 + 1_u64;
    let mut head = vec![0x81, 0xFF];
    head.extend(length.to_be_bytes());
    head.extend([0; 4]);
    socket.say_bytes(&head);
    assert_eq!(socket.until_closed(), (Vec::new(), Some(1009)));
    // Other clients are served.
    assert_eq!(server.http().get("/api/status").status, 200);
}

/// The text of an answer, from its parts.
fn streamed(frames: &[Value]) -> String {
    let deltas = frames.iter().map(|frame| &frame["payload"]["delta"]);
    let texts = deltas.filter_map(|delta| delta["delta"].as_str());
    texts.collect()
}

#[test]
fn streams_are_compressed_and_merged_for_clients_that_ask() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut plain = server.socket();
    let mut compressed = WebSocketClient::compressed(&server.address, &server.token);
    for client in [&mut plain, &mut compressed] {
        client.command(1, &id, &json!({"type": "hello", "events": "all"}));
        client.subscribe(2, &id, None);
        client.answer(2);
        client.received = 0;
    }
    compressed.command(3, &id, &json!({"type": "prompt", "message": "zzwords"}));
    let (every, merged) = (plain.settled(), compressed.settled());
    assert_eq!((streamed(&every), streamed(&merged)), (words(), words()));
    // The last number is the same: a client continues after a lost connection where it was.
    let last = |frames: &[Value]| frames.last().map(|frame| frame["number"].clone());
    assert_eq!(last(&every), last(&merged));
    let (plain, compressed) = (plain.received, compressed.received);
    assert!(compressed * 5 < plain, "{compressed} of {plain} bytes");
}

#[test]
fn a_damaged_compressed_message_ends_its_connection_only() {
    let home = Home::new();
    let server = Server::start(&home);
    let mut socket = WebSocketClient::compressed(&server.address, &server.token);
    // A masked binary frame that is not compressed.
    socket.say_bytes(&[0x82, 0x84, 0, 0, 0, 0, b't', b'e', b'x', b't']);
    let error = socket.next();
    assert_eq!(
        (&error["type"], &error["payload"]["code"]),
        (&json!("error"), &json!("malformed"))
    );
    assert_eq!(socket.until_closed(), (Vec::new(), None));
    assert_eq!(server.http().get("/api/status").status, 200);
}

#[test]
fn commands_have_the_surroundings_of_the_newest_client() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let bearer = format!("Bearer {}", server.token);
    for (language, agent) in [("de_DE.UTF-8", "/tmp/one"), ("C.UTF-8", "/tmp/two")] {
        let variables = json!({"LANG": language, "SSH_AUTH_SOCK": agent, "OSIER_OTHER": "no"});
        let header = URL_SAFE_NO_PAD.encode(variables.to_string());
        let headers = [
            ("authorization", bearer.as_str()),
            ("osier-environment", header.as_str()),
        ];
        WebSocketClient::try_open(&server.address, &headers).expect("a socket");
        let command = "echo $LANG $(readlink $SSH_AUTH_SOCK) ${OSIER_OTHER-none}";
        let answer = server.rpc(&id, &json!({"type": "bash", "command": command}));
        let output = format!("{language} {agent} none\n");
        assert_eq!(answer["data"]["output"], json!(output), "{answer}");
    }
}
