//! Compares the commands that the reader finds with the commands that bash runs.
//!
//! bash runs generated lines in an empty folder without a `PATH`, and its handler for unknown
//! commands reports the words of each. The reader must find every command that bash runs.

#![expect(clippy::disallowed_methods, reason = "a test runs bash")]

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use super::{CommandLine, GLOB, HOLE, Part, Word, read};

/// Number of lines that one process of bash runs.
const BATCH: usize = 500;

/// Runs each line of the file `lines` in a subshell, and reports `number`, the count of words, and the words of each
/// command, with `\1` for newlines, after which bash would write in two steps. A trap ends endless loops.
const SCRIPT: &str = r#"
exec 9>&1 >/dev/null 2>&1 </dev/null
PATH=/nonexistent HOME='~'
command_not_found_handle() { printf '%s\0' "$NUMBER" "$#" "${@//$'\n'/$'\1'}" >&9; case $1 in t*) return 0;; esac; return 1; }
NUMBER=0
set -T
while IFS= read -r -d '' LINE <&8; do
  ( trap '((++COUNT > 80)) && exit' DEBUG; eval "$LINE"; wait ) 8<&-
  NUMBER=$((NUMBER + 1))
done 8<lines
"#;

/// Fragments of which lines are made. `a` to `e` fail, `t` succeeds; nothing here names a real
/// program.
const PIECES: &[&str] = &[
    "a",
    "b",
    "c x",
    "d -o",
    "t",
    "e 'q r'",
    "t \"$v\"",
    "a $v",
    "b ${v}",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    ";;",
    "|&",
    "(",
    ")",
    "{ ",
    "; }",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "\\\n",
    " \\\n",
    "`",
    "$",
    "$(",
    "$((",
    "))",
    "${",
    "${v",
    "$[",
    "]",
    "$'",
    "$\"",
    "<",
    ">",
    "<<",
    "<<-",
    "<<<",
    "<(",
    ">(",
    "2>",
    ">&2",
    "<<E\n",
    "\nE\n",
    "\n\tE\n",
    "<<'E'\n",
    "<<-\"E\"\n",
    "\nEa\n",
    "\nE)\n",
    "<<\\E\n",
    "<<E",
    "E",
    "if ",
    "then ",
    "fi",
    "else ",
    "elif ",
    "while ",
    "until ",
    "do ",
    "done",
    "for ",
    "in ",
    "for v in x y; do ",
    "; done",
    "for v do ",
    "case ",
    "esac",
    "in",
    "function ",
    "f()",
    "()",
    "time ",
    "! ",
    "!",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    "test ",
    "-v ",
    "v=1",
    "v=1 ",
    "v=(",
    "v[1]=",
    "v[",
    "+=",
    "#",
    " #",
    "'#'",
    "$#",
    "$@",
    "$*",
    "$?",
    "$$",
    "$!",
    "$-",
    "~",
    "*",
    "?",
    "[x]",
    "{a,b}",
    "{1..3}",
    "{Z..a}",
    "{a,",
    "{v}>f",
    "-",
    "--",
    "=",
    ",",
    "..",
    ":",
    "@P",
    ":-",
    "%",
    "\\}",
    "\\'",
    "\\\"",
    "\\$",
    "\\`",
    "a[$(b)]",
    "'a[$(b)]'",
    "read ",
    "printf ",
    "printf -v ",
    "export ",
    "declare ",
    "unset ",
    "let ",
    "set ",
    "echo ",
    "command ",
    "select ",
    "coproc ",
    "é",
    "\u{a0}",
    "RANDOM=",
    "OPTIND=",
    "-eq ",
    "@(",
    "+(",
    "in x",
    "\r",
    "\u{1}",
    "E\n",
];

/// Complete commands, with `%` for a nested one and `@` for a word.
const SHAPES: &[&str] = &[
    "%",
    "% ; %",
    "% && %",
    "% | %",
    "% & %",
    "%\n%",
    "(%)",
    "{ %; }",
    "! %",
    "if %; then %; else %; fi",
    "if %\nthen %\nfi",
    "while a; do %; done",
    "until t; do %; done",
    "for v in @ @; do %; done",
    "for v in @\ndo\n%\ndone",
    "a @ @",
    "b @",
    "t @",
    "c",
    "a $(%) @",
    "b \"$(%)\"",
    "c \"x $(%) y\"",
    "d `a @`",
    "e \"`b`\"",
    "t <(%)",
    "a > f",
    "b <<< @",
    "c 2>&1",
    "d >f <g",
    "a <<'E'\n@\nE\n%",
    "b <<E\nx\nE",
    "c <<-'E'\n\t@\n\tE\n%",
    "t \"$(a <<'E'\n@ (x)\nE\n)\"",
    "a <<'E' && %\n@\nE",
    "a # @ %\n%",
    "echo @ | %",
    "v=@ a @",
    "v=@; %",
    "[ -n \"@\" ] && %",
    "[[ @ == @ ]] || %",
    "test @ && %",
    "printf @ @",
    "a \\\n @",
    "time %",
    "a @; # @\n%",
    "% |& %",
    "echo $(%; %)",
    "t && { %\n%; }",
    "a@ @",
    "a '@' \"@\"",
    "read v; %",
    "export v=@; %",
    "command a @",
];

/// A small generator of numbers, the same at every run.
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

    fn word(&mut self) -> String {
        let count = 1 + self.below(3);
        let plain = self.below(3) > 0;
        let words = [
            "x",
            "'y z'",
            "\"$v\"",
            "$v",
            "${v:-x y}",
            "\"${v%x}-o\"",
            "${v//x/ c}",
            "${v+*}",
            "${#v}",
            "-o",
            "*",
            "'a b",
            "$(a)",
            "\\ ",
            "'$(c)'",
            "\"\\$(c)\"",
            "{x,y}",
            "~",
            "E",
        ];
        (0..count)
            .map(|_| {
                if plain {
                    self.of(&words[..6])
                } else {
                    self.of(&words)
                }
            })
            .collect()
    }

    fn command(&mut self, depth: usize) -> String {
        let shape = if depth > 3 {
            self.of(&["a @", "b", "t @ @"])
        } else {
            self.of(SHAPES)
        };
        let mut command = String::new();
        for char in shape.chars() {
            match char {
                '%' => command.push_str(&self.command(depth + 1)),
                '@' => command.push_str(&self.word()),
                char => command.push(char),
            }
        }
        command
    }

    fn line(&mut self) -> String {
        if self.below(4) == 0 {
            let count = 2 + self.below(10);
            return (0..count).map(|_| self.of(PIECES)).collect();
        }
        let mut line = self.command(0);
        for _ in 0..self.below(4) {
            let places: Vec<usize> = line
                .char_indices()
                .map(|(at, _)| at)
                .chain([line.len()])
                .collect();
            let at = places[self.below(places.len())];
            if self.below(3) == 0 && at < line.len() {
                line.remove(at);
            } else {
                line.insert_str(at, self.of(PIECES));
            }
        }
        line
    }
}

/// The words of every command that bash runs, with the number of the line.
fn run(lines: &[String]) -> Vec<(usize, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let joined: String = lines
        .iter()
        .flat_map(|line| [line.as_str(), "\0"])
        .collect();
    fs::write(folder.path().join("lines"), joined).unwrap();
    let mut child = Command::new("bash")
        .args(["--norc", "-c", SCRIPT])
        .current_dir(&folder)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    child.wait().unwrap();
    let text = String::from_utf8_lossy(&bytes).replace('\u{1}', "\n");
    let mut fields = text.split('\0');
    let mut runs = Vec::new();
    while let (Some(number), Some(count)) = (
        fields.next().filter(|field| !field.is_empty()),
        fields.next(),
    ) {
        let words = fields.by_ref().take(count.parse().unwrap());
        runs.push((number.parse().unwrap(), words.map(str::to_owned).collect()));
    }
    runs
}

/// Whether the reader found the command `ran`.
fn is_found(line: &CommandLine, ran: &[String]) -> bool {
    let ran: Vec<char> = ran.join("\0").chars().collect();
    line.parts.iter().any(|part| match part {
        Part::Run(words) => {
            // `time` and `command` run the rest, except where bash treats them as names.
            let is_prefix =
                |word: &Word| word.assigns || ["time", "command", "-p"].contains(&&*word.text);
            let prefixes = words.iter().take_while(|word| is_prefix(word)).count();
            (0..=prefixes).any(|start| fits(&pattern(&words[start..]), &ran))
        }
        _ => false,
    })
}

/// The words as a pattern, separated by null characters.
fn pattern(words: &[Word]) -> Vec<char> {
    let mut pattern = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let vanishes = word.splits && word.text.chars().all(|char| char == HOLE);
        if place > 0 && !vanishes {
            pattern.push('\0');
        }
        pattern.extend(word.text.chars());
    }
    pattern
}

fn fits(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((&HOLE | &GLOB, rest)) => (0..=text.len()).any(|length| fits(rest, &text[length..])),
        Some((first, rest)) => text.first() == Some(first) && fits(rest, &text[1..]),
    }
}

/// Generates lines until `count` of them are understood, and lists the lines of which bash runs another command.
fn surprises(seed: u64, count: usize) -> String {
    let mut random = Random(seed);
    let mut report = String::new();
    let mut left = count;
    while left > 0 {
        let mut lines = Vec::new();
        let mut understood = Vec::new();
        while lines.len() < BATCH.min(left) {
            let line = random.line();
            if let Some(found) = read(&line) {
                lines.push(line);
                understood.push(found);
            }
        }
        for (number, words) in run(&lines) {
            if !is_found(&understood[number], &words) {
                let _ = writeln!(
                    report,
                    "{:?}\n  bash ran {words:?}\n  found {:?}",
                    lines[number], understood[number].parts
                );
            }
        }
        left -= lines.len();
    }
    report
}

#[test]
fn bash_runs_nothing_that_the_reader_did_not_find() {
    if !osier_testing::skip::has(&["bash"], "apt install bash") {
        return;
    }
    let count = std::env::var("OSIER_SHELL_LINES").map_or(1000, |count| count.parse().unwrap());
    let seed = std::env::var("OSIER_SHELL_SEED").map_or(1, |seed| seed.parse().unwrap());
    assert_eq!(surprises(seed * 0x9E37_79B9, count), "");
}
