//! A web server on a loopback port. A function answers by path, header and number of requests. Plain, or encrypted
//! with a test certificate.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// `POST /path`.
    pub(crate) line: String,
    head: String,
    pub(crate) body: String,
}

impl ReceivedRequest {
    /// The value of a header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        let found = lines.find(|(have, _)| have.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }

    /// A field of a form.
    pub(crate) fn field(&self, name: &str) -> String {
        let pairs = self.body.split('&').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(have, _)| *have == name);
        found
            .next()
            .map_or_else(String::new, |(_, value)| value.to_owned())
    }
}

/// A server on its own thread, stopped when it is dropped.
pub(crate) struct WebServer {
    port: u16,
    scheme: &'static str,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    _stop: tokio::sync::oneshot::Sender<()>,
}

type Answerer = dyn Fn(&ReceivedRequest, usize) -> Vec<u8> + Send + Sync;

impl WebServer {
    /// `answer` receives the request and the number of requests before it.
    pub(crate) fn start(
        answer: impl Fn(&ReceivedRequest, usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::begin(None, Arc::new(answer))
    }

    pub(crate) fn start_tls(
        tls: ServerConfig,
        answer: impl Fn(&ReceivedRequest, usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::begin(Some(TlsAcceptor::from(Arc::new(tls))), Arc::new(answer))
    }

    fn begin(tls: Option<TlsAcceptor>, answer: Arc<Answerer>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        listener.set_nonblocking(true).expect("a listener");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = serve(listener, tls, answer, kept) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            scheme,
            asked,
            _stop: stop,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().expect("the requests").clone()
    }

    /// The request lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// `text` with the port replaced by a placeholder.
    pub(crate) fn normal(&self, text: &str) -> String {
        text.replace(&format!("127.0.0.1:{}", self.port), "SERVER")
    }
}

async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    answer: Arc<Answerer>,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, answer, asked) = (tls.clone(), Arc::clone(&answer), Arc::clone(&asked));
        // Some tests disconnect early.
        tokio::spawn(async move {
            match tls {
                Some(tls) => match tls.accept(socket).await {
                    Ok(socket) => answer_one(socket, &*answer, &asked).await,
                    Err(error) => Err(error),
                },
                None => answer_one(socket, &*answer, &asked).await,
            }
        });
    }
}

async fn answer_one(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    answer: &Answerer,
    asked: &Mutex<Vec<ReceivedRequest>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let request = loop {
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
        if let Some(request) = whole(&bytes) {
            break request;
        }
    };
    let before = {
        let mut asked = asked.lock().expect("the requests");
        asked.push(request.clone());
        asked.len() - 1
    };
    socket.write_all(&answer(&request, before)).await?;
    socket.shutdown().await
}

fn whole(bytes: &[u8]) -> Option<ReceivedRequest> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut asked = ReceivedRequest {
        line: head.split(" HTTP/").next()?.to_owned(),
        head,
        body: String::new(),
    };
    let length = asked.header("content-length").parse::<usize>().unwrap_or(0);
    let body = bytes.get(end + 4..end + 4 + length)?;
    asked.body = String::from_utf8_lossy(body).into_owned();
    Some(asked)
}

/// An answer with a status line, further headers (each with its line end) and a body.
pub(crate) fn plain(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let length = body.as_ref().len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    [head.as_bytes(), body.as_ref()].concat()
}

/// A JSON answer.
pub(crate) fn json(status: &str, body: &Value) -> Vec<u8> {
    plain(
        status,
        "content-type: application/json\r\n",
        body.to_string(),
    )
}

/// A stream of server-sent events, one for each value.
pub(crate) fn events(values: &[Value]) -> Vec<u8> {
    let body: String = values
        .iter()
        .map(|value| format!("data: {value}\n\n"))
        .collect();
    plain("200 OK", "content-type: text/event-stream\r\n", body)
}

/// A stream of Amazon's binary messages: lengths, headers and payload, each part with its checksum.
pub(crate) fn aws_stream(messages: &[(&str, Value)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, payload) in messages {
        let mut headers = Vec::new();
        for (key, value) in [(":event-type", *name), (":message-type", "event")] {
            headers.push(u8::try_from(key.len()).expect("a short name"));
            headers.extend(key.bytes());
            headers.push(7);
            headers.extend(
                u16::try_from(value.len())
                    .expect("a short value")
                    .to_be_bytes(),
            );
            headers.extend(value.bytes());
        }
        let payload = payload.to_string();
        let whole = 12 + headers.len() + payload.len() + 4;
        let length = |bytes: usize| u32::try_from(bytes).expect("a short message").to_be_bytes();
        let mut message = length(whole).to_vec();
        message.extend(length(headers.len()));
        message.extend(crc32fast::hash(&message).to_be_bytes());
        message.extend(headers);
        message.extend(payload.bytes());
        message.extend(crc32fast::hash(&message).to_be_bytes());
        body.extend(message);
    }
    let kind = "content-type: application/vnd.amazon.eventstream\r\n";
    plain("200 OK", kind, body)
}
