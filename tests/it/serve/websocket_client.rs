//! A WebSocket client.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use osier_rpc::compression::{self, Compressor, Decompressor};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) struct WebSocketClient {
    socket: WebSocket<TcpStream>,
    /// Of a client that asked for compressed messages.
    compression: Option<(Compressor, Decompressor)>,
    /// The bytes of the messages that were read.
    pub received: usize,
}

impl WebSocketClient {
    pub(super) fn open(address: &str, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        Self::try_open(address, &[("authorization", &bearer)]).expect("a socket")
    }

    /// Connects, and agrees on compressed messages.
    pub(super) fn compressed(address: &str, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let ask = (compression::HEADER, compression::METHOD);
        let opened = Self::try_open(address, &[("authorization", &bearer), ask]);
        let client = opened.expect("a socket");
        assert!(client.compression.is_some(), "the server agrees");
        client
    }

    /// Connects with these headers. Returns the status if it is rejected.
    pub(super) fn try_open(address: &str, headers: &[(&'static str, &str)]) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let request = format!("ws://{address}/api/ws").into_client_request();
        let mut request = request.expect("a request");
        for (name, value) in headers {
            let value = value.parse().expect("a header");
            request.headers_mut().insert(*name, value);
        }
        match tungstenite::client(request, stream) {
            Ok((socket, response)) => Ok(Self {
                socket,
                compression: response
                    .headers()
                    .contains_key(compression::HEADER)
                    .then(Default::default),
                received: 0,
            }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn say(&mut self, frame: &Value) {
        self.say_text(&frame.to_string());
    }

    pub(super) fn say_text(&mut self, text: &str) {
        let message = match &mut self.compression {
            Some((compressor, _)) => Message::binary(compressor.compress(text).expect("bytes")),
            None => Message::text(text),
        };
        self.socket.send(message).expect("a sent frame");
    }

    pub(super) fn command(&mut self, id: u64, session: &str, command: &Value) {
        self.say(&json!({"id": id, "sessionId": session, "command": command}));
    }

    pub(super) fn subscribe(&mut self, id: u64, session: &str, after: Option<u64>) {
        let frame = json!({"id": id, "type": "subscribe", "sessionId": session, "after": after});
        self.say(&frame);
    }

    /// Subscribes with a name. Returns the key for reconnecting.
    pub(super) fn join(&mut self, id: u64, session: &str, name: &str) -> Value {
        let client = json!({"name": name, "key": format!("the key of {name}")});
        let frame = json!({"id": id, "type": "subscribe", "sessionId": session, "client": client});
        self.say(&frame);
        self.answer(id)
    }

    /// Leaves the session.
    pub(super) fn leave(mut self) {
        self.socket.close(None).expect("a frame that closes");
        while self.socket.read().is_ok() {}
    }

    /// Sends bytes that are not a complete frame.
    pub(super) fn say_bytes(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).expect("sent bytes");
    }

    /// The text frames until the server closes the socket, and the code of its close frame.
    pub(super) fn until_closed(&mut self) -> (Vec<Value>, Option<u16>) {
        let (mut seen, mut code) = (Vec::new(), None);
        while let Ok(message) = self.socket.read() {
            match message {
                Message::Text(text) => seen.push(serde_json::from_str(&text).expect("JSON")),
                Message::Close(close) => code = close.map(|close| close.code.into()),
                _ => {}
            }
        }
        (seen, code)
    }

    /// The next frame.
    pub(super) fn next(&mut self) -> Value {
        loop {
            let message = self.socket.read().expect("a frame");
            self.received += message.len();
            match (message, &mut self.compression) {
                (Message::Text(text), None) => return serde_json::from_str(&text).expect("JSON"),
                (Message::Binary(bytes), Some((_, decompressor))) => {
                    let text = decompressor.decompress(&bytes, usize::MAX);
                    return serde_json::from_str(&text.expect("a text")).expect("JSON");
                }
                (message @ (Message::Text(_) | Message::Binary(_)), _) => panic!("{message:?}"),
                (Message::Close(close), _) => panic!("closed: {close:?}"),
                _ => {}
            }
        }
    }

    /// The frames up to and including the first that `wanted` accepts.
    pub(super) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let frame = self.next();
            let found = wanted(&frame);
            seen.push(frame);
            if found {
                return seen;
            }
        }
    }

    /// Reads up to the response with this id, which is returned.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        let is_answer = |frame: &Value| {
            let kind = frame["type"].as_str();
            matches!(kind, Some("response" | "error")) && frame["payload"]["id"] == json!(id)
        };
        self.until(is_answer).pop().expect("an answer")
    }

    /// Reads up to the end of the run.
    pub(super) fn settled(&mut self) -> Vec<Value> {
        self.until(|frame| frame["payload"]["type"] == "agent_settled")
    }
}
