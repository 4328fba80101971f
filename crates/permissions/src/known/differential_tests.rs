//! Runs generated lines that need no permission under strace: they execute only programs of the table, write nothing but the
//! index of git, and connect to nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "a test runs bash and writes its own files"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use osier_protocol::PermissionMode;
use serde_json::json;

use super::options::words;
use super::table::{FORMS, SETS};
use crate::{Permissions, RuleLists, Verdict};

/// Number of generated lines, of which other shells run a tenth. `OSIER_KNOWN_LINES=50000` runs
/// more, and `OSIER_KNOWN_SEED=2` others.
const LINES: usize = 5000;
/// Number of waiting lines that run at the same time.
const AT_ONCE: usize = 16;
/// Programs that take half a second to start, and how many lines run with each of them.
const SLOW: [&str; 3] = ["pip", "pip3", "yq"];
const MOST_SLOW: usize = 1;
/// Time limits in seconds: of all lines, and of a line that waits.
const LONGEST: u32 = 300;
const SHORT: u32 = 2;

/// Words of all kinds, also words that no row has.
const WORDS: &[&str] = &[
    "README.md",
    "src/main.rs",
    "src",
    "nested",
    "bare",
    "docs",
    ".",
    "..",
    "../outside",
    "/etc/hostname",
    "*",
    "src/*",
    "*.md",
    "$HOME",
    "\"$HOME/x\"",
    "$x",
    "\"$x\"",
    "'a b'",
    "HEAD",
    "HEAD~1",
    "main",
    "HEAD:README.md",
    "-",
    "--",
    "1",
    "5",
    "fn",
    "'s/a/b/'",
    "'1,2p'",
    "'{print $1}'",
    ".name",
    "-name",
    "'*.rs'",
    "x=1",
    "@list",
    "host:a",
    "$(echo README.md)",
    "`echo -o`",
    "$((1+2))",
    "{a,b}",
    "+%F",
    "~",
    "out",
    "package.json",
    "<(echo a)",
    "list",
    "show",
    "a.tar",
];
/// Arguments that write, run or load something.
const ATTACKS: &[&str] = &[
    "-o out",
    "-oout",
    "--output=out",
    "--output out",
    "-exec touch pwned ;",
    "-execdir touch pwned +",
    "-delete",
    "-fprint out",
    "--pre=./evil",
    "--pre ./evil",
    "-c core.pager=./evil",
    "-c core.fsmonitor=./evil",
    "--ext-diff",
    "--textconv",
    "-i",
    "-w out",
    "--to-command=./evil",
    "-f evil",
    "-I ./evil",
    "--compress-program=./evil",
    "-T .",
    "-C nested",
    "-C bare",
    "-C .",
    "-C docs",
    "--exec-path=.",
    "-O./evil",
    "-x",
    "-X ./evil",
    "-R -L 1 -H x",
    "--plugin ./evil",
    "-s 2020-01-01",
    "--files0-from=list",
    "--config evil",
    "-F f",
    "--show-signature",
    "--format=%G?",
    "-d",
    "-D",
    "-m x",
    "--unset a",
];
const BEFORE: &[&str] = &[
    "",
    "",
    "",
    "",
    "CI=1 ",
    "LC_ALL=C ",
    "cd src && ",
    "cd nested && ",
    "cd docs; ",
    "cd .. && ",
    "x=1; ",
    "PATH=. ",
    "! ",
    "GIT_DIR=bare ",
    "if true; then ",
    "for x in README.md src/main.rs; do ",
    "for x in -o out; do ",
    "echo a | ",
    "( ",
    "{ ",
    "timeout 5 ",
    "time ",
    "nice -n 1 ",
    "env CI=1 ",
    "xargs ",
    "xargs -I{} ",
];
const AFTER: &[&str] = &[
    "",
    "",
    "",
    "",
    " 2>&1",
    " > /dev/null",
    " > out",
    " | head -5",
    " | sort",
    " | xargs echo",
    " | head -3 | xargs -n1 ls",
    " | head -3 | xargs -I{} stat {}",
    " | grep -v x | xargs head -1",
    " | xargs -0 grep -n fn",
    " -exec head -1 {} +",
    " -exec grep fn {} ;",
    " | xargs cat",
    " | timeout 5 head -3",
    " <<E\n$x $HOME\nE",
    " && pwd",
    " || true",
    "; ls",
    " < README.md",
    " <<< x",
    " | tee out",
    " 2>/dev/null",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// An option of the row, with a value if it has one.
    fn option(&mut self, list: &'static str) -> String {
        let all: Vec<&str> = words(list).filter(|word| !word.starts_with('@')).collect();
        if all.is_empty() {
            return String::new();
        }
        let word = self.of(&all).trim_end_matches('!');
        let name = word
            .trim_end_matches(['r', 'd', 'w'])
            .trim_end_matches([':', '?']);
        let is_group = name == word && !name.starts_with("--") && name.len() > 2;
        if is_group && !list.contains("@words") {
            let letters: Vec<char> = name.chars().skip(1).collect();
            return format!("-{}", letters[self.below(letters.len())]);
        }
        if word.contains(':') {
            let separator = if name.starts_with("--") { "=" } else { " " };
            return format!("{name}{separator}{}", self.of(WORDS));
        }
        name.to_owned()
    }

    fn command(&mut self) -> String {
        let (names, _, list, _) = FORMS[self.below(FORMS.len())];
        let names: Vec<&str> = names.split('|').collect();
        let mut command = self.of(&names).to_owned();
        if command == "[" || command == "[[" {
            return format!("[ -e {} ]", self.of(WORDS));
        }
        for _ in 0..self.below(4) {
            let word = match self.below(8) {
                0 => self.of(ATTACKS).to_owned(),
                1..=3 => self.option(list),
                _ => self.of(WORDS).to_owned(),
            };
            let _ = write!(command, " {word}");
        }
        command
    }

    fn line(&mut self) -> String {
        let before = self.of(BEFORE);
        let end = match before {
            "if true; then " => "; fi",
            "( " => " )",
            "{ " => "; }",
            before if before.starts_with("for") => "; done",
            _ => "",
        };
        let mut line = format!("{before}{}", self.command());
        if self.below(4) == 0 {
            let joint = self.of(&[" | ", " && ", "; "]);
            let _ = write!(line, "{joint}{}", self.command());
        }
        format!("{line}{}{end}", self.of(AFTER))
    }
}

/// A repository with others hidden in it, and programs that must not run.
fn project(folder: &Path) -> PathBuf {
    let root = folder.join("project");
    let script = "\
        set -e; mkdir -p src nested docs bare ../outside; git init -q -b main .; printf 'fn main() {}\\n' > src/main.rs; \
        printf '# a\\nb\\n' > README.md; printf '{\"name\": 1}\\n' > package.json; printf 'README.md\\n' > list; \
        printf '#!/bin/sh\\ntouch pwned\\n' > evil; chmod +x evil; tar cf a.tar README.md; \
        git add -A; git -c user.name=a -c user.email=a@b commit -qm one; \
        git init -q nested; git -C nested config core.fsmonitor \"$PWD/evil\"; \
        git init -q --bare bare; git -C bare config core.fsmonitor \"$PWD/evil\"; git -C bare config core.bare false; \
        git -C bare config core.worktree \"$PWD/bare\"; cp -r bare/. docs/";
    fs::create_dir_all(&root).unwrap();
    let done = Command::new("bash")
        .args(["-c", script])
        .current_dir(&root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdout(Stdio::null())
        .status();
    assert!(done.unwrap().success());
    root
}

/// Whether a line can run without an end: it gets a time limit and a recorder of its own.
fn may_hang(line: &str) -> bool {
    ["tail", "sleep", "shuf", "wait", "read", "top", "lsof"]
        .iter()
        .any(|program| line.contains(program))
}

/// The lines, but only some of those with a program that starts slowly.
fn with_few_slow(lines: &[String]) -> Vec<&String> {
    let mut seen = [0; SLOW.len()];
    let is_run = |line: &&String| {
        let place = SLOW
            .iter()
            .position(|slow| line.split([' ', ';', '(']).any(|word| word == *slow));
        place.is_none_or(|place| {
            seen[place] += 1;
            seen[place] <= MOST_SLOW
        })
    };
    lines.iter().filter(is_run).collect()
}

/// The program that reads lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Bash,
    Zsh,
    Fish,
}

impl Reader {
    fn program(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["--norc"],
            // In an interactive shell, `#` is no comment.
            Self::Zsh => &["-f", "-i", "-s"],
            Self::Fish => &["--no-config"],
        }
    }

    /// A script that runs each line. Before each line it opens a missing file whose name is the
    /// number of the line.
    fn script(self, lines: &[String], root: &Path) -> String {
        let mut script = String::new();
        for (number, line) in lines.iter().enumerate() {
            let quoted = line.replace('\\', "\\\\").replace('\'', "\\'");
            let _ = match self {
                Self::Bash => {
                    let quoted = line.replace('\'', "'\\''");
                    writeln!(
                        script,
                        ": < /line/{number}\n( eval '{quoted}' ) < /dev/null > /dev/null 2>&1"
                    )
                }
                Self::Zsh => writeln!(
                    script,
                    ": < /line/{number}\n(\n{line}\n) < /dev/null > /dev/null 2>&1"
                ),
                // Fish has no subshells: `exit` would end all.
                Self::Fish => writeln!(
                    script,
                    "cd {}; true < /line/{number}\n{} '{quoted}' < /dev/null > /dev/null 2>&1",
                    root.display(),
                    if line.contains("exit") || line.contains("return") {
                        "fish --no-config -c"
                    } else {
                        "eval"
                    },
                ),
            };
        }
        let _ = writeln!(script, "true < /line/{}", lines.len());
        script
    }

    /// Starts the lines under strace, which reports to a file with this number, for at most `seconds`.
    fn start(self, lines: &[String], root: &Path, number: usize, seconds: u32) -> Trace {
        let folder = root.parent().unwrap();
        let script = folder.join(format!("script-{number}"));
        let output = folder.join(format!("trace-{number}"));
        fs::write(&script, self.script(lines, root)).unwrap();
        let calls = "trace=execve,connect,openat,open,creat,truncate,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,\
            rmdir,chmod,fchmodat,link,linkat,symlink,symlinkat,chown,fchownat,mknod,mknodat,sethostname,settimeofday,clock_settime";
        let strace = [
            "-f",
            "-qq",
            "-y",
            "-s",
            "200",
            "-e",
            "signal=none",
            "-e",
            calls,
            "-o",
        ];
        let started = Command::new("strace")
            .arg("--seccomp-bpf")
            .args(strace)
            .arg(&output)
            .args(["timeout", "-k", "1", &seconds.to_string(), self.program()])
            .args(self.arguments())
            .current_dir(root)
            .env("HOME", folder.join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.bareRepository")
            .env("GIT_CONFIG_VALUE_0", "explicit")
            .stdin(fs::File::open(script).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Trace {
            reader: self,
            child: started.unwrap(),
            output,
            last: (seconds == LONGEST).then_some(lines.len()),
        }
    }

    /// Runs the lines; the waiting ones run at the same time. Returns the calls that the table does
    /// not allow, each with its line.
    fn violations(self, lines: &[String], root: &Path) -> Vec<(String, String)> {
        let is_waiting = |line: &&String| may_hang(line);
        let lines = with_few_slow(lines).into_iter();
        let (waiting, others): (Vec<&String>, Vec<&String>) = lines.partition(is_waiting);
        let others: Vec<String> = others.into_iter().cloned().collect();
        let found = self.start(&others, root, 0, LONGEST).violations(root);
        let named = |found: Vec<(usize, String)>, lines: &[String]| {
            let named = found.into_iter();
            named
                .map(|(line, call)| (lines[line].clone(), call))
                .collect::<Vec<_>>()
        };
        let mut all = named(found, &others);
        for some in waiting.chunks(AT_ONCE) {
            let started: Vec<(Trace, &String)> = (some.iter().enumerate())
                .map(|(place, line)| {
                    (
                        self.start(&[(*line).clone()], root, place + 1, SHORT),
                        *line,
                    )
                })
                .collect();
            for (trace, line) in started {
                all.extend(named(trace.violations(root), std::slice::from_ref(line)));
            }
        }
        all
    }
}

/// Lines that run under strace.
struct Trace {
    reader: Reader,
    child: Child,
    output: PathBuf,
    /// The number after the last line; the run must reach it.
    last: Option<usize>,
}

impl Trace {
    /// Waits for the end. Returns the calls that the table does not allow, each with the number of its line.
    fn violations(mut self, root: &Path) -> Vec<(usize, String)> {
        self.child.wait().unwrap();
        let trace = String::from_utf8_lossy(&fs::read(self.output).unwrap()).into_owned();
        let last = format!("\"/line/{}\"", self.last.unwrap_or(0));
        assert!(
            trace.contains(&last),
            "{:?} did not run all lines",
            self.reader
        );
        violations(&trace, root)
    }
}

/// Further programs that the lines, or the programs of the table, start.
const OTHERS: [&str; 23] = [
    "bash",
    "sh",
    "dash",
    "timeout",
    "xargs",
    "time",
    "nice",
    "env",
    "gzip",
    "bzip2",
    "xz",
    "zstd",
    "git-lfs",
    "mawk",
    "perl",
    "dpkg-query",
    "tar",
    "envsubst",
    "git-bisect",
    "git-submodule",
    "git-sh-i18n--envsubst",
    "gettext",
    "gettext.sh",
];

/// The calls that the table does not allow, each with the number of the line during which it happened.
fn violations(trace: &str, root: &Path) -> Vec<(usize, String)> {
    let programs: BTreeSet<&str> = FORMS
        .iter()
        .flat_map(|(names, ..)| names.split('|'))
        .filter_map(|name| name.split(' ').next())
        .chain(OTHERS)
        .collect();
    let git = format!("{}/.git/", root.display());
    let home = format!("{}/home/", root.parent().unwrap().display());
    let mut line = None;
    let mut found = Vec::new();
    for call in trace.lines() {
        let call = call.trim_start_matches(|char: char| char.is_ascii_digit() || char == ' ');
        let failed = call.contains(" = -1 ");
        if let Some((_, rest)) = call.split_once("\"/line/") {
            let number = rest.split('"').next();
            line = number.and_then(|number| number.parse().ok());
            continue;
        }
        let Some(line) = line else { continue };
        let is_violation = if let Some(rest) = call.strip_prefix("execve(\"") {
            let program = rest.split('"').next().unwrap_or_default();
            let (folder, name) = program.rsplit_once('/').unwrap_or(("", program));
            let is_system = [
                "/bin",
                "/usr/bin",
                "/usr/local/bin",
                "/usr/lib/git-core",
                "/usr/sbin",
                "/sbin",
            ]
            .contains(&folder);
            !(failed || is_system && programs.contains(name))
        } else if call.starts_with("connect(") {
            call.contains("AF_INET")
        } else if call.starts_with("open") || call.starts_with("creat(") {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "creat("];
            let is_sink = [
                "\"/dev/null\"",
                "\"/dev/tty\"",
                "\"/tmp/sort",
                "\"/tmp/tac",
                "O_TMPFILE",
            ]
            .iter()
            .any(|sink| call.contains(sink));
            let is_git = call.contains(&git) || call.contains("\".git/");
            !failed && writes.iter().any(|flag| call.contains(flag)) && !is_sink && !is_git
        } else {
            !failed
                && call.contains('(')
                && !call.starts_with(['+', '-', '<'])
                && !call.contains(".git/")
                && !call.contains("/tmp/sort")
                && !call.contains("/tmp/tac")
        };
        // Writing the history of fish is allowed.
        if is_violation && !call.contains(&home) {
            found.push((line, call.to_owned()));
        }
    }
    found
}

/// The permissions of a project in the mode `ask`.
fn permissions(root: &Path, allow: &[String]) -> Permissions {
    let rules = RuleLists {
        allow,
        ..RuleLists::default()
    };
    let store = "/nonexistent/permissions.json".into();
    Permissions::new(root, store, PermissionMode::Ask, rules)
}

fn is_allowed(permissions: &Permissions, line: &str) -> bool {
    let arguments = json!({"command": line});
    permissions.decide("bash", &arguments, None, false) == Verdict::Allow
}

/// Generates `count` lines and runs those that need no permission with the rules `allow`. Returns
/// how many ran, and the calls that they must not make.
fn run_harmless(seed: u64, count: usize, allow: &[String]) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let root = project(&folder);
    let mut random = Random(0x9E37_79B9_u64.wrapping_mul(seed));
    let lines = (0..count).map(|_| random.line());
    let permissions = permissions(&root, allow);
    let lines: Vec<String> = lines
        .filter(|line| is_allowed(&permissions, line))
        .collect();
    let found = Reader::Bash.violations(&lines, &root).into_iter();
    let mut found: Vec<String> = found
        .map(|(line, call)| format!("{call}\n    in {line}"))
        .collect();
    for written in ["pwned", "out", "../outside/out"] {
        if root.join(written).exists() {
            found.push(format!("{written} was written"));
        }
    }
    (lines.len(), found)
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn harmless_lines_run_write_and_connect_nothing() {
    if !osier_testing::skip::has(&["strace"], "apt install strace")
        || !osier_testing::skip::has(&["git"], "apt install git")
    {
        return;
    }
    let count = number("OSIER_KNOWN_LINES").unwrap_or(LINES);
    let seed = number("OSIER_KNOWN_SEED").unwrap_or(1) as u64;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let seed = seed * 1000 + part as u64;
                scope.spawn(move || run_harmless(seed, count.div_ceil(threads), &[]))
            })
            .collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap());
        parts.collect()
    });
    let found: Vec<String> = parts.iter().flat_map(|(_, found)| found.clone()).collect();
    assert_eq!(found, Vec::<String>::new(), "{}", found.join("\n"));
    // Generated lines of both kinds.
    let run: usize = parts.iter().map(|(run, _)| run).sum();
    assert!(run > count / 5 && run < count * 4 / 5, "{run} of {count}");
}

/// Lines that the table does not allow, each with a call that must be recorded.
const WRONG: &[(&str, &str)] = &[
    ("touch pwned", "O_CREAT"),
    ("sort -o out README.md", "O_CREAT"),
    ("echo x > out", "O_CREAT"),
    ("find . -name list -exec ./evil {} \\;", "execve"),
    ("git -C nested status", "evil"),
    ("tar xf a.tar -C src", "O_CREAT"),
    ("timeout 5 tail -n1 README.md > out", "O_CREAT"),
    ("sleep 1; rm list", "unlink"),
    ("exec 3<>/dev/tcp/127.0.0.1/9", "connect"),
    ("mkdir made", "mkdir"),
    ("ln -s list link", "symlink"),
    ("chmod 600 list", "chmod"),
];

/// The recorder finds the calls that a wrong row of the table would permit.
#[test]
fn calls_that_the_table_does_not_allow_are_recorded() {
    if !osier_testing::skip::has(&["strace", "git"], "apt install strace git") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = project(&folder.path().canonicalize().unwrap());
    let permissions = permissions(&root, &[]);
    let lines: Vec<String> = WRONG.iter().map(|(line, _)| (*line).to_owned()).collect();
    let found = Reader::Bash.violations(&lines, &root);
    for (line, call) in WRONG {
        assert!(!is_allowed(&permissions, line), "{line}");
        let is_it = |(found, recorded): &(String, String)| found == line && recorded.contains(call);
        assert!(found.iter().any(is_it), "{line}: {found:#?}");
    }
}

/// A rule acts like a wrong row: generated lines with `tee` run, and are caught.
#[test]
fn a_wrong_row_is_caught() {
    if !osier_testing::skip::has(&["strace", "git"], "apt install strace git") {
        return;
    }
    let (_, found) = run_harmless(1, 300, &["bash(tee *)".to_owned()]);
    let is_caught = |call: &String| call.contains("O_CREAT") && call.contains("tee out");
    assert!(found.iter().any(is_caught), "{found:#?}");
}

/// Lines that only read in bash, and write in the other shell.
const FOREIGN: [(Reader, &str); 3] = [
    (Reader::Zsh, "echo x # ; touch pwned"),
    (Reader::Zsh, "echo a =(touch pwned)"),
    (Reader::Fish, "echo 'a\\' 'b; touch pwned #'"),
];

/// Other shells read other languages: none of the lines runs in them without permission, whatever
/// rules say about their programs. This is needed: some of the lines write there.
#[test]
fn no_line_of_another_shell_runs_unasked() {
    if !osier_testing::skip::has(&["git"], "apt install git") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let root = project(&folder);
    let allow = ["echo", "ls", "git", "cat", "grep"].map(|name| format!("bash({name} *)"));
    let permissions = permissions(&root, &allow);
    let mut random = Random(0x9E37_79B9);
    let generated = std::iter::repeat_with(|| random.line());
    // `tail -f` does not end.
    let generated = generated.filter(|line| !line.contains("tail"));
    let generated = generated.filter(|line| is_allowed(&permissions, line));
    let mut lines: Vec<String> = generated
        .take(number("OSIER_KNOWN_LINES").unwrap_or(LINES) / 10)
        .collect();
    lines.extend(FOREIGN.map(|(_, line)| line.to_owned()));
    let mut wrong = Vec::new();
    for line in &lines {
        let quoted = format!("'{}'", line.replace('\'', "'\\''"));
        for reader in [
            format!("zsh -c {quoted}"),
            format!("fish -c {quoted}"),
            format!("tcsh -c {quoted}"),
            format!("echo {quoted} | zsh"),
            format!("timeout 5 fish <<< {quoted}"),
            format!("env CI=1 zsh -fc {quoted}"),
        ] {
            if is_allowed(&permissions, &reader) {
                wrong.push(reader);
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    if !osier_testing::skip::has(&["strace"], "apt install strace") {
        return;
    }
    let readers = [Reader::Zsh, Reader::Fish];
    let readers = readers
        .into_iter()
        .filter(|reader| osier_testing::skip::has(&[reader.program()], "apt install zsh fish"));
    let lines = &lines;
    std::thread::scope(|scope| {
        for reader in readers {
            scope.spawn(move || writes_with(reader, lines));
        }
    });
}

/// Runs the lines in another shell, in which the foreign ones write.
fn writes_with(reader: Reader, lines: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let root = project(&folder.path().canonicalize().unwrap());
    let found = reader.violations(lines, &root);
    let writing: BTreeSet<&str> = found.iter().map(|(line, _)| &**line).collect();
    for (_, line) in FOREIGN.iter().filter(|(shell, _)| *shell == reader) {
        assert!(
            writing.contains(line),
            "{reader:?} only reads with `{line}`"
        );
    }
}

/// Each word of the table has the form that the module documentation describes.
#[test]
fn lists_of_options_are_well_formed() {
    let lists = FORMS
        .iter()
        .map(|form| form.2)
        .chain(SETS.iter().map(|set| set.1));
    let mut wrong = Vec::new();
    for list in lists {
        let has_words = list.contains("@words");
        for word in list.split_whitespace() {
            let bare = word.trim_end_matches('!');
            let name = bare.trim_end_matches(['r', 'd', 'w']);
            let name = if name.ends_with(':') { name } else { bare };
            let name = name.trim_end_matches([':', '?']);
            let is_valued = name != bare;
            let is_mark = word.starts_with('@');
            let is_long = name.starts_with("--");
            let is_short = name.starts_with('-') && !is_long;
            let is_fine = is_mark
                || has_words
                || word == "--"
                || word == "*"
                || (is_long && !name.contains(':'))
                || (is_short && (!is_valued || name.len() == 2 || name.len() > 3))
                || ["(", ")", "verify", "write"].contains(&word)
                || word.chars().all(|char| char.is_ascii_lowercase());
            if !is_fine {
                wrong.push(word);
            }
        }
    }
    assert_eq!(wrong, Vec::<&str>::new());
}
