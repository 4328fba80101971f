//! Something hangs, and the user wants to leave: SIGTERM and ctrl+d end osier within a second in every mode.

mod modes;
mod states;

use std::io;
use std::time::{Duration, Instant};

use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::{signal, until};
use modes::{Mode, Running};
use states::{STATES, State};

/// How long osier may take to end; CI only checks that it ends.
const LIMIT: Duration = Duration::from_secs(1);
const SHORT_LIMIT: Duration = Duration::from_secs(30);
/// The time that the measurement itself may add.
const MEASURED: Duration = Duration::from_millis(50);
/// How long a state may take to be reached.
const PATIENCE: Duration = Duration::from_mins(1);
/// The short version runs one of as many cases.
const SHORT_STEP: usize = 14;

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("stuck")?;
    let server = ModelServer::start()?;
    let mut cases = Vec::new();
    for state in STATES {
        cases.extend(state.modes.iter().map(|mode| (state, *mode)));
    }
    let step = if options.is_short() { SHORT_STEP } else { 1 };
    let limit = if options.is_short() {
        SHORT_LIMIT
    } else {
        LIMIT + MEASURED
    };
    let mut report = Report::default();
    let mut slowest = Duration::ZERO;
    for (number, (state, mode)) in cases.into_iter().enumerate().step_by(step) {
        let name = format!("{} in {mode:?}", state.name);
        if options
            .case
            .as_ref()
            .is_some_and(|case| !name.contains(case))
        {
            continue;
        }
        let path = folder.path.join(number.to_string());
        let home = Home::new(path.clone(), &server.models_json(), states::SETTINGS)?;
        report.tried += 1;
        match one(options, &server, &home, state, mode, number as u64, limit) {
            Ok((took, left)) => {
                slowest = slowest.max(took);
                eprintln!("  {name}: {} ms", took.as_millis());
                if !left.is_empty() {
                    report.fail(&format!("{name}: processes are left: {left:?}"));
                }
            }
            // This machine does not have what the state needs.
            Err(problem) if problem.starts_with("skipped: ") => {
                report.notes.push(format!("{name}: {problem}"));
            }
            Err(problem) => {
                report.fail(&format!("{name}: {problem}"));
            }
        }
        for process in home.processes() {
            signal(process.id, rustix::process::Signal::KILL);
        }
        states::release(&home);
        let _ = std::fs::remove_dir_all(path);
    }
    report
        .notes
        .push(format!("slowest: {} ms", slowest.as_millis()));
    Ok(report)
}

/// How long osier took to end, and the processes that it left.
fn one(
    options: &Options,
    server: &ModelServer,
    home: &Home,
    state: &State,
    mode: Mode,
    number: u64,
    limit: Duration,
) -> Result<(Duration, Vec<String>), String> {
    let failed = |error: io::Error| error.to_string();
    // The answer to a loud prompt lasts for some seconds.
    server.set_delay(u64::from(state.prompt == "loud"));
    let held = (state.prepare)(home, server).map_err(failed)?;
    let mut running = Running::start(mode, home, options.program(), state.prompt, number)?;
    if state.prompt == "loud" {
        running.pause();
    }
    let reached = home.work().join("reached");
    let has_mark = || until(PATIENCE, || reached.exists());
    let has_arrived = || until(PATIENCE, || server.has_arrived(number));
    let mut is_reached = if state.marks && state.then.is_none() {
        has_mark()
    } else {
        has_arrived()
    };
    if is_reached && let Some(input) = state.then {
        running.write(input)?;
        is_reached = has_mark();
    }
    if is_reached && state.name == "nobody reads the output" {
        is_reached = until(PATIENCE, || running.is_full());
    }
    if !is_reached {
        return Err(format!("the state was not reached: {}", running.describe()));
    }
    // Steps after the mark, such as the wait for the lock, need some milliseconds.
    std::thread::sleep(Duration::from_millis(state.settle));
    if running.exit(Duration::ZERO) {
        return Err("it ended before the signal".to_owned());
    }
    let begun = Instant::now();
    running.leave(mode);
    let ended = running.exit(limit.max(Duration::from_secs(5)));
    let took = begun.elapsed();
    drop(held);
    if !ended {
        return Err(format!("it still runs after {} ms", took.as_millis()));
    }
    if took > limit {
        return Err(format!("it took {} ms to end", took.as_millis()));
    }
    until(PATIENCE, || left(home).is_empty());
    Ok((took, left(home)))
}

/// The processes that should have ended, without the client of the server.
fn left(home: &Home) -> Vec<String> {
    let processes = home.processes().into_iter();
    let commands = processes.map(|process| process.command);
    commands
        .filter(|command| !command.contains(" attach "))
        .collect()
}
