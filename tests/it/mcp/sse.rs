//! The HTTP protocol of 2024: a stream of events, and messages to the address that it names.

use std::sync::Arc;

use osier_agent::ToolStatus;
use osier_protocol::ServerState;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::{calling, config, open, state, status};
use crate::support::session::TestProject;

/// A server with the tool `echo` that names `address` for messages.
struct SseServer {
    port: u16,
    posts: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl SseServer {
    async fn start(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let posts = Arc::new(Mutex::new(Vec::new()));
        let (address, seen) = (address.to_owned(), Arc::clone(&posts));
        let task = tokio::spawn(async move {
            let events = Arc::new(Mutex::new(None));
            while let Ok((socket, _)) = listener.accept().await {
                let (address, events) = (address.clone(), Arc::clone(&events));
                let seen = Arc::clone(&seen);
                tokio::spawn(serve(socket, address, events, seen));
            }
        });
        Self {
            port,
            posts,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/sse", self.port)
    }
}

type Events = Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>;

/// Answers one request.
async fn serve(socket: TcpStream, address: String, events: Events, seen: Arc<Mutex<Vec<String>>>) {
    let mut socket = BufReader::new(socket);
    let (mut first, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.unwrap();
        let line = line.trim_end();
        if first.is_empty() {
            line.clone_into(&mut first);
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    seen.lock().await.push(first.clone());
    if first.starts_with("GET /sse ") {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        *events.lock().await = Some(sender);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let begin = format!("{head}: hello\n\nevent: endpoint\ndata: {address}\n\n");
        socket.write_all(begin.as_bytes()).await.unwrap();
        while let Some(message) = receiver.recv().await {
            let event = format!("event: message\ndata: {message}\n\n");
            socket.write_all(event.as_bytes()).await.unwrap();
        }
        return;
    }
    let is_message = first.starts_with("POST /messages?id=1 ");
    let status = if is_message {
        "202 Accepted"
    } else {
        "405 Method Not Allowed"
    };
    let answer =
        format!("HTTP/1.1 {status}\r\ncontent-length: 8\r\nconnection: close\r\n\r\nAccepted");
    socket.write_all(answer.as_bytes()).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let (true, Some(answer)) = (is_message, reply(&message)) {
        let events = events.lock().await;
        events.as_ref().unwrap().send(answer.to_string()).unwrap();
    }
}

fn reply(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "echoed"}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

#[tokio::test]
async fn a_server_with_an_event_stream_is_called() {
    for kind in [json!("sse"), Value::Null] {
        let server = SseServer::start("/messages?id=1").await;
        let place = TestProject::new();
        let mut entry = json!({"url": server.url(), "type": kind});
        let is_named = !kind.is_null();
        if !is_named {
            entry.as_object_mut().unwrap().remove("type");
        }
        config(&place, &json!({"old": entry}));
        let mut open = open(&place, calling("old__echo")).await;
        let ready = state(&mut open, |state| state == ServerState::Ready).await;
        assert_eq!(ready.protocol.as_deref(), Some("2024-11-05"));
        let events = open.run("go").await;
        assert_eq!(status(&events), ToolStatus::Success);
        assert_eq!(open.last_request().last().unwrap(), "result c: echoed");
        open.close().await;
        let posts = server.posts.lock().await;
        let tried = posts.iter().any(|line| line.starts_with("POST /sse "));
        assert_eq!(tried, !is_named, "{posts:?}");
    }
}

#[tokio::test]
async fn messages_are_not_sent_to_another_origin() {
    let other = SseServer::start("/messages?id=1").await;
    let address = format!("http://127.0.0.1:{}/messages?id=1", other.port);
    let server = SseServer::start(&address).await;
    let place = TestProject::new();
    config(
        &place,
        &json!({"old": {"type": "sse", "url": server.url()}}),
    );
    let mut open = open(&place, calling("old__echo")).await;
    let failed = |state: ServerState| matches!(state, ServerState::Waiting { .. });
    let info = state(&mut open, failed).await;
    let error = info.error.unwrap();
    let expected = format!(
        "the address for messages, `http://127.0.0.1:{}`, is not at the server `http://127.0.0.1:{}`",
        other.port, server.port
    );
    assert!(error.contains(&expected), "{error}");
    open.close().await;
    assert_eq!(*other.posts.lock().await, [""; 0]);
}
