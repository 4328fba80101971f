//! A system call that writes fails, or is the last one: every call of a run, one after the other. `strace` injects the
//! fault, because osier makes some calls without the C library.

use std::fs;
use std::io;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use osier_testing::skip;

use crate::Report;
use crate::kills::{Victim, checks, operations::Files};
use crate::options::Options;
use crate::support::exit;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::random::Random;

/// The calls that change a file system, without `write`: it also wakes threads, so that its failure proves nothing.
const CALLS: &[&str] = &[
    "pwrite64",
    "fsync",
    "fdatasync",
    "renameat,renameat2,rename",
    "linkat,link",
    "ftruncate",
    "mkdir,mkdirat",
    "unlink,unlinkat",
];
const FAULTS: &[&str] = &["error=ENOSPC", "error=EIO", "signal=KILL"];
/// Calls that a limit of the system refuses. The C library makes them itself, so a library that is
/// loaded before it cannot replace them.
const REFUSED: &[(&str, &str)] = &[
    ("mmap", "error=ENOMEM"),
    ("clone,clone3,fork,vfork", "error=EAGAIN"),
];
/// The number of cases in the short version.
const SHORT: usize = 5;
/// The maximum number of calls of one kind.
const MOST: usize = 300;
const PATIENCE: Duration = Duration::from_mins(2);
const SETTINGS: &str = "model = \"openai-chat-completions/m\"\n";

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let mut report = Report::default();
    if skip::program(&["strace"], "apt install strace").is_none() {
        return Ok(report);
    }
    if !can_trace() {
        let note = "skipped: strace cannot trace here";
        report.notes.push(note.to_owned());
        return Ok(report);
    }
    let folder = options.folder("faults")?;
    let server = Arc::new(ModelServer::start()?);
    let end = options.end();
    let mut number = 0;
    let writes = CALLS
        .iter()
        .flat_map(|calls| FAULTS.iter().map(move |fault| (calls, fault)));
    let refused = REFUSED.iter().map(|(calls, fault)| (calls, fault));
    for (calls, fault) in writes.chain(refused) {
        let mut tried = 0;
        for place in 1..MOST {
            let is_over = end.is_some_and(|end| Instant::now() >= end);
            if is_over || options.is_short() && report.tried >= SHORT {
                return Ok(report);
            }
            number += 1;
            // The short version tries the first call of each kind with one fault.
            if options.is_short() && (place > 1 || number % FAULTS.len() != 1) {
                break;
            }
            let path = folder.path.join(number.to_string());
            let home = Home::new(path.clone(), &server.models_json(), SETTINGS)?;
            let mut victim = Victim {
                home,
                program: options.program().to_owned(),
                server: Arc::clone(&server),
                random: Random::new(options.seed),
                number: number as u64 * 10,
                first: number as u64 * 10,
                forks: Vec::new(),
            };
            let (was_injected, problems) = one(&mut victim, calls, fault, place);
            if !was_injected {
                break;
            }
            tried += 1;
            report.tried += 1;
            let is_sound = problems.is_empty();
            for problem in problems {
                report.fail(&format!("{calls} {place} {fault}: {problem}"));
            }
            if is_sound {
                fs::remove_dir_all(path)?;
            }
        }
        report.notes.push(format!("{calls} with {fault}: {tried}"));
    }
    Ok(report)
}

#[expect(clippy::disallowed_methods, reason = "a tool of the test")]
fn can_trace() -> bool {
    let traced = std::process::Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    traced.is_ok_and(|status| status.success())
}

/// Runs a prompt with a fault in the call number `place` of each thread. Returns whether there was
/// such a call, and the problems.
fn one(victim: &mut Victim, calls: &str, fault: &str, place: usize) -> (bool, Vec<String>) {
    let number = victim.number;
    victim.number += 1;
    let trace = victim.home.work().with_file_name("trace");
    let child = victim
        .home
        .command("strace".as_ref())
        .args(["-f", "-qq", "-o"])
        .arg(&trace)
        .arg(format!("--trace={calls}"))
        .arg(format!("--inject={calls}:{fault}:when={place}"))
        .arg(&victim.program)
        .args(["-p", &format!("GO tools {number}")])
        .spawn();
    let Ended {
        code,
        output,
        errors,
    } = match child.map(|child| finish(child, PATIENCE)) {
        Ok(ended) => ended,
        Err(error) => return (true, vec![error.to_string()]),
    };
    let was_injected = fs::read_to_string(&trace)
        .is_ok_and(|text| text.contains("INJECTED") || text.contains("killed by SIGKILL"));
    let mut problems = Vec::new();
    match code {
        None => problems.push(format!("it does not end: {output:?}, {errors:?}")),
        Some(0) if !output.contains(&format!("done {number}")) => {
            problems.push(format!("a success without the answer: {output:?}"));
        }
        Some(_) if errors.contains("internal error") => {
            problems.push(format!("it panicked: {errors:?}"));
        }
        Some(_) => {}
    }
    problems.extend(checks::after_kill(victim, &Files::Any.into()));
    problems.extend(checks::at_end(victim));
    (was_injected, problems)
}

/// How a run ended.
pub(crate) struct Ended {
    /// The exit code; `None` if it does not end in time.
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Waits for the end, which must come in time.
pub(crate) fn finish(mut child: Child, patience: Duration) -> Ended {
    let status = exit(&mut child, patience);
    if status.is_none() {
        let _ = child.kill();
    }
    let (output, errors) = match child.wait_with_output() {
        Ok(output) => (output.stdout, output.stderr),
        Err(_) => (Vec::new(), Vec::new()),
    };
    Ended {
        code: status.map(|status| status.code().unwrap_or(137)),
        output: String::from_utf8_lossy(&output).into_owned(),
        errors: String::from_utf8_lossy(&errors).into_owned(),
    }
}
