//! Another program replaces a file while osier edits it. No version of the other program is overwritten.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::random::Random;
use crate::support::rpc::Rpc;

/// The number of versions that the other program writes in the short version.
const SHORT: u64 = 150;
const WANTED: u64 = 20_000;
const PATIENCE: Duration = Duration::from_mins(2);
const SETTINGS: &str = "model = \"openai-chat-completions/m\"\ncheckpoints = false\n";

/// The versions that the other program wrote, and the edits that it saw.
#[derive(Debug, Default)]
struct Seen {
    versions: u64,
    edits: u64,
    overwritten: Vec<String>,
}

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("races")?;
    let server = ModelServer::start()?;
    let home = Home::new(folder.path.join("home"), &server.models_json(), SETTINGS)?;
    let wanted = if options.is_short() { SHORT } else { WANTED };
    let end = Instant::now() + options.time(PATIENCE);
    let path = home.work().join("race.txt");
    fs::write(&path, content(0))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut rpc = Rpc::start(&home, options.program(), &["rpc"])?;
    if !rpc.prompt("GO text 0", PATIENCE) {
        return Err(io::Error::other("osier does not answer"));
    }
    let writer = {
        let (is_over, random) = (Arc::clone(&is_over), Random::new(options.seed));
        thread::spawn(move || replace(&path, random, wanted, &is_over))
    };
    let mut report = Report::default();
    let mut number = 1;
    while !writer.is_finished() && Instant::now() < end {
        if !rpc.prompt(&format!("GO race {number}"), PATIENCE) {
            report.fail("a prompt does not end");
            break;
        }
        number += 1;
    }
    is_over.store(true, Ordering::Relaxed);
    let seen = writer
        .join()
        .map_err(|_| io::Error::other("the writer has failed"))??;
    report.tried = usize::try_from(seen.versions).unwrap_or(usize::MAX);
    report.failures.extend(seen.overwritten);
    report
        .notes
        .push(format!("{} edits between them", seen.edits));
    if seen.edits == 0 {
        report.fail("no edit succeeded");
    }
    Ok(report)
}

fn content(version: u64) -> String {
    format!("agent:\nother: {version}\n")
}

/// Replaces the file until `wanted` versions were written, with at least one edit between them, and
/// checks each time that the file contains the last version of this program, or an edit of it.
fn replace(path: &Path, mut random: Random, wanted: u64, is_over: &AtomicBool) -> io::Result<Seen> {
    let mut seen = Seen::default();
    let temporary = path.with_extension("other");
    while (seen.versions < wanted || seen.edits == 0) && !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_micros(random.below(40_000)));
        let found = fs::read_to_string(path)?;
        let expected = format!("other: {}\n", seen.versions);
        if !found.ends_with(&expected) {
            seen.overwritten
                .push(format!("{found:?} instead of {expected:?}"));
        }
        seen.edits += u64::from(found.starts_with("agent: "));
        seen.versions += 1;
        fs::write(&temporary, content(seen.versions))?;
        fs::rename(&temporary, path)?;
    }
    Ok(seen)
}
