//! Kills at random moments of every operation. After the next start nothing acknowledged is lost, nothing is half done
//! and nothing is left behind.

pub(crate) mod checks;
pub(crate) mod operations;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::random::Random;
use operations::OPERATIONS;

/// The number of kills in the short version.
const SHORT: usize = 12;
/// The number of kills by hand, if there is enough time.
const WANTED: usize = 2_000;
/// The number of kills in one home: a home with more sessions is slow.
const PER_HOME: usize = 25;
/// The number of workers, each in a home of its own.
const WORKERS: usize = 2;
const MOST_FAILURES: usize = 100;

/// One home and the operations in it.
pub(crate) struct Victim {
    pub(crate) home: Home,
    pub(crate) program: PathBuf,
    pub(crate) server: Arc<ModelServer>,
    pub(crate) random: Random,
    /// The number of the next prompt; all since `first` were sent in this home.
    pub(crate) number: u64,
    pub(crate) first: u64,
    /// The directories of the forks that osier has acknowledged.
    pub(crate) forks: Vec<String>,
}

impl Victim {
    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }

    /// Waits up to `most` milliseconds; short waits are as likely as long ones.
    fn wait(&mut self, most: u64) {
        let limit = 1 + self.random.below(most);
        let microseconds = self.random.below(limit * 1000);
        thread::sleep(Duration::from_micros(microseconds));
    }
}

/// The state that the workers share.
struct Shared {
    folder: PathBuf,
    program: PathBuf,
    server: Arc<ModelServer>,
    seed: u64,
    is_short: bool,
    end: Option<Instant>,
    done: AtomicUsize,
}

impl Shared {
    fn is_over(&self) -> bool {
        let wanted = if self.is_short { SHORT } else { WANTED };
        self.done.load(Ordering::Relaxed) >= wanted
            || self.end.is_some_and(|end| Instant::now() >= end)
    }
}

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("kills")?;
    let shared = Shared {
        folder: folder.path.clone(),
        program: options.program().to_owned(),
        server: Arc::new(ModelServer::start()?),
        seed: options.seed,
        is_short: options.is_short(),
        end: options.end(),
        done: AtomicUsize::new(0),
    };
    let shared = &shared;
    thread::scope(|scope| {
        let start = |number| scope.spawn(move || work(shared, number));
        let threads: Vec<_> = (0..WORKERS).map(start).collect();
        let mut report = Report::default();
        for thread in threads {
            let one = thread.join();
            report.add(one.map_err(|_| io::Error::other("a worker has failed"))??);
        }
        Ok(report)
    })
}

/// Kills in one home after the other.
fn work(shared: &Shared, worker: usize) -> io::Result<Report> {
    let mut total = Report::default();
    let mut counts = BTreeMap::new();
    let mut round = 0;
    while !shared.is_over() && total.failures.len() <= MOST_FAILURES {
        let path = shared.folder.join(format!("{worker}-{round}"));
        let models = shared.server.models_json();
        let first = (worker as u64 + 1) * 300_000 + round * 1_000;
        let mut victim = Victim {
            home: Home::new(path.clone(), &models, operations::SETTINGS)?,
            program: shared.program.clone(),
            server: Arc::clone(&shared.server),
            random: Random::new((shared.seed * 10 + worker as u64) * 1_000 + round),
            number: first,
            first,
            forks: Vec::new(),
        };
        let failures = total.failures.len();
        for turn in 0..PER_HOME {
            if shared.is_over() {
                break;
            }
            // The short version takes the first operations of the list.
            let operation = if shared.is_short {
                &OPERATIONS[(turn * WORKERS + worker) % OPERATIONS.len()]
            } else {
                victim.random.pick(OPERATIONS)
            };
            one(&mut victim, operation, &mut total);
            *counts.entry(operation.0).or_insert(0_usize) += 1;
            shared.done.fetch_add(1, Ordering::Relaxed);
        }
        let problem = checks::at_end(&victim);
        report("end", &victim, problem, &mut total);
        // A home that shows a failure is not removed.
        if total.failures.len() == failures {
            std::fs::remove_dir_all(&path)?;
        }
        round += 1;
    }
    let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
    let counts: Vec<String> = counts.collect();
    let note = format!("worker {worker}: {}", counts.join(", "));
    total.notes.push(note);
    Ok(total)
}

fn one(victim: &mut Victim, operation: &operations::Operation, total: &mut Report) {
    total.tried += 1;
    let (name, act) = operation;
    let mut problems = Vec::new();
    match act(victim) {
        Ok(after) => problems.extend(checks::after_kill(victim, &after)),
        Err(error) => problems.push(error),
    }
    report(name, victim, problems, total);
}

/// Adds problems with the operation and its home.
fn report(
    name: &str,
    victim: &Victim,
    problems: impl IntoIterator<Item = String>,
    total: &mut Report,
) {
    let folder = victim.home.work();
    for problem in problems {
        total.fail(&format!("{name}: {problem} ({})", folder.display()));
    }
}
