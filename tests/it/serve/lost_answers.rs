//! Connections that are lost at every message: nothing that a client sent runs twice, and nothing is lost.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use osier_protocol::{ConnectionState, Event, Op};
use osier_rpc::remote::{AttachOptions, Target, Token, attach};
use serde_json::json;

use super::Server;
use crate::support::cli::Home;

/// The prompts that a session has stored.
fn prompts(server: &Server, id: &str) -> Vec<String> {
    let answer = server.rpc(id, &json!({"type": "get_messages"}));
    let messages = answer["data"]["messages"].as_array().cloned();
    let messages = messages.unwrap_or_else(|| panic!("{answer}")).into_iter();
    messages
        .filter(|message| message["role"] == "user")
        .map(|message| message["text"].as_str().expect("a text").to_owned())
        .collect()
}

/// A client does not know whether its prompt arrived. Meanwhile the server restarts.
#[test]
fn prompt_whose_answer_was_lost_runs_once() {
    let command = json!({"type": "prompt", "message": "hello"});
    let op = json!({"type": "op", "op": {"type": "prompt", "text": "hello"}});
    for command in [command, op] {
        let home = Home::new();
        let server = Server::start(&home);
        let id = server.open(&json!({}));
        let frame = json!({"id": 2, "sessionId": id, "once": "key-1", "command": command});
        let mut wire = server.socket();
        wire.subscribe(1, &id, None);
        wire.say(&frame);
        wire.settled();
        wire.leave();
        server.stop();
        let server = Server::start(&home);
        let mut wire = server.socket();
        wire.subscribe(1, &id, None);
        wire.say(&frame);
        let answer = wire.answer(2);
        assert_eq!(answer["payload"]["data"], json!({"repeated": true}));
        assert_eq!(prompts(&server, &id), ["hello"]);
        // Another key is another prompt.
        wire.say(&json!({"id": 3, "sessionId": id, "once": "key-2", "command": command}));
        wire.settled();
        assert_eq!(prompts(&server, &id), ["hello", "hello"]);
    }
}

/// A frame in pieces, over connections that are lost after each of them.
#[test]
fn frame_in_pieces_continues_where_the_server_has_it() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let long = "ä line\n".repeat(2000);
    let op = json!({"type": "prompt", "text": long});
    let command = json!({"type": "op", "op": op});
    let frame = json!({"id": 7, "sessionId": id, "once": "k", "history": true, "command": command});
    let frame = frame.to_string();
    let piece = |at: usize, text: &str| {
        json!({"id": 7, "sessionId": id, "type": "piece", "once": "k",
            "piece": {"at": at, "of": frame.len(), "text": text}})
    };
    let mut at = 0;
    let mut connections = 0;
    while at < frame.len() {
        let mut wire = server.socket();
        wire.subscribe(1, &id, None);
        wire.answer(1);
        wire.say(&piece(0, ""));
        let answer = wire.answer(7);
        assert_eq!(answer["payload"]["command"], "piece");
        assert_eq!(answer["payload"]["data"], json!({"received": at}));
        let end = frame.ceil_char_boundary((at + 3000).min(frame.len()));
        wire.say(&piece(at, &frame[at..end]));
        wire.answer(7);
        at = end;
        connections += 1;
        if at == frame.len() {
            wire.settled();
        }
    }
    assert_eq!(connections, frame.len().div_ceil(3000));
    assert_eq!(prompts(&server, &id), [long.as_str()]);
    let mut wire = server.socket();
    wire.subscribe(1, &id, None);
    wire.say(&piece(0, ""));
    let answer = wire.answer(7);
    assert_eq!(answer["payload"]["data"], json!({"repeated": true}));
    let history = server.rpc(&id, &json!({"type": "list_history"}));
    assert!(history["data"].to_string().contains("ä line"), "{history}");
}

/// Passes connections on to a server, and cuts the first one after a number of messages.
struct Relay {
    address: String,
    passed: Arc<AtomicUsize>,
}

impl Relay {
    fn start(server: &str, cut_after: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let passed = Arc::new(AtomicUsize::new(0));
        let (server, count) = (server.to_owned(), Arc::clone(&passed));
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a connection");
                let upstream = TcpStream::connect(&server).expect("the server");
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let (from, to) = (from.try_clone(), to.try_clone());
                    let (from, to) = (from.expect("a socket"), to.expect("a socket"));
                    let count = Arc::clone(&count);
                    thread::spawn(move || pass(from, to, &count, cut_after));
                }
            }
        });
        Self { address, passed }
    }

    /// Whether the first connection was cut.
    fn has_cut(&self, cut_after: usize) -> bool {
        self.passed.load(Ordering::Relaxed) >= cut_after
    }
}

/// Passes bytes on until the message with the number `cut_after`, which is lost with the connection.
fn pass(mut from: TcpStream, mut to: TcpStream, count: &AtomicUsize, cut_after: usize) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let is_cut = count.fetch_add(1, Ordering::Relaxed) + 1 == cut_after;
        if is_cut || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    for socket in [from, to] {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

/// An attached client sends a long prompt over a connection that is cut at the `cut_after`th message. Returns whether
/// it was cut before the end.
async fn send_over(server: &Server, cut_after: usize) -> bool {
    let id = server.open(&json!({}));
    let relay = Relay::start(&server.address, cut_after);
    let options = AttachOptions {
        session: Some(id.clone()),
        name: "test".to_owned(),
        token: Some(Token::Given(server.token.clone())),
        ..AttachOptions::default()
    };
    let target = Target::Http(format!("http://{}", relay.address));
    let (handle, mut events) = attach(target, options);
    let connected = |event: &Event| {
        matches!(
            event,
            Event::Connection {
                state: ConnectionState::Connected,
                ..
            }
        )
    };
    // Sent while the connection is being made, too.
    let text = format!("{cut_after}\n{}", "a long line\n".repeat(4000));
    handle.send(Op::AddHistory { text: text.clone() });
    handle.send(
        osier_agent::Op::Prompt {
            text: text.clone(),
            attachments: Vec::new(),
            typed: None,
            once: None,
        }
        .into(),
    );
    let mut was_connected = false;
    while let Some(event) = events.recv().await {
        was_connected |= connected(&event);
        let shown = serde_json::to_value(&event).expect("JSON").to_string();
        if was_connected && shown.contains("\"text\":\"answer\"") {
            break;
        }
    }
    assert_eq!(
        prompts(server, &id),
        [text.as_str()],
        "cut after {cut_after}"
    );
    handle.send(Op::ShutDown);
    relay.has_cut(cut_after)
}

#[tokio::test(flavor = "multi_thread")]
async fn attached_client_sends_a_prompt_once_wherever_its_connection_is_cut() {
    let home = Home::new();
    let server = Server::start(&home);
    let mut cuts = 0;
    while send_over(&server, cuts + 1).await {
        cuts += 1;
        assert!(cuts < 500, "the client never ends");
    }
    assert!(cuts > 10, "{cuts} messages are too few for pieces");
}
