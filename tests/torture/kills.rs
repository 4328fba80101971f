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

/// Kills in the short version.
const SHORT: usize = 8;
/// Kills by hand, if there is enough time.
const WANTED: usize = 2_000;
/// Kills of one home, before it is as large as to be slow.
const PER_HOME: usize = 25;
/// Workers of different homes.
const WORKERS: usize = 2;
const MOST_FAILURES: usize = 100;

/// One home and what happens in it.
pub(crate) struct Victim {
    pub(crate) home: Home,
    pub(crate) program: PathBuf,
    pub(crate) server: Arc<ModelServer>,
    pub(crate) random: Random,
    /// The number of the next prompt; all since `first` were sent in this home.
    pub(crate) number: u64,
    pub(crate) first: u64,
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

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("kills")?;
    let server = Arc::new(ModelServer::start()?);
    let end = options
        .hours
        .map(|_| Instant::now() + options.time(Duration::ZERO));
    let wanted = if options.is_short() { SHORT } else { WANTED };
    let done = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for worker in 0..WORKERS {
        let (path, program) = (folder.path.clone(), options.program().to_owned());
        let (server, done) = (Arc::clone(&server), Arc::clone(&done));
        let seed = options.seed * 10 + worker as u64;
        let is_short = options.is_short();
        threads.push(thread::spawn(move || {
            let mut total = Report::default();
            let mut counts = BTreeMap::new();
            let mut round = 0;
            let is_over = || {
                done.load(Ordering::Relaxed) >= wanted
                    || end.is_some_and(|end| Instant::now() >= end)
            };
            while !is_over() {
                let path = path.join(format!("{worker}-{round}"));
                let home = Home::new(path.clone(), &server.models_json(), operations::SETTINGS)?;
                let first = (worker as u64 + 1) * 300_000 + round * 1_000;
                let mut victim = Victim {
                    home,
                    program: program.clone(),
                    server: Arc::clone(&server),
                    random: Random::new(seed * 1_000 + round),
                    number: first,
                    first,
                };
                let failures = total.failures.len();
                for turn in 0..PER_HOME {
                    if is_over() {
                        break;
                    }
                    let place = if is_short {
                        turn * WORKERS + worker
                    } else {
                        usize::MAX
                    };
                    let operation = OPERATIONS
                        .get(place % 97)
                        .unwrap_or_else(|| victim.random.pick(OPERATIONS));
                    one(&mut victim, operation, &mut total);
                    *counts.entry(operation.0).or_insert(0_usize) += 1;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                total
                    .failures
                    .extend(report("end", &victim, checks::at_end(&victim)));
                // A home that shows a failure is kept.
                if total.failures.len() == failures {
                    std::fs::remove_dir_all(&path)?;
                }
                round += 1;
                if total.failures.len() > MOST_FAILURES {
                    break;
                }
            }
            let counts: Vec<String> = counts
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            total
                .notes
                .push(format!("worker {worker}: {}", counts.join(", ")));
            io::Result::Ok(total)
        }));
    }
    let mut report = Report::default();
    for thread in threads {
        let one = thread
            .join()
            .map_err(|_| io::Error::other("a worker has failed"))??;
        report.tried += one.tried;
        report.failures.extend(one.failures);
        report.notes.extend(one.notes);
    }
    Ok(report)
}

fn one(victim: &mut Victim, operation: &operations::Operation, total: &mut Report) {
    total.tried += 1;
    let (name, act) = operation;
    let mut problems = Vec::new();
    match act(victim) {
        Ok(after) => problems.extend(checks::after_kill(victim, after)),
        Err(error) => problems.push(error),
    }
    total.failures.extend(report(name, victim, problems));
}

/// Prints problems and returns them with the operation and its home.
fn report(name: &str, victim: &Victim, problems: impl IntoIterator<Item = String>) -> Vec<String> {
    let folder = victim.home.work();
    let text = |problem| format!("{name}: {problem} ({})", folder.display());
    let texts = problems.into_iter().map(text);
    texts.inspect(|text| eprintln!("{text}")).collect()
}
