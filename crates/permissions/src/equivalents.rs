//! Other commands that a command stands for: the one that `sudo` or `xargs` runs, the script of `sh -c`, and the
//! same without assignments, directories and global options. Deny and ask rules apply to all of them.

use crate::shell::{self, Part, Word, is_assignment};

/// Programs that run a command given in their arguments.
const WRAPPERS: &[&str] = &[
    "builtin",
    "busybox",
    "caffeinate",
    "chroot",
    "command",
    "coproc",
    "doas",
    "entr",
    "env",
    "exec",
    "fd",
    "fdfind",
    "find",
    "flock",
    "gdb",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "script",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "unshare",
    "valgrind",
    "watch",
    "xargs",
];
/// Programs that run the text of an argument as a command.
const SHELLS: &[&str] = &[
    "ash", "bash", "dash", "eval", "fish", "ksh", "mksh", "rbash", "sh", "su", "trap", "zsh",
];
/// Depth up to which nested shells are read.
const DEPTH_LIMIT: usize = 4;
/// Commands that one command can stand for; more are unknown.
const COUNT_LIMIT: usize = 200;
/// Words at the start of a command among which global options are skipped.
const OPTIONS_LIMIT: usize = 24;

/// A command that another one stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Equivalent {
    pub words: Vec<Word>,
    /// All its words are there; otherwise options are left out.
    pub is_complete: bool,
}

/// Whether `name` runs a command given in its arguments.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name) || SHELLS.contains(&name)
}

/// Adds the commands that `words` stands for; `None` when they cannot be determined.
pub(super) fn add(words: &[Word], depth: usize, others: &mut Vec<Equivalent>) -> Option<()> {
    let is_set = |word: &Word| word.assigns || is_assignment(&word.text);
    let start = words.iter().position(|word| !is_set(word));
    let Some(words) = start.map(|start| &words[start..]) else {
        return Some(());
    };
    let head = &words[0];
    if !head.is_fixed() || depth > DEPTH_LIMIT {
        return None;
    }
    add_spellings(words, others)?;
    let name = name_of(&head.text);
    if SHELLS.contains(&name) {
        add_scripts(name, &words[1..], depth, others)?;
    }
    if WRAPPERS.contains(&name) {
        for place in 1..words.len() {
            let rest = &words[place..];
            // An option cannot be a command.
            if !rest[0].text.starts_with('-') && !is_assignment(&rest[0].text) {
                add_wrapped(rest, depth, others)?;
            }
        }
    }
    Some(())
}

/// The program without its directory.
pub(super) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

fn push(words: Vec<Word>, is_complete: bool, others: &mut Vec<Equivalent>) -> Option<()> {
    if !others.iter().any(|other| other.words == words) {
        others.push(Equivalent { words, is_complete });
    }
    (others.len() <= COUNT_LIMIT).then_some(())
}

/// Adds `words` as written, without the directory of the program, and without options before and after the first
/// argument, each of which can have a value.
fn add_spellings(words: &[Word], others: &mut Vec<Equivalent>) -> Option<()> {
    push(words.to_vec(), true, others)?;
    let mut named = words.to_vec();
    name_of(&words[0].text).clone_into(&mut named[0].text);
    push(named.clone(), true, others)?;
    for (start, skipped) in without_options(&named, 1) {
        push(skipped.clone(), false, others)?;
        if start < OPTIONS_LIMIT {
            for (_, skipped) in without_options(&skipped, 2) {
                push(skipped, false, others)?;
            }
        }
    }
    Some(())
}

/// `words` without the options at `place`, as often as a word there can be one or the value of one.
fn without_options(words: &[Word], place: usize) -> Vec<(usize, Vec<Word>)> {
    let is_option = |word: &Word| word.text.starts_with(['-', '+']);
    let mut found = Vec::new();
    if place >= words.len() {
        return found;
    }
    let mut at = place;
    let mut is_value = false;
    while let Some(word) = words.get(at).filter(|_| at < place + OPTIONS_LIMIT) {
        if is_option(word) {
            is_value = !word.text.contains('=');
        } else if std::mem::take(&mut is_value) {
            found.push((at, without(words, place, at)));
        } else {
            break;
        }
        at += 1;
    }
    found.push((at, without(words, place, at)));
    found
}

fn without(words: &[Word], start: usize, end: usize) -> Vec<Word> {
    [&words[..start], &words[end..]].concat()
}

/// The position of the script depends on the options, so every argument is a candidate.
fn add_scripts(
    name: &str,
    arguments: &[Word],
    depth: usize,
    others: &mut Vec<Equivalent>,
) -> Option<()> {
    if arguments.iter().any(|word| !word.is_fixed()) {
        return None;
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let complete = (name == "eval").then(|| texts.join(" "));
    let scripts = texts
        .iter()
        .filter(|text| {
            text.contains([
                ' ', ';', '|', '&', '$', '`', '\n', '<', '>', '\'', '"', '\\',
            ])
        })
        .map(|text| (*text).to_owned());
    for script in scripts.chain(complete) {
        for part in shell::read(&script)?.parts {
            if let Part::Run(words) = part {
                push(words.clone(), true, others)?;
                add(&words, depth + 1, others)?;
            }
        }
    }
    Some(())
}

/// `add` for an argument of a wrapper, which is a command or something else.
fn add_wrapped(words: &[Word], depth: usize, others: &mut Vec<Equivalent>) -> Option<()> {
    let head = &words[0];
    if head.dynamic {
        return None;
    }
    let name = name_of(&head.text);
    if head.is_fixed() && is_wrapper(name) {
        return add(words, depth + 1, others);
    }
    add_spellings(words, others)
}
