//! A model server that records its requests.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::reference::FILE;
use crate::support::locked;
use crate::support::model::read_request;
use crate::support::wires::{Turn, Wire};

/// The ids of the models of the server.
pub(super) const MODELS: [&str; 3] = ["alpha", "beta", "gamma"];

/// The model and the messages of a request.
pub(super) type Request = (String, Vec<String>);

pub(super) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(super) fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let all = Arc::clone(&requests);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let requests = Arc::clone(&all);
                thread::spawn(move || drop(answer(socket, &requests)));
            }
        });
        Ok(Self { port, requests })
    }

    /// The requests of runs since the last call.
    pub(super) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut locked(&self.requests))
    }

    pub(super) fn models_json(&self) -> String {
        let models = MODELS.map(|id| {
            json!({"id": id, "contextWindow": 200_000, "maxTokens": 8_000, "input": ["text", "image"]})
        });
        let base = format!("http://127.0.0.1:{}/v1", self.port);
        let api = "openai-chat-completions";
        let provider =
            json!({"baseUrl": base, "api": api, "apiKey": "sk-test-key", "models": models});
        json!({"providers": {"t": provider}}).to_string()
    }
}

fn answer(mut socket: TcpStream, requests: &Mutex<Vec<Request>>) -> std::io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_mins(1)))?;
    let (_, body) = read_request(&mut socket)?;
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let has_tools = body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    let turn = if has_tools {
        let lines = lines(body["messages"].as_array().map_or(&[], Vec::as_slice));
        let turn = reply(&lines, &model);
        locked(requests).push((model, lines));
        turn
    } else {
        Turn::says("SUMMARY of what was done.")
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes())?;
    for frame in Wire::Chat.frames(&turn) {
        socket.write_all(&frame)?;
    }
    socket.shutdown(std::net::Shutdown::Write)
}

/// The answer of the model to these messages.
fn reply(lines: &[String], model: &str) -> Turn {
    let is_prompt = |line: &&String| line.starts_with("user ");
    let prompt = lines.iter().rev().find(is_prompt).cloned();
    let prompt = prompt.unwrap_or_default();
    let number = prompt.split(' ').nth(3).unwrap_or("0");
    let has_result = lines.last().is_some_and(|line| line == "result");
    if prompt.contains("GO put") && !has_result {
        let command = format!("printf {number} > {FILE}");
        return Turn::calls("bash", json!({"command": command}));
    }
    Turn::says(&format!("done {number} {model}"))
}

/// Messages of the wire format as lines: without instructions and reminders.
fn lines(messages: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages {
        let content = &message["content"];
        let blocks = match content {
            Value::Array(blocks) => blocks.clone(),
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        match message["role"].as_str() {
            Some("user") => {
                let pictures = blocks.iter().filter(|block| block["type"] == "image_url");
                lines.extend(user_lines(&text, pictures.count()));
            }
            Some("assistant") if message["tool_calls"].is_array() => lines.push("call".to_owned()),
            Some("assistant") => lines.push(format!("assistant {}", text.trim())),
            Some("tool") => lines.push("result".to_owned()),
            _ => {}
        }
    }
    lines
}

/// A message of the user: a prompt, a summary, or reminders only.
fn user_lines(text: &str, pictures: usize) -> Option<String> {
    if text.contains("SUMMARY of") {
        return Some("summary".to_owned());
    }
    let prompt = text.lines().find(|line| line.starts_with("GO "))?;
    let picture = if pictures > 0 { " picture" } else { "" };
    Some(format!("user {}{picture}", prompt.trim()))
}
