//! `osier serve`: the real program with real sockets.

mod access;
mod http_client;
mod llm_proxy;
mod lost_answers;
mod proxy_limits;
mod sessions;
mod several_clients;
mod unloading;
mod websocket;
mod websocket_client;

use std::path::Path;

use serde_json::{Value, json};

use self::http_client::Http;
use self::websocket_client::WebSocketClient;
use crate::support::cli::{Home, Running};

/// The answer to `zzwords`, which arrives in many parts.
fn words() -> String {
    (0..500).map(|number| format!("word {number} ")).collect()
}

/// A model that answers `answer`, is slow on `zzslow`, says many words on `zzwords`, and runs a command on `zztool`.
fn script() -> Value {
    let answer = json!([{"text": "answer"}, {"usage": {"input": 100, "output": 10}}]);
    json!([
        {"when": {"toolResult": ""}, "repeat": true, "steps": answer},
        {"when": {"user": "zzslow"}, "repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
        {"when": {"user": "zzwords"}, "repeat": true, "steps": [{"text": words(), "chunk": 5, "delayMs": 1}]},
        {"when": {"user": "zztool"}, "repeat": true, "steps": [
            {"tool": "bash", "arguments": {"command": "echo made > made.txt"}},
        ]},
        {"repeat": true, "steps": answer},
    ])
}

/// A running server.
struct Server {
    running: Running,
    /// `HOST:PORT`.
    address: String,
    token: String,
}

impl Server {
    fn start(home: &Home) -> Self {
        Self::with(home, &[])
    }

    fn with(home: &Home, more: &[&str]) -> Self {
        let script = json!({"turns": script()}).to_string();
        let file = home.file("model.json", script);
        let model = format!("script/{}", file.display());
        let mut cli = home
            .cli()
            .args(["serve", "--listen", "127.0.0.1:0", "--model", &model]);
        for word in more {
            cli = cli.arg(word);
        }
        let mut running = cli.start();
        let line = running.line().expect("a line that says where it listens");
        let (address, token) = line
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once("/#token="))
            .unwrap_or_else(|| panic!("no address: {line}"));
        Self {
            address: address.to_owned(),
            token: token.to_owned(),
            running,
        }
    }

    /// A client with the token.
    fn http(&self) -> Http {
        Http::new(&self.address).header("authorization", &format!("Bearer {}", self.token))
    }

    /// A client without the token.
    fn stranger(&self) -> Http {
        Http::new(&self.address)
    }

    fn socket(&self) -> WebSocketClient {
        WebSocketClient::open(&self.address, &self.token)
    }

    /// Opens a new session. Returns its id.
    fn open(&self, wanted: &Value) -> String {
        let opened = self.http().post("/api/sessions", wanted);
        assert_eq!(opened.status, 201, "{}", opened.text);
        opened.json()["id"].as_str().expect("an id").to_owned()
    }

    /// Sends a command. Returns its response.
    fn rpc(&self, id: &str, command: &Value) -> Value {
        self.http()
            .post(&format!("/api/sessions/{id}/rpc"), command)
            .json()
    }

    /// Stops it like a service manager. Returns the exit code and standard error.
    fn stop(self) -> (Option<i32>, String) {
        self.running.signal(rustix::process::Signal::TERM);
        let (_, code, errors) = self.running.end();
        (code, errors)
    }
}

/// The text of a stored session.
fn stored(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a session file")
}
