//! One user of one osier, who does things at random and checks what appears.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Report;
use crate::support::home::Home;
use crate::support::journal;
use crate::support::model::ModelServer;
use crate::support::random::Random;
use crate::support::terminal::Terminal;
use crate::support::until;
use crate::support::wires::Wire;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// The prompts of one worker are numbered from a multiple of this.
const NUMBERS: u64 = 100_000;
/// Failures in a report, so that a broken program does not fill the disk.
const MOST_FAILURES: usize = 50;

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) prompts: AtomicU64,
}

pub(crate) struct Worker {
    name: &'static str,
    arguments: &'static [&'static str],
    program: PathBuf,
    home: Home,
    server: Arc<ModelServer>,
    counts: Arc<Counts>,
    random: Random,
    terminal: Option<Terminal>,
    /// The first number, and the next one.
    first: u64,
    number: u64,
    /// The number of times that each action ran.
    done: BTreeMap<String, usize>,
    failures: Vec<String>,
    /// The number of prompts of earlier runs.
    earlier: usize,
    /// The file with the totals and the state of the random numbers, from which the next run continues.
    totals: Option<PathBuf>,
}

type Act = fn(&mut Worker) -> Result<(), String>;

/// The actions of a user, with their frequency.
const ACTIONS: &[(&str, u64, Act)] = &[
    ("text", 30, |worker| worker.prompt("text")),
    ("tools", 25, |worker| worker.prompt("tools")),
    ("files", 8, |worker| worker.prompt("files")),
    ("subagent", 8, |worker| worker.prompt("agent")),
    ("mcp", 8, |worker| worker.prompt("mcp")),
    ("undo", 5, Worker::undo),
    ("fan", 3, Worker::fan),
    ("model", 6, Worker::select_model),
    ("resize", 8, Worker::resize),
    ("compact", 1, Worker::compact),
    ("new", 1, Worker::new_session),
    ("kill", 2, Worker::kill),
    ("restart", 2, Worker::restart),
];

/// How long an undo may take.
const UNDO: Duration = Duration::from_secs(3);

impl Worker {
    pub(crate) fn new(
        name: &'static str,
        arguments: &'static [&'static str],
        program: &Path,
        home: Home,
        server: Arc<ModelServer>,
        counts: Arc<Counts>,
        seed: u64,
    ) -> Self {
        // A home of an earlier run has prompts already.
        let numbers = (seed % 9 + 1) * NUMBERS..(seed % 9 + 2) * NUMBERS;
        let stored = home.stored_prompts().0;
        let highest = stored.range(numbers.clone()).next_back();
        let first = highest.map_or(numbers.start, |highest| highest + 1);
        counts
            .prompts
            .store(first - numbers.start, Ordering::Relaxed);
        Self {
            name,
            arguments,
            program: program.to_owned(),
            home,
            server,
            counts,
            random: Random::new(seed),
            terminal: None,
            first,
            number: first,
            done: BTreeMap::new(),
            failures: Vec::new(),
            earlier: 0,
            totals: None,
        }
    }

    /// Writes the totals to `file` after each action, and first continues from there if the run is `resumed`.
    pub(crate) fn keep_totals(&mut self, file: PathBuf, resumed: bool) {
        let known = fs::read(&file).ok().filter(|_| resumed);
        let known: Option<Value> = known.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(known) = known {
            if let Some(state) = known["random"].as_u64() {
                self.random = Random::resume(state);
            }
            let number = |value: &Value| usize::try_from(value.as_u64().unwrap_or(0)).unwrap_or(0);
            self.earlier = number(&known["prompts"]);
            for (name, times) in known["done"].as_object().into_iter().flatten() {
                self.done.insert(name.clone(), number(times));
            }
            let failures = known["failures"].as_array().into_iter().flatten();
            self.failures = failures
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
        }
        self.totals = Some(file);
    }

    fn prompts(&self) -> usize {
        self.earlier + usize::try_from(self.number - self.first).unwrap_or(0)
    }

    fn write_totals(&self) {
        let Some(file) = &self.totals else { return };
        let totals = json!({"random": self.random.state(), "prompts": self.prompts(),
            "done": self.done, "failures": self.failures});
        // Without the file, only the totals are incomplete.
        let _ = fs::write(file, totals.to_string());
    }

    /// Works until `end`, with a prompt each `interval` at most.
    pub(crate) fn work(&mut self, end: Instant, interval: Option<Duration>) {
        let mut next = Instant::now();
        while Instant::now() < end {
            let before = self.number;
            let (name, result) = match self.ready() {
                Ok(()) => self.act(),
                Err(problem) => ("start", Err(problem)),
            };
            *self.done.entry(name.to_owned()).or_default() += 1;
            if let Err(problem) = result {
                self.fail(name, &problem);
            }
            self.write_totals();
            let Some(interval) = interval.filter(|_| self.number != before) else {
                continue;
            };
            next = (next + interval).max(Instant::now() - interval);
            while Instant::now() < next.min(end) {
                thread::sleep(Duration::from_millis(200));
            }
        }
    }

    fn act(&mut self) -> (&'static str, Result<(), String>) {
        let total = ACTIONS.iter().map(|(_, weight, _)| weight).sum();
        let mut place = self.random.below(total);
        for (name, weight, act) in ACTIONS {
            if place < *weight {
                return (name, act(self));
            }
            place -= weight;
        }
        ("none", Ok(()))
    }

    /// Ends everything and checks what is left.
    pub(crate) fn finish(mut self) -> Report {
        if let Err(problem) = self.ready().and_then(|()| self.leave()) {
            self.fail("end", &problem);
        }
        if self.is_attached() {
            let stopped = self
                .home
                .command(&self.program)
                .args(["serve", "stop"])
                .output();
            if !stopped.as_ref().is_ok_and(|output| output.status.success()) {
                self.fail("serve stop", &format!("{stopped:?}"));
            }
        }
        self.check_stored();
        until(PATIENCE, || self.home.processes().is_empty());
        let left = self.home.processes();
        if !left.is_empty() {
            self.fail("end", &format!("processes are left: {left:?}"));
        }
        match self.home.swept(&self.program) {
            Ok(left) if left.is_empty() => {}
            left => self.fail("end", &format!("temporary files are left: {left:?}")),
        }
        self.write_totals();
        let done = self
            .done
            .iter()
            .map(|(name, times)| format!("{name} {times}"));
        let done: Vec<String> = done.collect();
        Report {
            tried: self.prompts(),
            failures: self.failures,
            notes: vec![format!("{}: {}", self.name, done.join(", "))],
        }
    }

    /// Every prompt that reached the model is in a session file.
    fn check_stored(&mut self) {
        let (stored, broken) = self.home.stored_prompts();
        for number in self.first..self.number {
            if self.server.has_arrived(number) && !stored.contains(&number) {
                self.fail("stored", &format!("prompt {number} is in no session file"));
            }
        }
        if !broken.is_empty() {
            self.fail("stored", &format!("broken lines: {broken:?}"));
        }
    }

    fn is_attached(&self) -> bool {
        !self.arguments.is_empty()
    }

    fn fail(&mut self, what: &str, problem: &str) {
        let screen = self
            .terminal
            .as_ref()
            .map(Terminal::screen)
            .unwrap_or_default();
        let last = journal::last();
        eprintln!("{} {what}: {problem}\n{screen}{last}", self.name);
        if self.failures.len() < MOST_FAILURES {
            self.failures
                .push(format!("{} {what}: {problem}\n{screen}{last}", self.name));
        }
        // The next action begins with a new process.
        self.terminal = None;
    }

    fn terminal(&mut self) -> Result<&mut Terminal, String> {
        self.terminal
            .as_mut()
            .ok_or_else(|| "osier does not run".to_owned())
    }

    /// Starts osier if it does not run, and waits for an empty editor.
    fn ready(&mut self) -> Result<(), String> {
        if self.terminal.is_none() {
            let mut arguments = self.arguments.to_vec();
            if !self.is_attached() && !self.home.sessions().is_empty() {
                arguments.push("-c");
            }
            let started = Terminal::start(&self.home, &self.program, &arguments);
            self.terminal = Some(started.map_err(|error| error.to_string())?);
        }
        self.clear()
    }

    /// Waits until nothing runs, and empties the editor.
    fn clear(&mut self) -> Result<(), String> {
        let terminal = self.terminal()?;
        let idle = |screen: &str| screen.contains('❯') && !screen.contains("esc to interrupt");
        if !terminal.until(PATIENCE, idle) {
            return Err("osier is not ready".to_owned());
        }
        let deadline = Instant::now() + PATIENCE;
        while !terminal.screen().contains("Ask, or type") {
            if Instant::now() > deadline {
                return Err("the editor does not get empty".to_owned());
            }
            terminal.write("\x15\x7f");
            terminal.shows(Duration::from_millis(200), "Ask, or type");
        }
        Ok(())
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.counts.prompts.fetch_add(1, Ordering::Relaxed);
        self.number - 1
    }

    fn type_line(&mut self, line: &str) -> Result<(), String> {
        // A long line wraps in a narrow terminal.
        let typed: String = line.chars().take(38).collect();
        let typed = typed.trim_end();
        let wanted = format!("❯ {typed}");
        let terminal = self.terminal()?;
        terminal.write(line);
        if !terminal.until(PATIENCE, |screen| screen.contains(typed)) {
            return Err(format!("`{line}` is not shown"));
        }
        // The draft of a client that was killed may be restored after the editor was empty.
        if !terminal.shows(Duration::from_secs(10), &wanted) {
            self.clear()?;
            self.terminal()?.write(line);
            if !self.terminal()?.shows(PATIENCE, &wanted) {
                return Err(format!("`{line}` is not shown alone"));
            }
        }
        self.terminal()?.write("\r");
        Ok(())
    }

    fn prompt(&mut self, kind: &str) -> Result<(), String> {
        let number = self.next_number();
        self.server.set_delay(self.random.below(4));
        let (line, end) = (format!("GO {kind} {number}"), format!("done {number}"));
        self.type_line(&line)?;
        let terminal = self.terminal()?;
        let deadline = Instant::now() + PATIENCE;
        while !terminal.shows(Duration::from_secs(3), &end) {
            if Instant::now() > deadline {
                return Err(format!("`{end}` is not shown"));
            }
            // The server refuses a prompt while it continues the run of a client that was killed.
            let screen = terminal.screen();
            let waits = screen.contains(&format!("❯ {line}"));
            if waits && !screen.contains("esc to interrupt") {
                terminal.write("\r");
            }
        }
        self.clear()
    }

    fn shows(&mut self, wanted: &str) -> Result<(), String> {
        if self.terminal()?.shows(PATIENCE, wanted) {
            Ok(())
        } else {
            Err(format!("`{wanted}` is not shown"))
        }
    }

    /// Goes back before some prompts, so that the next prompt begins a branch.
    fn undo(&mut self) -> Result<(), String> {
        for _ in 0..=self.random.below(3) {
            self.type_line("/undo")?;
            // The prompt that is undone returns to the editor, if there is one; if its turn changed files, a menu asks first.
            let (returned, menu) = ("❯ GO", "Conversation only");
            let answers = |screen: &str| screen.contains(returned) || screen.contains(menu);
            self.terminal()?.until(UNDO, answers);
            if self.terminal()?.shows(Duration::ZERO, menu) {
                self.terminal()?.write("\x1b[B\r");
                self.terminal()?.shows(UNDO, returned);
            }
            self.clear()?;
        }
        Ok(())
    }

    fn fan(&mut self) -> Result<(), String> {
        let number = self.next_number();
        let (one, two) = (Wire::Chat.api(), Wire::Anthropic.api());
        self.type_line(&format!("/fan {one}/m {two}/m -- GO tools {number}"))?;
        self.shows("enter apply")?;
        let keys = if self.random.once_in(2) { "\r" } else { "\x1b" };
        self.terminal()?.write(keys);
        let is_left = |screen: &str| !screen.contains("enter apply");
        if !self.terminal()?.until(PATIENCE, is_left) {
            return Err("the fan stays".to_owned());
        }
        self.clear()
    }

    fn select_model(&mut self) -> Result<(), String> {
        let wire = *self.random.pick(&Wire::ALL);
        self.type_line(&format!("/model {}/m", wire.api()))?;
        self.clear()
    }

    fn resize(&mut self) -> Result<(), String> {
        for _ in 0..=self.random.below(4) {
            let columns = 60 + self.random.below(100) as u16;
            let rows = 16 + self.random.below(40) as u16;
            self.terminal()?.resize(columns, rows);
        }
        self.clear()
    }

    fn compact(&mut self) -> Result<(), String> {
        self.type_line("/compact")?;
        let terminal = self.terminal()?;
        let is_refused = |screen: &str| screen.contains("nothing to compact");
        if !terminal.until(PATIENCE, |screen| {
            screen.contains("enter save") || is_refused(screen)
        }) {
            return Err("no summary is shown".to_owned());
        }
        if is_refused(&terminal.screen()) {
            // The next compaction must not find the refusal on the screen.
            if !terminal.until(PATIENCE, |screen| !is_refused(screen)) {
                return Err("the refusal stays".to_owned());
            }
            return self.clear();
        }
        terminal.write("\r");
        // A prompt waits until the summary is stored; a `/fan` would be refused.
        self.prompt("text")
    }

    fn new_session(&mut self) -> Result<(), String> {
        self.type_line("/new")?;
        self.clear()
    }

    /// Kills osier somewhere in a prompt. What the model has seen must be stored.
    fn kill(&mut self) -> Result<(), String> {
        let number = self.next_number();
        let kind = *self
            .random
            .pick(&["text", "tools", "files", "agent", "mcp"]);
        self.type_line(&format!("GO {kind} {number}"))?;
        thread::sleep(Duration::from_millis(self.random.below(400)));
        self.terminal()?.kill();
        self.terminal = None;
        if self.server.has_arrived(number) && !self.home.stored_prompts().0.contains(&number) {
            return Err(format!("prompt {number} was lost by a kill"));
        }
        Ok(())
    }

    /// Quits, or detaches from the server.
    fn restart(&mut self) -> Result<(), String> {
        self.leave()
    }

    fn leave(&mut self) -> Result<(), String> {
        let terminal = self.terminal()?;
        terminal.write("\x04");
        match terminal.exit(PATIENCE) {
            Some(status) if status.success() => {
                self.terminal = None;
                Ok(())
            }
            other => Err(format!("ctrl+d: {other:?}")),
        }
    }
}
