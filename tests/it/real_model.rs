//! The complete agent loop with a real model. docs/real-model.md describes how to install one and run this.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::cli::{Home, lines_of};

/// A llama.cpp server, stopped when it is dropped.
struct LlamaServer {
    child: Child,
    port: u16,
}

impl LlamaServer {
    /// Starts the server that the environment names and waits until it can answer.
    fn start() -> Self {
        let path = |name| std::env::var_os(name).unwrap_or_else(|| panic!("set {name}"));
        let program = path("OSIER_TEST_LLAMA_SERVER");
        let folder = Path::new(&program).parent().expect("a folder").to_owned();
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        #[expect(
            clippy::disallowed_methods,
            reason = "the server is a program of its own"
        )]
        let child = std::process::Command::new(&program)
            .arg("-m")
            .arg(path("OSIER_TEST_MODEL"))
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["-c", "8192", "-t", "2", "--jinja", "--alias", "small"])
            .env("LD_LIBRARY_PATH", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server");
        let mut server = Self { child, port };
        server.wait_until_healthy();
        server
    }

    fn wait_until_healthy(&mut self) {
        let began = Instant::now();
        while !self.is_healthy() {
            if let Some(status) = self.child.try_wait().expect("the server") {
                panic!("the server ended: {status}");
            }
            assert!(
                began.elapsed() < Duration::from_mins(2),
                "the server is not ready"
            );
            osier_testing::poll::pause();
        }
    }

    fn is_healthy(&self) -> bool {
        use std::io::{Read, Write};
        let Ok(mut socket) = std::net::TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let asked = socket.write_all(b"GET /health HTTP/1.0\r\n\r\n");
        let mut answer = String::new();
        asked.is_ok()
            && socket.read_to_string(&mut answer).is_ok()
            && answer.split(' ').nth(1) == Some("200")
    }

    /// A `models.json` with the server under each of its wire formats.
    fn models_json(&self) -> String {
        let host = format!("http://127.0.0.1:{}", self.port);
        let provider = |url: String, api: &str| {
            json!({"baseUrl": url, "api": api, "apiKey": "none",
                "models": [{"id": "small", "contextWindow": 8192, "maxTokens": 48}]})
        };
        json!({"providers": {
            "chat": provider(format!("{host}/v1"), "openai-chat-completions"),
            "responses": provider(format!("{host}/v1"), "openai-responses"),
            "messages": provider(host, "anthropic-messages"),
        }})
        .to_string()
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs the llama-server and model wheels; see docs/real-model.md"]
fn real_model_streams_an_answer_in_every_wire_format() {
    let server = LlamaServer::start();
    for model in ["chat/small", "messages/small", "responses/small"] {
        let home = Home::new();
        home.config("models.json", server.models_json());
        let mut running = home
            .cli()
            .args(["--json", "--model", model, "--tools", "read"])
            .args([
                "--system-prompt",
                "You are a helpful assistant.",
                "--temperature",
                "0",
            ])
            .arg("Say hello to the world in one sentence.")
            .start();
        running.close_input();
        let (lines, code, errors) = running.end();
        assert_eq!(
            (code, errors.as_str()),
            (Some(0), ""),
            "{model}: {lines:#?}"
        );
        let events: Vec<Value> = lines
            .iter()
            .map(|line| serde_json::from_str(line).expect("a JSON line"))
            .collect();
        let pieces: Vec<&str> = events
            .iter()
            .filter(|event| event["delta"]["type"] == "text_delta")
            .filter_map(|event| event["delta"]["delta"].as_str())
            .collect();
        assert!(
            pieces.len() > 1,
            "{model}: the answer came in one piece: {pieces:?}"
        );
        let answer = events
            .iter()
            .rfind(|event| {
                event["type"] == "message_end" && event["message"]["role"] == "assistant"
            })
            .expect("an answer");
        let message = &answer["message"];
        assert_eq!(message["content"][0]["text"], pieces.concat());
        for count in ["input", "output"] {
            assert!(
                message["usage"][count].as_u64() > Some(0),
                "{model}: {message}"
            );
        }
        let stored = lines_of(&home.sessions()[0]);
        assert_eq!(stored.last().expect("an entry")["message"], *message);
    }
}
