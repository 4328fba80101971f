//! The thread that reads standard input. It can be stopped, so that an external editor or the shell
//! receives every key.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc::UnboundedSender;

use super::{Decoder, InputEvent, PendingInput};

/// Timeouts for incomplete input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// For a lone escape.
    pub(crate) escape: Duration,
    /// For the rest of a sequence.
    pub(crate) sequence: Duration,
}

impl Timeouts {
    pub(crate) const LOCAL: Self = Self {
        escape: Duration::from_millis(10),
        sequence: Duration::from_millis(250),
    };
    /// For SSH, where the bytes of one key can arrive separately.
    pub(crate) const REMOTE: Self = Self {
        escape: Duration::from_millis(100),
        sequence: Duration::from_secs(1),
    };
    /// A paste that stalls for this long has lost its end.
    const PASTE: Duration = Duration::from_secs(30);
    /// The rest of a sequence that is later than this has lost its beginning. Until then it is not typed.
    const LATE: Duration = Duration::from_secs(5);

    fn of(self, pending: PendingInput) -> Option<Duration> {
        match pending {
            PendingInput::Nothing => None,
            PendingInput::Escape | PendingInput::Lines => Some(self.escape),
            PendingInput::Partial | PendingInput::Late => Some(Self::LATE),
            PendingInput::Sequence => Some(self.sequence),
            PendingInput::Paste => Some(Self::PASTE),
        }
    }
}

/// The handle of the reader thread. Dropping it stops the thread.
#[derive(Debug)]
pub(crate) struct Reader {
    stop_writer: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts reading `tty` and sends its events; the last one when the terminal hangs up is `Closed`.
    pub(crate) fn start(
        tty: OwnedFd,
        timeouts: Timeouts,
        events: UnboundedSender<InputEvent>,
    ) -> io::Result<Self> {
        // The pipe is close-on-exec: a child that inherited it would prevent the stop.
        let (stop_reader, stop_writer) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name("terminal-input".to_owned())
            .spawn(move || {
                let mut source = InputSource {
                    tty: tty.into(),
                    stop_reader: stop_reader.into(),
                };
                source.run(timeouts, &events);
            })?;
        Ok(Self {
            stop_writer: Some(stop_writer.into()),
            thread: Some(thread),
        })
    }

    /// Stops reading. After it returns, no more bytes are read from the terminal.
    pub(crate) fn stop(mut self) {
        self.join();
    }

    fn join(&mut self) {
        // Closing the write end wakes the thread.
        self.stop_writer.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.join();
    }
}

struct InputSource {
    tty: std::fs::File,
    stop_reader: OwnedFd,
}

/// The result of `wait`.
#[derive(Debug, PartialEq, Eq)]
enum WaitResult {
    Input,
    Timeout,
    Stop,
}

impl InputSource {
    fn run(&mut self, timeouts: Timeouts, sender: &UnboundedSender<InputEvent>) {
        let mut decoder = Decoder::default();
        let mut bytes = vec![0; 16 * 1024];
        let mut events = Vec::new();
        loop {
            match self.wait(timeouts.of(decoder.pending())) {
                Ok(WaitResult::Stop) => return,
                Err(_) => return closed(sender),
                Ok(WaitResult::Timeout) => decoder.expire(&mut events),
                Ok(WaitResult::Input) => match self.tty.read(&mut bytes) {
                    Ok(0) => return closed(sender),
                    Ok(count) => decoder.receive(&bytes[..count], &mut events),
                    Err(error) if is_transient(&error) => {}
                    Err(_) => return closed(sender),
                },
            }
            for event in events.drain(..) {
                if sender.send(event).is_err() {
                    return;
                }
            }
        }
    }

    fn wait(&self, timeout: Option<Duration>) -> io::Result<WaitResult> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.tty.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.stop_reader.as_fd(), PollFlags::IN),
        ];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => Ok(WaitResult::Timeout),
            Ok(_) if !fds[1].revents().is_empty() => Ok(WaitResult::Stop),
            Ok(_) => Ok(WaitResult::Input),
            // A signal is not a timeout: wait again for the full time.
            Err(rustix::io::Errno::INTR) => self.wait_again(timeout.as_ref()),
            Err(error) => Err(error.into()),
        }
    }

    fn wait_again(&self, timeout: Option<&Timespec>) -> io::Result<WaitResult> {
        self.wait(timeout.and_then(|timeout| Duration::try_from(*timeout).ok()))
    }
}

fn closed(sender: &UnboundedSender<InputEvent>) {
    // Nobody receives it while the application ends.
    let _ = sender.send(InputEvent::Closed);
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::input::{KeyCode, KeyPress};

    #[tokio::test]
    async fn stopped_reader_leaves_later_input_unread() {
        let (tty, keyboard) = rustix::pipe::pipe().unwrap();
        let mut keyboard = std::fs::File::from(keyboard);
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let reader = Reader::start(tty.try_clone().unwrap(), Timeouts::LOCAL, sender).unwrap();
        keyboard.write_all(b"a\x1b[A").unwrap();
        assert_eq!(
            events.recv().await,
            Some(InputEvent::Key(KeyPress::char('a')))
        );
        assert_eq!(
            events.recv().await,
            Some(InputEvent::Key(KeyPress::plain(KeyCode::Up)))
        );
        keyboard.write_all(b"\x1b").unwrap();
        assert_eq!(
            events.recv().await,
            Some(InputEvent::Key(KeyPress::plain(KeyCode::Esc)))
        );

        reader.stop();
        assert_eq!(events.recv().await, None);
        keyboard.write_all(b"for the editor").unwrap();
        let mut left = [0; 32];
        let count = std::fs::File::from(tty).read(&mut left).unwrap();
        assert_eq!(&left[..count], b"for the editor");
    }

    #[tokio::test]
    async fn a_terminal_that_is_gone_is_the_last_event() {
        let (tty, keyboard) = rustix::pipe::pipe().unwrap();
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let _reader = Reader::start(tty, Timeouts::LOCAL, sender.clone()).unwrap();
        drop(keyboard);
        assert_eq!(events.recv().await, Some(InputEvent::Closed));
    }
}
