//! The scenarios and their measured values.
//!
//! Times are from sending a key to the arrival of the bytes that show the awaited text on the emulated screen. CPU
//! is that of the complete process tree, memory its proportional set size.

use std::time::{Duration, Instant};

use super::agent::{Agent, Place};
use super::figure::{Figures, median};
use super::program::{COLUMNS, Command, Program, ROWS};
use super::server::Server;
use super::session_fixture::{FIRST_PROMPT, LAST_ANSWER, Shape, write};
use super::{answer, plan};

const SECOND: Duration = Duration::from_secs(1);
/// The timeout of a start.
const START: Duration = Duration::from_secs(30);
/// The timeout of an answer.
const ANSWER: Duration = Duration::from_mins(2);
/// The timeout of a key echo, which counts as its time.
const ECHO: Duration = Duration::from_secs(5);
/// Time between two measurements of the memory.
const SAMPLE: Duration = Duration::from_millis(500);
/// Time between two keys whose echo is measured.
const KEY: Duration = Duration::from_millis(400);
/// The number of pages scrolled back, up to the very long entries.
const PAGES: usize = 60;
const PAGE_UP: &str = "\x1b[5~";
const CONTROL_HOME: &str = "\x1b[1;5H";
const CONTROL_END: &str = "\x1b[1;5F";
const CONTROL_F: &str = "\x06";
const DELETE: &str = "\x7f";

/// Why a run failed.
pub(crate) type Failure = String;

/// One run of one program.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) server: &'a Server,
}

impl Run<'_> {
    /// Starts the program and waits until it is ready and has settled.
    fn start(&self) -> Result<(Place, Program), Failure> {
        let (place, command) = self.prepare()?;
        let program = self.launch(&command)?;
        Ok((place, program))
    }

    fn prepare(&self) -> Result<(Place, Command), Failure> {
        let url = self.server.url();
        self.agent
            .prepare(&url)
            .map_err(|error| format!("cannot be set up: {error}"))
    }

    fn launch(&self, command: &Command) -> Result<Program, Failure> {
        let mut program =
            Program::start(command).map_err(|error| format!("cannot be started: {error}"))?;
        if program.shows(self.agent.ready, START).is_none() {
            return Err(failure("was not ready", &program));
        }
        program.settle(START);
        Ok(program)
    }

    /// Types a prompt, waits until the screen is idle, and sends it.
    fn ask(&self, program: &mut Program, prompt: &str) -> Sent {
        program.type_text(prompt);
        program.pump(SECOND / 2);
        self.server.reset();
        let sent = Sent {
            cpu: program.cpu(),
            bytes: program.bytes,
            at: Instant::now(),
        };
        program.send("\r");
        sent
    }

    /// The time from the model's last byte to the end marker on the screen.
    fn lag(&self, shown: Instant) -> Option<Duration> {
        let ended = self.server.progress().ended?;
        Some(shown.saturating_duration_since(ended))
    }
}

/// The counters when a prompt was sent.
struct Sent {
    cpu: Duration,
    bytes: u64,
    at: Instant,
}

impl Sent {
    fn measure(&self, program: &Program, out: &mut Figures) {
        out.time("cpu", program.cpu().saturating_sub(self.cpu));
        out.put("bytes", (program.bytes - self.bytes) as f64);
    }
}

/// First bytes, first paint, ready, CPU and memory after the start, CPU over five idle seconds.
pub(crate) fn start(run: &Run) -> Result<Figures, Failure> {
    let (_place, command) = run.prepare()?;
    let mut program = Program::start(&command).map_err(|error| error.to_string())?;
    let painted = program.wait(START, |screen| !screen.trim().is_empty());
    let ready = program.shows(run.agent.ready, START);
    let (Some(painted), Some(ready)) = (painted, ready) else {
        return Err(failure("was not ready", &program));
    };
    program.settle(START);
    let mut out = Figures::default();
    let since = |moment: Instant| moment.saturating_duration_since(program.started);
    out.time("first_byte", program.first.map_or(START, since));
    out.time("paint", since(painted));
    out.time("ready", since(ready));
    out.time("cpu", program.cpu());
    out.put("memory", program.memory() as f64);
    let (cpu, bytes) = (program.cpu(), program.bytes);
    program.pump(SECOND * 5);
    out.time("idle_cpu", program.cpu().saturating_sub(cpu));
    out.put("idle_bytes", (program.bytes - bytes) as f64);
    out.put("echo", echo_at_rest(&mut program));
    Ok(out)
}

/// 3,000 deltas, 3 ms apart, as with a very fast model.
pub(crate) fn stream(run: &Run) -> Result<Figures, Failure> {
    answer_of(run, 3000, "3").map(|(_place, _program, out)| out)
}

/// 40,000 deltas at once, then keys and page-ups in the long answer.
pub(crate) fn burst(run: &Run) -> Result<Figures, Failure> {
    let (_place, mut program, mut out) = answer_of(run, 40_000, "0")?;
    out.put("echo_after", echo_at_rest(&mut program));
    let (cpu, bytes) = (program.cpu(), program.bytes);
    for _ in 0..20 {
        program.send(PAGE_UP);
        program.pump(SECOND / 10);
    }
    out.time("pages_cpu", program.cpu().saturating_sub(cpu));
    out.put("pages_bytes", (program.bytes - bytes) as f64);
    Ok(out)
}

/// Keys typed while 6,000 deltas come, 2 ms apart.
pub(crate) fn echo(run: &Run) -> Result<Figures, Failure> {
    let (_place, mut program) = run.start()?;
    let sent = run.ask(&mut program, &stream_prompt(6000, "2"));
    program.pump(SECOND);
    let mut times = Vec::new();
    while run.server.progress().ended.is_none() {
        if sent.at.elapsed() > ANSWER {
            return Err(failure("did not end its answer", &program));
        }
        times.push(echo_of(&mut program, times.len()));
        program.pump(KEY);
    }
    program
        .shows(plan::END, ANSWER)
        .ok_or_else(|| failure("did not show the end", &program))?;
    program.settle(SECOND * 5);
    let mut out = Figures::default();
    sent.measure(&program, &mut out);
    out.put("echo", median(&mut times));
    out.put("echo_worst", times.last().copied().unwrap_or(f64::NAN));
    Ok(out)
}

/// Ten commands, one per turn.
pub(crate) fn tools(run: &Run) -> Result<Figures, Failure> {
    let (_place, mut program) = run.start()?;
    let sent = run.ask(&mut program, "[[tools n=10]]");
    let shown = program.shows(plan::SHORT, ANSWER);
    let shown = shown.ok_or_else(|| failure("did not show the end", &program))?;
    program.settle(SECOND * 5);
    let mut out = Figures::default();
    out.time("wall", shown - sent.at);
    sent.measure(&program, &mut out);
    out.put("memory", program.memory() as f64);
    Ok(out)
}

/// An answer over a connection of 20 kB per second, of which frames need twice that: key echo, the time to the end, and
/// whether the screen equals a full repaint over a fast connection.
pub(crate) fn slow(run: &Run) -> Result<Figures, Failure> {
    let (_place, mut program) = run.start()?;
    program.set_rate(20_000);
    let sent = run.ask(&mut program, &stream_prompt(40_000, "0.25"));
    program.pump(SECOND);
    let mut times = Vec::new();
    while run.server.progress().ended.is_none() && sent.at.elapsed() < ANSWER {
        times.push(echo_of(&mut program, times.len()));
        program.pump(KEY);
    }
    let shown = program.shows(plan::END, ANSWER);
    let shown = shown.ok_or_else(|| failure("did not show the end", &program))?;
    program.settle(SECOND * 10);
    let mut out = Figures::default();
    sent.measure(&program, &mut out);
    out.put("echo", median(&mut times));
    out.put("echo_worst", times.last().copied().unwrap_or(f64::NAN));
    out.time("lag", run.lag(shown).unwrap_or(ANSWER));
    let before = program.screen();
    program.set_rate(0);
    program.resize(COLUMNS - 1, ROWS);
    program.settle(SECOND * 5);
    program.resize(COLUMNS, ROWS);
    program.pump(SECOND);
    let after = program.screen();
    tell_differences(&before, &after);
    out.put("right", f64::from(u8::from(before == after)));
    Ok(out)
}

/// Half a million deltas: the memory after every tenth, and whether it still grows.
pub(crate) fn memory(run: &Run) -> Result<Figures, Failure> {
    const DELTAS: usize = 500_000;
    const KEYS: [&str; 10] = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"];
    let (_place, mut program) = run.start()?;
    let sent = run.ask(&mut program, &stream_prompt(DELTAS, "0"));
    let mut out = Figures::default();
    for (tenth, key) in KEYS.into_iter().enumerate() {
        let due = DELTAS / KEYS.len() * (tenth + 1);
        while run.server.progress().deltas < due {
            if sent.at.elapsed() > ANSWER * 5 {
                return Err(failure("did not take the answer", &program));
            }
            program.pump(SECOND / 50);
        }
        out.put(key, program.memory() as f64);
    }
    let shown = program.shows(plan::END, ANSWER);
    let shown = shown.ok_or_else(|| failure("did not show the end", &program))?;
    out.time("wall", shown - sent.at);
    sent.measure(&program, &mut out);
    Ok(out)
}

/// 10,000 short messages, reopened.
pub(crate) fn messages(run: &Run) -> Result<Figures, Failure> {
    reopen(run, Shape::messages(10_000))
}

/// 100,000 entries of realistic size, 200 MB, reopened.
pub(crate) fn work(run: &Run) -> Result<Figures, Failure> {
    let shape = Shape {
        giants: true,
        ..Shape::work(100_000)
    };
    reopen(run, shape)
}

/// Reopens a session and scrolls in it.
fn reopen(run: &Run, shape: Shape) -> Result<Figures, Failure> {
    let (place, mut command) = run.prepare()?;
    let path = place.home().join("long.jsonl");
    let cwd = place.work().display().to_string();
    write(&path, &Shape { cwd, ..shape }).map_err(|error| format!("no session file: {error}"))?;
    command.argv.extend(["--resume".into(), path.into()]);
    let mut program = Program::start(&command).map_err(|error| error.to_string())?;
    let painted = program.wait(START, |screen| !screen.trim().is_empty());
    let shown = program.shows(LAST_ANSWER, ANSWER);
    let (Some(painted), Some(shown)) = (painted, shown) else {
        return Err(failure("did not show the last answer", &program));
    };
    let mut out = Figures::default();
    out.time("paint", painted - program.started);
    out.time("wall", shown - program.started);
    program.settle(START);
    out.time("cpu", program.cpu());
    out.put("memory", program.memory() as f64);
    out.put("echo", echo_at_rest(&mut program));
    let bytes = program.bytes;
    program.type_text("typing");
    program.pump(SECOND);
    out.put("key_bytes", (program.bytes - bytes) as f64 / 6.0);
    program.send(&DELETE.repeat(6));
    program.pump(SECOND);
    let mut pages = Vec::new();
    for _ in 0..PAGES {
        let sent = Instant::now();
        program.send(PAGE_UP);
        let moved = program.next(sent + ECHO);
        let moved = moved.ok_or_else(|| failure("did not page up", &program))?;
        pages.push((moved - sent).as_secs_f64());
        program.pump(SECOND / 10);
    }
    out.put("page", median(&mut pages));
    out.put("page_worst", pages.last().copied().unwrap_or(f64::NAN));
    let sent = Instant::now();
    program.send(CONTROL_HOME);
    let top = program.shows(FIRST_PROMPT, ANSWER);
    let top = top.ok_or_else(|| failure("did not show the first prompt", &program))?;
    out.time("top", top - sent);
    program.settle(START);
    out.put("memory_top", program.memory() as f64);
    out.time("search", search_from_end(&mut program)?);
    Ok(out)
}

/// The time to find a word of the first message from the end: the complete session is searched.
fn search_from_end(program: &mut Program) -> Result<Duration, Failure> {
    program.send(CONTROL_END);
    let back = program.shows(LAST_ANSWER, ANSWER);
    back.ok_or_else(|| failure("did not go back to the end", program))?;
    program.send(CONTROL_F);
    program.settle(START);
    let sent = Instant::now();
    program.send("quokka");
    let found = program.shows(FIRST_PROMPT, ANSWER);
    let found = found.ok_or_else(|| failure("did not find the first prompt", program))?;
    Ok(found - sent)
}

/// Streams an answer and measures until the screen is idle.
fn answer_of(run: &Run, count: usize, pause: &str) -> Result<(Place, Program, Figures), Failure> {
    let (place, mut program) = run.start()?;
    let sent = run.ask(&mut program, &stream_prompt(count, pause));
    let mut peak = 0;
    let shown = loop {
        if let Some(shown) = program.shows(plan::END, SAMPLE) {
            break shown;
        }
        peak = peak.max(program.memory());
        if sent.at.elapsed() > ANSWER {
            return Err(failure("did not show the end", &program));
        }
    };
    let mut out = Figures::default();
    out.time("wall", shown - sent.at);
    out.time("lag", run.lag(shown).unwrap_or_default());
    program.settle(SECOND * 5);
    sent.measure(&program, &mut out);
    let text = answer::text(count).len() + plan::END.len() + 2;
    out.put(
        "bytes_per_byte",
        out.get("bytes").unwrap_or_default() / text as f64,
    );
    out.put("memory", peak.max(program.memory()) as f64);
    Ok((place, program, out))
}

fn stream_prompt(count: usize, pause: &str) -> String {
    format!("[[stream n={count} ms={pause}]]")
}

/// Types a word that is not on the screen, and deletes it. Returns the seconds to its echo.
fn echo_of(program: &mut Program, place: usize) -> f64 {
    let letter = char::from(b'a' + (place % 26) as u8);
    let word = format!("qzj{letter}");
    let sent = Instant::now();
    program.send(&word);
    let shown = program.shows(&word, ECHO);
    program.send(&DELETE.repeat(word.len()));
    shown
        .map_or(ECHO, |shown| shown.saturating_duration_since(sent))
        .as_secs_f64()
}

/// The median echo of some keys in an idle program.
fn echo_at_rest(program: &mut Program) -> f64 {
    let mut times: Vec<f64> = Vec::new();
    for key in 0..10 {
        times.push(echo_of(program, key));
        program.pump(SECOND / 4);
    }
    median(&mut times)
}

/// The number of wrong rows.
fn tell_differences(shown: &str, right: &str) {
    for (shown, right) in shown.lines().zip(right.lines()) {
        if shown != right {
            eprintln!("  shown: {shown}\n  right: {right}");
        }
    }
}

/// An error with the screen.
fn failure(what: &str, program: &Program) -> Failure {
    format!("{what}; its screen:\n{}", program.screen())
}
