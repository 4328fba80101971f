//! Dangerous arguments that cannot be described by the name of an option.

use super::options::is_given;
use crate::shell::Word;

/// Options of one letter with a value, which is the rest of the word or the next one.
const WITH_VALUE: &str = "AbCcDdEeFHhKmoPQrTtuUwXxYyz";

/// Whether an argument of curl uploads a file, makes an option of a variable or writes a file by a format.
pub(super) fn of_curl(text: &str, before: Option<&Word>) -> bool {
    let names_file = before.is_some_and(|option| {
        is_given("--data-urlencode", &option.text, false)
            || is_given("--url-query", &option.text, false)
    });
    // Without a `=`, it is a file of cookies, which are sent.
    let is_cookie =
        |option: &str| is_given("-b", option, false) || is_given("--cookie", option, false);
    let cookies = match before {
        Some(option)
            if is_cookie(&option.text) && value(&option.text).is_none_or(str::is_empty) =>
        {
            Some(text)
        }
        _ => value(text).filter(|value| is_cookie(&text[..text.len() - value.len()])),
    };
    let sends_file = cookies.is_some_and(|cookies| !cookies.is_empty() && !cookies.contains('='));
    sends_file
        || text.starts_with("--expand-")
        || text.contains("%output{")
        || text.starts_with('@')
        || value(text).is_some_and(|value| value.starts_with('@'))
        || (names_file && text.contains('@'))
}

/// The value in a word such as `-d@x` and `-sSd@x`.
fn value(text: &str) -> Option<&str> {
    let group = text
        .strip_prefix('-')
        .filter(|group| !group.starts_with('-'))?;
    let option = group.find(|letter| WITH_VALUE.contains(letter))?;
    group.get(option + 1..)
}

/// Whether an argument of tar is an archive on another computer, or a path outside of the working
/// directory, which could be written.
pub(super) fn of_tar(text: &str, before: Option<&Word>) -> bool {
    let long = text.strip_prefix("--");
    let value = long.and_then(|long| long.split_once('='));
    let value = value.map_or(text, |(_, value)| value);
    let host = value.split('/').next();
    host.is_some_and(|host| host.contains(':')) || leaves(text, before)
}

/// Whether an argument is a path outside of the working directory, which could be written.
pub(super) fn leaves(text: &str, _: Option<&Word>) -> bool {
    let value = match text.split_once('=') {
        Some((_, value)) => value,
        None if text.starts_with("--") => "",
        // The value of an option of one letter, as in `-xC/`.
        None if text.starts_with('-') => {
            text[1..].trim_start_matches(|char: char| char.is_ascii_alphabetic())
        }
        None => text,
    };
    value.starts_with(['/', '~']) || value.split('/').any(|part| part == "..")
}

/// Whether an argument of `dd` is the file that it writes.
pub(super) fn of_dd(text: &str, _: Option<&Word>) -> bool {
    text.starts_with("of=")
}

/// Whether an argument of make sets a variable that is a program, or options.
pub(super) fn of_make(text: &str, _: Option<&Word>) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    let name = name.trim_end_matches([':', '+', '?', '!', ' ']);
    text.contains('=')
        && [
            "SHELL",
            ".SHELLFLAGS",
            "MAKEFLAGS",
            "GNUMAKEFLAGS",
            "MAKEFILES",
        ]
        .contains(&name)
}

/// Whether an argument of go is a dangerous option of one letter, which go does not group.
pub(super) fn of_go(text: &str, _: Option<&Word>) -> bool {
    matches!(text.split('=').next(), Some("-o" | "--o" | "-C" | "--C"))
}

/// Whether an argument of zip has a dangerous option of two letters, also in a group.
pub(super) fn of_zip(text: &str, before: Option<&Word>) -> bool {
    (text.starts_with('-') && (text.contains("TT") || text.contains("lf"))) || leaves(text, before)
}

/// Whether an argument is a command to run at the start.
pub(super) fn starts_command(text: &str, _: Option<&Word>) -> bool {
    text.starts_with('+')
}
