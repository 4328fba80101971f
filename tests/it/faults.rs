//! Every fault of a connection or a server over a real socket, and the resulting status.

#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod no_locks;
mod program;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use osier_llm::{
    Api, CallOptions, Compat, Context, Delta, HttpOptions, HttpProvider, Message, Modality, Model,
    Price, Provider, Request, StreamEvent, ThinkingLevel, TurnStatus, UserMessage,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::prompt_cache::answers;

/// The server's action after writing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Close,
    /// Sends nothing more and keeps the connection open.
    Hang,
    /// Resets the connection.
    Reset,
}

/// A server with one answer, written in chunks.
struct Faulty {
    address: String,
    requests: Arc<Mutex<usize>>,
}

impl Faulty {
    async fn start(pieces: Vec<Vec<u8>>, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                *seen.lock().unwrap() += 1;
                let pieces = pieces.clone();
                tokio::spawn(async move {
                    // Some tests disconnect early.
                    let _ = play(&mut socket, &pieces).await;
                    match then {
                        Then::Close => drop(socket.shutdown().await),
                        Then::Hang => std::future::pending::<()>().await,
                        Then::Reset => drop(socket.set_zero_linger()),
                    }
                });
            }
        });
        Self { address, requests }
    }

    async fn status(&self) -> TurnStatus {
        status(call(&format!("http://{}", self.address)).await)
    }
}

async fn play(socket: &mut TcpStream, pieces: &[Vec<u8>]) -> std::io::Result<()> {
    let mut seen = Vec::new();
    // Reads everything: closing with unread bytes resets the connection, which is another fault.
    while !is_whole(&seen) {
        // A TLS client waits for an answer to its first record.
        if socket.read_buf(&mut seen).await? == 0 || seen[0] == 0x16 {
            break;
        }
    }
    socket.set_nodelay(true)?;
    for piece in pieces {
        socket.write_all(piece).await?;
        socket.flush().await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        body.len() >= length.map_or(0, |length| length.parse().unwrap())
    })
}

fn model(base: &str, api: Api) -> Model {
    Model {
        provider: "vendor".to_owned(),
        id: "m".to_owned(),
        name: "m".to_owned(),
        api,
        base_url: base.to_owned(),
        context_window: 100_000,
        max_tokens: 1_000,
        thinking_levels: vec![ThinkingLevel::Off],
        input: vec![Modality::Text],
        price: Price::default(),
        headers: std::collections::BTreeMap::new(),
        compat: Compat::default(),
        tuning: osier_llm::Tuning::default(),
    }
}

/// One call with short timeouts.
async fn call(base: &str) -> Vec<StreamEvent> {
    call_as(base, Api::OpenaiChatCompletions).await
}

async fn call_as(base: &str, api: Api) -> Vec<StreamEvent> {
    let request = Request {
        model: Arc::new(model(base, api)),
        context: Context {
            messages: vec![Message::User(UserMessage::text("hello"))],
            ..Context::default()
        },
        options: CallOptions::default(),
        api_key: None,
        signing: None,
    };
    let options = HttpOptions {
        idle_timeout: Duration::from_secs(2),
        ..HttpOptions::default()
    };
    HttpProvider::new(options).stream(request).collect().await
}

fn status(events: Vec<StreamEvent>) -> TurnStatus {
    match events.into_iter().last() {
        Some(StreamEvent::Failed { status, .. }) => status,
        other => panic!("not a failure: {other:?}"),
    }
}

fn text(events: &[StreamEvent]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        StreamEvent::Delta(Delta::TextDelta { delta, .. }) => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

fn stream_head() -> &'static str {
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
}

fn chunk(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn says(text: &str) -> String {
    chunk(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

fn ends() -> String {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("{}data: [DONE]\n\n", chunk(&end))
}

fn answer(head: &str, body: &str) -> Vec<Vec<u8>> {
    let length = body.len();
    let text =
        format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    vec![text.into_bytes()]
}

fn error(message: &str) -> String {
    json!({"error": {"message": message}}).to_string()
}

/// The name of a status, and whether it is retryable.
fn word(status: &TurnStatus) -> String {
    let value = serde_json::to_value(status).unwrap();
    let again = if status.is_retryable() {
        "again"
    } else {
        "never"
    };
    format!("{} {again}", value["type"].as_str().unwrap())
}

#[tokio::test]
async fn unreachable_servers() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let refused = status(call(&format!("http://{address}")).await);
    assert_eq!(word(&refused), "network_error again");
    assert!(
        refused
            .message()
            .starts_with(&format!("cannot reach `{address}`: ")),
        "{refused:?}"
    );
    // A label that is too long fails in the resolver without a request.
    let host = format!("{}.invalid", "a".repeat(70));
    let unknown = status(call(&format!("http://{host}")).await);
    assert_eq!(word(&unknown), "network_error again");
    assert!(
        unknown
            .message()
            .starts_with(&format!("cannot reach `{host}`: ")),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn failed_tls_handshakes() {
    // Garbage, an answer without TLS, an alert, and a connection that closes.
    for (bytes, then) in [
        (&b"\x00\x01\x02garbage garbage garbage"[..], Then::Close),
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], Then::Close),
        (&b"\x15\x03\x03\x00\x02\x02\x28"[..], Then::Close),
    ] {
        let server = Faulty::start(vec![bytes.to_vec()], then).await;
        let told = status(call(&format!("https://{}", server.address)).await);
        assert_eq!(word(&told), "network_error never", "{told:?}");
        assert!(
            told.message().starts_with("no secure connection to"),
            "{told:?}"
        );
    }
    let silent = Faulty::start(Vec::new(), Then::Hang).await;
    let told = status(call(&format!("https://{}", silent.address)).await);
    assert_eq!(word(&told), "timeout again", "{told:?}");
}

#[tokio::test]
async fn broken_and_silent_connections() {
    let half = format!("{}{}", stream_head(), says("half"));
    let middle = &half[..half.len() - 12];
    let promised = half.replace("connection: close", "content-length: 99999");
    for (pieces, then, expected) in [
        (String::new(), Then::Reset, "network_error again"),
        (String::new(), Then::Close, "network_error again"),
        (String::new(), Then::Hang, "timeout again"),
        (
            "HTTP/1.1 200 OK\r\ncontent-".to_owned(),
            Then::Hang,
            "timeout again",
        ),
        (stream_head().to_owned(), Then::Hang, "timeout again"),
        (half.clone(), Then::Hang, "timeout again"),
        (
            format!("{half}: still here\n\n"),
            Then::Hang,
            "timeout again",
        ),
        (half.clone(), Then::Reset, "network_error again"),
        (promised, Then::Close, "network_error again"),
        (middle.to_owned(), Then::Close, "network_error again"),
        (half.clone(), Then::Close, "network_error again"),
        (
            stream_head().to_owned(),
            Then::Close,
            "invalid_response again",
        ),
    ] {
        let server = Faulty::start(vec![pieces.clone().into_bytes()], then).await;
        let told = server.status().await;
        assert_eq!(word(&told), expected, "{pieces:?} {told:?}");
    }
}

#[tokio::test]
async fn every_format_detects_a_truncated_answer() {
    type Says = fn(usize) -> Vec<u8>;
    let formats: [(Api, Says); 6] = [
        (Api::OpenaiChatCompletions, answers::chat),
        (Api::AnthropicMessages, answers::anthropic),
        (Api::OpenaiResponses, answers::responses),
        (Api::GoogleGenerativeAi, answers::google),
        (Api::Ollama, answers::ollama),
        (Api::BedrockConverse, answers::bedrock),
    ];
    let mut tried = Vec::new();
    for (api, answer) in formats {
        let whole = answer(1);
        let end = whole.windows(4).position(|part| part == b"\r\n\r\n");
        let (head, body) = whole.split_at(end.unwrap() + 4);
        let head = String::from_utf8_lossy(head);
        let promised = head.lines().find(|line| line.starts_with("content-length"));
        let unbounded = head.replace(&format!("{}\r\n", promised.unwrap()), "");
        for quarter in 1..4 {
            let body = &body[..body.len() * quarter / 4];
            for (head, then) in [
                (head.as_ref(), Then::Close),
                (&unbounded, Then::Close),
                (&unbounded, Then::Reset),
                (&unbounded, Then::Hang),
            ] {
                let pieces = vec![head.as_bytes().to_vec(), body.to_vec()];
                tried.push(async move {
                    let server = Faulty::start(pieces, then).await;
                    let events = call_as(&format!("http://{}", server.address), api).await;
                    let told = status(events);
                    let expected = if then == Then::Hang {
                        "timeout again"
                    } else {
                        " again"
                    };
                    let word = word(&told);
                    assert!(
                        word.ends_with(expected),
                        "{} {quarter}: {told:?}",
                        api.name()
                    );
                });
            }
        }
    }
    futures_util::future::join_all(tried).await;
}

#[tokio::test]
async fn answer_cut_at_any_byte_is_a_lost_connection() {
    type Says = fn(usize) -> Vec<u8>;
    let formats: [(Api, Says); 6] = [
        (Api::OpenaiChatCompletions, answers::chat),
        (Api::AnthropicMessages, answers::anthropic),
        (Api::OpenaiResponses, answers::responses),
        (Api::GoogleGenerativeAi, answers::google),
        (Api::Ollama, answers::ollama),
        (Api::BedrockConverse, answers::bedrock),
    ];
    for (api, answer) in formats {
        let whole = answer(1);
        let end = whole.windows(4).position(|part| part == b"\r\n\r\n");
        let (head, body) = whole.split_at(end.unwrap() + 4);
        let head = String::from_utf8_lossy(head);
        let promised = head.lines().find(|line| line.starts_with("content-length"));
        let head = head.replace(&format!("{}\r\n", promised.unwrap()), "");
        // A prime, so that the cuts are in different places of the events.
        let cuts = (1..body.len()).step_by(7).chain(body.len() - 8..body.len());
        let calls = cuts.map(|cut| {
            let pieces = vec![head.as_bytes().to_vec(), body[..cut].to_vec()];
            async move {
                let server = Faulty::start(pieces, Then::Close).await;
                let events = call_as(&format!("http://{}", server.address), api).await;
                // The end of the answer had arrived.
                if let Some(StreamEvent::Done { .. }) = events.last() {
                    assert_eq!(text(&events), "Said 1.", "{} {cut}", api.name());
                    return true;
                }
                let told = status(events);
                let name = api.name();
                assert_eq!(word(&told), "network_error again", "{name} {cut}: {told:?}");
                assert!(told.message().contains("closed before the answer ended"));
                false
            }
        });
        let complete = futures_util::future::join_all(calls).await;
        let lost = complete.iter().filter(|complete| !**complete).count();
        assert!(lost * 2 > complete.len(), "{} {lost}", api.name());
    }
}

#[tokio::test]
async fn characters_split_between_chunks() {
    let whole = format!("{}{}{}", stream_head(), says("né 漢 👍"), ends());
    let pieces: Vec<Vec<u8>> = whole.bytes().map(|byte| vec![byte]).collect();
    let server = Faulty::start(pieces, Then::Close).await;
    let events = call(&format!("http://{}", server.address)).await;
    assert_eq!(text(&events), "né 漢 👍");
    assert!(matches!(events.last(), Some(StreamEvent::Done { .. })));
    // A stream that ends in the middle of a character.
    let cut = whole.find('👍').unwrap() + 2;
    let server = Faulty::start(vec![whole.as_bytes()[..cut].to_vec()], Then::Close).await;
    assert_eq!(word(&server.status().await), "network_error again");
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn http_error_statuses() {
    let limited = |headers: &str| {
        answer(
            &format!("429 Too Many Requests{headers}"),
            &error("slow down"),
        )
    };
    for (pieces, expected, wait) in [
        (
            limited("\r\nretry-after: 7"),
            "rate_limit again",
            Some(7_000),
        ),
        (
            limited("\r\nretry-after-ms: 250"),
            "rate_limit again",
            Some(250),
        ),
        (
            limited(
                "\r\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\ndate: Wed, 21 Oct 2015 07:27:30 GMT",
            ),
            "rate_limit again",
            Some(30_000),
        ),
        (
            limited("\r\nretry-after: Wed, 99 Foo 2015"),
            "rate_limit again",
            None,
        ),
        (limited("\r\nretry-after: soon"), "rate_limit again", None),
        (limited("\r\nretry-after: -5"), "rate_limit again", None),
        (
            limited("\r\nx-should-retry: false"),
            "model_error never",
            None,
        ),
        (limited(""), "rate_limit again", None),
        (
            answer(
                "429 Too Many Requests",
                &error("You exceeded your current quota"),
            ),
            "quota_exceeded never",
            None,
        ),
        (
            answer("429 Too Many Requests", ""),
            "rate_limit again",
            None,
        ),
        (
            answer("529 Overloaded", &error("Overloaded")),
            "model_error again",
            None,
        ),
        (
            answer("529 Overloaded\r\nretry-after: 3", &error("Overloaded")),
            "rate_limit again",
            Some(3_000),
        ),
        (
            answer("402 Payment Required", &error("pay")),
            "quota_exceeded never",
            None,
        ),
        (
            answer("401 Unauthorized", &error("who?")),
            "auth_error never",
            None,
        ),
        (
            answer("403 Forbidden", &error("no")),
            "auth_error never",
            None,
        ),
        (
            answer("413 Content Too Large", ""),
            "context_overflow never",
            None,
        ),
        (
            answer("400 Bad Request", &error("prompt is too long: 2 > 1")),
            "context_overflow never",
            None,
        ),
        (
            answer("400 Bad Request", &error("no such field")),
            "model_error never",
            None,
        ),
        (answer("404 Not Found", ""), "model_error never", None),
        (answer("408 Request Timeout", ""), "timeout again", None),
        (
            answer("500 Oops", "not even JSON"),
            "model_error again",
            None,
        ),
        (
            answer(
                "502 Bad Gateway\r\ncontent-type: text/html",
                "<html>nginx</html>",
            ),
            "model_error never",
            None,
        ),
        (answer("504 Gateway Timeout", ""), "timeout again", None),
        (
            answer("302 Found\r\nlocation: https://sso.example/", ""),
            "invalid_response again",
            None,
        ),
        (
            answer("200 OK\r\ncontent-type: text/html", "<html>Sign in</html>"),
            "model_error never",
            None,
        ),
        (
            answer("200 OK\r\ncontent-type: application/json", "{\"id\": 1}"),
            "model_error never",
            None,
        ),
        (
            answer(
                "200 OK\r\ncontent-type: application/json",
                &error("overloaded"),
            ),
            "model_error again",
            None,
        ),
        (answer("200 OK", ""), "invalid_response again", None),
        (
            vec![b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()],
            "network_error again",
            None,
        ),
    ] {
        let shown = String::from_utf8_lossy(&pieces[0]).into_owned();
        let server = Faulty::start(pieces, Then::Close).await;
        let told = server.status().await;
        assert_eq!(word(&told), expected, "{shown}\n{told:?}");
        let asked = match told {
            TurnStatus::RateLimit { retry_after_ms, .. } => retry_after_ms,
            _ => None,
        };
        assert_eq!(asked, wait, "{shown}");
        // The page of a gateway is worth one more request.
        let requests = if shown.contains("502 Bad Gateway") {
            2
        } else {
            1
        };
        assert_eq!(*server.requests.lock().unwrap(), requests, "{shown}");
    }
}

#[tokio::test]
async fn broken_streams_after_status_200() {
    let stream = |body: String| vec![format!("{}{body}", stream_head()).into_bytes()];
    let event = |value: Value| says("begun") + &chunk(&value);
    for (body, expected) in [
        (
            event(json!({"error": {"message": "Overloaded", "code": 529}})),
            "model_error again",
        ),
        (
            event(json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}})),
            "rate_limit again",
        ),
        (
            event(json!({"error": {"message": "too much", "code": "context_length_exceeded"}})),
            "context_overflow never",
        ),
        (
            event(json!({"error": {"message": "no money", "code": 402}})),
            "quota_exceeded never",
        ),
        (event(json!({"choices": "what"})), "network_error again"),
        ("data: {{{\n\n".to_owned(), "invalid_response again"),
        ("data: [DONE]\n\n".to_owned(), "invalid_response again"),
    ] {
        let server = Faulty::start(stream(body.clone()), Then::Close).await;
        let told = server.status().await;
        assert_eq!(word(&told), expected, "{body}\n{told:?}");
    }
}

#[tokio::test]
async fn refusals_and_empty_answers() {
    let message =
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}});
    let stop = |reason: &str| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 0}});
    let end = json!({"type": "message_stop"});
    for (reason, expected) in [("refusal", Some("model_error never")), ("end_turn", None)] {
        let body = chunk(&message) + &chunk(&stop(reason)) + &chunk(&end);
        let bytes = format!("{}{body}", stream_head()).into_bytes();
        let server = Faulty::start(vec![bytes], Then::Close).await;
        let events = call_as(
            &format!("http://{}", server.address),
            Api::AnthropicMessages,
        )
        .await;
        match expected {
            Some(expected) => assert_eq!(word(&status(events)), expected),
            None => assert!(
                matches!(events.last(), Some(StreamEvent::Done { .. })),
                "{events:?}"
            ),
        }
    }
}

#[tokio::test]
async fn very_large_answers() {
    let megabyte = "x".repeat(1_000_000);
    let body = format!("{}{}{}", stream_head(), says(&megabyte), ends());
    let server = Faulty::start(vec![body.into_bytes()], Then::Close).await;
    let events = call(&format!("http://{}", server.address)).await;
    assert_eq!(text(&events).len(), 1_000_000);
    assert!(matches!(events.last(), Some(StreamEvent::Done { .. })));
    // 100 of them exceed the limit: the call ends, and the partial answer is limited.
    let mut pieces = vec![stream_head().as_bytes().to_vec()];
    pieces.extend(std::iter::repeat_n(says(&megabyte).into_bytes(), 100));
    let server = Faulty::start(pieces, Then::Close).await;
    let events = call(&format!("http://{}", server.address)).await;
    let length = text(&events).len();
    assert!((1_000_000..40_000_000).contains(&length), "{length}");
    let told = status(events);
    assert_eq!(word(&told), "model_error never");
    assert!(told.message().contains("more than 32 MiB"), "{told:?}");
}
