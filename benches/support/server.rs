//! A model server on loopback: HTTP/1.1 with one chunk and one write per event, as models stream.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{io, thread};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::answer;
use super::plan::{self, Plan};
use super::wire::Wire;

/// The server and the progress of its last answer.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    progress: Arc<Mutex<Progress>>,
}

/// The progress of the streamed answer.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) deltas: usize,
    /// When the end marker was written.
    pub(crate) ended: Option<Instant>,
}

impl Server {
    /// Listens on a free port; the thread ends with the program.
    pub(crate) fn start() -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let progress = Arc::new(Mutex::new(Progress::default()));
        let shared = Arc::clone(&progress);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        thread::spawn(move || runtime.block_on(serve(listener, shared)));
        Ok(Self { address, progress })
    }

    /// The URL without a path; each wire format appends its own.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn progress(&self) -> Progress {
        *self.progress.lock().unwrap()
    }

    /// Resets the progress for the next answer.
    pub(crate) fn reset(&self) {
        *self.progress.lock().unwrap() = Progress::default();
    }
}

async fn serve(listener: std::net::TcpListener, progress: Arc<Mutex<Progress>>) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        let progress = Arc::clone(&progress);
        // A client that disconnects ends only its own connection.
        tokio::spawn(async move { connection(stream, &progress).await.ok() });
    }
}

async fn connection(stream: TcpStream, progress: &Mutex<Progress>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some((method, path, body)) = request(&mut stream).await? {
        let mut reply = Reply {
            stream: stream.get_mut(),
            progress,
        };
        reply.answer(&method, &path, &body).await?;
    }
    Ok(())
}

/// The next request of a connection: method, path without its query, body.
async fn request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<(String, String, Value)>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((
        method,
        path,
        serde_json::from_slice(&body).unwrap_or_default(),
    )))
}

struct Reply<'a> {
    stream: &'a mut TcpStream,
    progress: &'a Mutex<Progress>,
}

impl Reply<'_> {
    async fn answer(&mut self, method: &str, path: &str, body: &Value) -> io::Result<()> {
        if method == "GET" && path.ends_with("/models") {
            let model = json!({"id": "mock", "object": "model", "owned_by": "meter", "created": 1});
            return self
                .whole(
                    "200 OK",
                    &json!({"object": "list", "data": [model], "models": []}),
                )
                .await;
        }
        if path.ends_with("/count_tokens") {
            return self.whole("200 OK", &json!({"input_tokens": 100})).await;
        }
        let Some(wire) = Wire::of(path) else {
            return self.whole("404 Not Found", &json!({})).await;
        };
        if body["stream"] != true {
            return self.whole("200 OK", &wire.whole()).await;
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        self.stream.write_all(head.as_bytes()).await?;
        match Plan::of(body) {
            Plan::Tool(call) => self.event(&wire.call(&call)).await?,
            Plan::Stream { count, pause } => self.text(wire, count, pause).await?,
            Plan::Short => {
                let parts = [
                    wire.begin_text(),
                    wire.delta(plan::SHORT),
                    wire.end_text(plan::SHORT),
                ];
                self.event(&parts.concat()).await?;
            }
        }
        self.stream.write_all(b"0\r\n\r\n").await
    }

    async fn text(&mut self, wire: Wire, count: usize, pause: f64) -> io::Result<()> {
        self.event(&wire.begin_text()).await?;
        let mut text = String::new();
        let start = tokio::time::Instant::now();
        for (index, delta) in answer::deltas(count).enumerate() {
            if pause > 0.0 {
                let due = Duration::from_secs_f64(pause * index as f64 / 1000.0);
                tokio::time::sleep_until(start + due).await;
            }
            self.event(&wire.delta(&delta)).await?;
            text.push_str(&delta);
            self.progress.lock().unwrap().deltas = index + 1;
        }
        let end = format!("\n\n{}", plan::END);
        text.push_str(&end);
        self.event(&wire.delta(&end)).await?;
        self.progress.lock().unwrap().ended = Some(Instant::now());
        self.event(&wire.end_text(&text)).await
    }

    async fn event(&mut self, text: &str) -> io::Result<()> {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.stream.write_all(chunk.as_bytes()).await
    }

    async fn whole(&mut self, status: &str, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all((head + &body).as_bytes()).await
    }
}
