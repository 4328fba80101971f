//! `osier __html`: reads a page from standard input and writes it as Markdown, in a JSON line. Its memory and processor time
//! are limited.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::panic;
use std::process::ExitCode;

use osier_base::process::limit_own;
use osier_base::terminal_output;

use super::{Answer, NAME, convert};

/// Bytes of address space, and seconds of processor time.
const MEMORY: u64 = 1024 * 1024 * 1024;
const SECONDS: u64 = 5;
/// Bytes of stack, because the converter is recursive.
const STACK: usize = 64 * 1024 * 1024;

/// Runs the helper if `arguments` select it.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != NAME {
        return None;
    }
    limit_own(MEMORY, SECONDS);
    // A panic is a failure, not a message.
    panic::set_hook(Box::new(|_| {}));
    let work = std::thread::Builder::new().stack_size(STACK).spawn(answer);
    Some(match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(Some(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn answer() -> Option<()> {
    let mut html = String::new();
    std::io::stdin().lock().read_to_string(&mut html).ok()?;
    let answer = match convert(&html) {
        Ok(converted) => Answer::Converted {
            title: converted.title,
            markdown: converted.markdown,
        },
        Err(error) => Answer::Problem {
            problem: error.reason(),
        },
    };
    let line = serde_json::to_string(&answer).ok()?;
    let mut stdout = terminal_output::stdout();
    writeln!(stdout, "{line}").ok()?;
    stdout.flush().ok()
}
