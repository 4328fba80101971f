//! Other commands that a command stands for: the one that `sudo` or `xargs` runs, the script of `sh
//! -c`, and the same command without assignments, directories and global options. Deny and ask
//! rules apply to all of them.

mod completed;
mod inputs;
mod possible;
mod readers;

use crate::programs::{
    Adds, find, is_foreign_shell, is_shell, is_wrapper, name_of, runs_arguments, runs_code,
};
use crate::shell::{self, Part, Word, is_assignment};

/// Depth up to which nested shells are read.
const DEPTH_LIMIT: usize = 4;
/// Maximum number of commands that one command can stand for; with more, the command is not
/// understood.
const COUNT_LIMIT: usize = 200;
/// Maximum number of words at the start of a command in which global options are skipped.
const OPTIONS_LIMIT: usize = 24;
/// Maximum number of texts and calls in the code of an argument.
const CODE_LIMIT: usize = 24;

/// The commands that another one stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Equivalents {
    /// Whether the line connects the input of a command to a file, a text or another command.
    pub feeds_input: bool,
    pub list: Vec<Equivalent>,
    /// Whether the command also runs text that it reads, or text in another language.
    pub runs_input: bool,
}

/// A command that another one stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Equivalent {
    pub words: Vec<Word>,
    /// Whether the command has all its words. If not, options are omitted.
    pub is_complete: bool,
    /// Whether the program is unknown, so that it may run its arguments.
    pub is_guess: bool,
}

/// Adds the commands that `words` stands for; `None` when they cannot be determined.
pub(super) fn add(words: &[Word], depth: usize, others: &mut Equivalents) -> Option<()> {
    possible::add_values(words, depth, others);
    let is_set = |word: &Word| word.assigns || is_assignment(&word.text);
    let start = words.iter().position(|word| !is_set(word));
    let Some(words) = start.map(|start| &words[start..]) else {
        return Some(());
    };
    let head = &words[0];
    if head.from_input {
        others.runs_input = true;
        return Some(());
    }
    if !head.is_fixed() || depth > DEPTH_LIMIT {
        return None;
    }
    add_spellings(words, others)?;
    let name = name_of(&head.text);
    let arguments = &words[1..];
    others.runs_input |= runs_input(name, arguments, others.feeds_input);
    if is_shell(name) {
        add_scripts(name, arguments, depth, others)?;
    }
    // A program that runs another program can add words to its arguments.
    let completed = completed::complete(name, words);
    let completed = completed.as_deref().unwrap_or(words);
    if runs_arguments(name) {
        for place in 1..completed.len() {
            let rest = &completed[place..];
            if rest[0].from_input && rest[0].text.starts_with(shell::HOLE) {
                let is_given = words.get(place).is_some_and(|word| word.from_input);
                others.runs_input |= (is_given || find(name).adds == Adds::Lists)
                    && inputs::can_be_command(name, &words[1..], place - 1);
                continue;
            }
            // An option cannot be a command.
            if !rest[0].text.starts_with('-') && !is_assignment(&rest[0].text) {
                add_wrapped(rest, depth, others)?;
            }
        }
    }
    possible::add(words, depth, others);
    if !is_known(name) {
        add_guesses(arguments, others);
    }
    if runs_code(name) {
        add_code(arguments, others);
    }
    Some(())
}

/// Whether a table has facts about the program.
fn is_known(name: &str) -> bool {
    !find(name).names.is_empty() || crate::known::has_rows(name) || is_wrapper(name)
}

/// The commands that an unknown program would run if its arguments were a command, or a text with one.
fn add_guesses(arguments: &[Word], others: &mut Equivalents) {
    let mut guess = |words: &[Word]| add_guess(words, others);
    for place in 0..arguments.len().min(OPTIONS_LIMIT) {
        guess(&arguments[place..]);
        let text = arguments[place].text.as_str();
        let value = text.split_once('=').map(|(_, value)| value);
        // `wrapper --exec=rm x`
        if let Some(value) = value.filter(|value| !value.is_empty() && text.starts_with('-')) {
            let mut command = arguments[place..].to_vec();
            command[0] = Word::literal(value);
            guess(&command);
        }
        for text in [Some(text), value].into_iter().flatten() {
            let lines = shell::read(text).filter(|_| text.contains(' '));
            let parts = lines.into_iter().flat_map(|line| line.parts);
            for part in parts {
                if let Part::Run(words) = part {
                    guess(&words);
                }
            }
        }
    }
}

/// The texts and calls in code of another language, as in `python3 -c 'os.system("rm x")'`.
fn add_code(arguments: &[Word], others: &mut Equivalents) {
    for code in arguments.iter().take(OPTIONS_LIMIT) {
        let parts = code
            .text
            .split(|char: char| "'\"`()[]{};,\n".contains(char));
        for part in parts
            .map(str::trim)
            .filter(|part| part.contains(' '))
            .take(CODE_LIMIT)
        {
            let starts = ["\\!", "exec ", "system "];
            let mut starts = starts.iter().filter_map(|start| part.strip_prefix(start));
            let line = shell::read(starts.next().unwrap_or(part)).unwrap_or_default();
            for part in line.parts {
                if let Part::Run(words) = part {
                    add_guess(&words, others);
                }
            }
        }
    }
}

fn add_guess(words: &[Word], others: &mut Equivalents) {
    let mut words = words.to_vec();
    name_of(&words[0].text.clone()).clone_into(&mut words[0].text);
    others.list.push(Equivalent {
        words,
        is_complete: false,
        is_guess: true,
    });
}

fn push(words: Vec<Word>, is_complete: bool, others: &mut Equivalents) -> Option<()> {
    if !others.list.iter().any(|other| other.words == words) {
        others.list.push(Equivalent {
            words,
            is_complete,
            is_guess: false,
        });
    }
    (others.list.len() <= COUNT_LIMIT).then_some(())
}

/// Adds `words` as written, without the directory of the program, and without options before and after the first
/// argument, each of which can have a value.
fn add_spellings(words: &[Word], others: &mut Equivalents) -> Option<()> {
    push(words.to_vec(), true, others)?;
    let mut named = words.to_vec();
    name_of(&words[0].text).clone_into(&mut named[0].text);
    push(named.clone(), true, others)?;
    // `git-log`.
    let parts = named[0].text.split_once('-');
    if let Some((program, subcommand)) = parts.filter(|(name, _)| find(name).aliases) {
        let words = [program, subcommand].map(Word::literal);
        named.splice(..1, words);
        push(named.clone(), true, others)?;
    }
    // Some file systems find programs without regard to case.
    if named[0]
        .text
        .contains(|char: char| char.is_ascii_uppercase())
    {
        named[0].text.make_ascii_lowercase();
        push(named.clone(), true, others)?;
    }
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

/// `words` without options at `place`: one variant for each number of words there that can be
/// options or their values.
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

/// Adds the commands of the scripts of a shell. The position of the script depends on the options,
/// so every argument is a candidate.
fn add_scripts(
    name: &str,
    arguments: &[Word],
    depth: usize,
    others: &mut Equivalents,
) -> Option<()> {
    let special = [
        ' ', ';', '|', '&', '$', '`', '\n', '<', '>', '\'', '"', '\\',
    ];
    // A word of the input is an argument of the script, unless it can be the script itself: see
    // `inputs`.
    let is_argument = |word: &&Word| !word.from_input || word.text.contains(special);
    let arguments: Vec<Word> = arguments.iter().filter(is_argument).cloned().collect();
    let arguments = arguments.as_slice();
    if arguments.iter().any(|word| !word.is_fixed()) {
        return None;
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let skipped = usize::from(texts.first() == Some(&"--"));
    let program = find(name);
    let complete = program.joins.then(|| texts[skipped..].join(" "));
    // Otherwise a word is the name of a script or an argument.
    let are_commands = program.texts_run || inputs::has_flag(arguments, 'c');
    let scripts = texts
        .iter()
        // These words end `find -exec`.
        .filter(|text| **text != ";")
        .filter(|text| text.contains(special) || (are_commands && !text.starts_with(['-', '+'])))
        .map(|text| (*text).to_owned());
    for script in scripts.chain(complete) {
        let line = shell::read(&script)?;
        others.feeds_input |= line.feeds_input;
        for part in line.parts {
            if let Part::Run(words) = part {
                push(words.clone(), true, others)?;
                add(&words, depth + 1, others)?;
            }
        }
    }
    Some(())
}

/// Like [`add`], for an argument of a wrapper, which may be a command or something else.
fn add_wrapped(words: &[Word], depth: usize, others: &mut Equivalents) -> Option<()> {
    let head = &words[0];
    if head.dynamic {
        return None;
    }
    let name = name_of(&head.text);
    if head.is_fixed() && is_wrapper(name) && !is_foreign_shell(name) {
        return add(words, depth + 1, others);
    }
    others.runs_input |= runs_input(name, &words[1..], others.feeds_input);
    add_spellings(words, others)
}

/// Whether the program runs its input, which is empty unless the line connects something to it.
fn runs_input(name: &str, arguments: &[Word], feeds_input: bool) -> bool {
    // Some file systems find programs without regard to case.
    let name = name.to_ascii_lowercase();
    inputs::decide(&name, arguments) || (feeds_input && readers::decide(&name, arguments))
}
