//! Measures how long everyday lines are judged, those of `docs/safety.md` and of
//! `tests/attacks/everyday.rs`: `cargo bench -p osier-permissions`. It prints the slowest lines
//! with the median and the 95th percentile of their time, and how many lines reach the goal.
//! `OSIER_LINE=TEXT` judges only lines with this text, without a report, for a profiler.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use osier_permissions::{Permissions, RuleLists};
use osier_protocol::PermissionMode;
use serde_json::json;

#[path = "../tests/attacks/everyday.rs"]
mod everyday;

const GOAL: Duration = Duration::from_micros(200);
const SAMPLES: usize = 201;
const SHOWN: usize = 15;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, text) in [
        ("README.md", "# x\n"),
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        ("package.json", "{\"name\": \"x\"}\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/lib.rs", "pub fn a() {}\n"),
        (
            ".git/config",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        ),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
    ] {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    }
    let store = "/nonexistent/permissions.json".into();
    let permissions = Permissions::new(&root, store, PermissionMode::Ask, RuleLists::default());
    let judge = |line: &str| {
        let arguments = json!({"command": line});
        let start = Instant::now();
        let verdict = permissions.decide(osier_tools::BASH, &arguments, None, false);
        let took = start.elapsed();
        std::hint::black_box(verdict);
        took
    };
    let docs = documented();
    assert_eq!(docs.len(), 60);
    let only = std::env::var("OSIER_LINE").ok();
    let others = everyday::READING.iter().copied();
    let others = others.chain(everyday::ASKED.iter().map(|(line, _)| *line));
    let others: Vec<String> = others.map(str::to_owned).collect();
    for (name, lines) in [("docs/safety.md", docs), ("everyday.rs", others)] {
        let mut rows: Vec<(Duration, Duration, String)> = Vec::new();
        for line in lines {
            if only.as_ref().is_some_and(|only| !line.contains(only)) {
                continue;
            }
            let mut took: Vec<Duration> = (0..SAMPLES).map(|_| judge(&line)).collect();
            took.sort();
            rows.push((took[SAMPLES * 95 / 100], took[SAMPLES / 2], line));
        }
        if only.is_none() {
            report(name, rows);
        }
    }
}

/// The lines of `docs/safety.md`.
fn documented() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/safety.md");
    let text = fs::read_to_string(docs).unwrap();
    let (_, rest) = text.split_once("```bash\nls -la\n").unwrap();
    let (lines, _) = rest.split_once("```").unwrap();
    let lines = lines.lines().map(str::to_owned);
    std::iter::once("ls -la".to_owned()).chain(lines).collect()
}

fn report(name: &str, mut rows: Vec<(Duration, Duration, String)>) {
    rows.sort();
    let count = rows.len();
    let below = |time: fn(&(Duration, Duration, String)) -> Duration| {
        rows.iter().filter(|row| time(row) < GOAL).count()
    };
    println!(
        "{name}: {count} lines, {} with a median below {GOAL:?}, {} with a 95th percentile below it; median of the medians {:?}",
        below(|row| row.1),
        below(|row| row.0),
        {
            let mut medians: Vec<Duration> = rows.iter().map(|row| row.1).collect();
            medians.sort();
            medians[count / 2]
        }
    );
    for (late, median, line) in rows.iter().rev().take(SHOWN) {
        println!("  {median:>10.1?} {late:>10.1?}  {}", line.escape_debug());
    }
}
