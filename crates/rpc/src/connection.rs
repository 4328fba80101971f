//! Moves the lines between a client and its dispatcher over any pair of streams.
//!
//! A client that does not read stops nothing but itself: what it is to hear waits where deltas merge, and
//! its commands are still taken. One that asks faster than it can be answered waits for answers.

use std::future::Future;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::LINE_LIMIT;
use super::dispatcher::Dispatcher;
use super::lines::{Line, Lines};
use osier_agent::Subscription;
use osier_protocol::{Event, Op};
use osier_session::SessionHandle;

/// Bytes that may wait for the client before no more events are taken.
const EVENTS_WAIT_AT: usize = 256 * 1024;
/// Bytes that may wait for the client before no more commands are taken.
const COMMANDS_WAIT_AT: usize = 64 * 1024 * 1024;

/// Commands that may wait for their answers before no more are taken.
const ANSWERS_WAIT_AT: usize = 1024;

/// Why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client has closed its end, and what it had asked for is done.
    InputEnded,
    /// The client reads no more.
    OutputClosed,
    /// The agent was told to end.
    ShutDown,
    /// `stop` was done.
    Stopped,
}

/// Serves one client until it goes, the agent ends or `stop` is done; then the host is shut down and its
/// last events are sent. After the end of the input what runs goes on to its end, and nobody is there to
/// answer requests. `events` begin with the first of the host.
pub async fn serve(
    host: &SessionHandle,
    mut events: Subscription<Event>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> Ended {
    let mut dispatcher = Dispatcher::new(host.clone());
    let mut sending = Sending {
        output,
        bytes: Vec::new(),
        sent: 0,
        closed: false,
    };
    let mut lines = Some(Lines::new(input, LINE_LIMIT));
    tokio::pin!(stop);
    let ended = loop {
        sending.refill(&mut dispatcher);
        if lines.is_none() && dispatcher.is_idle() {
            break Ended::InputEnded;
        }
        let deadline = dispatcher.next_deadline();
        let takes_commands =
            sending.bytes.len() < COMMANDS_WAIT_AT && dispatcher.unanswered() < ANSWERS_WAIT_AT;
        tokio::select! {
            biased;
            () = &mut stop => {
                host.send(osier_agent::Op::Abort.into());
                break Ended::Stopped;
            }
            () = sending.send(), if sending.waits() => if sending.closed {
                break Ended::OutputClosed;
            },
            line = next_line(&mut lines), if takes_commands => match line {
                Some(Line::Whole(line)) => dispatcher.take_line(&line),
                Some(Line::TooLong) => dispatcher.refuse_line(),
                None => {
                    lines = None;
                    dispatcher.person_left();
                }
            },
            event = events.recv(), if sending.bytes.len() < EVENTS_WAIT_AT => {
                let Some(event) = event else { break Ended::ShutDown };
                dispatcher.take_event(&event);
                if event == Event::ShutDown {
                    break Ended::ShutDown;
                }
            }
            () = until(deadline) => dispatcher.time_passed(Instant::now()),
        }
    };
    if ended != Ended::ShutDown {
        host.send(Op::ShutDown);
        finish(&mut dispatcher, &mut events, sending.closed).await;
    }
    sending.refill(&mut dispatcher);
    sending.send_all().await;
    ended
}

/// Takes the last events of a host that ends.
async fn finish(dispatcher: &mut Dispatcher, events: &mut Subscription<Event>, closed: bool) {
    dispatcher.person_left();
    while let Some(event) = events.recv().await {
        if !closed {
            dispatcher.take_event(&event);
        }
        if event == Event::ShutDown {
            return;
        }
    }
}

/// The next line; `None` at the end of the input. Waits for ever when that was told before.
async fn next_line<R: AsyncRead + Unpin>(lines: &mut Option<Lines<R>>) -> Option<Line> {
    match lines {
        // A stream that cannot be read any more has ended.
        Some(lines) => lines.next().await.unwrap_or(None),
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// What is on its way to the client.
struct Sending<W> {
    output: W,
    bytes: Vec<u8>,
    sent: usize,
    /// The client reads no more.
    closed: bool,
}

impl<W: AsyncWrite + Unpin> Sending<W> {
    /// Takes what the dispatcher has written.
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

    fn waits(&self) -> bool {
        self.sent < self.bytes.len()
    }

    /// Sends a piece. Cancel safe.
    async fn send(&mut self) {
        match self.output.write(&self.bytes[self.sent..]).await {
            Ok(written) if written > 0 => self.sent += written,
            _ => self.closed = true,
        }
    }

    /// Sends the rest.
    async fn send_all(&mut self) {
        while self.waits() && !self.closed {
            self.send().await;
        }
        if !self.closed && self.output.flush().await.is_err() {
            self.closed = true;
        }
    }
}
