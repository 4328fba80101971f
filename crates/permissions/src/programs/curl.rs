//! Arguments of curl that no name of an option describes.

use super::is_given;
use crate::shell::Word;

/// Options of one letter with a value, which is the rest of the word or the next one.
const WITH_VALUE: &str = "AbCcDdEeFHhKmoPQrTtuUwXxYyz";

/// Whether an argument uploads a file, makes an option of a variable or writes a file by a format.
pub(super) fn is_dangerous(text: &str, before: Option<&Word>) -> bool {
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
