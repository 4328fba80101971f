//! The thread that reads standard input. It can be stopped, so that an external editor or the shell never
//! loses a key to it.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc::UnboundedSender;

use super::{Decoder, InputEvent, Waiting};

/// How long an unfinished end of the input is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// A lone escape.
    pub escape: Duration,
    /// The rest of a sequence.
    pub sequence: Duration,
}

impl Timeouts {
    pub const LOCAL: Self = Self {
        escape: Duration::from_millis(10),
        sequence: Duration::from_millis(250),
    };
    /// Packets of one key can come apart.
    pub const REMOTE: Self = Self {
        escape: Duration::from_millis(100),
        sequence: Duration::from_secs(1),
    };
    /// A paste that stalls for this long has lost its end.
    const PASTE: Duration = Duration::from_secs(30);

    fn of(self, waiting: Waiting) -> Option<Duration> {
        match waiting {
            Waiting::Nothing => None,
            Waiting::Escape => Some(self.escape),
            Waiting::Sequence => Some(self.sequence),
            Waiting::Paste => Some(Self::PASTE),
        }
    }
}

/// A running reader. Dropping it stops it.
#[derive(Debug)]
pub struct Reader {
    wake: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts reading `tty` and sends what comes. The channel closes when the terminal hangs up.
    pub fn start(
        tty: OwnedFd,
        timeouts: Timeouts,
        events: UnboundedSender<InputEvent>,
    ) -> io::Result<Self> {
        // Closed in every child: one that kept the end open would keep the reader from stopping.
        let (woken, wake) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name("terminal-input".to_owned())
            .spawn(move || {
                let mut source = Source {
                    tty: tty.into(),
                    woken: woken.into(),
                };
                source.run(timeouts, &events);
            })?;
        Ok(Self {
            wake: Some(wake.into()),
            thread: Some(thread),
        })
    }

    /// Stops reading. When this returns no byte is taken from the terminal any more.
    pub fn stop(mut self) {
        self.join();
    }

    fn join(&mut self) {
        // The other end of the pipe sees its end.
        self.wake.take();
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

struct Source {
    tty: std::fs::File,
    woken: OwnedFd,
}

/// What `wait` saw.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Input,
    Timeout,
    Stop,
}

impl Source {
    fn run(&mut self, timeouts: Timeouts, sender: &UnboundedSender<InputEvent>) {
        let mut decoder = Decoder::default();
        let mut bytes = vec![0; 16 * 1024];
        let mut events = Vec::new();
        loop {
            match self.wait(timeouts.of(decoder.waiting())) {
                Ok(Seen::Stop) | Err(_) => return,
                Ok(Seen::Timeout) => decoder.expire(&mut events),
                Ok(Seen::Input) => match self.tty.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(count) => decoder.feed(&bytes[..count], &mut events),
                    Err(error) if is_passing(&error) => {}
                    Err(_) => return,
                },
            }
            for event in events.drain(..) {
                if sender.send(event).is_err() {
                    return;
                }
            }
        }
    }

    fn wait(&self, timeout: Option<Duration>) -> io::Result<Seen> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.tty.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.woken.as_fd(), PollFlags::IN),
        ];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => Ok(Seen::Timeout),
            Ok(_) if !fds[1].revents().is_empty() => Ok(Seen::Stop),
            Ok(_) => Ok(Seen::Input),
            // Not a timeout: the input gets its whole time again.
            Err(rustix::io::Errno::INTR) => self.wait_again(timeout.as_ref()),
            Err(error) => Err(error.into()),
        }
    }

    fn wait_again(&self, timeout: Option<&Timespec>) -> io::Result<Seen> {
        self.wait(timeout.and_then(|timeout| Duration::try_from(*timeout).ok()))
    }
}

fn is_passing(error: &io::Error) -> bool {
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
    async fn it_reads_until_it_is_stopped_and_steals_nothing_after() {
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
}
