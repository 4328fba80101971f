//! An osier server that sends half of an answer and then nothing until the client disconnects.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_mins(2);

/// The valid token.
pub(crate) const TOKEN: &str = "person-token-1234567890";

/// The sent half of each answer.
pub(crate) const HALF: &str = "half of it";

pub(crate) struct StalledProxy {
    url: String,
    gone: Receiver<()>,
}

impl StalledProxy {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (left, gone) = channel();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let socket = socket.expect("a connection");
                let left = left.clone();
                std::thread::spawn(move || answer(socket, &left));
            }
        });
        Self { url, gone }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until a client has closed the connection of an incomplete answer.
    pub(crate) fn is_left(&self) {
        let left = self.gone.recv_timeout(PATIENCE);
        left.expect("the connection of the answer ends");
    }

    /// Whether a client still waits for the answer.
    pub(crate) fn is_held(&self) -> bool {
        self.gone.try_recv().is_err()
    }
}

fn answer(mut socket: TcpStream, left: &Sender<()>) {
    let head = request(&mut socket);
    assert!(
        head.to_lowercase()
            .contains(&format!("authorization: bearer {TOKEN}")),
        "{head}"
    );
    if head.starts_with("GET /api/models ") {
        let model = json!({"provider": "acme", "id": "large", "name": "Acme Large", "api": "anthropic-messages",
            "contextWindow": 200_000, "maxTokens": 8_000});
        let body = json!({"models": [model]}).to_string();
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        let text = format!("{head}content-length: {length}\r\n\r\n{body}");
        // The program may have been stopped.
        let _ = socket.write_all(text.as_bytes());
        return;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let frames = [
        json!({"type": "start"}),
        json!({"type": "delta", "delta": {"type": "text_start", "index": 0}}),
        json!({"type": "delta", "delta": {"type": "text_delta", "index": 0, "delta": HALF}}),
    ];
    let events = |frames: &[Value]| -> String {
        let events = frames.iter().map(|frame| format!("data: {frame}\n\n"));
        events.collect()
    };
    let _ = socket.write_all(format!("{head}{}", events(&frames)).as_bytes());
    // Waits until the client closes the connection.
    while let Ok(1..) = socket.read(&mut [0; 64]) {}
    let _ = left.send(());
}

/// Reads a complete request and returns its head.
fn request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head_lower = head.to_lowercase();
            let length = head_lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().expect("a length")) {
                return head.to_owned();
            }
        }
        match socket.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => return String::new(),
        }
    }
}
