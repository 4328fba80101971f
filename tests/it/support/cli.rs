//! The real program with an empty home: arguments, input and files; its output and exit code.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::PROGRAM;

/// The timeout of a line and of the exit. Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_mins(2);

/// A home directory and a working directory for the program, empty at first.
pub(crate) struct Home {
    folder: TempDir,
}

/// The settings of a new home.
pub(crate) const SETTINGS: &str = "discover_local_models = false\ndescribe_environment = false\n";

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("home")).expect("a home");
        std::fs::create_dir(folder.path().join("work")).expect("a project");
        let home = Self { folder };
        // Model servers, the date and the system of this machine must not affect tests.
        home.config("settings.toml", SETTINGS);
        home
    }

    /// The value of `HOME` and `OSIER_HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file, relative to the working directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.work().join(name), content.as_ref())
    }

    /// Writes a configuration file: `settings.toml`, `models.json`.
    pub(crate) fn config(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = write(&self.home().join(name), content.as_ref());
        osier_base::private::restrict(&path).expect("private permissions");
        path
    }

    /// A run of the program in these directories.
    pub(crate) fn cli(&self) -> Cli<'_> {
        Cli {
            home: self,
            arguments: Vec::new(),
            stdin: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// A run with a scripted model; `turns` is a JSON list.
    pub(crate) fn scripted(&self, turns: &Value) -> Cli<'_> {
        let script = serde_json::json!({"turns": turns});
        self.file("model.json", script.to_string());
        self.cli().args(["--model", "script/model.json"])
    }

    /// The session files, oldest first.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for project in list(&self.home().join("sessions")) {
            found.extend(list(&project));
        }
        found.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        found.sort();
        found
    }

    /// The lines of the only session.
    pub(crate) fn session(&self) -> Vec<Value> {
        let sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        lines_of(&sessions[0])
    }

    /// `text` with the directories of this test and all durations replaced by placeholders.
    pub(crate) fn normal(&self, text: &str) -> String {
        let work = self.work().to_string_lossy().into_owned();
        let home = self.home().to_string_lossy().into_owned();
        let text = text.replace(&work, "WORK").replace(&home, "HOME");
        let lines: Vec<String> = text.split('\n').map(without_duration).collect();
        lines.join("\n")
    }
}

/// The JSON lines of a file.
pub(crate) fn lines_of(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a session file");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON lines")
}

fn write(path: &Path, content: &[u8]) -> PathBuf {
    let mut file = std::fs::File::create(path).expect("a file");
    file.write_all(content).expect("a written file");
    path.to_owned()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// One run of the program.
pub(crate) struct Cli<'a> {
    home: &'a Home,
    arguments: Vec<OsString>,
    stdin: Vec<u8>,
    environment: Vec<(String, String)>,
}

/// The output and exit code of a run, with directories and durations replaced by placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProgramOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProgramOutput {
    pub(crate) fn new(code: i32, stdout: &str, stderr: &str) -> Self {
        Self {
            code: Some(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }
}

impl Cli<'_> {
    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn args<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.arguments.extend(arguments.map(OsString::from));
        self
    }

    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs the program until it exits.
    pub(crate) fn run(self) -> ProgramOutput {
        let (home, stdin) = (self.home, self.stdin.clone());
        let mut child = self.spawn();
        let mut pipe = child.stdin.take().expect("a pipe");
        // A program that does not read its input may end before it is written.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
        let Output {
            status,
            stdout,
            stderr,
        } = wait(child);
        writer.join().expect("the writer");
        ProgramOutput {
            code: status.code(),
            stdout: home.normal(&String::from_utf8(stdout).expect("UTF-8")),
            stderr: home.normal(&String::from_utf8(stderr).expect("UTF-8")),
        }
    }

    /// Starts the program and reads its standard output line by line while it runs.
    pub(crate) fn start(self) -> Running {
        let mut child = self.spawn();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut stderr = child.stderr.take().expect("a pipe");
        let (send, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Running {
            stdin: child.stdin.take(),
            child,
            lines,
            _reader: reader,
            errors: Some(errors),
        }
    }

    fn spawn(self) -> Child {
        self.command().spawn().expect("the program")
    }

    /// The command, for tests that start it themselves.
    pub(crate) fn command(self) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "the program under test is started as a user's shell would"
        )]
        let mut command = Command::new(PROGRAM);
        command
            .args(&self.arguments)
            .current_dir(self.home.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.home())
            .env("OSIER_HOME", self.home.home())
            .envs(self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Waits for the exit, with a timeout.
fn wait(child: Child) -> Output {
    let id = child.id();
    let (send, ended) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    if let Ok(output) = ended.recv_timeout(PATIENCE) {
        return output.expect("the end of the program");
    }
    signal(id, rustix::process::Signal::KILL);
    panic!("the program did not end");
}

/// Sends a signal to a process.
pub(crate) fn signal(process: u32, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(i32::try_from(process).expect("a process id"));
    // The program may have exited already.
    let _ = rustix::process::kill_process(id.expect("a process id"), signal);
}

/// A running program.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    _reader: JoinHandle<()>,
    errors: Option<JoinHandle<String>>,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, sent: rustix::process::Signal) {
        signal(self.id(), sent);
    }

    /// Writes a line of input.
    pub(crate) fn say(&mut self, line: &str) {
        let pipe = self.stdin.as_mut().expect("an open input");
        writeln!(pipe, "{line}").expect("a program that reads");
    }

    /// Closes the input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The next line of output; `None` at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the program says nothing"),
        }
    }

    /// The events up to and including the first that `wanted` accepts.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        while let Some(line) = self.line() {
            let value: Value = serde_json::from_str(&line).expect("a JSON line");
            let found = wanted(&value);
            seen.push(value);
            if found {
                return seen;
            }
        }
        panic!(
            "the program ended: {seen:#?}\n{}",
            self.errors
                .take()
                .map_or_else(String::new, |errors| errors.join().expect("standard error"))
        );
    }

    /// Waits until an answer contains `part`.
    pub(crate) fn until_said(&mut self, part: &str) -> Vec<Value> {
        self.until(|event| {
            event["type"] == "message_update"
                && event["delta"]["delta"]
                    .as_str()
                    .is_some_and(|text| text.contains(part))
        })
    }

    /// The rest of the output, the exit code and standard error.
    pub(crate) fn end(mut self) -> (Vec<String>, Option<i32>, String) {
        let mut rest = Vec::new();
        while let Some(line) = self.line() {
            rest.push(line);
        }
        let status = self.child.wait().expect("the end of the program");
        let errors = self.errors.take().expect("standard error").join();
        (rest, status.code(), errors.expect("standard error"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line without its time, which every event has.
pub(crate) fn without_time(line: &Value) -> Value {
    let mut line = line.clone();
    let fields = line.as_object_mut();
    let time = fields.and_then(|fields| fields.shift_remove("timestamp"));
    let is_time = time.is_some_and(|time| time.as_i64() > Some(1_700_000_000_000));
    assert!(is_time, "no time: {line}");
    line
}

/// `12ms` becomes `?ms`.
pub(crate) fn without_duration(text: &str) -> String {
    let words: Vec<String> = text
        .split(' ')
        .map(|word| match word.trim_end_matches(',').strip_suffix("ms") {
            Some(number) if number.parse::<u64>().is_ok() => word.replacen(number, "?", 1),
            _ => word.to_owned(),
        })
        .collect();
    words.join(" ")
}
