//! Builtins that evaluate their arguments, or change how later commands run.

use super::{Word, is_name};

/// Tests that only inspect their one operand.
pub(super) const FILE_TESTS: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-p", "-r", "-s", "-S", "-u", "-w",
    "-x", "-z",
];
/// Tests of two operands, which `[` does not evaluate.
const COMPARISONS: &[&str] = &[
    "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
];
/// Builtins that run, evaluate or replace text in ways that cannot be determined.
const UNKNOWN: &[&str] = &[
    "alias", "bind", "compgen", "complete", "compopt", "coproc", "enable", "fc", "getopts", "hash",
    "history", "let", "shopt", "unalias",
];
/// Builtins that change how later commands run.
const CHANGING: &[&str] = &[".", "eval", "exec", "source", "trap"];
/// Builtins that set variables or their attributes.
const DECLARING: &[&str] = &["declare", "export", "local", "readonly", "typeset", "unset"];

/// Variables whose values bash evaluates as arithmetic, which can contain commands.
pub(super) const EVALUATED: &[&str] = &[
    "BASHPID",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
    "EUID",
    "PPID",
];

/// The effect of a command on the rest of its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// Changes how later commands run.
    ChangesShell,
    /// Changes the meaning of relative paths.
    ChangesDirectory,
    /// Sets these variables.
    Sets(Vec<String>),
}

/// The effect of a simple command; `None` if it is unknown.
pub(super) fn effect(words: &[Word]) -> Option<Effect> {
    let Some(start) = words.iter().position(|word| !word.assigns) else {
        return Some(Effect::None);
    };
    let mut words = &words[start..];
    let mut is_exec = false;
    // These builtins run the rest as a command.
    while matches!(words.first()?.text.as_str(), "command" | "builtin" | "exec") {
        is_exec |= words[0].text == "exec";
        let is_option = |word: &&Word| word.text.starts_with('-');
        let options = words[1..].iter().take_while(is_option).count();
        words = &words[1 + options..];
        match words.first() {
            None if is_exec => return Some(Effect::ChangesShell),
            None => return Some(Effect::None),
            Some(word) if !word.is_fixed() => return None,
            // This is not the keyword, but the program.
            Some(word) if word.text == "time" => return Some(Effect::ChangesShell),
            Some(_) => {}
        }
    }
    let effect = effect_of(words)?;
    Some(if is_exec {
        Effect::ChangesShell
    } else {
        effect
    })
}

fn effect_of(words: &[Word]) -> Option<Effect> {
    let (name, arguments) = words.split_first()?;
    let has_unknown = || arguments.iter().any(|word| !word.is_fixed());
    match name.text.as_str() {
        "time" if name.plain => timed(arguments),
        "cd" | "pushd" | "popd" => Some(Effect::ChangesDirectory),
        "[" | "test" => test(name, arguments),
        "printf" => printf(arguments),
        "read" => read(arguments),
        "set" => Some(set(arguments)),
        "wait" | "mapfile" | "readarray" => {
            let evaluates = |word: &Word| {
                word.text.contains('[') || ["-C", "-p"].iter().any(|x| word.text.contains(x))
            };
            let effect = match name.text.as_str() {
                "wait" => Effect::None,
                _ => Effect::ChangesShell,
            };
            (!has_unknown() && !arguments.iter().any(evaluates)).then_some(effect)
        }
        name if DECLARING.contains(&name) => declaration(arguments),
        name if CHANGING.contains(&name) => Some(Effect::ChangesShell),
        name if UNKNOWN.contains(&name) => None,
        _ => Some(Effect::None),
    }
}

/// The effect of `printf`: `-v` and the conversion `%n` assign to variables. An unknown first word
/// could be `-v`.
fn printf(arguments: &[Word]) -> Option<Effect> {
    let mut names = Vec::new();
    let mut rest = arguments;
    match rest.first() {
        Some(word) if word.text == "-v" => {
            let variable = rest.get(1).filter(|word| is_name(&word.text))?;
            names.push(variable.text.clone());
            rest = &rest[2..];
        }
        Some(word) if word.text.starts_with("-v") => return None,
        Some(word) if !word.is_fixed() && may_start_with_dash(word) => return None,
        _ => {}
    }
    if rest.first().is_some_and(|word| word.text == "--") {
        rest = &rest[1..];
    }
    if let Some((format, values)) = rest.split_first()
        && (!format.is_fixed() || stores_length(&format.text))
    {
        if !values.iter().all(Word::is_fixed) {
            return None;
        }
        let assigned = values.iter().filter(|word| is_name(&word.text));
        names.extend(assigned.map(|word| word.text.clone()));
    }
    Some(if names.is_empty() {
        Effect::None
    } else {
        Effect::Sets(names)
    })
}

/// Whether a format has the conversion `%n`, which stores the length of the output in the variable that a value names.
fn stores_length(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let after = after.trim_start_matches(|char| "#'-+ 0123456789.*hjlLqtz".contains(char));
        if after.starts_with('n') {
            return true;
        }
        let mut chars = after.chars();
        chars.next();
        rest = chars.as_str();
    }
    false
}

fn may_start_with_dash(word: &Word) -> bool {
    word.splits || word.text.starts_with([super::HOLE, super::GLOB, '-'])
}

/// The effect of `time`: after it, another keyword can begin a construct that is not read.
fn timed(arguments: &[Word]) -> Option<Effect> {
    let skipped = usize::from(arguments.first().is_some_and(|word| word.text == "-p"));
    let mut rest = arguments[skipped..].to_vec();
    for word in &mut rest {
        word.assigns = super::is_assignment(&word.text);
        if !word.assigns {
            break;
        }
    }
    let Some(name) = rest.iter().find(|word| !word.assigns) else {
        return rest.is_empty().then_some(Effect::None);
    };
    let keywords = [
        "!", "{", "[[", "case", "coproc", "for", "function", "if", "select", "time", "until",
        "while", "--",
    ];
    let is_odd = |word: &Word| {
        keywords.contains(&word.text.as_str()) || !word.is_fixed() || word.text.contains('[')
    };
    if rest.iter().any(|word| word.assigns) || is_odd(name) {
        return None;
    }
    effect(&rest)
}

/// The effect of `test` and `[`: `-v` evaluates a subscript, so every operator must be known.
fn test(name: &Word, arguments: &[Word]) -> Option<Effect> {
    let arguments = match (name.text.as_str(), arguments.split_last()) {
        ("[", Some((last, arguments))) if last.text == "]" => arguments,
        ("[", _) => return None,
        _ => arguments,
    };
    // A word that splits can become operators.
    if arguments.iter().any(|word| word.splits) {
        return None;
    }
    let operands = match arguments {
        [not, rest @ ..] if not.text == "!" && !rest.is_empty() => rest,
        all => all,
    };
    let is = |word: &Word, known: &[&str]| known.contains(&word.text.as_str());
    let is_known = match operands {
        [] | [_] => true,
        [operator, _] => is(operator, FILE_TESTS),
        [_, operator, _] => is(operator, COMPARISONS),
        _ => false,
    };
    is_known.then_some(Effect::None)
}

fn read(arguments: &[Word]) -> Option<Effect> {
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-r" | "-s" | "-e" if names.is_empty() => {}
            "-d" | "-n" | "-N" | "-p" | "-t" | "-u" if names.is_empty() => {
                rest.next().filter(|value| value.is_fixed())?;
            }
            name if is_name(name) => names.push(name.to_owned()),
            _ => return None,
        }
    }
    if names.is_empty() {
        names.push("REPLY".to_owned());
    }
    Some(Effect::Sets(names))
}

/// The effect of `set`: `set -e` and similar options only change when the line ends.
fn set(arguments: &[Word]) -> Effect {
    let is_strict = |word: &Word| {
        word.text == "pipefail"
            || word
                .text
                .strip_prefix(['-', '+'])
                .is_some_and(|flags| flags.chars().all(|flag| "euo".contains(flag)))
    };
    if arguments.iter().all(is_strict) {
        Effect::None
    } else {
        Effect::ChangesShell
    }
}

/// The effect of a declaration. Names must be known and have no subscript, and no attribute may
/// cause values to be evaluated.
fn declaration(arguments: &[Word]) -> Option<Effect> {
    for word in arguments {
        let name = word.text.split('=').next().unwrap_or_default();
        let is_option = |flags: &str| flags.chars().all(|flag| "fgprvxul".contains(flag));
        let is_known = is_name(name.strip_suffix('+').unwrap_or(name))
            || (word.is_fixed() && word.text.strip_prefix('-').is_some_and(is_option));
        let is_evaluated = EVALUATED.contains(&name) && word.text.contains(['=', '[']);
        if !is_known || is_evaluated || (word.splits && !word.text.contains('=')) {
            return None;
        }
    }
    Some(Effect::ChangesShell)
}
