//! Serves one client over any pair of streams.
//!
//! A slow reader does not block the session: its events wait in the session's queue, where deltas merge, and its
//! commands are still read. Reading stops while too many commands have no answer.

use std::future::Future;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::LINE_LIMIT;
use super::dispatcher::Dispatcher;
use super::lines::{Line, LineReader};
use osier_agent::Subscription;
use osier_base::task::sleep_until;
use osier_protocol::{Event, Op};
use osier_session::SessionHandle;

/// Buffered bytes at which no more events are written.
const PAUSE_EVENTS_AT: usize = 256 * 1024;
/// Buffered bytes at which no more commands are read.
const PAUSE_COMMANDS_AT: usize = 64 * 1024 * 1024;

/// Unanswered commands at which no more commands are read.
const MAX_PENDING_COMMANDS: usize = 1024;

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The client closed its input, and all its commands are done.
    InputEnded,
    /// The client closed its output.
    OutputClosed,
    /// The session was shut down.
    ShutDown,
    /// The `stop` future completed.
    Stopped,
}

/// Serves one client until it disconnects, the session ends or `stop` completes. Then shuts the session down and sends
/// its last events. After the end of the input, active work continues to its end and questions are dismissed.
/// `events` must start with the first event of the session.
pub async fn serve(
    session: &SessionHandle,
    mut events: Subscription<Event>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> EndReason {
    let mut dispatcher = Dispatcher::new(session.clone());
    let mut buffer = SendBuffer {
        output,
        bytes: Vec::new(),
        sent: 0,
        closed: false,
    };
    let mut reader = Some(LineReader::new(input, LINE_LIMIT));
    tokio::pin!(stop);
    let reason = loop {
        buffer.refill(&mut dispatcher);
        if reader.is_none() && dispatcher.is_idle() {
            break EndReason::InputEnded;
        }
        let deadline = dispatcher.next_deadline();
        let reads_commands = buffer.bytes.len() < PAUSE_COMMANDS_AT
            && dispatcher.pending_commands() < MAX_PENDING_COMMANDS;
        tokio::select! {
            biased;
            () = &mut stop => {
                session.send(osier_agent::Op::Abort.into());
                break EndReason::Stopped;
            }
            () = buffer.send(), if buffer.has_unsent() => if buffer.closed {
                break EndReason::OutputClosed;
            },
            line = next_line(&mut reader), if reads_commands => match line {
                Some(Line::Complete(line)) => dispatcher.handle_line(&line),
                Some(Line::TooLong) => dispatcher.reject_long_line(),
                None => {
                    reader = None;
                    dispatcher.set_no_user();
                }
            },
            event = events.recv_timed(), if buffer.bytes.len() < PAUSE_EVENTS_AT => {
                let Some((time, event)) = event else { break EndReason::ShutDown };
                dispatcher.handle_event(time, &event);
                if event == Event::ShutDown {
                    break EndReason::ShutDown;
                }
            }
            () = sleep_until(deadline.map(Into::into)) => dispatcher.handle_timeouts(Instant::now()),
        }
    };
    if reason != EndReason::ShutDown {
        session.send(Op::ShutDown);
        drain_events(&mut dispatcher, &mut events, buffer.closed).await;
    }
    buffer.refill(&mut dispatcher);
    buffer.send_all().await;
    reason
}

/// Handles the events of a session that shuts down, up to the last one.
async fn drain_events(dispatcher: &mut Dispatcher, events: &mut Subscription<Event>, closed: bool) {
    dispatcher.set_no_user();
    while let Some((time, event)) = events.recv_timed().await {
        if !closed {
            dispatcher.handle_event(time, &event);
        }
        if event == Event::ShutDown {
            return;
        }
    }
}

/// The next line; `None` at the end of the input. Never returns after that.
async fn next_line<R: AsyncRead + Unpin>(reader: &mut Option<LineReader<R>>) -> Option<Line> {
    match reader {
        // A read error counts as the end of the input.
        Some(reader) => reader.next().await.unwrap_or(None),
        None => std::future::pending().await,
    }
}

/// Bytes that are being sent to the client.
struct SendBuffer<W> {
    output: W,
    bytes: Vec<u8>,
    sent: usize,
    /// The client closed its output.
    closed: bool,
}

impl<W: AsyncWrite + Unpin> SendBuffer<W> {
    /// Moves the output of the dispatcher into the buffer.
    fn refill(&mut self, dispatcher: &mut Dispatcher) {
        let written = dispatcher.output();
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            std::mem::swap(&mut self.bytes, written);
        } else if !written.is_empty() {
            self.bytes.append(written);
        }
    }

    fn has_unsent(&self) -> bool {
        self.sent < self.bytes.len()
    }

    /// Sends some bytes. Cancel safe.
    async fn send(&mut self) {
        match self.output.write(&self.bytes[self.sent..]).await {
            Ok(written) if written > 0 => self.sent += written,
            _ => self.closed = true,
        }
    }

    /// Sends the remaining bytes.
    async fn send_all(&mut self) {
        while self.has_unsent() && !self.closed {
            self.send().await;
        }
        if !self.closed && self.output.flush().await.is_err() {
            self.closed = true;
        }
    }
}
