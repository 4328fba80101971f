//! Trouble from all sides: servers that restart in a storm, small models that fail, budgets, damaged plan files, subagents
//! that are killed, moves during a run, several osiers at once, odd files, a system without watches, interrupts at every
//! point of an answer, a terminal that vanishes. Each case ends with a prompt that works.

mod answers;
mod files;
mod plans;
mod screens;
mod servers;
mod several;
mod small_model;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    ("interrupts", false, answers::interrupts),
    ("mcp storm", false, servers::mcp_storm),
    ("flood", false, servers::flood),
    ("small model", false, small_model::small_model),
    ("budget", false, answers::budget),
    ("plan files", false, plans::plan_files),
    ("moves during a run", false, answers::moves),
    ("two osiers", false, several::two_osiers),
    ("odd files", false, files::odd_files),
    ("watches", false, files::watches),
    ("subagents", false, several::subagents),
    ("ten sessions", false, screens::ten_sessions),
    ("vanished terminal", false, screens::vanished_terminal),
    ("attached prompts", false, screens::attached_prompts),
];

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("trouble")?;
    let mut report = Report::default();
    for (place, (name, in_short, case)) in CASES.iter().enumerate() {
        let is_wanted = |case: &String| name.contains(case.as_str());
        if options.case.as_ref().is_some_and(|case| !is_wanted(case)) {
            continue;
        }
        if options.is_short() && !in_short && !options.is_chosen {
            continue;
        }
        let server = Arc::new(ModelServer::start()?);
        let path = folder.path.join(place.to_string());
        let mut trial = Trial {
            home: Home::new(path.clone(), &server.models_json(), SETTINGS)?,
            server,
            program: options.program().to_owned(),
            random: Random::new(options.seed + place as u64),
            number: 1,
            is_short: options.is_short(),
            notes: Vec::new(),
        };
        report.tried += 1;
        let result = case(&mut trial).and_then(|()| trial.check());
        report
            .notes
            .extend(trial.notes.iter().map(|note| format!("{name}: {note}")));
        match result {
            Ok(()) => fs::remove_dir_all(path)?,
            Err(problem) => report.fail(&format!("{name}: {problem}")),
        }
    }
    Ok(report)
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
