//! The program in a pseudo-terminal: bytes in, a screen out. A thread reads; tests wait for output, never for time.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

use super::mosh::Filter;

/// The configuration of a program to start.
pub(super) struct Setup {
    place: Rc<TempDir>,
    size: (u16, u16),
    /// A program and its arguments that start osier; none by default.
    launcher: &'static [&'static str],
    arguments: Vec<OsString>,
    typed: String,
    patience: Duration,
    term: &'static str,
    answers: Answers,
    mosh: Option<Filter>,
    variables: Vec<(&'static str, OsString)>,
    /// The pixels of a cell that the window size reports, if any.
    cell: (u16, u16),
}

/// Queries of a terminal and its replies.
pub(super) type Answers = &'static [(&'static str, &'static str)];

/// A started program.
pub(super) struct Program {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// All output of the program.
    bytes: Vec<u8>,
    /// The number of bytes that were searched for queries.
    heard: usize,
    answers: Answers,
    place: Rc<TempDir>,
    size: (u16, u16),
    patience: Duration,
    /// The filter between the program and the terminal.
    mosh: Option<Filter>,
}

impl Setup {
    pub(super) fn file(self, name: &str, text: &str) -> Self {
        self.put("work", name, text)
    }

    pub(super) fn home_file(self, name: &str, text: &str) -> Self {
        self.put("home", name, text)
    }

    fn put(self, folder: &str, name: &str, text: &str) -> Self {
        let path = self.place.path().join(folder).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// The directory that contains `home` and `work`.
    pub(super) fn folder(&self) -> PathBuf {
        self.place.path().to_owned()
    }

    /// Uses the script in this file of the working directory.
    pub(super) fn model(self, file: &str) -> Self {
        self.argument("--model").argument(&format!("script/{file}"))
    }

    pub(super) fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts osier as the last arguments of this command.
    pub(super) fn launcher(mut self, command: &'static [&'static str]) -> Self {
        self.launcher = command;
        self
    }

    /// Text that is typed before the program reads.
    pub(super) fn typed(mut self, text: &str) -> Self {
        text.clone_into(&mut self.typed);
        self
    }

    pub(super) fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    pub(super) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The value of `TERM` and the replies of the terminal; no replies by default.
    pub(super) fn terminal(mut self, term: &'static str, answers: Answers) -> Self {
        self.term = term;
        self.answers = answers;
        self
    }

    /// Sets an environment variable.
    pub(super) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Reports these pixels of a cell in the window size.
    pub(super) fn cell(mut self, width: u16, height: u16) -> Self {
        self.cell = (width, height);
        self
    }

    /// Adds a script to the front of `PATH`.
    pub(super) fn program(self, name: &str, script: &str) -> Self {
        let folder = self.place.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), script).unwrap();
        let may_run = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join(name), may_run).unwrap();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&rest));
        let path = std::env::join_paths(folders).unwrap();
        self.variable("PATH", path)
    }

    /// Removes everything that mosh does not support.
    pub(super) fn through_mosh(mut self) -> Self {
        self.mosh = Some(Filter::default());
        self
    }

    pub(super) fn start(self) -> Program {
        let (columns, rows) = self.size;
        let pair = native_pty_system()
            .openpty(PtySize {
                pixel_width: columns * self.cell.0,
                pixel_height: rows * self.cell.1,
                ..pty_size(columns, rows)
            })
            .unwrap();
        let line = self.launcher.iter().chain(&[env!("CARGO_BIN_EXE_osier")]);
        let mut command = CommandBuilder::from_argv(line.map(Into::into).collect());
        command.env_clear();
        for (name, value) in environment(&self.place) {
            command.env(name, value);
        }
        command.env("TERM", self.term);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command.cwd(self.place.path().join("work"));
        command.args(&self.arguments);
        let mut writer = pair.master.take_writer().unwrap();
        writer.write_all(self.typed.as_bytes()).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The read fails when the last writer is gone.
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Program {
            master: pair.master,
            writer,
            child,
            output,
            parser: parser(columns, rows),
            bytes: Vec::new(),
            heard: 0,
            answers: self.answers,
            place: self.place,
            size: self.size,
            patience: self.patience,
            mosh: self.mosh,
        }
    }
}

impl Program {
    #[expect(
        clippy::new_ret_no_self,
        reason = "a program is set up before it is started"
    )]
    pub(super) fn new() -> Setup {
        let place = Rc::new(tempfile::tempdir().unwrap());
        for folder in ["home", "work"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        // Model servers, the date and the system of this machine do not matter.
        let path = place.path().join("home/settings.toml");
        let settings = "discover_local_models = false\ndescribe_environment = false\n\
             turn_summary = false\n";
        fs::write(path, settings).unwrap();
        Setup {
            place,
            size: (80, 24),
            launcher: &[],
            arguments: Vec::new(),
            typed: String::new(),
            patience: Duration::from_mins(2),
            term: "xterm-256color",
            answers: &[],
            mosh: None,
            variables: Vec::new(),
            cell: (0, 0),
        }
    }

    /// The program started again with the same files.
    pub(super) fn again(&self, arguments: &[&str]) -> Self {
        Setup {
            place: Rc::clone(&self.place),
            size: self.size,
            launcher: &[],
            arguments: arguments.iter().map(Into::into).collect(),
            typed: String::new(),
            patience: self.patience,
            term: "xterm-256color",
            answers: &[],
            mosh: None,
            variables: Vec::new(),
            cell: (0, 0),
        }
        .start()
    }

    pub(super) fn write(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        self.parser
            .screen_mut()
            .set_size(rows.try_into().unwrap(), columns.try_into().unwrap());
        self.master.resize(pty_size(columns, rows)).unwrap();
    }

    pub(super) fn signal(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid])
            .status();
        assert!(status.unwrap().success());
    }

    /// Signals the program unless it has ended, and waits for its end.
    pub(super) fn signal_if_running(&mut self, name: &str) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(name);
        }
        self.exit();
    }

    pub(super) fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    pub(super) fn hides(&mut self, text: &str) {
        self.until(&format!("no `{text}`"), |screen| !screen.contains(text));
    }

    /// Reads until `done` accepts the screen.
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + self.patience;
        while !done(&self.screen()) {
            assert!(
                self.read(deadline),
                "waited in vain for {what}:\n{}",
                self.screen()
            );
        }
    }

    /// Reads until the program has written `text` this many times.
    pub(super) fn writes(&mut self, text: &str, times: usize) {
        let deadline = Instant::now() + self.patience;
        while self.written().matches(text).count() < times {
            assert!(self.read(deadline), "it never wrote {text:?} {times} times");
        }
    }

    /// All output.
    pub(super) fn written(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Waits for the exit and reads all output.
    pub(super) fn exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + self.patience;
        while self.read(deadline) {}
        assert!(
            Instant::now() < deadline,
            "it did not end:\n{}",
            self.screen()
        );
        self.child.wait().unwrap()
    }

    /// Reads until a file of the session contains `text`.
    pub(super) fn waits_for_file(&mut self, text: &str) {
        let deadline = Instant::now() + self.patience;
        while !holds(&self.place.path().join("home"), text) {
            assert!(Instant::now() < deadline, "`{text}` is not stored");
            osier_testing::poll::pause();
        }
    }

    /// Waits until no draft is stored.
    pub(super) fn waits_for_no_draft(&self) {
        let deadline = Instant::now() + self.patience;
        let drafts = self.place.path().join("home/drafts");
        while std::fs::read_dir(&drafts).is_ok_and(|mut files| files.next().is_some()) {
            assert!(Instant::now() < deadline, "a draft stays");
            osier_testing::poll::pause();
        }
    }

    /// The screen as text, without the spaces at line ends.
    pub(super) fn screen(&self) -> String {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns.into());
        rows.map(|row| format!("{}\n", row.trim_end())).collect()
    }

    /// The scrollback of the terminal and its screen.
    pub(super) fn text(&mut self) -> String {
        let (_, columns) = self.parser.screen().size();
        let screen = self.parser.screen_mut();
        let mut text = String::new();
        for back in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            let row = screen.rows(0, columns.into()).next().unwrap_or_default();
            text.push_str(row.trim_end());
            text.push('\n');
        }
        screen.set_scrollback(0);
        text + &self.screen()
    }

    /// Row and column of the cursor.
    pub(super) fn cursor(&self) -> (u16, u16) {
        self.parser.screen().cursor_position()
    }

    pub(super) fn row(&self, row: u16) -> String {
        self.screen()
            .lines()
            .nth(row.into())
            .unwrap_or_default()
            .to_owned()
    }

    /// The content of a cell.
    pub(super) fn cell(&self, row: u16, column: u16) -> String {
        let cell = self.parser.screen().cell(row, column);
        cell.map(|cell| cell.contents().to_owned())
            .unwrap_or_default()
    }

    /// Reads for a fixed time, for tests about timing.
    pub(super) fn reads_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && self.reads_until(end) {}
    }

    pub(super) fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// Asserts that every mode that was set is reset.
    pub(super) fn is_restored(&self) {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let screen = self.parser.screen();
        assert!(text.contains("\x1b[?1049h"), "{text:?}");
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert!(!screen.bracketed_paste());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        let left = text
            .rfind("\x1b[?1049l")
            .unwrap_or_else(|| panic!("{text:?}"));
        for (set, reset) in [
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?1004h", "\x1b[?1004l"),
            ("\x1b[?2031h", "\x1b[?2031l"),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[?7l", "\x1b[?7h"),
            ("\x1b[?2026h", "\x1b[?2026l"),
            ("\x1b[>5u", "\x1b[<u"),
        ] {
            assert!(
                text.rfind(set)
                    .is_none_or(|set| text.rfind(reset) > Some(set)),
                "{set:?} is not reset: {:?}",
                &text[text.floor_char_boundary(left.saturating_sub(400))..]
            );
        }
    }

    /// Reads the next bytes until the deadline; false at the end of the output.
    pub(super) fn reads_until(&mut self, deadline: Instant) -> bool {
        self.read(deadline) || Instant::now() >= deadline
    }

    /// Reads the next bytes; false at the end of the output or at the deadline.
    fn read(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(left) {
            Ok(bytes) => {
                match &mut self.mosh {
                    Some(filter) => self.parser.process(&filter.pass(&bytes)),
                    None => self.parser.process(&bytes),
                }
                self.bytes.extend(bytes);
                self.answer();
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

impl Program {
    /// Replies to the queries in the new output, in order.
    fn answer(&mut self) {
        while let Some((end, reply)) = self.question() {
            self.heard = end;
            self.write(reply);
        }
    }

    fn question(&self) -> Option<(usize, &'static str)> {
        let new = &self.bytes[self.heard..];
        let asked = self.answers.iter().filter_map(|(question, reply)| {
            let question = question.as_bytes();
            let at = new
                .windows(question.len())
                .position(|part| part == question)?;
            Some((self.heard + at + question.len(), *reply))
        });
        asked.min_by_key(|(end, _)| *end)
    }

    /// The visible screen with styles.
    pub(super) fn seen(&self) -> String {
        seen(self.parser.screen())
    }
}

/// The visible screen with styles. The foreground and weight of blank cells are left out.
pub(super) fn seen(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let mut seen = String::new();
    for row in 0..rows.get() {
        let mut style = String::new();
        for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
            let ink = (!cell.contents().trim().is_empty() || cell.inverse())
                .then(|| (cell.fgcolor(), cell.bold(), cell.dim(), cell.italic()));
            let now = format!(
                "{{{ink:?} {:?} {} {}}}",
                cell.bgcolor(),
                cell.underline(),
                cell.inverse()
            );
            let contents = cell.contents();
            if now != style {
                seen += &now;
            }
            seen += if contents.is_empty() { " " } else { contents };
            style = now;
        }
        seen.push('\n');
    }
    seen
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The home directory, the search path, and a terminal with the features of the `vt100` crate.
pub(super) fn environment(place: &TempDir) -> Vec<(&'static str, OsString)> {
    let home = place.path().join("home").into_os_string();
    vec![
        ("HOME", home.clone()),
        ("OSIER_HOME", home),
        ("PATH", std::env::var_os("PATH").unwrap_or_default()),
        ("TERM", "xterm-256color".into()),
        ("LANG", "C.UTF-8".into()),
    ]
}

fn pty_size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        ..PtySize::default()
    }
}

/// Rows that the terminal keeps above its screen.
const SCROLLBACK: usize = 1000;

pub(super) fn parser(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(
        rows.try_into().unwrap(),
        columns.try_into().unwrap(),
        SCROLLBACK,
    )
}

pub(super) fn holds(folder: &std::path::Path, text: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return holds(&path, text);
        }
        let stored = fs::read(&path).unwrap_or_default();
        String::from_utf8_lossy(&stored).contains(text)
    })
}
