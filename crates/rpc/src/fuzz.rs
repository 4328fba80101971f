//! Invariants that hold for all lines that a client or an agent sends, for fuzzing.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

use crate::Dispatcher;
use crate::check::parse_op;
use crate::frame::{Frame, Id, Request};
use crate::lines::{Line, LineReader};
use osier_protocol::Event;
use osier_session::SessionHandle;

/// Bytes of a line at most, so that the limit is reached by small inputs.
const LIMIT: usize = 300;
/// A longer input takes longer and shows nothing else.
const MOST: usize = 8192;
/// Starts a line of the agent; all others are from the client.
const AGENT: u8 = b'<';

/// Lines of a client and, after `<`, of an agent.
pub fn rpc(data: &[u8]) {
    if data.len() > MOST {
        return;
    }
    for limit in [LIMIT, usize::MAX] {
        let whole = lines(data, data.len().max(1), limit);
        for size in [1, 3, 64] {
            assert_eq!(lines(data, size, limit), whole, "chunks of {size}");
        }
        for line in &whole {
            if let Line::Complete(line) = line {
                assert!(
                    line.len() <= limit && !line.contains(&b'\n') && !line.trim_ascii().is_empty()
                );
            }
        }
    }
    let mut connection = Connection::new();
    for line in lines(data, data.len().max(1), usize::MAX) {
        let Line::Complete(line) = line else {
            unreachable!("there is no limit");
        };
        match line.split_first() {
            Some((&AGENT, line)) => {
                if let Some(event) = check_frame(line) {
                    connection.event(&event);
                }
            }
            _ => connection.command(&line),
        }
    }
    connection.end();
}

/// The lines of a stream that arrives in chunks of `size` bytes.
fn lines(data: &[u8], size: usize, limit: usize) -> Vec<Line> {
    let mut reader = LineReader::new(Chunks { data, size }, limit);
    let mut lines = Vec::new();
    // Nothing waits for anything.
    while let Some(Ok(Some(line))) = reader.next().now_or_never() {
        lines.push(line);
    }
    lines
}

struct Chunks<'a> {
    data: &'a [u8],
    size: usize,
}

impl AsyncRead for Chunks<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let count = self.size.min(self.data.len()).min(buffer.remaining());
        let (chunk, rest) = self.data.split_at(count);
        buffer.put_slice(chunk);
        self.data = rest;
        Poll::Ready(Ok(()))
    }
}

/// A message of the agent means the same after it was written and read. Returns it if it is an event.
fn check_frame(line: &[u8]) -> Option<Event> {
    let written = |value: Value| {
        let line = value.to_string();
        match Frame::parse(line.as_bytes()) {
            Ok(frame) => frame,
            Err(error) => unreachable!("{line} is not read: {error}"),
        }
    };
    let tagged = |kind: &str, mut value: Value| {
        value["type"] = json!(kind);
        written(value)
    };
    let frame = Frame::parse(line).ok()?;
    let again = match &frame {
        Frame::Response(response) => tagged("response", json!(response)),
        Frame::UiRequest(request) => tagged("ui_request", json!(request)),
        Frame::UiClosed(closed) => tagged("ui_closed", json!(closed)),
        Frame::Event(event) => written(json!(event)),
    };
    assert_eq!(again, frame);
    match frame {
        Frame::Event(event) => Some(*event),
        _ => None,
    }
}

/// A client of a session that executes nothing.
struct Connection {
    dispatcher: Dispatcher,
    /// The ids of commands without an answer.
    open: Vec<Option<Id>>,
}

impl Connection {
    fn new() -> Self {
        let (session, _events, _remote) = SessionHandle::remote();
        Self {
            dispatcher: Dispatcher::new(session),
            open: Vec::new(),
        }
    }

    /// A line has one answer, now or later; only a valid answer to a question has none.
    fn command(&mut self, line: &[u8]) {
        let request = Request::parse(line);
        if let Ok(request) = &request {
            check_op(request);
        }
        let (id, is_reply) = match request {
            Ok(request) => (request.id, request.command.ends_with("ui_response")),
            Err((id, _)) => (id, false),
        };
        let before = self.dispatcher.pending_commands();
        self.open.push(id.clone());
        self.dispatcher.handle_line(line);
        let answered = self.read();
        let waits = self.dispatcher.pending_commands() - before;
        assert!(
            answered + waits == 1 || is_reply && answered + waits == 0,
            "{answered} answers"
        );
        if answered + waits == 0 {
            self.answered(id.as_ref());
        }
    }

    fn event(&mut self, event: &Event) {
        self.dispatcher.handle_event(0, event);
        self.read();
    }

    /// Every command is answered when the session ends.
    fn end(mut self) {
        self.event(&Event::ShutDown);
        assert_eq!(self.dispatcher.pending_commands(), 0);
        assert_eq!(self.open, [], "commands without an answer");
    }

    fn answered(&mut self, id: Option<&Id>) {
        let position = self.open.iter().rposition(|open| open.as_ref() == id);
        assert!(position.is_some(), "an answer to {id:?}");
        if let Some(position) = position {
            self.open.swap_remove(position);
        }
    }

    /// Reads the output: every line is a message that the client understands. Returns the number of answers.
    fn read(&mut self) -> usize {
        let output = std::mem::take(self.dispatcher.output());
        let mut answers = 0;
        assert!(output.is_empty() || output.ends_with(b"\n"));
        for line in output.split_terminator() {
            match Frame::parse(line) {
                Ok(Frame::Response(response)) => {
                    assert_eq!(
                        response.success,
                        response.code.is_none() && response.error.is_none()
                    );
                    self.answered(response.id.as_ref());
                    answers += 1;
                }
                Ok(_) => {}
                Err(error) => unreachable!("{:?}: {error}", String::from_utf8_lossy(line)),
            }
        }
        answers
    }
}

/// The lines of bytes that end with a newline.
trait SplitTerminator {
    fn split_terminator(&self) -> impl Iterator<Item = &[u8]>;
}

impl SplitTerminator for Vec<u8> {
    fn split_terminator(&self) -> impl Iterator<Item = &[u8]> {
        self.split_inclusive(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
    }
}

/// A request means the same after it was written and read.
fn check_op(request: &Request) {
    let mut value = Value::Object(request.parameters.clone());
    if request.command != "op" {
        value["type"] = json!(request.command);
    }
    let value = value.get("op").unwrap_or(&value);
    let Ok(op) = parse_op(value) else {
        return;
    };
    let written = json!(op);
    assert_eq!(parse_op(&written).as_ref(), Ok(&op), "{written}");
    let name = written["type"].as_str();
    assert_eq!(name, Some(op.request().name), "{written}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_lines_are_answered() {
        osier_testing::fuzz::run_cases("rpc", super::rpc);
    }
}
