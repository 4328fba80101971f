//! The thread that reads answers. The first call of the process starts it.
//!
//! Models send a delta every few milliseconds, and each one would wake the task that waits for the
//! connection. This thread sleeps between reads instead, and passes on batches, so that the thread
//! that draws runs once per batch. A server that forwards answers to clients reads them without
//! this thread.

use std::sync::{Mutex, PoisonError};
use std::{io, thread};

use futures_util::{StreamExt as _, stream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::call::Call;
use crate::event::StreamEvent;
use crate::provider::EventStream;

/// Maximum number of queued batches; then the connection is not read.
const BATCHES: usize = 4;

/// Runs a call, on the thread unless it is unbatched, or the system starts none. Dropping the stream closes the connection.
pub(super) fn start(call: Call) -> EventStream {
    let reader = if call.is_unbatched() { None } else { reader() };
    let Some(reader) = reader else {
        let batches = stream::unfold(call, |mut call| async move {
            let batch = call.next().await?;
            Some((stream::iter(batch), call))
        });
        return batches.flatten().boxed();
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

fn reader() -> Option<Handle> {
    static READER: Mutex<Option<Handle>> = Mutex::new(None);
    let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    if reader.is_none() {
        *reader = spawn().ok();
    }
    reader.clone()
}

/// The thread creates its own runtime. Otherwise, a failed start would drop a runtime inside of a
/// task, which panics.
fn spawn() -> io::Result<Handle> {
    let (sender, started) = std::sync::mpsc::channel();
    let run = move || match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let _ = sender.send(Ok(runtime.handle().clone()));
            runtime.block_on(std::future::pending::<()>());
        }
        Err(error) => drop(sender.send(Err(error))),
    };
    thread::Builder::new()
        .name("answers".to_owned())
        .spawn(run)?;
    started.recv().map_err(io::Error::other)?
}
