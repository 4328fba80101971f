//! Commands that a program may run: a part of its arguments, the text of an option, the value of a
//! variable. A text that is no command does no harm, so it needs no permission.

use super::{COUNT_LIMIT, Equivalent, Equivalents};
use crate::known;
use crate::programs::{Container, Program, Script, find, is_wrapper, name_of, runs_arguments};
use crate::shell::{self, Part, Word, is_assignment};

/// Maximum number of words among which a command can begin.
const WORDS_LIMIT: usize = 48;

/// Maximum bytes of a script that are searched for commands.
const SCRIPT_LIMIT: usize = 2_000;

/// Depth up to which commands in the text of an option are read.
const NESTED_LIMIT: usize = 2;

/// Variables that name a script, or contain commands in a special form.
const SCRIPTS: [&str; 5] = ["BASH_ENV", "ENV", "GIT_CONFIG", "PROMPT_COMMAND", "PS4"];

/// Arguments after which a program runs a command.
const STARTS: &[&str] = &[
    "--",
    "dlx",
    "exec",
    "foreach",
    "neww",
    "new-session",
    "new-window",
    "run",
    "split-window",
    "x",
];

/// Adds the values of variables that are commands: `PAGER='rm x' git log`.
pub(super) fn add_values(words: &[Word], depth: usize, others: &mut Equivalents) {
    for word in words.iter().filter(|word| is_assignment(&word.text)) {
        let Some((name, value)) = word.text.split_once('=') else {
            continue;
        };
        others.runs_input |= SCRIPTS.contains(&name) || name.starts_with("GIT_CONFIG_");
        if value.contains(' ') {
            add_text(value, depth, others);
        }
    }
}

/// Adds the commands that the arguments of `words` may run.
pub(super) fn add(words: &[Word], depth: usize, others: &mut Equivalents) {
    let Some((program, arguments)) = words.split_first() else {
        return;
    };
    let name = name_of(&program.text);
    let program = find(name);
    let unnamed = known::unnamed(words);
    let is_dangerous = unnamed.as_ref().is_none_or(|found| !found.is_empty());
    let runs_parts = program.runs_options || is_dangerous;
    if !(runs_arguments(name) || runs_parts) {
        return;
    }
    for place in 0..arguments.len().min(WORDS_LIMIT) {
        let (before, rest) = arguments.split_at(place);
        let text = rest[0].text.as_str();
        add_argument(text, depth, others);
        if !runs_parts {
            continue;
        }
        add_rest(before, rest, program, others);
        let option = before.last().map_or("", |last| last.text.as_str());
        if unnamed.iter().flatten().any(|unnamed| *unnamed == option) {
            add_value(rest, others);
        }
        let value = text.split_once('=').map_or("", |(_, value)| value);
        add_text(value, depth, others);
        if program.script != Script::No && is_dangerous {
            add_script(text, depth, others);
            others.runs_input |= program.script == Script::Awk && computes_command(text);
        }
        if program.aliases {
            add_alias(program.names, text, others);
        }
    }
}

/// Adds the commands in one argument: a short option with its value (`script -qc'rm x'`), or a command line.
fn add_argument(text: &str, depth: usize, others: &mut Equivalents) {
    if text.starts_with('-') && !text.starts_with("--") {
        for start in 2..=4 {
            add_text(text.get(start..).unwrap_or_default(), depth, others);
        }
    }
    if text.contains([' ', ';']) || text.starts_with(['!', '+']) {
        add_text(text, depth, others);
    }
}

/// Adds the arguments `rest` as a command, if a word such as `exec` or `--` comes before them.
fn add_rest(before: &[Word], rest: &[Word], program: &Program, others: &mut Equivalents) {
    let is_start = |word: &Word| STARTS.contains(&word.text.as_str());
    // The input of `xargs` is an argument, unless only the input can be the command.
    let skipped = usize::from(program.container == Container::Image);
    let is_argument = rest[0].from_input && !before.iter().rev().take(skipped + 1).any(is_start);
    if !before.iter().any(is_start) || is_argument {
        return;
    }
    let head = name_of(&rest[0].text);
    let reads = others.feeds_input && super::runs_input(head, &rest[1..], others.feeds_input);
    let is_container = program.container != Container::No;
    others.runs_input |= reads || (is_container && rest[0].from_input);
    push(rest.to_vec(), others);
}

/// Adds the command in the value of an option: `rg --pre rm x`, `gcc -wrapper rm,x`.
fn add_value(rest: &[Word], others: &mut Equivalents) {
    let separated: Vec<&str> = rest[0].text.split(',').collect();
    let mut command = rest.to_vec();
    command.splice(..1, separated.into_iter().map(Word::literal));
    push(rest.to_vec(), others);
    push(command, others);
}

/// Whether a script of awk runs a command that is no single text: `system("r" "m x")`.
fn computes_command(script: &str) -> bool {
    let mut calls = script.match_indices("system");
    let is_computed = |(at, name): (usize, &str)| {
        let call = script[at + name.len()..].trim_start().strip_prefix('(');
        call.is_some_and(|call| {
            let text = call.trim_start().strip_prefix('"');
            let after = text.and_then(|text| text.split_once('"'));
            after.is_none_or(|(_, after)| !after.trim_start().starts_with(')'))
        })
    };
    calls.any(is_computed)
}

/// Adds the commands that a script of sed or awk may run: the text after `e`, a part of `s/a/b/e`, and texts in quotes.
fn add_script(script: &str, depth: usize, others: &mut Equivalents) {
    let limit = script.len().min(SCRIPT_LIMIT);
    let script = script.get(..limit).unwrap_or_default();
    for (at, _) in script.match_indices('e') {
        let line = script[at + 1..].lines().next().unwrap_or_default();
        add_text(line, depth, others);
    }
    for part in script.split(['/', '|', ',', '#', '"', ';', '\n', '{', '}']) {
        add_text(part.trim(), depth, others);
        let address = |char: char| char.is_ascii_digit() || "$,~+! ".contains(char);
        // `e` runs the line that sed has read.
        others.runs_input |= part.trim().trim_start_matches(address) == "e";
    }
}

/// A setting of git can make another subcommand of any word: `git -c alias.x=push x`.
fn add_alias(name: &str, text: &str, others: &mut Equivalents) {
    let text = text.to_ascii_lowercase();
    let Some((_, alias)) = text.split_once("alias.") else {
        others.runs_input |= text.contains("help.autocorrect");
        return;
    };
    match alias.split_once('=') {
        Some((_, value)) if !text.starts_with("--config-env") => {
            let command = [name].into_iter().chain(value.split_whitespace());
            push(command.map(Word::literal).collect(), others);
        }
        // A variable contains the value.
        _ => others.runs_input = true,
    }
}

/// Adds the commands of `text`, if it is a command line, and the commands that they stand for.
fn add_text(text: &str, depth: usize, others: &mut Equivalents) {
    let text = ["+", "exec=", ":", ".", "shell ", "!"]
        .iter()
        .fold(text, |text, start| text.strip_prefix(start).unwrap_or(text));
    if others.list.len() >= COUNT_LIMIT / 2 || text.is_empty() {
        return;
    }
    let line = shell::read(text).unwrap_or_default();
    others.feeds_input |= line.feeds_input;
    for part in line.parts {
        if let Part::Run(words) = part {
            let name = words.iter().find(|word| !word.assigns);
            let runs = name.is_some_and(|name| is_wrapper(name_of(&name.text)));
            push(words.clone(), others);
            if runs && depth < NESTED_LIMIT {
                let mut found = Equivalents {
                    feeds_input: others.feeds_input,
                    ..Equivalents::default()
                };
                // A script that is not understood can run anything.
                others.runs_input |= super::add(&words, depth + 1, &mut found).is_none();
                others.runs_input |= found.runs_input;
                for other in found.list {
                    push(other.words, others);
                }
            }
        }
    }
}

fn push(words: Vec<Word>, others: &mut Equivalents) {
    if others.list.len() < COUNT_LIMIT / 2 {
        others.list.push(Equivalent {
            words,
            is_complete: false,
            is_guess: false,
        });
    }
}
