//! Dangerous arguments that no name of an option describes.

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
    text.starts_with("--expand-")
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

/// An archive on another computer.
pub(super) fn names_computer(text: &str, _: Option<&Word>) -> bool {
    let long = text.strip_prefix("--");
    let value = long.and_then(|long| long.split_once('='));
    let value = value.map_or(text, |(_, value)| value);
    let host = value.split('/').next();
    host.is_some_and(|host| host.contains(':'))
}

/// Options of one letter that are in no group.
pub(super) fn of_go(text: &str, _: Option<&Word>) -> bool {
    matches!(text.split('=').next(), Some("-o" | "--o" | "-C" | "--C"))
}

/// Two letters that are one option, also in a group.
pub(super) fn of_zip(text: &str, _: Option<&Word>) -> bool {
    text.starts_with('-') && (text.contains("TT") || text.contains("lf"))
}

/// A command to run at the start.
pub(super) fn starts_command(text: &str, _: Option<&Word>) -> bool {
    text.starts_with('+')
}
