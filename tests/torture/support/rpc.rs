//! A run of `osier rpc`: commands in, events out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::home::Home;

pub(crate) struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    is_paused: Arc<AtomicBool>,
}

impl Rpc {
    pub(crate) fn start(home: &Home, program: &Path, arguments: &[&str]) -> std::io::Result<Self> {
        let mut child = home
            .command(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take();
        let input = child.stdin.take();
        let (sender, lines) = channel();
        let is_paused = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&is_paused);
        thread::spawn(move || {
            let reader = output.map(BufReader::new);
            for line in reader.into_iter().flat_map(BufReader::lines) {
                let Ok(line) = line else { break };
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(value).is_err() {
                    break;
                }
                while waits.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(5));
                }
            }
        });
        Ok(Self {
            child,
            input,
            lines,
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

impl Drop for Rpc {
    fn drop(&mut self) {
        self.is_paused.store(false, Ordering::Relaxed);
        self.kill();
    }
}
