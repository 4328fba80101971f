//! The thread that reads answers: one for the process, started by its first call.
//!
//! Models write a piece every few milliseconds, and whoever waits for a connection is woken by each of them. Here
//! nobody waits while an answer is coming: the thread sleeps, looks what has come, and hands it over in batches, so that
//! the thread that draws runs once a batch.

use std::sync::OnceLock;
use std::time::Duration;
use std::{io, thread};

use futures_util::{StreamExt as _, stream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::call::Call;
use crate::event::StreamEvent;
use crate::provider::EventStream;
use crate::status::TurnStatus;
use crate::usage::Usage;

/// Batches that wait for whoever reads them; behind them the connection waits.
const BATCHES: usize = 4;
/// Shortest time between two looks at a connection. Also how much longer another call can wait for its turn.
const PACE: Duration = Duration::from_millis(5);

/// Runs a call there. Dropping the stream drops the connection.
pub(super) fn start(call: Call) -> EventStream {
    let reader = match reader() {
        Ok(reader) => reader,
        Err(message) => return failed(message),
    };
    let (sender, batches) = mpsc::channel(BATCHES);
    let reading = AbortOnDropHandle::new(reader.spawn(read(call, sender)));
    let batches = stream::unfold((batches, reading), |(mut batches, reading)| async move {
        let batch: Vec<StreamEvent> = batches.recv().await?;
        Some((stream::iter(batch), (batches, reading)))
    });
    batches.flatten().boxed()
}

async fn read(mut call: Call, batches: mpsc::Sender<Vec<StreamEvent>>) {
    while let Some(batch) = call.next().await {
        if batches.send(batch).await.is_err() {
            return;
        }
    }
}

/// When a connection was looked at last.
#[derive(Debug)]
pub(super) struct Pace {
    due: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { due: None }
    }

    /// The connection has nothing more at present.
    pub(super) fn looked(&mut self) {
        self.due = Some(Instant::now() + PACE);
    }

    /// Sleeps until the next look, which then needs no waiting. The whole thread sleeps: whatever comes for other calls
    /// is looked at behind this one, all of it in one go.
    pub(super) async fn rest(&mut self) {
        if let Some(due) = self.due.take() {
            let now = Instant::now();
            if due > now {
                thread::sleep(due - now);
            }
            // The system is asked for news, without waiting, and the connections that have some are served.
            tokio::task::yield_now().await;
        }
    }
}

fn reader() -> Result<&'static Handle, &'static String> {
    static READER: OnceLock<Result<Handle, String>> = OnceLock::new();
    let started = READER.get_or_init(|| spawn().map_err(|error| error.to_string()));
    started.as_ref()
}

fn spawn() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let forever = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new()
        .name("answers".to_owned())
        .spawn(forever)?;
    Ok(handle)
}

fn failed(reason: &str) -> EventStream {
    let status = TurnStatus::NetworkError {
        message: format!("the thread that reads answers cannot start: {reason}"),
        retryable: false,
    };
    let usage = Usage::default();
    stream::iter([StreamEvent::Failed { status, usage }]).boxed()
}
