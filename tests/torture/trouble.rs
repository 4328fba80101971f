//! Trouble from all sides: servers that restart in a storm, small models that fail, budgets,
//! damaged plan files, subagents that are killed, moves during a run, several osiers at once, odd
//! files, a system without file watches, interrupts at every point of an answer, a terminal that
//! vanishes. Each case ends with a prompt that works.

mod answers;
mod files;
mod plans;
mod screens;
mod servers;
mod several;
mod small_model;
mod special;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::random::Random;
use crate::support::rpc::Rpc;
use crate::support::until;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
const SETTINGS: &str = "model = \"openai-chat-completions/m\"\nsubagents = true\n";

type Case = fn(&mut Trial) -> Result<(), String>;

/// The name of each case, and whether the short version runs it.
const CASES: &[(&str, bool, Case)] = &[
    ("interrupts", true, answers::interrupts),
    ("mcp storm", true, servers::mcp_storm),
    ("flood", true, servers::flood),
    ("small model", false, small_model::small_model),
    ("budget", true, answers::budget),
    ("plan files", false, plans::plan_files),
    ("moves during a run", true, answers::moves),
    ("two osiers", true, several::two_osiers),
    ("odd files", false, files::odd_files),
    ("special files", false, special::special_files),
    ("watches", false, files::watches),
    ("subagents", false, several::subagents),
    ("ten sessions", false, screens::ten_sessions),
    ("vanished terminal", false, screens::vanished_terminal),
    ("attached prompts", false, screens::attached_prompts),
];

/// Cases that run at the same time.
const WORKERS: usize = 2;

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("trouble")?;
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Report> {
        let mut report = Report::default();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, in_short, case)) = CASES.get(place) else {
                return Ok(report);
            };
            let is_wanted = options.case.as_ref().is_none_or(|part| name.contains(part))
                && (!options.is_short() || *in_short || options.is_chosen);
            if is_wanted {
                let folder = folder.path.join(place.to_string());
                one(options, &folder, name, *case, &mut report)?;
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let mut report = Report::default();
        for thread in threads {
            let one = thread.join();
            report.add(one.map_err(|_| io::Error::other("a worker has failed"))??);
        }
        Ok(report)
    })
}

fn one(
    options: &Options,
    folder: &Path,
    name: &str,
    case: Case,
    report: &mut Report,
) -> io::Result<()> {
    let server = Arc::new(ModelServer::start()?);
    let mut trial = Trial {
        home: Home::new(folder.to_owned(), &server.models_json(), SETTINGS)?,
        server,
        program: options.program().to_owned(),
        random: Random::new(options.seed),
        number: 1,
        is_short: options.is_short(),
        notes: Vec::new(),
    };
    let begun = Instant::now();
    report.tried += 1;
    let result = case(&mut trial).and_then(|()| trial.check());
    let notes = trial.notes.iter().map(|note| format!("{name}: {note}"));
    report.notes.extend(notes);
    match result {
        Ok(()) => {
            let seconds = begun.elapsed().as_secs_f64();
            report.notes.push(format!("{name}: {seconds:.1} s"));
            fs::remove_dir_all(folder)
        }
        Err(problem) => {
            report.fail(&format!("{name}: {problem}"));
            Ok(())
        }
    }
}

/// One case: its home, and what it uses.
struct Trial {
    home: Home,
    server: Arc<ModelServer>,
    program: PathBuf,
    random: Random,
    number: u64,
    is_short: bool,
    notes: Vec<String>,
}

impl Trial {
    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }

    /// Writes the settings of all cases with `more`.
    fn settings(&self, more: &str) -> Result<(), String> {
        let home = self.home.settings(&format!("{SETTINGS}{more}"));
        home.map_err(|error| error.to_string())
    }

    fn rpc(&self, arguments: &[&str]) -> Result<Rpc, String> {
        let arguments = [&["rpc"], arguments].concat();
        let started = Rpc::start(&self.home, &self.program, &arguments);
        started.map_err(|error| error.to_string())
    }

    /// Sends a prompt and checks the answer.
    fn prompt(&mut self, rpc: &mut Rpc, kind: &str) -> Result<(), String> {
        let number = self.next_number();
        // Long enough for a title.
        if !rpc.prompt(&format!("GO {kind} {number}, please"), PATIENCE) {
            return Err(format!("the prompt {kind} {number} does not end"));
        }
        let answer = rpc.ask(
            &json!({"id": "text", "type": "get_last_assistant_text"}),
            PATIENCE,
        );
        let answer = answer.unwrap_or_default();
        let text = answer["data"]["text"].as_str().unwrap_or_default();
        if text.contains(&format!("done {number}")) {
            Ok(())
        } else {
            Err(format!(
                "the prompt {kind} {number} is answered with {answer}"
            ))
        }
    }

    /// After a case: no process is left, every prompt is stored, and a strict server accepts every request.
    fn check(&self) -> Result<(), String> {
        if !until(PATIENCE, || self.home.processes().is_empty()) {
            return Err(format!("processes are left: {:?}", self.home.processes()));
        }
        let (stored, broken) = self.home.stored_prompts();
        if !broken.is_empty() {
            return Err(format!("broken lines: {broken:?}"));
        }
        let lost = (1..self.number)
            .find(|number| self.server.has_arrived(*number) && !stored.contains(number));
        if let Some(number) = lost {
            return Err(format!("prompt {number} is in no session file"));
        }
        match self.server.take_violations().first() {
            Some(problem) => Err(format!("a strict server refuses: {problem}")),
            None => Ok(()),
        }
    }
}

/// Closes the input; osier ends by itself.
fn end(mut rpc: Rpc) -> Result<(), String> {
    rpc.close_input();
    match rpc.exit(PATIENCE) {
        Some(status) if status.success() => Ok(()),
        other => Err(format!("it ends with {other:?}")),
    }
}
