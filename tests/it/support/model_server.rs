//! A model server on a loopback port. It answers from a list, and a chunk after a gate waits for the test. It can
//! also close the connection early, send a wrong length or invalid data.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// One answer, in the order of the requests. The last one is repeated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    head: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Bytes(Vec<u8>),
    Gate(Arc<Semaphore>),
    /// Whether the connection closes before the answer is complete.
    Cut,
}

impl Answer {
    /// The start of a stream of server-sent events.
    pub(crate) fn stream() -> Self {
        Self {
            head: "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".into(),
            parts: Vec::new(),
        }
    }

    /// An answer with a status line, headers (`name: value`, one per line) and a body.
    pub(crate) fn plain(status: &str, headers: &str, body: &str) -> Self {
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for line in headers.lines() {
            head.push_str(line);
            head.push_str("\r\n");
        }
        Self {
            head,
            parts: vec![Part::Bytes(body.into())],
        }
    }

    /// A complete answer in the chat completions format.
    pub(crate) fn says(text: &str) -> Self {
        Self::stream().text(text).done()
    }

    /// A text delta in the chat completions format.
    pub(crate) fn text(self, text: &str) -> Self {
        self.chunk(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
    }

    /// A tool call in the chat completions format.
    pub(crate) fn call(self, id: &str, name: &str, arguments: &Value) -> Self {
        let call = json!({"index": 0, "id": id, "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}});
        self.chunk(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
            .chunk(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
            .raw("data: [DONE]\n\n")
    }

    /// The end of an answer in the chat completions format.
    pub(crate) fn done(self) -> Self {
        self.chunk(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
            .chunk(&json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}}))
            .raw("data: [DONE]\n\n")
    }

    /// Waits until the gate is opened.
    pub(crate) fn gate(mut self, gate: &Gate) -> Self {
        self.parts.push(Part::Gate(Arc::clone(&gate.0)));
        self
    }

    /// Closes the connection here.
    pub(crate) fn cut(mut self) -> Self {
        self.parts.push(Part::Cut);
        self
    }

    fn chunk(self, value: &Value) -> Self {
        self.raw(&format!("data: {value}\n\n"))
    }

    pub(crate) fn raw(mut self, text: &str) -> Self {
        self.parts.push(Part::Bytes(text.into()));
        self
    }
}

/// Delays an answer until it is opened.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn open(&self) {
        self.0.add_permits(1);
    }
}

/// A server on its own thread, stopped when it is dropped.
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl Server {
    pub(crate) fn start<const N: usize>(answers: [Answer; N]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        listener.set_nonblocking(true).expect("a listener");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = serve(listener, answers.into(), kept) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            requests,
            _stop: stop,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// A `models.json` with the model `here/m` of this server.
    pub(crate) fn models_json(&self) -> String {
        json!({"providers": {"here": {
            "baseUrl": self.url(),
            "api": "openai-chat-completions",
            "apiKey": "sk-test-key",
            "models": [{"id": "m"}],
        }}})
        .to_string()
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("the requests").clone()
    }

    /// `text` with the port replaced by a placeholder.
    pub(crate) fn normal(&self, text: &str) -> String {
        text.replace(&format!("127.0.0.1:{}", self.port), "SERVER")
    }
}

async fn serve(listener: TcpListener, answers: Vec<Answer>, requests: Arc<Mutex<Vec<Value>>>) {
    let mut count = 0;
    while let Ok((socket, _)) = listener.accept().await {
        let answer = answers[count.min(answers.len() - 1)].clone();
        count += 1;
        let requests = Arc::clone(&requests);
        tokio::spawn(async move {
            // Some tests disconnect early.
            let _ = answer_one(socket, answer, &requests).await;
        });
    }
}

async fn answer_one(
    mut socket: TcpStream,
    answer: Answer,
    requests: &Mutex<Vec<Value>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let body = loop {
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
        if let Some(body) = body_of(&bytes) {
            break body;
        }
    };
    requests
        .lock()
        .expect("the requests")
        .push(serde_json::from_slice(&body).unwrap_or_default());
    let cut = answer.parts.iter().any(|part| matches!(part, Part::Cut));
    let length = if cut {
        "content-length: 1000000\r\n"
    } else {
        ""
    };
    let head = format!("{}{length}connection: close\r\n\r\n", answer.head);
    socket.write_all(head.as_bytes()).await?;
    for part in answer.parts {
        match part {
            Part::Bytes(bytes) => socket.write_all(&bytes).await?,
            Part::Gate(gate) => {
                if let Ok(permit) = gate.acquire().await {
                    permit.forget();
                }
            }
            Part::Cut => return Ok(()),
        }
    }
    socket.shutdown().await
}

/// The body of a request once it is complete.
fn body_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|length| length.trim().parse::<usize>().ok())
        .unwrap_or(0);
    bytes.get(end..end + length).map(<[u8]>::to_vec)
}
