//! osier and its peers in a terminal, measured the same way.
//!
//!     cargo bench --bench terminal                          everything
//!     cargo bench --bench terminal -- start stream          some scenarios
//!     cargo bench --bench terminal -- --only osier --runs 1
//!     cargo bench --bench terminal -- --markdown            rows for a document
//!
//! Each run starts the real program in a pseudo-terminal of 120x40 with a fresh home and a model server
//! on loopback. Peers are those found on the search path; one that is missing is left out, one that
//! fails says so. Progress goes to standard error, the table to standard output.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark is a program that prints, and stops when its ground gives way"
)]

mod support;

use support::agent::{AGENTS, Agent};
use support::figure::{Figures, Unit};
use support::options::Options;
use support::scenario::{self, Failure, Run};
use support::server::Server;

/// Something that is done with every program.
struct Scenario {
    name: &'static str,
    about: &'static str,
    run: fn(&Run) -> Result<Figures, Failure>,
    rows: &'static [Row],
}

/// A line of the table.
struct Row {
    figure: &'static str,
    label: &'static str,
    unit: Unit,
    /// What osier may take at most; none where the figure is only told.
    bar: Option<f64>,
}

const fn row(figure: &'static str, label: &'static str, unit: Unit) -> Row {
    Row {
        figure,
        label,
        unit,
        bar: None,
    }
}

const fn bar(figure: &'static str, label: &'static str, unit: Unit, most: f64) -> Row {
    Row {
        figure,
        label,
        unit,
        bar: Some(most),
    }
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "start",
        about: "a start in an empty home",
        run: scenario::start,
        rows: &[
            row("first_byte", "first bytes", Unit::Seconds),
            bar("paint", "first paint", Unit::Seconds, 0.010),
            bar("ready", "ready for typing", Unit::Seconds, 0.030),
            row("cpu", "CPU", Unit::Seconds),
            bar("memory", "memory (PSS)", Unit::Megabytes, 15e6),
            bar("idle_cpu", "CPU over 5 idle seconds", Unit::Seconds, 0.0),
            bar("idle_bytes", "bytes over 5 idle seconds", Unit::Bytes, 0.0),
        ],
    },
    Scenario {
        name: "stream",
        about: "3,000 deltas of 5 characters, 3 ms apart",
        run: scenario::stream,
        rows: &[
            bar("cpu", "CPU", Unit::Seconds, 0.3),
            bar("bytes", "bytes to the terminal", Unit::Bytes, 45e3),
            row(
                "bytes_per_byte",
                "bytes per byte of the answer",
                Unit::Ratio,
            ),
            bar("memory", "peak memory", Unit::Megabytes, 32e6),
            bar(
                "lag",
                "end on screen after the model's last byte",
                Unit::Millis,
                0.020,
            ),
        ],
    },
    Scenario {
        name: "burst",
        about: "40,000 deltas at once",
        run: scenario::burst,
        rows: &[
            bar("wall", "until the end is on screen", Unit::Seconds, 0.5),
            row("cpu", "CPU", Unit::Seconds),
            bar("bytes", "bytes to the terminal", Unit::Bytes, 150e3),
            row("memory", "peak memory", Unit::Megabytes),
            row("echo_after", "key echo afterwards", Unit::Millis),
            row("pages_cpu", "20 page-ups: CPU", Unit::Seconds),
            row("pages_bytes", "20 page-ups: bytes", Unit::Bytes),
        ],
    },
    Scenario {
        name: "echo",
        about: "typing while 6,000 deltas come, 2 ms apart",
        run: scenario::echo,
        rows: &[
            bar("echo", "key echo, median", Unit::Millis, 0.006),
            bar("echo_worst", "key echo, worst", Unit::Millis, 0.020),
            row("cpu", "CPU", Unit::Seconds),
        ],
    },
    Scenario {
        name: "tools",
        about: "ten turns with a command each",
        run: scenario::tools,
        rows: &[
            row("wall", "until the answer is on screen", Unit::Seconds),
            row("cpu", "CPU", Unit::Seconds),
            row("bytes", "bytes to the terminal", Unit::Bytes),
        ],
    },
    Scenario {
        name: "slow",
        about: "6,000 deltas, 2 ms apart, over a line of 20 kB a second",
        run: scenario::slow,
        rows: &[
            row("bytes", "bytes to the terminal", Unit::Bytes),
            row("echo", "key echo, median", Unit::Millis),
            row("echo_worst", "key echo, worst", Unit::Millis),
            row(
                "lag",
                "end on screen after the model's last byte",
                Unit::Millis,
            ),
            row("right", "the last screen is right", Unit::Truth),
        ],
    },
    Scenario {
        name: "memory",
        about: "500,000 deltas at once",
        run: scenario::memory,
        rows: &[
            row("wall", "until the end is on screen", Unit::Seconds),
            row("m1", "memory after 50,000", Unit::Megabytes),
            row("m2", "after 100,000", Unit::Megabytes),
            row("m4", "after 200,000", Unit::Megabytes),
            row("m6", "after 300,000", Unit::Megabytes),
            row("m8", "after 400,000", Unit::Megabytes),
            row("m10", "after 500,000", Unit::Megabytes),
        ],
    },
];

fn main() {
    let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    let options = Options::parse(std::env::args().skip(1), &names).unwrap_or_else(|problem| {
        eprintln!("{problem}");
        std::process::exit(2)
    });
    let agents: Vec<&Agent> = AGENTS
        .iter()
        .filter(|agent| options.wants_agent(agent.name) && agent.path().is_some())
        .collect();
    let server = Server::start().unwrap();
    let scenarios = SCENARIOS
        .iter()
        .filter(|scenario| options.wants_scenario(scenario.name));
    eprintln!("times need a quiet machine; bytes and memory do not, CPU hardly");
    print_head(&agents, options.markdown);
    for scenario in scenarios {
        let results: Vec<Option<Figures>> = agents
            .iter()
            .map(|agent| {
                measure(
                    scenario,
                    &Run {
                        agent,
                        server: &server,
                    },
                    options.runs,
                )
            })
            .collect();
        print_rows(scenario, &results, options.markdown);
    }
}

/// The median of some runs; `None`, and the reason on standard error, when one fails.
fn measure(scenario: &Scenario, run: &Run, runs: usize) -> Option<Figures> {
    let mut all = Vec::new();
    for number in 1..=runs {
        match (scenario.run)(run) {
            Ok(figures) => {
                eprintln!(
                    "{} {} {number}/{runs}: {figures}",
                    run.agent.name, scenario.name
                );
                all.push(figures);
            }
            Err(failure) => {
                eprintln!(
                    "{} {} {number}/{runs} failed: {failure}",
                    run.agent.name, scenario.name
                );
                return None;
            }
        }
    }
    Some(Figures::median(&all))
}

fn print_head(agents: &[&Agent], markdown: bool) {
    let mut cells = vec!["work".to_owned(), "bar".to_owned()];
    cells.extend(agents.iter().map(|agent| agent.name.to_owned()));
    print_line(&cells, markdown);
    if markdown {
        println!("|{}", "---|".repeat(cells.len()));
    }
}

fn print_rows(scenario: &Scenario, results: &[Option<Figures>], markdown: bool) {
    for row in scenario.rows {
        let label = format!("{}: {}", scenario.about, row.label);
        let bar = row.bar.map_or_else(String::new, |bar| row.unit.show(bar));
        let values = results.iter().map(|figures| match figures {
            Some(figures) => figures
                .get(row.figure)
                .map_or("-".to_owned(), |value| row.unit.show(value)),
            None => "failed".to_owned(),
        });
        let cells: Vec<String> = [label, bar].into_iter().chain(values).collect();
        print_line(&cells, markdown);
    }
}

fn print_line(cells: &[String], markdown: bool) {
    if markdown {
        println!("| {} |", cells.join(" | "));
        return;
    }
    let (label, values) = cells.split_first().unwrap();
    print!("{label:<76}");
    for value in values {
        print!("{value:>12}");
    }
    println!();
}
