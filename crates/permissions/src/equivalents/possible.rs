//! Commands that a program may run: a part of its arguments, the text of an option, the value of a variable. What is not a
//! command there is no reason to ask.

use super::names::{can_run, name_of, runs_arguments};
use super::{COUNT_LIMIT, Equivalent, Equivalents};
use crate::programs;
use crate::shell::{self, Part, Word, is_assignment};

/// Words among which a command can begin.
const WORDS_LIMIT: usize = 48;

/// Variables that name a script or contain commands in a form of their own.
const SCRIPTS: [&str; 5] = ["BASH_ENV", "ENV", "GIT_CONFIG", "PROMPT_COMMAND", "PS4"];

/// Arguments after which a program runs a command.
const BEFORE: &[&str] = &[
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
pub(super) fn add_values(words: &[Word], others: &mut Equivalents) {
    for word in words.iter().filter(|word| is_assignment(&word.text)) {
        let Some((name, value)) = word.text.split_once('=') else {
            continue;
        };
        others.runs_input |= SCRIPTS.contains(&name) || name.starts_with("GIT_CONFIG_");
        if value.contains(' ') {
            add_text(value, others);
        }
    }
}

/// Adds what the options of `words` may run.
pub(super) fn add(words: &[Word], others: &mut Equivalents) {
    let name = name_of(&words[0].text);
    let is_dangerous = programs::dangerous(words).is_none_or(|found| !found.is_empty());
    let texts = words[1..].iter().take(WORDS_LIMIT);
    if runs_arguments(name) {
        // `script -qc'rm x'`
        for word in texts.clone().filter(|word| word.text.starts_with('-')) {
            for start in 2..=4 {
                add_text(word.text.get(start..).unwrap_or_default(), others);
            }
        }
    }
    let runs = can_run(name) || (name == "git" && is_dangerous);
    if !runs {
        return;
    }
    for (place, word) in texts.enumerate() {
        let (before, rest) = words[1..].split_at(place);
        if before
            .iter()
            .any(|word| BEFORE.contains(&word.text.as_str()))
        {
            push(rest.to_vec(), others);
        }
        let value = word.text.split_once('=').map_or("", |(_, value)| value);
        add_text(value, others);
        if word.text.contains(' ') || word.text.starts_with('!') {
            add_text(&word.text, others);
        }
        if name == "git" {
            add_alias(&word.text, others);
        }
    }
}

/// A setting of git can make another subcommand of any word: `git -c alias.x=push x`.
fn add_alias(text: &str, others: &mut Equivalents) {
    let text = text.to_ascii_lowercase();
    let Some((_, alias)) = text.split_once("alias.") else {
        others.runs_input |= text.contains("help.autocorrect");
        return;
    };
    match alias.split_once('=') {
        Some((_, value)) if !text.starts_with("--config-env") => {
            let command = ["git"].into_iter().chain(value.split_whitespace());
            push(command.map(Word::literal).collect(), others);
        }
        // The value is in a variable.
        _ => others.runs_input = true,
    }
}

/// Adds the commands of `text`, if it is a command line.
fn add_text(text: &str, others: &mut Equivalents) {
    let text = ["exec=", "shell ", "!"]
        .iter()
        .fold(text, |text, start| text.strip_prefix(start).unwrap_or(text));
    if others.list.len() >= COUNT_LIMIT / 2 || text.is_empty() {
        return;
    }
    for part in shell::read(text).into_iter().flat_map(|line| line.parts) {
        if let Part::Run(words) = part {
            push(words, others);
        }
    }
}

fn push(words: Vec<Word>, others: &mut Equivalents) {
    if others.list.len() < COUNT_LIMIT / 2 {
        others.list.push(Equivalent {
            words,
            is_complete: false,
        });
    }
}
