//! The time and memory of indexing, listing and searching stored sessions.
//!
//!     cargo bench --bench index              # 10,000 sessions
//!     cargo bench --bench index -- 50000     # another number
//!
//! Prints the first indexing, the next ones, and the time of lists and searches: the median of 21 queries, each
//! with a new connection as in the program, and the slowest.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark fails by panicking and prints what it found"
)]

#[path = "support/sessions_fixture.rs"]
mod sessions_fixture;

use std::io::Write as _;
use std::time::{Duration, Instant};

use osier_index::{Depth, Outcome, SessionFilter, SessionIndex};
use osier_protocol::Sort;
use sessions_fixture::{DENSE_NEEDLE, NEEDLE, later_prompt, write_sessions};
use tokio_util::sync::CancellationToken;

const SESSIONS: usize = 10_000;
const QUESTIONS: usize = 21;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let count = numbers.next_back().unwrap_or(SESSIONS);
    let folder = tempfile::tempdir().unwrap();
    write_sessions(folder.path(), count).unwrap();
    let library = SessionIndex::new(folder.path());
    let bytes = size_of(&folder.path().join("sessions"));
    println!("{count} sessions, {} MB", bytes / 1_000_000);

    took("rows of all, the first time", || {
        refresh(&library, Depth::Rows);
    });
    took("words of all, the first time", || {
        refresh(&library, Depth::Words);
    });
    let index = std::fs::metadata(library.index_file()).unwrap().len();
    println!("{:<44} {:>9} MB", "size of the index", index / 1_000_000);
    println!("{:<44} {:>9} MB", "memory at its peak", peak() / 1000);
    took("nothing is new", || refresh(&library, Depth::Words));
    append(folder.path(), count);
    took("one session has grown", || refresh(&library, Depth::Words));

    ask(&library);
}

/// Measures lists and searches.
fn ask(library: &SessionIndex) {
    let cancel = CancellationToken::new();
    let filters = [
        ("list: all, last used first", SessionFilter::default()),
        ("list: this directory", here(SessionFilter::default())),
        (
            "list: by cost",
            SessionFilter {
                sort: Sort::Cost,
                ..SessionFilter::default()
            },
        ),
        (
            "list: with a model",
            SessionFilter {
                model: Some("demo".into()),
                ..SessionFilter::default()
            },
        ),
        (
            "list: by letters",
            SessionFilter {
                letters: Some("prsrtkn".into()),
                ..SessionFilter::default()
            },
        ),
    ];
    for (name, filter) in filters {
        question(name, || {
            library
                .query(|index| index.list(&filter, 0, 200))
                .unwrap()
                .total
        });
    }
    let searches = [
        ("search: in one session", NEEDLE),
        ("search: ideographs", DENSE_NEEDLE),
        ("search: two ideographs", "池"),
        ("search: a path", "src/token/index.rs"),
        ("search: code", "self.parser(12)?"),
        ("search: everywhere", "parser"),
        ("search: several words", "parser tokendex session"),
        ("search: nowhere", "there is nothing like this"),
        ("search: two letters", "fn"),
    ];
    for (name, query) in searches {
        let everywhere = SessionFilter::default();
        question(name, || {
            library
                .query(|index| index.search(query, &everywhere, 50, &cancel))
                .unwrap()
                .hits
                .len()
        });
    }
    let filter = here(SessionFilter::default());
    question("search: everywhere, of this directory", || {
        library
            .query(|index| index.search("parser", &filter, 50, &cancel))
            .unwrap()
            .hits
            .len()
    });
}

fn here(filter: SessionFilter) -> SessionFilter {
    SessionFilter {
        cwd: Some("/work/project07".into()),
        ..filter
    }
}

fn refresh(library: &SessionIndex, depth: Depth) {
    let outcome = library.refresh(depth, &CancellationToken::new(), &mut |_| {});
    assert!(matches!(outcome, Ok(Outcome::Done { .. })), "{outcome:?}");
}

fn append(data: &std::path::Path, count: usize) {
    let number = count - 1;
    let name = format!("2026-01-01T00-00-00-000Z_0199b3c4-0000-7000-8000-{number:012x}.jsonl");
    let path = data.join(format!(
        "sessions/--work-project{:02}--/{name}",
        number % 40
    ));
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    file.write_all(later_prompt("said later").as_bytes())
        .unwrap();
}

fn took(name: &str, work: impl FnOnce()) {
    let began = Instant::now();
    work();
    println!("{name:<44} {:>9} ms", millis(began.elapsed()));
}

fn question(name: &str, mut ask: impl FnMut() -> usize) {
    let mut found = 0;
    let mut times: Vec<Duration> = (0..QUESTIONS)
        .map(|_| {
            let began = Instant::now();
            found = ask();
            began.elapsed()
        })
        .collect();
    times.sort();
    let (middle, slowest) = (times[QUESTIONS / 2], times[QUESTIONS - 1]);
    println!(
        "{name:<44} {:>9} ms, at most {} ms, {found} found",
        millis(middle),
        millis(slowest)
    );
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

fn size_of(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            if entry.file_type().unwrap().is_dir() {
                size_of(&entry.path())
            } else {
                entry.metadata().unwrap().len()
            }
        })
        .sum()
}

/// Peak memory of the process in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
