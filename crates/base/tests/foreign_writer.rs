//! A file that another process writes at the same time is never overwritten. The other process is this program again.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the other process writes like any program; helpers fail by panicking"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use osier_base::atomic_file::{Expected, Options, WriteError, write_if};
use osier_base::fault;

/// Makes this program the other process.
const WRITER: &str = "OSIER_TEST_FOREIGN_WRITER";
/// The number of races of the long test.
const RACES: &str = "OSIER_TEST_RACES";

const BEFORE: &str = "what was read";
const OURS: &str = "ours, which is longer than the rest";

/// Another process that writes a file on request.
struct Writer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Writer {
    fn start(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process", "--nocapture"])
            .env(WRITER, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ready") {
            line.clear();
            assert_ne!(answers.read_line(&mut line).unwrap(), 0, "the writer ended");
        }
        Self {
            child,
            requests,
            answers,
        }
    }

    /// `in-place` or `rename`, after a delay.
    fn request(&mut self, way: &str, delay: Duration, text: &str) {
        writeln!(self.requests, "{way} {} {text}", delay.as_nanos()).unwrap();
    }

    fn wait(&mut self) {
        // The test harness of the other process prints, too.
        let mut line = String::new();
        while line != "written\n" {
            line.clear();
            let read = self.answers.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "the writer ended");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test: the other process.
#[test]
fn other_process() {
    let Some(path) = std::env::var_os(WRITER).map(PathBuf::from) else {
        return;
    };
    println!("\nready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap();
        let (way, delay, text) = (word(), word(), word());
        let (start, delay) = (Instant::now(), Duration::from_nanos(delay.parse().unwrap()));
        while start.elapsed() < delay {
            std::hint::spin_loop();
        }
        if way == "rename" {
            let new = path.with_extension("new");
            fs::write(&new, text).unwrap();
            fs::rename(&new, &path).unwrap();
        } else {
            fs::write(&path, text).unwrap();
        }
        println!("written");
    }
}

/// Writes our text if the file is as it was read.
fn write_ours(path: &Path) -> Result<(), WriteError> {
    let is_same = |path: &Path, _| fs::read(path).is_ok_and(|now| now == BEFORE.as_bytes());
    let expected = Expected {
        content: Some(BEFORE.as_bytes()),
        is_same: &is_same,
    };
    write_if(path, OURS.as_bytes(), Options::default(), &expected).map(drop)
}

/// The names in the folder of the file.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn writes_of_another_process_at_each_boundary_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    // Boundaries: before the exchange, after it, and before each attempt to put the other file back.
    let plan: Arc<Mutex<Vec<(usize, &'static str)>>> = Arc::default();
    let writer = Arc::new(Mutex::new((Writer::start(&path), 0)));
    fault::at_every_point({
        let (plan, writer) = (Arc::clone(&plan), Arc::clone(&writer));
        move || {
            let (writer, point) = &mut *writer.lock().unwrap();
            for (number, way) in plan.lock().unwrap().iter() {
                if number == point {
                    writer.request(way, Duration::ZERO, &format!("theirs {point}"));
                    writer.wait();
                }
            }
            *point += 1;
        }
    });
    let ways = ["in-place", "rename"];
    let mut cases: Vec<Vec<(usize, &str)>> = vec![Vec::new()];
    for first in ways {
        cases.extend([0, 1].map(|point| vec![(point, first)]));
        for second in ways {
            cases.extend([1, 2].map(|point| vec![(0, first), (point, second)]));
            cases.push(vec![(0, first), (2, second), (3, first)]);
        }
    }
    for case in cases {
        fs::write(&path, BEFORE).unwrap();
        writer.lock().unwrap().1 = 0;
        plan.lock().unwrap().clone_from(&case);
        let written = write_ours(&path);
        let last = case.last().map(|(point, _)| format!("theirs {point}"));
        let expected = last.as_deref().unwrap_or(OURS);
        // A write before the exchange is found; one after it replaces ours.
        let is_found = case.first().is_some_and(|(point, _)| *point == 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{case:?}");
        let is_refused = matches!(written, Err(WriteError::Changed { .. }));
        assert_eq!(is_refused, is_found, "{case:?}: {written:?}");
        assert_eq!(names(&path), ["file"], "{case:?}");
    }
}

/// `OSIER_TEST_RACES=20000 cargo test -p osier-base --test foreign_writer -- --ignored --nocapture`
#[test]
#[ignore = "takes a minute"]
fn races_with_another_process_overwrite_nothing() {
    let races = std::env::var(RACES).map_or(20_000, |races| races.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut writer = Writer::start(&path);
    let (mut overwritten, mut refused) = (0, 0);
    let mut spread = Duration::from_micros(200);
    for race in 0_u32..races {
        fs::write(&path, BEFORE).unwrap();
        let text = format!("theirs {race}");
        let delay = spread * (race * 7919 % 1000) / 1000;
        writer.request(["in-place", "rename"][race as usize % 2], delay, &text);
        let start = Instant::now();
        let written = write_ours(&path);
        spread = (spread * 15 + start.elapsed()) / 16;
        writer.wait();
        refused += u32::from(written.is_err());
        let now = fs::read_to_string(&path).unwrap();
        if now != text {
            println!("race {race}: `{now}`, our write: {written:?}");
            overwritten += 1;
        }
    }
    println!("{races} races, {refused} refused, {overwritten} overwritten");
    assert_eq!((overwritten, names(&path)), (0, vec!["file".to_owned()]));
}
