//! A model server that needs no memory of a conversation: the last prompt names what to do and its number,
//! `GO KIND NUMBER`, and the number of results after it is the step.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::journal;
use super::wires::{Turn, Wire};

/// The server; its thread ends with the program.
pub(crate) struct ModelServer {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The numbers of the prompts that arrived: their sessions have stored them.
    arrived: Mutex<BTreeSet<u64>>,
    requests: AtomicUsize,
    /// Milliseconds between two events.
    delay: AtomicU64,
    /// Answers that stopped in the middle and wait for the end of the connection.
    held: AtomicUsize,
    /// The requests that a strict server would refuse.
    violations: Mutex<Vec<String>>,
}

impl ModelServer {
    pub(crate) fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let all = Arc::clone(&shared);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shared = Arc::clone(&all);
                // A client that is killed cuts its connection.
                thread::spawn(move || drop(answer(socket, &shared)));
            }
        });
        Ok(Self { port, shared })
    }

    pub(crate) fn set_delay(&self, milliseconds: u64) {
        self.shared.delay.store(milliseconds, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// How many answers stopped in the middle so far.
    pub(crate) fn held(&self) -> usize {
        self.shared.held.load(Ordering::Relaxed)
    }

    /// The requests, since the last call, that a strict server would refuse.
    pub(crate) fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut super::locked(&self.shared.violations))
    }

    pub(crate) fn has_arrived(&self, number: u64) -> bool {
        super::locked(&self.shared.arrived).contains(&number)
    }

    /// A `models.json` with one provider for each wire format; its model is `NAME/m`, NAME as in [`Wire::api`].
    pub(crate) fn models_json(&self) -> String {
        let provider = |wire: Wire| {
            let base = format!("http://127.0.0.1:{}/{}", self.port, wire.api());
            let model = json!({"id": "m", "contextWindow": 200_000, "maxTokens": 8_000});
            let value = json!({"baseUrl": base, "api": wire.api(), "apiKey": "sk-test-key", "models": [model]});
            (wire.api().to_owned(), value)
        };
        let providers: serde_json::Map<String, Value> =
            Wire::ALL.into_iter().map(provider).collect();
        json!({"providers": providers}).to_string()
    }

    /// Like [`models_json`](Self::models_json), with all models at this address.
    pub(crate) fn models_at(&self, address: &str) -> String {
        let own = format!("http://127.0.0.1:{}", self.port);
        self.models_json().replace(&own, address)
    }
}

fn answer(mut socket: TcpStream, shared: &Shared) -> std::io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_mins(1)))?;
    let (path, body) = read_request(&mut socket)?;
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let Some(wire) = Wire::ALL.into_iter().find(|wire| path.contains(wire.api())) else {
        return socket.write_all(
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
    };
    if let Some(problem) = super::strict::problem(wire, &body) {
        super::locked(&shared.violations).push(problem);
    }
    let prompt = Prompt::of(&body);
    let wanted = prompt.as_ref().map_or_else(
        || "a summary".to_owned(),
        |prompt| {
            format!(
                "{} {}, {} results",
                prompt.kind, prompt.number, prompt.results
            )
        },
    );
    journal::note("the model server", "request", &format!("{path}: {wanted}"));
    if let Some(prompt) = &prompt
        && prompt.results == 0
    {
        super::locked(&shared.arrived).insert(prompt.number);
    }
    let held_after = prompt.as_ref().and_then(Prompt::held_after);
    let turn = prompt.map_or_else(
        || Turn::says("A summary of the conversation."),
        |prompt| prompt.turn(),
    );
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\n\r\n",
        wire.content_type()
    );
    socket.write_all(head.as_bytes())?;
    let delay = Duration::from_millis(shared.delay.load(Ordering::Relaxed));
    let frames = wire.frames(&turn);
    for place in 0..=frames.len() {
        if held_after == Some(place) {
            shared.held.fetch_add(1, Ordering::Relaxed);
            let place = format!("{path} stops after {place} events");
            journal::note("the model server", "held", &place);
            // The answer stops until the client closes the connection.
            socket.set_read_timeout(None)?;
            while socket.read(&mut [0; 64])? != 0 {}
        }
        let Some(frame) = frames.get(place) else {
            break;
        };
        socket.write_all(frame)?;
        thread::sleep(delay);
    }
    socket.shutdown(std::net::Shutdown::Write)
}

/// The path and the body of a request.
pub(crate) fn read_request(socket: &mut TcpStream) -> std::io::Result<(String, Value)> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .and_then(|length| length.trim().parse::<usize>().ok())
                .unwrap_or(0);
            if let Some(body) = bytes.get(end + 4..end + 4 + length) {
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                return Ok((path, serde_json::from_slice(body).unwrap_or_default()));
            }
        }
        match socket.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The blocks of a message that is not the model's; a message without blocks is a block itself.
fn blocks(message: &Value) -> &[Value] {
    if ["assistant", "model"]
        .iter()
        .any(|role| message["role"] == *role)
    {
        return &[];
    }
    let lists = ["content", "parts"].map(|name| message[name].as_array());
    match lists.into_iter().flatten().next() {
        Some(list) if message["role"] != "tool" => list,
        _ => std::slice::from_ref(message),
    }
}

fn is_result(block: &Value) -> bool {
    let types = ["tool_result", "function_call_output"];
    block["role"] == "tool"
        || types.iter().any(|kind| block["type"] == *kind)
        || block.get("functionResponse").is_some()
        || block.get("toolResult").is_some()
}

/// Changes every regular file of the working directory, two in folders below it, and a link.
const ODD: &str = "for name in ./*; do if [ -f \"$name\" ] && [ ! -L \"$name\" ]; then echo changed > \"$name\"; fi; done; \
     for name in inner module; do if [ -d $name ]; then echo changed > $name/own.txt; fi; done; ln -sfn elsewhere loop-a";

/// The number of subagents in one answer.
const AGENTS: u64 = 20;

/// The answer to `cut`: text and two calls.
pub(crate) fn cut_turn() -> Turn {
    let call = |text: &str| {
        (
            "bash".to_owned(),
            json!({"command": format!("echo {text}")}),
        )
    };
    Turn {
        text: Turn::says("some words before two calls").text,
        calls: vec![call("one"), call("two")],
    }
}

/// The last prompt of a request.
struct Prompt {
    kind: String,
    number: u64,
    results: usize,
}

impl Prompt {
    /// Reads blocks instead of messages, because some wire formats join the results and the prompt
    /// after them to one message.
    fn of(body: &Value) -> Option<Self> {
        let list = ["messages", "input", "contents"];
        let messages = list.iter().find_map(|name| body[*name].as_array())?;
        let mut results = 0;
        for block in messages.iter().flat_map(blocks).rev() {
            if is_result(block) {
                results += 1;
                continue;
            }
            let texts = [block, &block["text"], &block["content"]];
            let Some(text) = texts.into_iter().find_map(Value::as_str) else {
                continue;
            };
            if text.contains("ummar") {
                return None;
            }
            // The request for a title is no prompt of a session.
            let title = text.strip_prefix("<prompt>\nGO ");
            if let Some(number) = title.and_then(|rest| rest.split([' ', '\n']).nth(1)) {
                return Some(Self {
                    kind: "title".to_owned(),
                    number: number.parse().ok()?,
                    results: 1,
                });
            }
            if let Some(rest) = text.strip_prefix("GO ") {
                let mut words = rest.split(|character: char| !character.is_ascii_alphanumeric());
                return Some(Self {
                    kind: words.next()?.to_owned(),
                    number: words.next()?.parse().ok()?,
                    results,
                });
            }
        }
        None
    }

    /// The number of events after which the answer stops: two for `half`, the number in the name
    /// for `cut7`.
    fn held_after(&self) -> Option<usize> {
        if self.kind == "half" {
            return Some(2);
        }
        let count = self.kind.strip_prefix("cut")?.parse().ok();
        count.filter(|_| self.results == 0)
    }

    /// The single call of a kind of prompt at its place in the turn.
    fn call(&self) -> Option<(&'static str, Value)> {
        let Self {
            kind,
            number,
            results,
        } = self;
        let file = format!("file{}.txt", number % 20);
        match (kind.as_str(), results) {
            ("tools", 0) => Some((
                "write",
                json!({"file_path": file, "content": format!("one {number}\ntwo\n")}),
            )),
            ("tools", 1) => Some((
                "edit",
                json!({"file_path": file, "old_string": "two", "new_string": "three"}),
            )),
            ("tools", 2) => Some((
                "bash",
                json!({"command": format!("echo {number} >> log.txt; seq 200; cat {file}")}),
            )),
            ("tools", 3) => Some(("read", json!({"file_path": file}))),
            ("files", 0) => Some((
                "bash",
                json!({"command": format!(
                "mkdir -p many; for n in $(seq 30); do echo {number} $n > many/$n.txt; done; rm -f many/$(({number} % 30)).txt")}),
            )),
            ("odd", 0) => Some(("bash", json!({"command": ODD}))),
            ("agent", 0) => Some((
                "task",
                json!({"prompt": format!("GO tools {}", number + 1_000_000)}),
            )),
            ("mcp", 0) => Some(("fake__echo", json!({}))),
            ("plan", 0) => Some((
                "exit_plan_mode",
                json!({"plan": format!("# Plan {number}\n\n1. wait\n")}),
            )),
            ("hang", 0) => Some(("fake__wait", json!({}))),
            (kind, 0) => {
                super::commands::find(kind).map(|command| ("bash", json!({"command": command})))
            }
            _ => None,
        }
    }

    fn turn(&self) -> Turn {
        let Self {
            kind,
            number,
            results,
        } = self;
        if kind == "race" && *results < 40 {
            let read = json!({"file_path": "race.txt"});
            let edit =
                json!({"file_path": "race.txt", "old_string": "agent:", "new_string": "agent: "});
            let calls = [("read", read), ("edit", edit)];
            return Turn {
                text: Vec::new(),
                calls: calls
                    .map(|(name, arguments)| (name.to_owned(), arguments))
                    .into(),
            };
        }
        if kind.starts_with("cut") && *results == 0 {
            return cut_turn();
        }
        if kind == "agents" && *results == 0 {
            let task = |number: u64| {
                (
                    "task".to_owned(),
                    json!({"prompt": format!("GO tools {number}")}),
                )
            };
            return Turn {
                text: Vec::new(),
                calls: (1..=AGENTS)
                    .map(|agent| task(number + agent * 1_000_000))
                    .collect(),
            };
        }
        if kind == "title" {
            return Turn::says(&format!("Title of prompt {number}"));
        }
        if kind == "loud" {
            // The text is more than a pipe or a terminal stores, even in its raw form.
            return Turn {
                text: vec!["loud words ".repeat(10); 4_000],
                calls: Vec::new(),
            };
        }
        if kind == "long" {
            // Two such answers are more than a compaction keeps.
            return Turn {
                text: vec!["many words ".repeat(6_000), self.text()],
                calls: Vec::new(),
            };
        }
        match self.call() {
            Some((name, arguments)) => Turn::calls(name, arguments),
            None => Turn::says(&self.text()),
        }
    }

    fn text(&self) -> String {
        let number = self.number;
        let long = "The **answer** has `code` and a list:\n\n- one\n- two\n\n```rust\nfn main() {}\n```\n\n";
        let times = if self.kind == "text" {
            1 + number % 5
        } else {
            0
        };
        format!("{}done {number}", long.repeat(times as usize))
    }
}
