//! Calls against a test server with every kind of error.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{HttpOptions, HttpProvider};
use crate::event::{Delta, StreamEvent};
use crate::model::Api;
use crate::provider::{Provider, Request};
use crate::secret::Secret;
use crate::status::TurnStatus;
use crate::wire::testing::{model, request, user};

const KEY: &str = "sk-test-1234567890";
const STREAM: &str = include_str!("../../../../tests/fixtures/llm/llamacpp-anthropic-text.sse");

/// The server's action after its response was written.
#[derive(Clone, Copy)]
enum Then {
    Close,
    Hang,
    /// The text again and again, as fast as it is read.
    Repeat(&'static str),
}

/// A server with one kind of response; records its requests.
struct Server {
    base: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(response: impl Into<Vec<u8>>, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (response, seen) = (response.into(), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let asked = read_request(&mut socket).await;
                seen.lock().unwrap().push(asked);
                socket.write_all(&response).await.unwrap();
                match then {
                    Then::Close => {}
                    Then::Hang => std::future::pending::<()>().await,
                    Then::Repeat(text) => while socket.write_all(text.as_bytes()).await.is_ok() {},
                }
                socket.shutdown().await.ok();
            }
        });
        Self { base, requests }
    }

    async fn call(&self) -> Vec<StreamEvent> {
        collect(ask(&self.base)).await
    }

    async fn status(&self) -> TurnStatus {
        status(self.call().await)
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = socket.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse().unwrap());
            body.len() >= length
        });
        // A TLS client waits for a response to its first record.
        if whole || count == 0 || bytes[0] == 0x16 {
            return text;
        }
    }
}

fn ask(base: &str) -> Request {
    let mut model = model(Api::AnthropicMessages);
    model.base_url = base.to_owned();
    let mut request = request(model, vec![user("hi")]);
    request.api_key = Some(Secret::new(KEY));
    request
}

async fn collect(request: Request) -> Vec<StreamEvent> {
    collect_with(HttpOptions::default(), request).await
}

async fn collect_with(options: HttpOptions, request: Request) -> Vec<StreamEvent> {
    let provider = HttpProvider::new(options);
    let events: Vec<StreamEvent> = provider.stream(request).collect().await;
    assert!(!format!("{events:?}").contains(KEY), "{events:?}");
    events
}

fn status(events: Vec<StreamEvent>) -> TurnStatus {
    match events.into_iter().last() {
        Some(StreamEvent::Failed { status, .. }) => status,
        other => panic!("not a failure: {other:?}"),
    }
}

fn answer(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn error(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

#[tokio::test]
async fn stream_is_decoded_and_request_is_encoded() {
    let server = Server::start(
        answer("200 OK\r\ncontent-type: text/event-stream", STREAM),
        Then::Close,
    )
    .await;
    let mut request = ask(&server.base);
    request.options.trace = true;
    let model = Arc::make_mut(&mut request.model);
    model.headers.insert("x-extra".to_owned(), "1".to_owned());
    let events = collect(request).await;
    let StreamEvent::Request {
        bytes,
        body: Some(body),
        prefix_hash: None,
    } = &events[0]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*bytes, body.len());
    assert!(matches!(events[1], StreamEvent::Start { .. }));
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Delta(Delta::TextDelta { delta, .. }) => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "How can I assist you today?");
    assert!(matches!(events.last(), Some(StreamEvent::Done { .. })));
    let requests = server.requests.lock().unwrap();
    let (head, sent) = requests[0].split_once("\r\n\r\n").unwrap();
    for line in [
        "POST /v1/messages HTTP/1.1",
        &format!("x-api-key: {KEY}"),
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
        "x-extra: 1",
    ] {
        assert!(head.lines().any(|have| have == line), "{line}\n{head}");
    }
    assert_eq!(sent, body);
    assert_eq!(
        serde_json::from_str::<Value>(sent).unwrap()["model"],
        "model-1"
    );
}

#[tokio::test]
async fn http_errors_map_to_their_status() {
    let limited = "429 Too Many\r\nretry-after: 7";
    let forbidden = "500 Oops\r\nx-should-retry: false";
    for (head, body, expected) in [
        (
            limited,
            error("rate_limit_error", "slow down"),
            TurnStatus::RateLimit {
                message: "`vendor` answered 429: slow down".to_owned(),
                retry_after_ms: Some(7000),
            },
        ),
        (
            "429 Too Many",
            json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}).to_string(),
            TurnStatus::QuotaExceeded {
                message: "`vendor` answered 429: You exceeded your current quota".to_owned(),
            },
        ),
        (
            "500 Oops",
            error("api_error", "internal"),
            TurnStatus::ModelError {
                message: "`vendor` answered 500: internal".to_owned(),
                retryable: true,
            },
        ),
        (
            forbidden,
            error("api_error", "internal"),
            TurnStatus::ModelError {
                message: "`vendor` answered 500: internal".to_owned(),
                retryable: false,
            },
        ),
        (
            "529 Overloaded",
            error("overloaded_error", "Overloaded"),
            TurnStatus::ModelError {
                message: "`vendor` answered 529: Overloaded".to_owned(),
                retryable: true,
            },
        ),
        (
            "401 Unauthorized",
            error("authentication_error", &format!("bad key {KEY}")),
            TurnStatus::AuthError {
                message: "`vendor` answered 401: bad key … (check the key of `vendor`)".to_owned(),
            },
        ),
        (
            "502 Bad Gateway\r\ncontent-type: text/html",
            "<html>nginx</html>".to_owned(),
            TurnStatus::ModelError {
                message: "`vendor` answered 502: a web page: <html>nginx</html>".to_owned(),
                // It was retried once.
                retryable: false,
            },
        ),
        (
            "404 Not Found",
            String::new(),
            TurnStatus::ModelError {
                message: "`vendor` answered 404: no reason given".to_owned(),
                retryable: false,
            },
        ),
        (
            "302 Found\r\nlocation: https://login.example/x?y=z",
            String::new(),
            TurnStatus::InvalidResponse {
                message: "`vendor` answered 302, a redirect to `login.example`: check its base URL".to_owned(),
            },
        ),
    ] {
        let server = Server::start(answer(head, &body), Then::Close).await;
        assert_eq!(server.status().await, expected);
    }
}

#[tokio::test]
async fn successful_response_without_a_stream_is_an_error() {
    for (head, body, expected) in [
        (
            "200 OK\r\ncontent-type: text/html; charset=utf-8",
            "<html><title>Log in</title></html>",
            "`vendor` answered with a web page instead of an event stream: <html><title>Log in</title></html>; check its base URL",
        ),
        (
            "200 OK\r\ncontent-type: application/json",
            "{\"id\": 1}",
            "`vendor` answered with JSON instead of an event stream: {\"id\": 1}; check its base URL",
        ),
        (
            "200 OK",
            "what is this",
            "did not answer with an event stream: what is this",
        ),
        ("200 OK", "", "`vendor` sent an empty stream"),
        (
            "200 OK\r\ncontent-type: text/event-stream",
            "data: {\"type\"\n\n",
            "`vendor` sent an invalid response: {\"type\"",
        ),
    ] {
        let server = Server::start(answer(head, body), Then::Close).await;
        let status = server.status().await;
        // A retry would return the page or document again.
        assert_eq!(
            status.is_retryable(),
            !expected.ends_with("check its base URL"),
            "{status:?}"
        );
        assert!(status.message().ends_with(expected), "{status:?}");
    }
    let body = error("overloaded_error", "Overloaded");
    let head = "200 OK\r\ncontent-type: application/json";
    let server = Server::start(answer(head, &body), Then::Close).await;
    assert!(matches!(
        server.status().await,
        TurnStatus::ModelError {
            retryable: true,
            ..
        }
    ));
}

#[tokio::test]
async fn interrupted_stream_keeps_its_deltas_and_fails() {
    let half = &STREAM[..STREAM.find(" assist").unwrap()];
    let whole = answer("200 OK\r\ncontent-type: text/event-stream", STREAM);
    // A content length that is too large, and a body that ends early.
    let broken = whole.replace(STREAM, half);
    let ended = answer("200 OK\r\ncontent-type: text/event-stream", half);
    for response in [broken, ended] {
        let server = Server::start(response, Then::Close).await;
        let events = server.call().await;
        let text: String = events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::Delta(Delta::TextDelta { delta, .. }) => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(text, "How can I");
        assert!(matches!(
            status(events),
            TurnStatus::NetworkError {
                retryable: true,
                ..
            } | TurnStatus::InvalidResponse { .. }
        ));
    }
}

#[tokio::test]
async fn idle_connection_times_out() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    for response in [
        String::new(),
        head.to_owned(),
        format!("{head}: keep-alive\n\n"),
    ] {
        let server = Server::start(response, Then::Hang).await;
        let impatient = HttpOptions {
            idle_timeout: Duration::from_millis(50),
            ..HttpOptions::default()
        };
        let status = status(collect_with(impatient, ask(&server.base)).await);
        assert!(matches!(status, TurnStatus::Timeout { .. }), "{status:?}");
    }
}

#[tokio::test]
async fn answer_of_comments_and_pings_times_out() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    for text in [
        ": keep-alive\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "data: {}\n\n",
    ] {
        let server = Server::start(head, Then::Repeat(text)).await;
        let impatient = HttpOptions {
            idle_timeout: Duration::from_millis(50),
            ..HttpOptions::default()
        };
        let TurnStatus::Timeout { message } =
            status(collect_with(impatient, ask(&server.base)).await)
        else {
            panic!("not a timeout: {text}");
        };
        let host = server.base.strip_prefix("http://").unwrap();
        assert_eq!(
            message,
            format!(
                "no content from `{host}` for 50ms; allow more with the setting `idle_timeout`"
            )
        );
    }
}

#[tokio::test]
async fn answer_without_an_end_times_out_where_a_limit_is_set() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{}}\n\n";
    let server = Server::start(head, Then::Repeat(delta)).await;
    let limited = HttpOptions {
        answer_timeout: Some(Duration::from_millis(50)),
        ..HttpOptions::default()
    };
    let status = status(collect_with(limited, ask(&server.base)).await);
    let host = server.base.strip_prefix("http://").unwrap();
    let message = format!(
        "the answer of `{host}` took longer than 50ms; allow more with the setting `answer_timeout`"
    );
    assert_eq!(status, TurnStatus::Timeout { message });
}

#[tokio::test]
async fn unreachable_servers_and_tls_errors_are_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    drop(listener);
    let TurnStatus::NetworkError {
        message,
        retryable: true,
    } = status(collect(ask(&format!("http://{host}"))).await)
    else {
        panic!("not a network error");
    };
    assert!(
        message.starts_with(&format!("cannot reach `{host}`: ")),
        "{message}"
    );
    assert!(message.ends_with("(is the server running?)"), "{message}");

    let server = Server::start(answer("400 Bad Request", ""), Then::Close).await;
    let secure = server.base.replace("http:", "https:");
    let told = status(collect(ask(&secure)).await);
    assert!(
        matches!(
            told,
            TurnStatus::NetworkError {
                retryable: false,
                ..
            }
        ),
        "{told:?}"
    );
}

#[tokio::test]
async fn invalid_requests_fail_without_a_connection() {
    let mut unsupported = ask("http://127.0.0.1:9");
    Arc::make_mut(&mut unsupported.model).api = Api::Scripted;
    assert_eq!(
        status(collect(unsupported).await),
        TurnStatus::ModelError {
            message: "`vendor/model-1` uses `scripted`, which is not an HTTP protocol".to_owned(),
            retryable: false,
        }
    );
    let told = status(collect(ask("ftp://x")).await);
    assert_eq!(
        told.message(),
        "the base URL `ftp://x` of `vendor` is not an http or https address"
    );
    let mut bad_key = ask("http://127.0.0.1:9");
    bad_key.api_key = Some(Secret::new("new\nline"));
    let told = status(collect(bad_key).await);
    assert!(
        told.message().starts_with("the key of `vendor` contains"),
        "{told:?}"
    );
}

#[tokio::test]
async fn compression_that_was_not_asked_for_is_named() {
    let head = "200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: br";
    let server = Server::start(answer(head, STREAM), Then::Close).await;
    let TurnStatus::InvalidResponse { message } = server.status().await else {
        panic!("not named");
    };
    assert!(
        message.contains("with `br`, which osier did not ask for"),
        "{message}"
    );
}

/// A server can repeat the key in an answer with a status, in a stream, and in text that is no answer.
#[tokio::test]
async fn keys_that_a_server_echoes_are_removed_in_each_wire_format() {
    let text = format!("no such key: {KEY}");
    let plain = json!({"error": {"message": text}}).to_string();
    for (api, stream) in [
        (
            Api::AnthropicMessages,
            format!(
                "event: error\ndata: {}\n\n",
                error("authentication_error", &text)
            ),
        ),
        (Api::OpenaiChatCompletions, format!("data: {plain}\n\n")),
        (
            Api::OpenaiResponses,
            format!("data: {}\n\n", json!({"type": "error", "message": text})),
        ),
        (Api::GoogleGenerativeAi, format!("data: {plain}\n\n")),
        (Api::Ollama, format!("{}\n", json!({"error": text}))),
        (Api::BedrockConverse, json!({"message": text}).to_string()),
    ] {
        for (head, body, is_quoted) in [
            (
                format!("401 No\r\nwww-authenticate: Bearer {KEY}"),
                plain.clone(),
                true,
            ),
            ("500 Oops".to_owned(), format!("<html>{KEY}</html>"), false),
            (
                "200 OK\r\ncontent-type: text/event-stream".to_owned(),
                stream.clone(),
                true,
            ),
        ] {
            let server = Server::start(answer(&head, &body), Then::Close).await;
            let mut request = ask(&server.base);
            Arc::make_mut(&mut request.model).api = api;
            let status = status(collect(request).await);
            let message = status.message().to_owned();
            assert!(!message.contains(KEY), "{api:?} {head}: {message}");
            let is_there = message.contains("no such key: …");
            assert_eq!(is_there, is_quoted, "{api:?} {head}: {message}");
        }
    }
}
