//! Measures osier and comparable programs in a terminal in the same way.
//!
//!     cargo bench --bench terminal                          # everything
//!     cargo bench --bench terminal -- start stream          # some scenarios
//!     cargo bench --bench terminal -- --only osier --runs 1
//!     cargo bench --bench terminal -- --markdown            # rows for a document
//!
//! Each run starts the real program in a pseudo-terminal of 120x40 with an empty home and a model server on
//! loopback. Other programs are used if they are on the search path; a program that fails is reported. Progress
//! goes to standard error, the table to standard output.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark is a program that prints, and stops when its ground gives way"
)]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use support::agent::{AGENTS, Agent, OSIER};
use support::figure::{Figures, Unit};
use support::options::Options;
use support::scenario::{self, Failure, Run};
use support::server::Server;
use support::table::{Outcome, Row, Table, bar, row};

/// A scenario.
struct Scenario {
    name: &'static str,
    about: &'static str,
    run: fn(&Run) -> Result<Figures, Failure>,
    /// Whether other programs support it too.
    peers: bool,
    rows: &'static [Row],
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "start",
        about: "a start in an empty home",
        run: scenario::start,
        peers: true,
        rows: &[
            row("first_byte", "first bytes", Unit::Seconds),
            bar("paint", "first paint", Unit::Seconds, 0.010),
            bar("ready", "ready for typing", Unit::Seconds, 0.030),
            row("cpu", "CPU", Unit::Seconds),
            bar("memory", "memory (PSS)", Unit::Megabytes, 15e6),
            bar("idle_cpu", "CPU over 5 idle seconds", Unit::Seconds, 0.0),
            bar("idle_bytes", "bytes over 5 idle seconds", Unit::Bytes, 0.0),
            row("echo", "key echo", Unit::Millis),
        ],
    },
    Scenario {
        name: "stream",
        about: "3,000 deltas of 5 characters, 3 ms apart",
        run: scenario::stream,
        peers: true,
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
        peers: true,
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
        peers: true,
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
        peers: true,
        rows: &[
            row("wall", "until the answer is on screen", Unit::Seconds),
            row("cpu", "CPU", Unit::Seconds),
            row("bytes", "bytes to the terminal", Unit::Bytes),
        ],
    },
    Scenario {
        name: "slow",
        about: "40,000 deltas, 0.25 ms apart, over a line of 20 kB a second",
        run: scenario::slow,
        peers: true,
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
        name: "messages",
        about: "a session of 10,000 messages, reopened",
        run: scenario::messages,
        peers: false,
        rows: &[
            row("paint", "first paint", Unit::Seconds),
            bar("wall", "last answer shown", Unit::Seconds, 0.1),
            bar("memory", "memory (PSS)", Unit::Megabytes, 40e6),
            row("echo", "key echo", Unit::Millis),
            bar("key_bytes", "bytes per typed key", Unit::Bytes, 20.0),
            row("page", "page up", Unit::Millis),
            bar("top", "jump to the oldest message", Unit::Seconds, 0.05),
            row(
                "search",
                "search for a word in it, from the end",
                Unit::Seconds,
            ),
        ],
    },
    Scenario {
        name: "work",
        about: "a session of 100,000 entries (200 MB), reopened",
        run: scenario::work,
        peers: false,
        rows: &[
            row("paint", "first paint", Unit::Seconds),
            bar("wall", "last screen shown", Unit::Seconds, 0.25),
            row("cpu", "CPU until it has settled", Unit::Seconds),
            bar("memory", "memory (PSS)", Unit::Megabytes, 80e6),
            row("echo", "key echo", Unit::Millis),
            bar("page", "page up", Unit::Millis, 0.005),
            row("page_worst", "page up: worst", Unit::Millis),
            bar("top", "jump to the first prompt", Unit::Seconds, 0.05),
            bar("memory_top", "memory (PSS) after it", Unit::Megabytes, 80e6),
            bar(
                "search",
                "search for a word in it, from the end",
                Unit::Seconds,
                0.2,
            ),
        ],
    },
    Scenario {
        name: "memory",
        about: "500,000 deltas at once",
        run: scenario::memory,
        peers: true,
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
    let runs = agents.iter().map(|agent| Run {
        agent,
        server: &server,
    });
    let runs: Vec<Run> = runs.collect();
    let table = Table {
        markdown: options.markdown,
    };
    println!("times want a quiet machine; bytes do not, CPU and memory hardly\n");
    table.head(&agents.iter().map(|agent| agent.name).collect::<Vec<_>>());
    for scenario in SCENARIOS {
        if options.wants_scenario(scenario.name) {
            let measured = runs.iter().map(|run| measure(scenario, run, options.runs));
            let outcomes: Vec<Outcome> = measured.collect();
            table.rows(scenario.about, scenario.rows, &outcomes);
        }
    }
}

/// The median of some runs. The reason of a failed run goes to standard error.
fn measure(scenario: &Scenario, run: &Run, runs: usize) -> Outcome {
    if !scenario.peers && run.agent.name != OSIER.name {
        return Outcome::Left;
    }
    let mut all = Vec::new();
    for number in 1..=runs {
        let title = format!("{} {} {number}/{runs}", run.agent.name, scenario.name);
        // The emulator may panic on the output of a program.
        let result = catch_unwind(AssertUnwindSafe(|| (scenario.run)(run)));
        match result.unwrap_or_else(|_| Err("the measuring failed".to_owned())) {
            Ok(figures) => {
                eprintln!("{title}: {figures}");
                all.push(figures);
            }
            Err(failure) => {
                eprintln!("{title} failed: {failure}");
                return Outcome::Failed;
            }
        }
    }
    Outcome::Measured(Figures::median(&all))
}
