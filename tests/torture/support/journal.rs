//! The last reports of the programs and the model server, so that a failure on another machine can be understood from its
//! log alone.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

/// The number of reports that are kept.
const MOST: usize = 30;
/// The maximum characters of one report.
const LENGTH: usize = 240;

/// The reports of all threads, oldest first.
static JOURNAL: LazyLock<Mutex<Journal>> = LazyLock::new(|| {
    Mutex::new(Journal {
        begun: Instant::now(),
        reports: VecDeque::new(),
    })
});

struct Journal {
    begun: Instant,
    reports: VecDeque<Reported>,
}

struct Reported {
    seconds: f64,
    who: String,
    kind: String,
    text: String,
    /// The number of reports of the same kind in a row, of which the last one is kept.
    times: usize,
}

/// Keeps a report of `who`.
pub(crate) fn note(who: &str, kind: &str, text: &str) {
    let mut journal = super::locked(&JOURNAL);
    let seconds = journal.begun.elapsed().as_secs_f64();
    let text: String = text.chars().take(LENGTH).collect();
    if let Some(last) = journal.reports.back_mut()
        && last.who == who
        && last.kind == kind
    {
        last.times += 1;
        (last.seconds, last.text) = (seconds, text);
        return;
    }
    if journal.reports.len() == MOST {
        journal.reports.pop_front();
    }
    journal.reports.push_back(Reported {
        seconds,
        who: who.to_owned(),
        kind: kind.to_owned(),
        text,
        times: 1,
    });
}

/// The last reports, one line each.
pub(crate) fn last() -> String {
    let journal = super::locked(&JOURNAL);
    let now = journal.begun.elapsed().as_secs_f64();
    let mut lines = format!("    at {now:.1} s the last reports are:\n");
    for report in &journal.reports {
        let Reported {
            seconds,
            who,
            kind,
            text,
            times,
        } = report;
        // Writing to a string does not fail.
        let _ = writeln!(lines, "    {seconds:.1} s {who}: {times} × {kind}: {text}");
    }
    lines
}
