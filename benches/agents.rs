//! Two hundred concurrent agents in one process, with a streaming server in another: memory, CPU, and whether all
//! agents finish.
//!
//!     cargo bench --bench agents                  # 200 agents
//!     cargo bench --bench agents -- 50 0          # 50 agents, deltas without a pause
//!
//! Each agent has its own conversation: 200 deltas and a call of `read`, then 800 deltas after the result. Needs
//! `/proc`.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark fails by panicking and prints what it found"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use osier_agent::{Agent, AgentConfig, Event, Op, ProviderTransport, RunOutcome};
use osier_llm::{Api, Compat, HttpProvider, Modality, Model, Price, ThinkingLevel};
use osier_tools::Workspace;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const AGENTS: usize = 200;
/// Milliseconds between two deltas of one answer, as with a fast model.
const PAUSE: u64 = 10;
const FIRST_DELTAS: usize = 200;
const SECOND_DELTAS: usize = 800;
/// The timeout of all agents.
const PATIENCE: Duration = Duration::from_mins(5);
const SERVE: &str = "--serve";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    let pause = numbers.get(1).copied().unwrap_or(PAUSE);
    if arguments.iter().any(|text| text == SERVE) {
        return runtime().block_on(serve(pause));
    }
    let agents = numbers.first().map_or(AGENTS, |count| *count as usize);
    let server = Server::start(agents, pause);
    let before = Figures::now();
    let began = Instant::now();
    let (completed, shared) = runtime().block_on(converse(agents, &server.url));
    let took = began.elapsed();
    let after = Figures::now();
    let deltas = agents * (FIRST_DELTAS + SECOND_DELTAS);
    println!(
        "{completed} of {agents} agents completed, {deltas} deltas {pause} ms apart, {took:.1?}"
    );
    println!(
        "CPU {} ms, {:.1} µs a delta",
        after.cpu - before.cpu,
        (after.cpu - before.cpu) as f64 * 1000.0 / deltas as f64
    );
    println!(
        "memory {:.1} MB before, {:.1} MB at its peak: {:.0} kB an agent; PSS {:.1} MB with all of them",
        before.peak as f64 / 1000.0,
        after.peak as f64 / 1000.0,
        (after.peak - before.peak) as f64 / agents as f64,
        shared as f64 / 1000.0
    );
    assert_eq!(completed, agents, "every agent comes to its end");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The number of agents that finished, and the PSS in kilobytes when the first one did.
async fn converse(agents: usize, url: &str) -> (usize, u64) {
    let provider = HttpProvider::default();
    let workspace = Arc::new(Workspace::new(env!("CARGO_MANIFEST_DIR")));
    let running: Vec<_> = (0..agents)
        .map(|number| {
            let transport = ProviderTransport::new(Arc::new(provider.clone()), None);
            let mut config = AgentConfig::new(Arc::new(transport), model(url));
            config.tools =
                osier_tools::build(&workspace, Some(&["read".to_owned()])).expect("the tool");
            let agent = Agent::spawn(config);
            let mut events = agent.subscribe();
            let text = format!("agent {number}: what does the manifest say?");
            agent.send(Op::Prompt {
                text,
                attachments: Vec::new(),
                typed: None,
                once: None,
            });
            tokio::spawn(async move {
                while let Some(event) = events.recv().await {
                    if let Event::AgentSettled { outcome } = event {
                        let state = agent.state();
                        let last = state.messages.last().map(|message| message.text());
                        let whole = last.is_some_and(|text| text.len() == SECOND_DELTAS * 6);
                        return outcome == RunOutcome::Completed
                            && whole
                            && state.messages.len() == 4;
                    }
                }
                false
            })
        })
        .collect();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let (mut completed, mut shared) = (0, None);
    for task in running {
        let ended = tokio::time::timeout_at(deadline, task).await;
        shared.get_or_insert_with(proportional_set_size);
        completed += usize::from(matches!(ended, Ok(Ok(true))));
    }
    (completed, shared.unwrap_or_default())
}

/// Proportional set size in kilobytes.
fn proportional_set_size() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}

fn model(url: &str) -> Model {
    Model {
        provider: "here".to_owned(),
        id: "m".to_owned(),
        name: "m".to_owned(),
        api: Api::OpenaiChatCompletions,
        base_url: format!("{url}/v1"),
        context_window: 100_000,
        max_tokens: 4096,
        thinking_levels: vec![ThinkingLevel::Off],
        input: vec![Modality::Text],
        price: Price::default(),
        headers: BTreeMap::new(),
        compat: Compat::default(),
        tuning: osier_llm::Tuning::default(),
    }
}

/// CPU and memory of this process.
struct Figures {
    /// Milliseconds.
    cpu: u64,
    /// Peak memory in kilobytes.
    peak: u64,
}

impl Figures {
    fn now() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .expect("a name")
            .1
            .split_whitespace()
            .collect();
        let ticks = |place: usize| fields[place].parse::<u64>().expect("a number");
        let status = fs::read_to_string("/proc/self/status").expect("/proc");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.split_whitespace().next()?.parse().ok());
        Self {
            cpu: (ticks(11) + ticks(12)) * 10,
            peak: peak.expect("a number"),
        }
    }
}

/// The server, in a separate process so that its work is not measured.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(agents: usize, pause: u64) -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "the server is a program of its own"
        )]
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([SERVE, &agents.to_string(), &pause.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let mut url = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut url)
            .expect("its address");
        let url = url.trim().to_owned();
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

async fn serve(pause: u64) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    println!("http://{}", listener.local_addr().expect("an address"));
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(answer(socket, Duration::from_millis(pause)));
    }
}

/// Answers the requests of one connection.
async fn answer(mut socket: TcpStream, pause: Duration) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut bytes = Vec::new();
    loop {
        let body = loop {
            if let Some(body) = take_body(&mut bytes) {
                break body;
            }
            if socket.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        };
        let has_result = body.contains("\"role\":\"tool\"");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        let deltas = if has_result {
            SECOND_DELTAS
        } else {
            FIRST_DELTAS
        };
        let piece = chunk(r#"{"choices":[{"index":0,"delta":{"content":"willow"}}]}"#);
        let mut due = tokio::time::Instant::now();
        for _ in 0..deltas {
            socket.write_all(piece.as_bytes()).await?;
            due += pause;
            tokio::time::sleep_until(due).await;
        }
        let end = if has_result {
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned()
        } else {
            let call = r#"{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"file_path\":\"Cargo.toml\"}"}}"#;
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}"#
            )
        };
        let end = format!("{}{}0\r\n\r\n", chunk(&end), chunk("[DONE]"));
        socket.write_all(end.as_bytes()).await?;
    }
}

fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// The body of the next request, once it is complete.
fn take_body(bytes: &mut Vec<u8>) -> Option<String> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))?;
    let length: usize = length.trim().parse().ok()?;
    let body = bytes.get(end..end + length)?;
    let body = String::from_utf8_lossy(body).into_owned();
    bytes.drain(..end + length);
    Some(body)
}
