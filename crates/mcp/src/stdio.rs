//! Messages over the standard streams of a child process, one per line. A line that is not a message goes to
//! the log. A line that is too long is discarded and becomes an error for the request that it answers, so
//! that the caller does not wait.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::log::{STDERR, ServerLog};
use super::messages;
use super::size::{self, EDGE, Refusal};
use osier_base::process::{Invocation, Piped, Pipes, spawn_piped};

/// Maximum length of a message.
const MESSAGE_LIMIT: usize = 32 * 1024 * 1024;
/// Maximum lines in a row without a message; with more, the server is stopped.
const MAX_OTHER_LINES: usize = 10_000;
/// Pause after output that exceeds the limit of the log.
const FLOOD_PAUSE: Duration = Duration::from_millis(5);

/// A connection to a child process.
#[derive(Debug)]
pub(super) struct StdioTransport {
    child: Option<Piped>,
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: LineReader,
    log: Arc<ServerLog>,
    trace: bool,
    /// Lines since the last message.
    other_lines: usize,
}

impl StdioTransport {
    pub(super) fn start(
        invocation: &Invocation,
        log: Arc<ServerLog>,
        trace: bool,
    ) -> io::Result<Self> {
        let (child, pipes) = spawn_piped(invocation)?;
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        osier_base::task::spawn(keep_errors(stderr, Arc::clone(&log)));
        Ok(Self {
            child: Some(child),
            stdin: Arc::new(Mutex::new(Some(stdin))),
            lines: LineReader::new(stdout),
            log,
            trace,
            other_lines: 0,
        })
    }

    /// Parses a line as a message.
    fn read(&mut self, line: Line) -> Option<RxJsonRpcMessage<RoleClient>> {
        let (bytes, excess) = match line {
            Line::Whole(bytes) => {
                let excess = size::excess(&bytes);
                (bytes, excess)
            }
            Line::TooLong { edges, length } => {
                let excess = format!(
                    "the server's message has {length} bytes, and the limit is {MESSAGE_LIMIT}"
                );
                (edges, Some(excess))
            }
        };
        if let Some(excess) = excess {
            self.log.line("osier", &excess);
            return self.refuse(&bytes, excess);
        }
        let text = String::from_utf8_lossy(bytes.trim_ascii());
        if text.is_empty() {
            return None;
        }
        if self.trace {
            self.log.line("received", &text);
        }
        match messages::parse(&text) {
            Ok(message) => Some(message),
            Err(error) => {
                self.log.line("stdout, not a message", &text);
                // Other lines answer no request, so nobody waits for them.
                let reason = format!("the server's message cannot be read: {error}");
                let is_message = text.contains("\"jsonrpc\"");
                is_message.then(|| self.refuse(&bytes, reason)).flatten()
            }
        }
    }

    /// Refuses a message that cannot be read. If it is an answer, its request gets the error; if it is a request, the server does.
    fn refuse(&mut self, bytes: &[u8], reason: String) -> Option<RxJsonRpcMessage<RoleClient>> {
        match size::refusal(bytes, reason)? {
            Refusal::Answer(id, error) => {
                Some(RxJsonRpcMessage::<RoleClient>::error(error, Some(id)))
            }
            Refusal::Request(id, error) => {
                let answer = TxJsonRpcMessage::<RoleClient>::error(error, Some(id));
                let sending = self.send(answer);
                osier_base::task::spawn(async move {
                    // The server may have ended, so an error does not matter.
                    let _ = sending.await;
                });
                None
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (stdin, log, trace) = (Arc::clone(&self.stdin), Arc::clone(&self.log), self.trace);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            if trace {
                log.line("sent", &String::from_utf8_lossy(&line));
            }
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let Some(stdin) = stdin.as_mut() else {
                return Err(io::ErrorKind::NotConnected.into());
            };
            stdin.write_all(&line).await?;
            stdin.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.other_lines < MAX_OTHER_LINES {
            let line = self.lines.next().await?;
            if let Some(message) = self.read(line) {
                self.other_lines = 0;
                return Some(message);
            }
            self.other_lines += 1;
        }
        let end = format!("stopped: {MAX_OTHER_LINES} lines in a row were not messages");
        self.log.line("osier", &end);
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        // A blocked write must not keep the child process alive.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        if let Some(child) = self.child.take()
            && let Some(exit) = child.end().await
        {
            let how = match (exit.code, exit.signal) {
                (Some(code), _) => format!("ended with code {code}"),
                (_, Some(signal)) => format!("ended by signal {signal}"),
                _ => "ended".to_owned(),
            };
            self.log.line("osier", &how);
        }
        Ok(())
    }
}

async fn keep_errors(stderr: ChildStderr, log: Arc<ServerLog>) {
    let mut lines = LineReader::new(stderr);
    while let Some(line) = lines.next().await {
        let Line::Whole(bytes) = line else { continue };
        if !log.try_line(STDERR, &String::from_utf8_lossy(&bytes)) {
            // A server that never stops writing must not keep this thread busy.
            lines.discard();
            tokio::time::sleep(FLOOD_PAUSE).await;
        }
    }
}

/// A line of output.
#[derive(Debug)]
enum Line {
    Whole(Vec<u8>),
    TooLong {
        /// The start and the end of the message.
        edges: Vec<u8>,
        length: usize,
    },
}

/// Reads lines of limited length. Cancelling `next` loses nothing.
#[derive(Debug)]
struct LineReader<R = ChildStdout> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The length of a line that is too long; `line` contains its edges.
    skipped: Option<usize>,
}

impl<R: tokio::io::AsyncRead + Unpin> LineReader<R> {
    fn new(input: R) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            skipped: None,
        }
    }

    /// Drops output that was read but not returned.
    fn discard(&mut self) {
        let length = self.input.buffer().len();
        self.input.consume(length);
    }

    async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.input.fill_buf().await.ok()?;
            if available.is_empty() {
                return None;
            }
            let newline = memchr::memchr(b'\n', available);
            let taken = newline.unwrap_or(available.len());
            let piece = available[..taken].to_vec();
            self.input.consume(taken + usize::from(newline.is_some()));
            self.push(&piece);
            if newline.is_some() {
                return Some(self.finish_line());
            }
        }
    }

    fn push(&mut self, piece: &[u8]) {
        self.line.extend_from_slice(piece);
        let length = self
            .skipped
            .map_or(self.line.len(), |length| length + piece.len());
        if length > MESSAGE_LIMIT {
            self.skipped = Some(length);
            let end = self.line.len().saturating_sub(EDGE).max(EDGE);
            self.line.drain(EDGE.min(self.line.len())..end);
            self.line.shrink_to(4 * EDGE + piece.len());
        }
    }

    fn finish_line(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        match self.skipped.take() {
            None => Line::Whole(line),
            Some(length) => Line::TooLong {
                edges: line,
                length,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ErrorData, NumberOrString};

    use super::super::hidden::Hidden;
    use super::*;

    async fn lines(input: &[u8]) -> Vec<String> {
        let mut reader = LineReader::new(input);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await {
            lines.push(match line {
                Line::Whole(bytes) => String::from_utf8(bytes).unwrap(),
                Line::TooLong { edges, length } => {
                    let refused = size::refusal(&edges, length.to_string()).unwrap();
                    format!("{refused:?}")
                }
            });
            assert!(reader.line.capacity() < 1024 * 1024);
        }
        lines
    }

    #[tokio::test]
    async fn a_server_that_sends_no_messages_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(ServerLog::new(folder.path(), "s", Hidden::default()));
        let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let script = format!("yes | head -9999; echo '{message}'; yes");
        let invocation = Invocation::new("/bin/sh", ["-c", script.as_str()]);
        let mut server = StdioTransport::start(&invocation, Arc::clone(&log), false).unwrap();
        // The message starts the count again.
        assert_eq!(
            (server.receive().await.is_some(), server.other_lines),
            (true, 0)
        );
        assert!(server.receive().await.is_none());
        assert_eq!(server.other_lines, 10_000);
    }

    #[tokio::test]
    async fn a_too_long_line_is_identified_by_its_id() {
        let filling = "x".repeat(MESSAGE_LIMIT);
        let first = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{filling}\"}}");
        let last = format!("{{\"result\":\"{filling}\",\"jsonrpc\":\"2.0\",\"id\": 8}}");
        let input = format!("short\n{first}\n\n{last}\nend\n");
        let lines = lines(input.as_bytes()).await;
        let described = |text: &str, id| {
            let error = ErrorData::internal_error(text.len().to_string(), None);
            format!("{:?}", Refusal::Answer(NumberOrString::Number(id), error))
        };
        assert_eq!(
            lines,
            [
                "short",
                &described(&first, 7),
                "",
                &described(&last, 8),
                "end"
            ]
        );
    }

    #[tokio::test]
    async fn a_request_that_is_too_large_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(ServerLog::new(folder.path(), "s", Hidden::default()));
        // The server sends 600,000 values, and then prints the answer of osier.
        let script = r#"
            printf '{"jsonrpc":"2.0","id":"el","method":"elicitation/create","params":{"a":[0'
            yes ,0 | head -n 600000 | tr -d '\n'
            echo ']}}'
            read -r answer
            echo "$answer"
        "#;
        let invocation = Invocation::new("/bin/sh", ["-c", script]);
        let mut server = StdioTransport::start(&invocation, Arc::clone(&log), false).unwrap();
        let answer = serde_json::to_value(server.receive().await.unwrap()).unwrap();
        let message = "the server's message has 600011 JSON values, and the limit is 500000";
        let error = serde_json::json!({"code": -32603, "message": message});
        let expected = serde_json::json!({"jsonrpc": "2.0", "id": "el", "error": error});
        assert_eq!(answer, expected);
    }
}
