//! A run of `osier rpc`: commands in, events out.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::home::Home;
use super::journal;

pub(crate) struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// The notices that arrived before what was waited for.
    notices: RefCell<Vec<String>>,
    is_paused: Arc<AtomicBool>,
}

impl Rpc {
    pub(crate) fn start(home: &Home, program: &Path, arguments: &[&str]) -> std::io::Result<Self> {
        Self::start_in(home, program, arguments, &home.work())
    }

    /// Like `start`, in another directory.
    pub(crate) fn start_in(
        home: &Home,
        program: &Path,
        arguments: &[&str],
        cwd: &Path,
    ) -> std::io::Result<Self> {
        let mut child = home
            .command(program)
            .current_dir(cwd)
            .args(arguments)
            .stdin(Stdio::piped())
            .spawn()?;
        let name = format!("osier rpc {}", child.id());
        if let Some(errors) = child.stderr.take() {
            let name = name.clone();
            thread::spawn(move || follow(errors, |line| journal::note(&name, "error", line)));
        }
        let output = child.stdout.take();
        let input = child.stdin.take();
        let (sender, lines) = channel();
        let is_paused = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&is_paused);
        thread::spawn(move || {
            let Some(output) = output else { return };
            follow(output, |line| {
                let value =
                    serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned()));
                let kind = value["type"].as_str().unwrap_or("line");
                journal::note(&name, kind, line);
                // Nobody waits for it any more.
                let _ = sender.send(value);
                while waits.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(5));
                }
            });
            journal::note(&name, "end", "");
        });
        Ok(Self {
            child,
            input,
            lines,
            notices: RefCell::default(),
            is_paused,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line. A program that has ended does not read it.
    pub(crate) fn send(&mut self, command: &Value) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{command}");
        }
    }

    /// The first line that `wanted` accepts; `None` after `patience` or at the end.
    pub(crate) fn until(
        &self,
        patience: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let value = self.lines.recv_timeout(left).ok()?;
            if value["method"] == "notify" {
                let text = value["title"].as_str().unwrap_or_default();
                self.notices.borrow_mut().push(text.to_owned());
            }
            if wanted(&value) {
                return Some(value);
            }
        }
    }

    /// Sends a command and returns its response.
    pub(crate) fn ask(&mut self, command: &Value, patience: Duration) -> Option<Value> {
        self.send(command);
        let id = command["id"].clone();
        self.until(patience, |line| {
            line["type"] == "response" && line["id"] == id
        })
    }

    /// The notices, since the last call, among the lines that were read.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        self.notices.take()
    }

    /// Whether the command with this id has succeeded, by what arrived before the program ended.
    pub(crate) fn has_succeeded(&self, id: &Value, patience: Duration) -> bool {
        let is_response = |line: &Value| line["type"] == "response" && line["id"] == *id;
        let response = self.until(patience, is_response);
        response.is_some_and(|line| line["success"] == true)
    }

    /// Sends a prompt and waits for the end of its run.
    pub(crate) fn prompt(&mut self, text: &str, patience: Duration) -> bool {
        self.send(&serde_json::json!({"type": "prompt", "message": text}));
        self.until(patience, |line| line["type"] == "agent_settled")
            .is_some()
    }

    /// Stops reading, as a client that hangs.
    pub(crate) fn pause(&self) {
        self.is_paused.store(true, Ordering::Relaxed);
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The exit status, or `None` if the program still runs after `patience`.
    pub(crate) fn exit(&mut self, patience: Duration) -> Option<ExitStatus> {
        super::exit(&mut self.child, patience)
    }
}

/// Calls `each` with every line.
fn follow(input: impl Read, mut each: impl FnMut(&str)) {
    for line in BufReader::new(input).lines() {
        let Ok(line) = line else { break };
        each(&line);
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        self.is_paused.store(false, Ordering::Relaxed);
        self.kill();
    }
}
