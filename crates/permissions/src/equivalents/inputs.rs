//! Programs that run commands from a file or from the output of another program: such commands cannot be known.

use super::completed;
use crate::programs::{Adds, Input, Shell, find, is_foreign_shell, is_shell, is_wrapper, name_of};
use crate::shell::{Word, is_assignment};

/// Whether the input of the program, or a text that is not read here, decides which commands it
/// runs.
pub(super) fn decide(name: &str, arguments: &[Word]) -> bool {
    let program = find(name);
    match program.input {
        Input::Always => return true,
        Input::Never => return false,
        Input::Dash => return arguments.iter().any(|word| word.text == "-"),
        Input::First => return arguments.first().is_some_and(is_input),
        Input::Split => return splits_text(arguments),
        Input::Flag(flag) => return has_flag(arguments, flag),
        Input::OfKind => {}
    }
    let (is_shell, is_foreign) = (is_shell(name), is_foreign_shell(name));
    match program.adds {
        Adds::Input => xargs(arguments),
        Adds::Lists => {
            let command = arguments.iter().find(|word| !word.text.starts_with('-'));
            command.is_none_or(|word| word.text.contains('{') || word.text.starts_with(":::"))
        }
        Adds::Found | Adds::FoundInBraces => found_files(arguments),
        _ if (is_shell || is_foreign) && can_be_script(arguments) => true,
        _ if program.shell == Shell::OfUser => false,
        _ if is_foreign => {
            arguments.is_empty() || arguments.iter().any(|word| word.text.starts_with('-'))
        }
        _ => is_shell && shell(arguments),
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

/// Whether a shell runs its input: it does so without a script.
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

/// Whether a script is the input, not a stored file.
pub(super) fn is_input(word: &Word) -> bool {
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

/// Whether a word of the input can be the script of a shell, or the text after `-c`.
fn can_be_script(arguments: &[Word]) -> bool {
    let Some(input) = arguments.iter().position(|word| word.from_input) else {
        return false;
    };
    let before = &arguments[..input];
    let is_group = |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--");
    let flag = before.iter().position(|word| {
        (is_group(word) && word.text.contains('c')) || word.text.starts_with("--command")
    });
    if let Some(flag) = flag {
        let is_script = |word: &Word| !word.text.starts_with(['-', '+']);
        return !before[flag..].iter().any(|word| word.text.contains('='))
            && !before[flag + 1..].iter().any(is_script);
    }
    operands(before) == 0
}

/// The number of words that are certainly neither options nor values of options.
pub(super) fn operands(arguments: &[Word]) -> usize {
    let mut found = 0;
    let mut after_option = false;
    for word in arguments {
        let text = word.text.as_str();
        // These words end `find -exec`.
        if matches!(text, ";" | "+") {
            continue;
        }
        if text.starts_with('-') {
            // `-n5`, `--x=y` and `--` are complete.
            let is_complete = text == "--"
                || text.contains('=')
                || text.ends_with(|last: char| last.is_ascii_digit());
            after_option = !is_complete;
            continue;
        }
        if !std::mem::take(&mut after_option) && !is_assignment(text) && !word.from_input {
            found += 1;
        }
    }
    found
}

/// Whether the word at `place` of `arguments`, which comes from the input of another program, can be the command that
/// `name` runs.
pub(super) fn can_be_command(name: &str, arguments: &[Word], place: usize) -> bool {
    let before = &arguments[..place.min(arguments.len())];
    let program = find(name);
    // A shell of another user accepts options also after the name of the user.
    if program.shell == Shell::OfUser {
        return true;
    }
    if is_shell(name) || is_foreign_shell(name) {
        return false;
    }
    match program.adds {
        // The word can also be `-exec`.
        Adds::Found | Adds::FoundInBraces => arguments.get(place).is_some_and(|word| word.splits),
        _ => operands(before) <= program.operands,
    }
}

/// Whether the input of `xargs` can be the name of a program or a text that a shell runs.
fn xargs(arguments: &[Word]) -> bool {
    let known = completed::xargs(arguments);
    let Some(start) = known.command else {
        return false;
    };
    let is_replaced = |word: &Word| {
        let mark = known.replaced.as_deref();
        mark.is_some_and(|mark| mark.is_empty() || word.text.contains(mark))
    };
    let (head, rest) = (&arguments[start], &arguments[start + 1..]);
    let is_last = rest.iter().all(|word| word.text.starts_with('-'));
    is_replaced(head)
        || (is_wrapper(name_of(&head.text)) && (is_last || rest.iter().any(is_replaced)))
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
