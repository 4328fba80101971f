//! Long and destructive tests of the real program. Without arguments, as in CI, each part runs for some seconds with a
//! fixed seed. By hand they run for hours:
//!
//!     cargo test --test torture -- --hours 8 --only mixed --out /tmp/mixed
//!
//! CONTRIBUTING.md describes the options.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a program for developers reports what it does"
)]
#![allow(
    clippy::format_collect,
    clippy::single_match_else,
    clippy::unchecked_time_subtraction,
    clippy::unnecessary_wraps,
    reason = "helpers of tests are short rather than fast"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the files and processes of a test need no protection from a crash"
)]

mod branches;
mod cuts;
mod faults;
mod http;
mod kills;
mod limits;
mod mixed;
mod options;
mod plot;
mod races;
mod stuck;
mod support;
mod trouble;

use std::process::ExitCode;
use std::time::Instant;

use options::Options;

/// The results of a part.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// How many cases were tried.
    pub(crate) tried: usize,
    /// The failures, one text each.
    pub(crate) failures: Vec<String>,
    /// Further results, one line each.
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// Adds a failure, with what the programs reported last.
    fn fail(&mut self, problem: &str) {
        eprintln!("{problem}");
        self.failures
            .push(format!("{problem}\n{}", support::journal::last()));
    }

    fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.failures.extend(other.failures);
        self.notes.extend(other.notes);
    }
}

type Part = fn(&Options) -> std::io::Result<Report>;

const PARTS: &[(&str, Part)] = &[
    ("mixed", mixed::run),
    ("kills", kills::run),
    ("faults", faults::run),
    ("limits", limits::run),
    ("races", races::run),
    ("stuck", stuck::run),
    ("http", http::run),
    ("trouble", trouble::run),
    ("cuts", cuts::run),
    ("branches", branches::run),
];

fn main() -> ExitCode {
    let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    let options = match Options::parse(std::env::args().skip(1), &names) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(table) = &options.plot {
        return finish(plot::run(table));
    }
    let mut is_sound = true;
    for (name, part) in PARTS {
        if !options.only.iter().any(|only| only == name) {
            continue;
        }
        println!("torture {name}: seed {}", options.seed);
        let begun = Instant::now();
        match part(&options) {
            Ok(report) => {
                for note in &report.notes {
                    println!("  {note}");
                }
                for failure in &report.failures {
                    println!("  FAILED: {failure}");
                }
                let (tried, failed) = (report.tried, report.failures.len());
                let seconds = begun.elapsed().as_secs_f64();
                println!("torture {name}: {tried} tried, {failed} failed, {seconds:.1} s");
                is_sound &= failed == 0;
            }
            Err(error) => {
                println!("torture {name}: cannot run: {error}");
                print!("{}", support::journal::last());
                is_sound = false;
            }
        }
    }
    if is_sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn finish(result: std::io::Result<std::path::PathBuf>) -> ExitCode {
    match result {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
