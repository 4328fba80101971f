//! A library function that needs something of the system fails: a thread, a file, a socket, a lock. Every call of a run, one
//! after the other, alone or with all later ones. A library before the C library injects the fault. Then a real limit of
//! processes (`prlimit`; `sh` has no `ulimit -u` everywhere).

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use osier_testing::skip;

use crate::Report;
use crate::faults::{Ended, finish};
use crate::kills::{Victim, checks, operations::Files};
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::random::Random;
use crate::support::signal;
use crate::support::terminal::Terminal;

const CALLS: &[&str] = &[
    "pthread_create",
    "posix_spawn",
    "open",
    "socket",
    // The next errors are those of a file that was replaced on its server, of a file system without
    // locks, and of a damaged disk.
    "stale",
    "flock",
    "read",
    "write",
    "fdatasync",
];
/// The number of calls that fail: only one, or all later ones, too.
const LENGTHS: &[u32] = &[1, u32::MAX];
/// The number of cases in the short version.
const SHORT: usize = 5;
/// The maximum number of calls of one kind.
const MOST: usize = 400;
/// The limits of processes that are tried.
const PROCESSES: std::ops::RangeInclusive<u32> = 1..=24;
const PATIENCE: Duration = Duration::from_secs(30);
const SETTINGS: &str = "model = \"openai-chat-completions/m\"\n";

/// The call `FAIL_CALL` fails `FAIL_LENGTH` times from its number `FAIL_AT` on, in the first
/// process only, and the file `FAIL_REPORT` is created.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static long from, length;
static int process;
static const char *name, *report;

__attribute__((constructor)) static void begin(void) {
  name = getenv("FAIL_CALL");
  if (!name || getenv("FAIL_BEGUN")) return;
  from = atol(getenv("FAIL_AT"));
  length = atol(getenv("FAIL_LENGTH"));
  report = getenv("FAIL_REPORT");
  setenv("FAIL_BEGUN", "1", 1);
  process = getpid();
}

static int fails(const char *call) {
  if (!process || getpid() != process || strcmp(name, call)) return 0;
  long number = ++calls;
  if (number < from || number >= from + length) return 0;
  int file = syscall(SYS_openat, AT_FDCWD, report, O_CREAT | O_WRONLY, 0600);
  if (file >= 0) syscall(SYS_close, file);
  return 1;
}

#define REAL(call) static __typeof__(call) *real; if (!real) real = dlsym(RTLD_NEXT, #call)

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *data) {
  REAL(pthread_create);
  return fails("pthread_create") ? EAGAIN : real(thread, how, run, data);
}

int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *how, char *const *arguments, char *const *variables) {
  REAL(posix_spawnp);
  return fails("posix_spawn") ? EAGAIN : real(child, file, actions, how, arguments, variables);
}

pid_t fork(void) {
  REAL(fork);
  if (fails("posix_spawn")) { errno = EAGAIN; return -1; }
  return real();
}

int socket(int domain, int type, int protocol) {
  REAL(socket);
  if (fails("socket")) { errno = EMFILE; return -1; }
  return real(domain, type, protocol);
}

static int is_file(int file) {
  struct stat about;
  return !fstat(file, &about) && S_ISREG(about.st_mode);
}

int flock(int file, int how) {
  REAL(flock);
  if (fails("flock")) { errno = ENOLCK; return -1; }
  return real(file, how);
}

ssize_t read(int file, void *bytes, size_t count) {
  REAL(read);
  if (process && is_file(file) && fails("read")) { errno = EIO; return -1; }
  return real(file, bytes, count);
}

ssize_t write(int file, const void *bytes, size_t count) {
  REAL(write);
  if (process && is_file(file) && fails("write")) { errno = EIO; return -1; }
  return real(file, bytes, count);
}

int fdatasync(int file) {
  REAL(fdatasync);
  if (fails("fdatasync")) { errno = EIO; return -1; }
  return real(file);
}

#define OPEN(call) int call(const char *path, int flags, ...) { \
  REAL(call); \
  va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
  if (fails("open")) { errno = EMFILE; return -1; } \
  if (fails("stale")) { errno = ESTALE; return -1; } \
  return real(path, flags, mode); \
}
OPEN(open)
OPEN(open64)
"#;

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let Some(compiler) = skip::program(&["cc"], "apt install gcc") else {
        return Ok(Report::default());
    };
    let folder = options.folder("limits")?;
    let shim = compile(&compiler, &folder.path)?;
    let mut cases = Cases {
        options,
        folder: &folder.path,
        server: Arc::new(ModelServer::start()?),
        end: options.end(),
        number: 0,
        report: Report::default(),
    };
    for call in CALLS {
        for length in LENGTHS {
            cases.calls(&shim, call, *length)?;
        }
    }
    cases.processes()?;
    Ok(cases.report)
}

/// Starts a run with a number.
type Start<'a> = &'a dyn Fn(&Victim, u64) -> Command;

/// The cases, one after the other.
struct Cases<'a> {
    options: &'a Options,
    folder: &'a Path,
    server: Arc<ModelServer>,
    end: Option<Instant>,
    number: u64,
    report: Report,
}

impl Cases<'_> {
    fn are_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
            || self.options.is_short() && self.report.tried >= SHORT
    }

    /// Lets each call of one kind fail.
    fn calls(&mut self, shim: &Path, call: &str, length: u32) -> io::Result<()> {
        // The short version tries the first call of each kind.
        let most = match (self.options.is_short(), length) {
            (true, 1) => 2,
            (true, _) => 1,
            (false, _) => MOST,
        };
        let injected = self.folder.join("injected");
        let mut tried = 0;
        for at in 1..most {
            if self.are_over() {
                return Ok(());
            }
            let _ = fs::remove_file(&injected);
            let start = |victim: &Victim, number: u64| {
                let mut command = victim.home.command(&victim.program);
                command
                    .args(["-p", &format!("GO tools {number}")])
                    .env("LD_PRELOAD", shim)
                    .env("FAIL_CALL", call)
                    .env("FAIL_AT", at.to_string())
                    .env("FAIL_LENGTH", length.to_string())
                    .env("FAIL_REPORT", &injected);
                command
            };
            self.case(&format!("{call} {at}, {length} times"), &start)?;
            if !injected.exists() {
                break;
            }
            tried += 1;
        }
        let note = format!("{call}, {length} times: {tried}");
        self.report.notes.push(note);
        Ok(())
    }

    /// Limits the processes and threads of the user. Root has no such limit, so another user runs osier then.
    fn processes(&mut self) -> io::Result<()> {
        let needed = &["prlimit", "setpriv"];
        if !skip::has(needed, "apt install util-linux") {
            return Ok(());
        }
        let user = if rustix::process::geteuid().is_root() {
            Some(OtherUser::new(self.folder, self.options.program())?)
        } else {
            None
        };
        if user.as_ref().is_some_and(|user| !user.can_start()) {
            let note = "skipped: another user cannot start osier here";
            self.report.notes.push(note.to_owned());
            return Ok(());
        }
        for limit in PROCESSES {
            if self.are_over() {
                return Ok(());
            }
            let start = |victim: &Victim, number: u64| {
                let mut command = match &user {
                    Some(_) => limited_command(&victim.home),
                    None => victim.home.command(Path::new("prlimit")),
                };
                let program = user.as_ref().map_or(&victim.program, |user| &user.program);
                command.arg(format!("--nproc={limit}:{limit}")).arg(program);
                command.args(["-p", &format!("GO tools {number}")]);
                command
            };
            self.case(&format!("{limit} processes"), &start)?;
            let limit = format!("--nproc={limit}:{limit}");
            let name = format!("a screen with {limit}");
            self.run(&name, &|victim| screen(victim, user.as_ref(), &limit))?;
        }
        Ok(())
    }

    fn case(&mut self, name: &str, start: Start<'_>) -> io::Result<()> {
        self.run(name, &|victim| one(victim, start))
    }

    fn run(&mut self, name: &str, work: &dyn Fn(&mut Victim) -> Vec<String>) -> io::Result<()> {
        let wanted = self.options.case.as_ref();
        if wanted.is_some_and(|case| !name.contains(case)) {
            return Ok(());
        }
        self.number += 1;
        let path = self.folder.join(self.number.to_string());
        let home = Home::new(path.clone(), &self.server.models_json(), SETTINGS)?;
        let mut victim = Victim {
            home,
            program: self.options.program().to_owned(),
            server: Arc::clone(&self.server),
            random: Random::new(self.options.seed),
            number: self.number * 10,
            first: self.number * 10,
            forks: Vec::new(),
        };
        let problems = work(&mut victim);
        self.report.tried += 1;
        let is_sound = problems.is_empty();
        for problem in problems {
            self.report.fail(&format!("{name}: {problem}"));
        }
        if is_sound {
            fs::remove_dir_all(path)?;
        }
        Ok(())
    }
}

/// A user without rights, and a copy of osier that this user can read.
struct OtherUser {
    program: PathBuf,
}

/// A user id that no other process has, so that the limit counts only processes of the test.
const USER: u32 = 61_234;
const AS_USER: [&str; 3] = ["--reuid=61234", "--regid=61234", "--clear-groups"];

impl OtherUser {
    fn new(folder: &Path, program: &Path) -> io::Result<Self> {
        let copy = folder.join("osier");
        let _ = fs::remove_file(&copy);
        fs::copy(program, &copy)?;
        // A temporary directory is private.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o711))?;
        Ok(Self { program: copy })
    }

    fn can_start(&self) -> bool {
        let mut command = Command::new("setpriv");
        command.args(AS_USER).arg(&self.program).arg("--version");
        command.output().is_ok_and(|output| output.status.success())
    }
}

/// A command that runs as the limited user, who becomes the owner of the home.
fn limited_command(home: &Home) -> Command {
    home.give_to(USER);
    let mut command = home.command(Path::new("setpriv"));
    command.args(AS_USER).arg("prlimit");
    command
}

fn compile(compiler: &Path, folder: &Path) -> io::Result<PathBuf> {
    let (source, shim) = (folder.join("shim.c"), folder.join("shim.so"));
    fs::write(&source, SHIM)?;
    let compiled = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .args([&shim, &source])
        .arg("-ldl")
        .stdin(Stdio::null())
        .output()?;
    if compiled.status.success() {
        return Ok(shim);
    }
    Err(io::Error::other(
        String::from_utf8_lossy(&compiled.stderr).into_owned(),
    ))
}

/// Runs a prompt; returns what was wrong.
fn one(victim: &mut Victim, start: Start<'_>) -> Vec<String> {
    let number = victim.number;
    victim.number += 1;
    let Ended {
        code,
        output,
        errors,
    } = match start(victim, number).spawn() {
        Ok(child) => finish(child, PATIENCE),
        Err(error) => return vec![error.to_string()],
    };
    let mut problems = Vec::new();
    let panicked = errors.contains("panicked") || errors.contains("internal error");
    match code {
        None => problems.push(format!("it does not end: {output:?}, {errors:?}")),
        Some(0) if !output.contains(&format!("done {number}")) => {
            problems.push(format!("a success without the answer: {output:?}"));
        }
        Some(_) if panicked => problems.push(format!("it panicked: {errors:?}")),
        Some(code) if code != 0 && errors.trim().is_empty() => {
            problems.push(format!("code {code} without an error"));
        }
        Some(_) => {}
    }
    problems.extend(checks::after_kill(victim, &Files::Any.into()));
    problems.extend(checks::at_end(victim));
    problems
}

/// A screen answers a prompt, or says why not; a signal ends it.
fn screen(victim: &mut Victim, user: Option<&OtherUser>, limit: &str) -> Vec<String> {
    let number = victim.number;
    victim.number += 1;
    let program = user.map_or(&victim.program, |user| &user.program);
    let program = program.to_string_lossy().into_owned();
    let limited = ["prlimit", limit, &program];
    let words = match user {
        Some(_) => {
            victim.home.give_to(USER);
            [&["setpriv"], &AS_USER[..], &limited].concat()
        }
        None => limited.to_vec(),
    };
    let mut screen = match Terminal::start(&victim.home, Path::new(words[0]), &words[1..]) {
        Ok(screen) => screen,
        Err(error) => return vec![error.to_string()],
    };
    let mut problems = Vec::new();
    if screen.shows(PATIENCE, "Ask, or type") {
        let prompt = format!("GO text {number}");
        screen.write(&prompt);
        screen.shows(PATIENCE, &format!("❯ {prompt}"));
        screen.write("\r");
        let ends = [
            &*format!("done {number}"),
            "temporarily unavailable",
            "no session is open",
        ];
        let is_answered = screen.until(PATIENCE, |screen| {
            ends.iter().any(|end| screen.contains(end))
        });
        let runs = screen.exit(Duration::ZERO).is_none();
        if runs && !is_answered {
            problems.push(format!(
                "neither an answer nor an error:\n{}",
                screen.screen()
            ));
        }
        if runs {
            signal(screen.id(), rustix::process::Signal::TERM);
        }
    }
    if screen.exit(PATIENCE).is_none() {
        problems.push(format!("it does not end:\n{}", screen.screen()));
    }
    let seen = screen.screen();
    if seen.contains("panicked") || seen.contains("internal error") {
        problems.push(format!("it panicked:\n{seen}"));
    }
    problems.extend(checks::after_kill(victim, &Files::Any.into()));
    problems.extend(checks::at_end(victim));
    problems
}
