//! Random operations on branches, with kills in between: prompts with pictures and files, moves in the tree, steps back and
//! forward, retries, forks, switches of models, labels, compactions. After each, the conversation, the editor, the model, the
//! requests and the files must be what a reference computes from the operations alone.

mod driver;
mod reference;
mod screen;
mod server;

use std::io;
use std::time::{Duration, Instant};

use crate::Report;
use crate::options::Options;
use crate::support::random::Random;
use driver::Driver;
use server::Server;

/// How long the short version takes.
const SHORT: Duration = Duration::from_secs(14);
const SHORT_SCREEN: Duration = Duration::from_secs(6);
/// Operations in one home, before it is as large as to be slow.
const PER_HOME: usize = 150;

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("branches")?;
    let mut report = Report::default();
    let end = Instant::now() + options.time(SHORT);
    let mut round = 0;
    let homes = if options.is_short() { 1 } else { u64::MAX };
    while Instant::now() < end && report.failures.is_empty() && round < homes {
        let seed = options.seed * 1_000 + round;
        let path = folder.path.join(format!("rpc-{round}"));
        let mut driver = Driver::start(&path, options.program(), Random::new(seed))?;
        for _ in 0..PER_HOME {
            if Instant::now() >= end {
                break;
            }
            report.tried += 1;
            if let Err(problem) = driver.step() {
                report.fail(&format!("seed {seed}: {problem}"));
                break;
            }
        }
        report
            .notes
            .push(format!("seed {seed}: {}", driver.summary()));
        round += 1;
    }
    let end = Instant::now() + options.time(SHORT_SCREEN);
    let path = folder.path.join("screen");
    report.add(screen::run(&path, options, end)?);
    Ok(report)
}

/// A new home with the models of the server.
fn home(path: &std::path::Path, server: &Server) -> io::Result<crate::support::home::Home> {
    let settings = "titles = false\nsmall_model = \"off\"\ndescribe_environment = false\nmodel = \"t/alpha\"\n";
    crate::support::home::Home::new(path.to_owned(), &server.models_json(), settings)
}
