//! The write side of the terminal, on a thread of its own that may block.
//!
//! It takes one frame at a time. The next one is drawn only when it is idle, so that a slow line skips
//! frames instead of queueing them, and the loop that handles keys never waits.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The handle of the writer thread. Dropping it lets the thread write what it has and end.
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
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// A buffer to be filled with the next frame.
    spare: Option<Vec<u8>>,
    writing: bool,
    closed: bool,
    failure: Option<io::ErrorKind>,
    drain: Duration,
    written: u64,
}

impl Output {
    /// Starts the writer thread.
    pub fn start(tty: impl Write + Send + 'static) -> io::Result<Self> {
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

    /// Whether everything sent so far was accepted by the terminal.
    pub fn is_idle(&self) -> bool {
        self.shared.lock().is_idle()
    }

    /// Waits until the output is idle. For one waiter.
    pub async fn ready(&self) {
        while !self.is_idle() {
            self.shared.ready.notified().await;
        }
    }

    /// An empty buffer for the next frame, reused.
    pub fn buffer(&self) -> Vec<u8> {
        self.shared.lock().spare.take().unwrap_or_default()
    }

    /// Hands over a frame. One that is sent while another is being written is written after it.
    pub fn send(&self, mut frame: Vec<u8>) {
        let mut state = self.shared.lock();
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

    /// How long the terminal took to accept the last frame; while it is still at it, how long so far is
    /// not counted.
    pub fn drain(&self) -> Duration {
        self.shared.lock().drain
    }

    /// Bytes accepted by the terminal since the start.
    pub fn written(&self) -> u64 {
        self.shared.lock().written
    }

    /// Why nothing can be written any more: the terminal is gone.
    pub fn failure(&self) -> Option<io::ErrorKind> {
        self.shared.lock().failure
    }

    /// Waits until everything was accepted, for exit and suspend. `false` when that takes too long or the
    /// terminal is gone.
    pub fn flush_blocking(&self, timeout: Duration) -> bool {
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), timeout, |state| !state.is_idle())
            .unwrap_or_else(PoisonError::into_inner);
        state.is_idle() && state.failure.is_none()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        // A thread that hangs in a write on a dead line must not hold up the exit.
        if self.flush_blocking(Duration::from_millis(200))
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.failure.is_some() || (self.pending.is_empty() && !self.writing)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut tty: impl Write) {
        while let Some(mut frame) = self.take() {
            let started = Instant::now();
            let result = write_all(&mut tty, &frame);
            let mut state = self.lock();
            state.drain = started.elapsed();
            state.writing = false;
            match result {
                Ok(()) => state.written += frame.len() as u64,
                Err(error) => {
                    state.failure = Some(error.kind());
                    state.pending.clear();
                }
            }
            frame.clear();
            state.spare.get_or_insert(frame);
            drop(state);
            self.changed.notify_all();
            self.ready.notify_one();
        }
    }

    /// The next frame; `None` when the handle is gone and everything is written.
    fn take(&self) -> Option<Vec<u8>> {
        let mut state = self
            .changed
            .wait_while(self.lock(), |state| {
                state.pending.is_empty() && !state.closed
            })
            .unwrap_or_else(PoisonError::into_inner);
        if state.pending.is_empty() {
            return None;
        }
        state.writing = true;
        Some(std::mem::take(&mut state.pending))
    }
}

/// `write_all` that also works where someone made the terminal non-blocking.
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

    /// A terminal that accepts a write only when it is told to.
    struct Gate {
        open: mpsc::Receiver<()>,
        bytes: mpsc::Sender<Vec<u8>>,
    }

    impl Write for Gate {
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
    async fn it_is_busy_until_the_terminal_took_the_frame() {
        let (open, gate) = mpsc::channel();
        let (bytes, written) = mpsc::channel();
        let output = Output::start(Gate { open: gate, bytes }).unwrap();
        assert!(output.is_idle());

        output.send(b"one".to_vec());
        assert!(!output.is_idle());
        assert!(!output.flush_blocking(Duration::ZERO));
        open.send(()).unwrap();
        output.ready().await;
        assert!(output.is_idle());
        assert_eq!(written.recv().unwrap(), b"one");
        assert_eq!(output.written(), 3);
        assert_eq!(output.buffer(), b"");
        assert_eq!(output.failure(), None);

        drop(open);
        output.send(b"two".to_vec());
        output.ready().await;
        assert_eq!(output.failure(), Some(io::ErrorKind::BrokenPipe));
    }
}
