//! Writes to the terminal on a separate thread that may block.
//!
//! The thread accepts one frame at a time. The next frame is drawn only when the thread is idle, so a slow connection
//! skips frames instead of queueing them, and the event loop never waits.

use parking_lot::{Condvar, Mutex};
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The handle of the writer thread. When it is dropped, the thread writes the remaining bytes and
/// ends.
#[derive(Debug)]
pub struct Output {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    ready: Notify,
    failed: Notify,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// A buffer to reuse for the next frame.
    spare: Option<Vec<u8>>,
    /// When the write that is not complete began.
    writing: Option<Instant>,
    closed: bool,
    failure: Option<io::ErrorKind>,
    drain: Duration,
}

impl Output {
    /// Starts the writer thread.
    pub(crate) fn start(tty: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("terminal-output".to_owned());
        let thread = thread.spawn({
            let shared = Arc::clone(&shared);
            move || shared.run(tty)
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Whether the terminal accepted everything sent so far.
    pub fn is_idle(&self) -> bool {
        self.shared.state.lock().is_idle()
    }

    /// Waits until the output is idle. Supports one waiter.
    pub async fn ready(&self) {
        while !self.is_idle() {
            self.shared.ready.notified().await;
        }
    }

    /// Since when the terminal has not accepted a frame that it was sent.
    pub fn blocked_since(&self) -> Option<Instant> {
        self.shared.state.lock().writing
    }

    /// Waits until a write fails: the terminal is gone. Supports one waiter.
    pub async fn failed(&self) {
        while self.shared.state.lock().failure.is_none() {
            self.shared.failed.notified().await;
        }
    }

    /// An empty, reused buffer for the next frame.
    pub fn buffer(&self) -> Vec<u8> {
        self.shared.state.lock().spare.take().unwrap_or_default()
    }

    /// Sends a frame. If another frame is being written, this frame follows it.
    pub fn send(&self, mut frame: Vec<u8>) {
        let mut state = self.shared.state.lock();
        if state.failure.is_some() || frame.is_empty() {
            frame.clear();
            state.spare = Some(frame);
            return;
        }
        if state.pending.is_empty() {
            state.pending = frame;
        } else {
            state.pending.append(&mut frame);
            state.spare.get_or_insert(frame);
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// How long the terminal took to accept the last complete frame.
    pub fn drain(&self) -> Duration {
        self.shared.state.lock().drain
    }

    /// Waits until the terminal accepted everything, before exit or suspend. Returns `false` on
    /// timeout or if the terminal is gone.
    pub(crate) fn flush_blocking(&self, timeout: Duration) -> bool {
        let mut state = self.shared.state.lock();
        let is_busy = |state: &mut State| !state.is_idle();
        self.shared
            .changed
            .wait_while_for(&mut state, is_busy, timeout);
        state.is_idle() && state.failure.is_none()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_all();
        // A thread blocked in a write to a dead connection must not delay the exit.
        if self.flush_blocking(Duration::from_millis(200))
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.failure.is_some() || (self.pending.is_empty() && self.writing.is_none())
    }
}

impl Shared {
    fn run(&self, mut tty: impl Write) {
        while let Some(mut frame) = self.wait_for_frame() {
            let started = Instant::now();
            let result = write_all(&mut tty, &frame);
            let mut state = self.state.lock();
            state.drain = started.elapsed();
            state.writing = None;
            if let Err(error) = result {
                state.failure = Some(error.kind());
                state.pending.clear();
                self.failed.notify_one();
            }
            frame.clear();
            state.spare.get_or_insert(frame);
            drop(state);
            self.changed.notify_all();
            self.ready.notify_one();
        }
    }

    /// The next frame; `None` once the handle is dropped and everything is written.
    fn wait_for_frame(&self) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| {
            state.pending.is_empty() && !state.closed
        });
        if state.pending.is_empty() {
            return None;
        }
        state.writing = Some(Instant::now());
        Some(std::mem::take(&mut state.pending))
    }
}

/// Like `write_all`, but also works on a non-blocking terminal.
fn write_all(tty: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match tty.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    tty.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A terminal that accepts a write only when permitted.
    struct BlockedWriter {
        open: mpsc::Receiver<()>,
        bytes: mpsc::Sender<Vec<u8>>,
    }

    impl Write for BlockedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.open
                .recv()
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            let _ = self.bytes.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn output_is_busy_until_the_frame_is_written() {
        let (open, gate) = mpsc::channel();
        let (bytes, written) = mpsc::channel();
        let output = Output::start(BlockedWriter { open: gate, bytes }).unwrap();
        assert!(output.is_idle());

        output.send(b"one".to_vec());
        assert!(!output.is_idle());
        assert!(!output.flush_blocking(Duration::ZERO));
        while output.blocked_since().is_none() {
            std::thread::yield_now();
        }
        open.send(()).unwrap();
        output.ready().await;
        assert_eq!(output.blocked_since(), None);
        assert!(output.is_idle());
        assert_eq!(written.recv().unwrap(), b"one");
        assert_eq!(output.buffer(), b"");
        assert_eq!(output.shared.state.lock().failure, None);

        drop(open);
        output.send(b"two".to_vec());
        output.failed().await;
        output.ready().await;
        assert_eq!(
            output.shared.state.lock().failure,
            Some(io::ErrorKind::BrokenPipe)
        );
    }
}
