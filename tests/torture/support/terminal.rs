//! The program in a pseudo-terminal. A thread reads all the time, so that the program is never held up.

use std::io::{Read as _, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

use super::home::Home;

/// A running program.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<Screen>,
}

struct Screen {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    ended: bool,
    paused: bool,
}

fn pty_size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        ..PtySize::default()
    }
}

fn nonzero(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap_or(NonZero::<u16>::MIN)
}

fn parser(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(nonzero(rows), nonzero(columns), 0)
}

impl Terminal {
    pub(crate) fn start(home: &Home, program: &Path, arguments: &[&str]) -> std::io::Result<Self> {
        let (columns, rows) = (100, 30);
        let pair = native_pty_system()
            .openpty(pty_size(columns, rows))
            .map_err(std::io::Error::other)?;
        let mut command = CommandBuilder::new(program);
        command.env_clear();
        for (name, value) in home.environment() {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        command.cwd(home.work());
        command.args(arguments);
        let child = pair
            .slave
            .spawn_command(command)
            .map_err(std::io::Error::other)?;
        let mut reader = pair
            .master
            .try_clone_reader()
            .map_err(std::io::Error::other)?;
        let writer = pair.master.take_writer().map_err(std::io::Error::other)?;
        let screen = Arc::new(Screen {
            state: Mutex::new(State {
                parser: parser(columns, rows),
                ended: false,
                paused: false,
            }),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&screen);
        thread::spawn(move || {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                let mut state = super::locked(&shared.state);
                state.parser.process(&buffer[..length]);
                shared.changed.notify_all();
                while state.paused {
                    state = shared
                        .changed
                        .wait(state)
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                }
            }
            super::locked(&shared.state).ended = true;
            shared.changed.notify_all();
        });
        Ok(Self {
            master: pair.master,
            writer,
            child,
            screen,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().unwrap_or(0)
    }

    /// Types `keys`. A program that has ended does not read them.
    pub(crate) fn write(&mut self, keys: &str) {
        let _ = self.writer.write_all(keys.as_bytes());
        let _ = self.writer.flush();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let mut state = super::locked(&self.screen.state);
        let (high, wide) = (nonzero(rows), nonzero(columns));
        state.parser.screen_mut().set_size(high, wide);
        drop(state);
        let _ = self.master.resize(pty_size(columns, rows));
    }

    /// Stops reading, as a terminal that hangs, or continues.
    pub(crate) fn pause(&self, paused: bool) {
        super::locked(&self.screen.state).paused = paused;
        self.screen.changed.notify_all();
    }

    pub(crate) fn is_paused(&self) -> bool {
        super::locked(&self.screen.state).paused
    }

    pub(crate) fn screen(&self) -> String {
        text(&super::locked(&self.screen.state).parser)
    }

    /// Waits until the screen is `done`; false after `patience` or at the end of the program.
    pub(crate) fn until(&self, patience: Duration, done: impl Fn(&str) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = super::locked(&self.screen.state);
        loop {
            if done(&text(&state.parser)) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.ended || left.is_zero() {
                let screen = text(&state.parser);
                let screen = screen.lines().filter(|line| !line.is_empty());
                let id = self.id();
                for line in screen {
                    super::journal::note(&format!("screen {id}"), line, "");
                }
                return false;
            }
            let waited = self.screen.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    pub(crate) fn shows(&self, patience: Duration, wanted: &str) -> bool {
        self.until(patience, |screen| screen.contains(wanted))
    }

    pub(crate) fn kill(&mut self) {
        super::signal(self.id(), rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }

    /// The exit status, or `None` if the program still runs after `patience`.
    pub(crate) fn exit(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.pause(false);
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

fn text(parser: &vt100::Parser) -> String {
    let screen = parser.screen();
    let (_, columns) = screen.size();
    let rows = screen.rows(0, columns.into());
    rows.map(|row| format!("{}\n", row.trim_end())).collect()
}
