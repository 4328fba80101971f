//! Faults of a model server in every wire format: truncated, reset, garbled and refused answers. None is taken for a
//! success, each error says what happened, and what may be tried again is marked so.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::StreamExt as _;
use osier_llm::{
    Api, CallOptions, Compat, Context, Delta, HttpOptions, HttpProvider, Message, Modality, Model,
    Price, Provider as _, Request, StreamEvent, ThinkingLevel, UserMessage,
};

use crate::Report;
use crate::options::Options;
use crate::support::model::read_request;
use crate::support::wires::{Turn, Wire, aws_frame};

/// The expected result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The answer has the complete text.
    Success,
    /// An error that osier may try again.
    Again,
    /// An error that another attempt would repeat.
    Never,
    /// An error of either kind.
    Failure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Close,
    Reset,
    Silence,
}

struct Fault {
    name: String,
    /// All bytes of the response.
    parts: Vec<Vec<u8>>,
    end: End,
    expected: Expected,
}

const TEXT: &str = "The answer has some words and then it ends here";
/// How many faults of each wire format the short version tries.
const SHORT: usize = 12;

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut report = Report::default();
    for wire in Wire::ALL {
        let mut faults = faults(wire);
        if options.is_short() {
            let step = faults.len() / SHORT + 1;
            let mut number = 0;
            faults.retain(|_| {
                number += 1;
                number % step == 1
            });
        }
        let count = faults.len();
        for fault in faults {
            report.tried += 1;
            let name = format!("{}: {}", wire.api(), fault.name);
            let expected = fault.expected;
            let found = runtime.block_on(outcome(wire, fault))?;
            if let Err(problem) = judge(expected, &found) {
                report.failures.push(format!("{name}: {problem}"));
            }
        }
        report.notes.push(format!("{}: {count} faults", wire.api()));
    }
    Ok(report)
}

fn judge(expected: Expected, (text, last): &(String, Option<StreamEvent>)) -> Result<(), String> {
    match last {
        Some(StreamEvent::Failed { status, .. }) => {
            let said = format!(
                "{} ({})",
                status.message(),
                serde_json::to_value(status).unwrap_or_default()["type"]
            );
            if status.message().is_empty() {
                return Err(format!("an error without a text: {said}"));
            }
            match expected {
                Expected::Success => Err(format!("failed: {said}")),
                Expected::Again if !status.is_retryable() => {
                    Err(format!("is not tried again: {said}"))
                }
                Expected::Never if status.is_retryable() => Err(format!("is tried again: {said}")),
                _ => Ok(()),
            }
        }
        Some(StreamEvent::Done { .. }) if expected == Expected::Success && text == TEXT => Ok(()),
        other => Err(format!("a false success: {text:?} {other:?}")),
    }
}

async fn outcome(wire: Wire, fault: Fault) -> io::Result<(String, Option<StreamEvent>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // The server answers twice, because osier sends a second request after the page of a gateway.
    thread::spawn(move || while serve(&listener, &fault).is_ok() {});
    let model = Model {
        provider: "vendor".to_owned(),
        id: "m".to_owned(),
        name: "m".to_owned(),
        api: api(wire),
        base_url: format!("http://{address}"),
        context_window: 100_000,
        max_tokens: 1_000,
        thinking_levels: vec![ThinkingLevel::Off],
        input: vec![Modality::Text],
        price: Price::default(),
        headers: BTreeMap::new(),
        compat: Compat::default(),
        tuning: osier_llm::Tuning::default(),
    };
    let request = Request {
        model: Arc::new(model),
        context: Context {
            messages: vec![Message::User(UserMessage::text("hello"))],
            ..Context::default()
        },
        options: CallOptions::default(),
        api_key: None,
        signing: None,
    };
    let options = HttpOptions {
        idle_timeout: Duration::from_millis(400),
        ..HttpOptions::default()
    };
    let mut stream = HttpProvider::new(options).stream(request);
    let (mut text, mut last) = (String::new(), None);
    while let Some(event) = stream.next().await {
        if let StreamEvent::Delta(Delta::TextDelta { delta, .. }) = &event {
            text.push_str(delta);
        }
        last = Some(event);
    }
    Ok((text, last))
}

fn api(wire: Wire) -> Api {
    match wire {
        Wire::Anthropic => Api::AnthropicMessages,
        Wire::Bedrock => Api::BedrockConverse,
        Wire::Chat => Api::OpenaiChatCompletions,
        Wire::Google => Api::GoogleGenerativeAi,
        Wire::Ollama => Api::Ollama,
        Wire::Responses => Api::OpenaiResponses,
    }
}

fn serve(listener: &TcpListener, fault: &Fault) -> io::Result<()> {
    let (mut socket, _) = listener.accept()?;
    read_request(&mut socket)?;
    socket.set_nodelay(true)?;
    for part in &fault.parts {
        socket.write_all(part)?;
        thread::sleep(Duration::from_micros(200));
    }
    match fault.end {
        End::Close => {}
        End::Reset => {
            // The client reads what was sent before.
            thread::sleep(Duration::from_millis(20));
            rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        }
        End::Silence => thread::sleep(Duration::from_secs(2)),
    }
    Ok(())
}

fn faults(wire: Wire) -> Vec<Fault> {
    let mut faults = Vec::new();
    truncated(wire, &mut faults);
    refused(wire, &mut faults);
    garbled(wire, &mut faults);
    faults
}

fn head(kind: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n").into_bytes()
}

/// The minimum number of frames of a complete answer.
fn needed(wire: Wire, frames: &[Vec<u8>]) -> usize {
    match wire {
        // The usage and `[DONE]` follow the frame that ends the answer.
        Wire::Chat => frames.len() - 2,
        // The last event only says that the message has ended.
        Wire::Anthropic | Wire::Bedrock => frames.len() - 1,
        _ => frames.len(),
    }
}

fn truncated(wire: Wire, faults: &mut Vec<Fault>) {
    let frames = wire.frames(&Turn::says(TEXT));
    let needed = needed(wire, &frames);
    for count in 0..=frames.len() {
        let mut parts = vec![head(wire.content_type())];
        parts.extend_from_slice(&frames[..count]);
        // An end that a vendor always sends may be required, so both outcomes are right where it alone is missing.
        let expected = if count == frames.len() {
            Expected::Success
        } else {
            Expected::Again
        };
        let is_open = count >= needed && count < frames.len();
        for end in [End::Close, End::Reset, End::Silence] {
            if is_open || (count == frames.len() && end != End::Close) {
                continue;
            }
            faults.push(Fault {
                name: format!("{count} of {} events, then {end:?}", frames.len()),
                parts: parts.clone(),
                end,
                expected,
            });
        }
        if let Some(next) = frames.get(count).filter(|_| count < needed) {
            let mut parts = parts;
            parts.push(next[..next.len() / 2].to_vec());
            faults.push(Fault {
                name: format!("{count} and a half of {} events", frames.len()),
                parts,
                end: End::Close,
                expected: Expected::Again,
            });
        }
    }
}

fn refused(_: Wire, faults: &mut Vec<Fault>) {
    let bodies = [
        (
            "application/json",
            r#"{"error":{"message":"the reason","type":"some_error"}}"#,
        ),
        ("application/json", r#"{"message":"the reason"}"#),
        ("text/html", "<html><h1>Bad gateway</h1></html>"),
        ("text/plain", ""),
        ("application/json", "{\"error\":"),
    ];
    let statuses = [
        (400, Expected::Never),
        (401, Expected::Never),
        (403, Expected::Never),
        (404, Expected::Never),
        (408, Expected::Again),
        (429, Expected::Again),
        (500, Expected::Again),
        (502, Expected::Again),
        (503, Expected::Again),
        (504, Expected::Again),
        (529, Expected::Again),
    ];
    for (status, expected) in statuses {
        for (place, (kind, body)) in bodies.iter().enumerate() {
            let length = body.len();
            // After the page of a gateway, osier has already sent a second request.
            let is_page = *kind == "text/html" && status >= 500 && status != 504;
            let expected = if is_page { Expected::Never } else { expected };
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            faults.push(Fault {
                name: format!("{status} with body {place}"),
                parts: vec![head.into_bytes()],
                end: End::Close,
                expected,
            });
        }
    }
}

fn garbled(wire: Wire, faults: &mut Vec<Fault>) {
    let mut add = |name: &str, kind: &str, body: Vec<u8>, expected| {
        faults.push(Fault {
            name: name.to_owned(),
            parts: vec![head(kind), body],
            end: End::Close,
            expected,
        });
    };
    let kind = wire.content_type();
    let frame = |text: &str| match wire {
        Wire::Bedrock => {
            let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
            aws_frame("contentBlockDelta", &value)
        }
        Wire::Ollama => format!("{text}\n").into_bytes(),
        _ => format!("data: {text}\n\n").into_bytes(),
    };
    for text in [
        "null",
        "[]",
        "{}",
        "7",
        "\"text\"",
        "{\"error\":{\"message\":\"overloaded\"}}",
        "{\"choices\":7}",
        "{broken",
    ] {
        add(
            &format!("the event {text}"),
            kind,
            frame(text),
            Expected::Failure,
        );
    }
    add("zeros", kind, vec![0; 4096], Expected::Failure);
    add(
        "invalid UTF-8",
        kind,
        [0xff_u8, 0xfe, 0xc0].repeat(500),
        Expected::Failure,
    );
    add(
        "an HTML page",
        "text/html",
        b"<html>Log in</html>".to_vec(),
        Expected::Failure,
    );
    add(
        "JSON",
        "application/json",
        b"{\"ok\":true}".to_vec(),
        Expected::Failure,
    );
    add("nothing", kind, Vec::new(), Expected::Failure);
    add(
        "a huge event",
        kind,
        frame(&format!("\"{}\"", "x".repeat(3_000_000))),
        Expected::Failure,
    );
    add(
        "an endless line",
        kind,
        vec![b'x'; 3_000_000],
        Expected::Failure,
    );
    add("no HTTP", kind, b"\r\n\r\n".repeat(100), Expected::Failure);
}
