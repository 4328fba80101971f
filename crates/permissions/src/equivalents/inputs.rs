//! Programs that run what they read, or what another program gives them: what that is cannot be known.

use super::names::{is_foreign_shell, is_shell, is_wrapper, name_of};
use crate::shell::{Word, is_assignment};

/// Options of `xargs` whose value is the next word.
const VALUES: [&str; 8] = ["-I", "-n", "-P", "-L", "-s", "-d", "-a", "-E"];

/// Whether the input of the program, or a text that is not read here, decides what it runs.
pub(super) fn decide(name: &str, arguments: &[Word]) -> bool {
    match name {
        "at" | "batch" => true,
        "crontab" => arguments.iter().any(|word| word.text == "-"),
        "." | "source" => arguments.first().is_some_and(is_input),
        "env" => splits_text(arguments),
        "xargs" => xargs(arguments),
        "parallel" => {
            let command = arguments.iter().find(|word| !word.text.starts_with('-'));
            command.is_none_or(|word| word.text.contains('{') || word.text.starts_with(":::"))
        }
        "find" | "gfind" | "fd" | "fdfind" => found_files(arguments),
        "eval" | "trap" | "su" => false,
        name if is_foreign_shell(name) => {
            arguments.is_empty() || arguments.iter().any(|word| word.text.starts_with('-'))
        }
        name if is_shell(name) => shell(arguments),
        _ => false,
    }
}

/// Whether an option of one letter, also in a group, is given.
pub(super) fn has_flag(arguments: &[Word], flag: char) -> bool {
    let groups = arguments.iter().filter_map(|word| {
        let group = word.text.strip_prefix('-')?;
        (!group.starts_with('-')).then_some(group)
    });
    groups.into_iter().any(|group| group.contains(flag))
}

/// A shell without a script reads its input.
fn shell(arguments: &[Word]) -> bool {
    let is_question = |word: &Word| matches!(word.text.as_str(), "--version" | "--help");
    if arguments.iter().any(is_question) {
        return false;
    }
    let is_operand = |word: &&Word| !word.text.starts_with(['-', '+']);
    let operand = arguments.iter().find(is_operand);
    let reads_script = !has_flag(arguments, 'c');
    operand.is_none_or(|operand| reads_script && (is_input(operand) || has_flag(arguments, 's')))
}

/// Whether a script is not a file that lies somewhere.
fn is_input(word: &Word) -> bool {
    let folders = ["/dev/", "/proc/"];
    folders.iter().any(|folder| word.text.starts_with(folder))
        || word.text == "-"
        || word.text.chars().eq([crate::shell::HOLE])
}

/// `env -S` splits a text by rules of its own.
fn splits_text(arguments: &[Word]) -> bool {
    let mut is_value = false;
    for word in arguments {
        let text = word.text.as_str();
        if text.starts_with('-') {
            let group = !text.starts_with("--") && text.contains('S');
            if group || text.starts_with("--s") {
                return true;
            }
            is_value = !text.contains('=');
        } else if !std::mem::take(&mut is_value) && !is_assignment(text) {
            return false;
        }
    }
    false
}

/// Whether the input of `xargs` can be the name of a program or a text that a shell runs.
fn xargs(arguments: &[Word]) -> bool {
    let mut replaced = None;
    let mut rest = arguments.iter();
    let mut head = None;
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if !text.starts_with('-') {
            head = Some(word);
            break;
        }
        let value = if VALUES.contains(&text) {
            rest.next().map(|word| word.text.as_str())
        } else {
            None
        };
        if let Some(given) = text.strip_prefix("-I") {
            replaced = Some(value.unwrap_or(given));
        } else if let Some(given) = text.strip_prefix("-i") {
            replaced = Some(if given.is_empty() { "{}" } else { given });
        } else if text.starts_with("--rep") {
            replaced = Some(text.split_once('=').map_or("{}", |(_, given)| given));
        }
    }
    let Some(head) = head else {
        return false;
    };
    let is_replaced = |word: &Word| {
        replaced.is_some_and(|replaced| replaced.is_empty() || word.text.contains(replaced))
    };
    let rest: Vec<&Word> = rest.collect();
    let is_last = rest.iter().all(|word| word.text.starts_with('-'));
    is_replaced(head)
        || (is_wrapper(name_of(&head.text))
            && (is_last || rest.iter().any(|word| is_replaced(word))))
}

/// Whether the name of a found file can be a program or a part of a script.
fn found_files(arguments: &[Word]) -> bool {
    let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X"];
    let starts = arguments.iter().enumerate();
    let mut starts = starts.filter(|(_, word)| runs.contains(&word.text.as_str()));
    starts.any(|(place, _)| {
        let command = &arguments[place + 1..];
        let is_program = command.first().is_some_and(|word| word.text.contains("{}"));
        let is_script = |word: &Word| word.text.contains("{}") && word.text.contains(' ');
        is_program
            || (command
                .first()
                .is_some_and(|word| is_wrapper(name_of(&word.text)))
                && command.iter().any(is_script))
    })
}
