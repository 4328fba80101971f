//! An agent whose calls go through an osier server, with a test server.

mod program;

use std::sync::{Arc, Mutex};

use osier_agent::{Agent, AgentConfig, AppTransport, Event, Op, RunOutcome, Subscription};
use osier_llm::http::{ProxyFrame, ProxyRequest};
use osier_llm::{Cost, Delta, Secret, StopReason, StreamEvent, TurnStatus, Usage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use crate::support::agent::model;

const TOKEN: &str = "person-token-1234567890";

/// The requests that the server received.
#[derive(Default)]
struct Seen {
    requests: Vec<ProxyRequest>,
    heads: Vec<String>,
}

/// A server that sends these frames until they end or the client disconnects.
struct Proxy {
    url: String,
    seen: Arc<Mutex<Seen>>,
    frames: mpsc::UnboundedSender<ProxyFrame>,
    gone: oneshot::Receiver<()>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (frames, mut next) = mpsc::unbounded_channel();
        let (left, gone) = oneshot::channel();
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (head, body) = request(&mut socket).await;
            let known = head.contains(&format!("authorization: Bearer {TOKEN}"));
            {
                let mut seen = kept.lock().unwrap();
                seen.heads.push(head);
                seen.requests.push(serde_json::from_str(&body).unwrap());
            }
            if !known {
                let body =
                    r#"{"error": {"type": "authentication_error", "message": "who are you"}}"#;
                let length = body.len();
                let text = format!(
                    "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                socket.write_all(text.as_bytes()).await.unwrap();
                return;
            }
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            socket.write_all(head.as_bytes()).await.unwrap();
            let mut byte = [0];
            loop {
                tokio::select! {
                    frame = next.recv() => match frame {
                        Some(frame) => {
                            let text = format!("data: {}\n\n", serde_json::to_string(&frame).unwrap());
                            socket.write_all(text.as_bytes()).await.unwrap();
                        }
                        None => break,
                    },
                    _ = socket.read(&mut byte) => break,
                }
            }
            // The receiver may be gone.
            let _ = left.send(());
        });
        Self {
            url,
            seen,
            frames,
            gone,
        }
    }

    fn agent(&self, token: &str) -> (Agent, Subscription<Event>) {
        let transport = Arc::new(AppTransport::new(self.url.clone(), Secret::new(token)));
        let agent = Agent::spawn(AgentConfig::new(transport, model("acme/large")));
        let events = agent.subscribe();
        let (text, attachments) = ("hello".to_owned(), Vec::new());
        agent.send(Op::Prompt {
            text,
            attachments,
            typed: None,
            once: None,
        });
        (agent, events)
    }

    fn send(&self, event: &StreamEvent) {
        self.frames.send(ProxyFrame::of(event).unwrap()).unwrap();
    }

    fn says(&self, text: &str) {
        self.send(&StreamEvent::Start { response_id: None });
        self.send(&StreamEvent::Delta(Delta::TextStart { index: 0 }));
        self.send(&StreamEvent::Delta(Delta::TextDelta {
            index: 0,
            delta: text.to_owned(),
        }));
    }
}

async fn request(socket: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    loop {
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if length.is_some_and(|length| body.len() >= length.parse().unwrap()) {
                return (head.to_owned(), body.to_owned());
            }
        }
    }
}

async fn until(events: &mut Subscription<Event>, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = events.recv().await.expect("the agent lives");
        if wanted(&event) {
            return event;
        }
    }
}

async fn outcome(events: &mut Subscription<Event>) -> RunOutcome {
    match until(events, |event| matches!(event, Event::AgentSettled { .. })).await {
        Event::AgentSettled { outcome } => outcome,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn run_uses_the_proxy_and_reports_usage() {
    let proxy = Proxy::start().await;
    let (agent, mut events) = proxy.agent(TOKEN);
    proxy.says("from afar");
    let usage = Usage {
        input: 100,
        output: 20,
        cost: Cost {
            total: 0.5,
            ..Cost::default()
        },
        ..Usage::default()
    };
    proxy.send(&StreamEvent::Delta(Delta::TextEnd {
        index: 0,
        signature: None,
    }));
    proxy.send(&StreamEvent::Done {
        stop_reason: StopReason::Stop,
        usage,
    });
    assert_eq!(outcome(&mut events).await, RunOutcome::Completed);
    let state = agent.state();
    let answer = state.messages.last().unwrap();
    assert_eq!(answer.text(), "from afar");
    let osier_agent::AgentMessage::Assistant(answer) = &**answer else {
        panic!("{answer:?}");
    };
    assert_eq!(answer.usage, usage);
    let seen = proxy.seen.lock().unwrap();
    assert!(
        seen.heads[0].starts_with("POST /api/proxy/stream HTTP/1.1"),
        "{}",
        seen.heads[0]
    );
    let request = &seen.requests[0];
    assert_eq!(
        (request.provider.as_str(), request.model.as_str()),
        ("acme", "large")
    );
    assert_eq!(request.context.messages.len(), 1);
}

#[tokio::test]
async fn interrupt_cancels_the_call_on_the_proxy() {
    let proxy = Proxy::start().await;
    let (agent, mut events) = proxy.agent(TOKEN);
    proxy.says("half of it");
    until(&mut events, |event| {
        matches!(
            event,
            Event::MessageUpdate {
                delta: Delta::TextDelta { .. },
                ..
            }
        )
    })
    .await;
    agent.send(Op::Abort);
    assert_eq!(outcome(&mut events).await, RunOutcome::Interrupted);
    proxy
        .gone
        .await
        .expect("the server sees that the client has gone");
    assert_eq!(agent.state().messages.last().unwrap().text(), "half of it");
}

#[tokio::test]
async fn invalid_token_and_proxy_failures_are_errors() {
    let proxy = Proxy::start().await;
    let (_agent, mut events) = proxy.agent("another-token-123456");
    let RunOutcome::Failed { status } = outcome(&mut events).await else {
        panic!("not failed");
    };
    assert!(matches!(status, TurnStatus::AuthError { .. }), "{status:?}");
    assert!(!status.message().contains("another-token"), "{status:?}");

    let proxy = Proxy::start().await;
    let (_agent, mut events) = proxy.agent(TOKEN);
    proxy.says("begun");
    let told = TurnStatus::ContextOverflow {
        message: "`acme` answered 400: too long".to_owned(),
    };
    proxy.send(&StreamEvent::Failed {
        status: told.clone(),
        usage: Usage::default(),
    });
    assert_eq!(
        outcome(&mut events).await,
        RunOutcome::Failed { status: told }
    );
}
