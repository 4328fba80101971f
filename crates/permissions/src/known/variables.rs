//! Variables that a line sets or uses.

use super::table::VARIABLES;
use crate::shell::Word;

/// Parts of the names of variables with keys.
const KEYS: [&str; 9] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "DATABASE_URL",
];

/// Whether the word sets a variable that selects a language, colours or the amount of output.
pub(crate) fn is_harmless_assignment(word: &Word) -> bool {
    let Some((name, value)) = word.text.split_once('=') else {
        return false;
    };
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_.,:@+-=".contains(char);
    word.assigns && VARIABLES.split(' ').any(|known| known == name) && value.chars().all(is_plain)
}

/// Whether the word assigns a plain text to a variable that only the line itself uses.
pub(super) fn sets_own_variable(word: &Word) -> bool {
    let name = word.text.split('=').next().unwrap_or_default();
    let own = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    let taken = ["proxy", "npm_", "histchars", "auto_resume"];
    word.assigns && name.chars().all(own) && !taken.iter().any(|part| name.contains(part))
}

/// Whether the variable or setting can be a key.
pub(crate) fn is_key(name: &str) -> bool {
    let name = name.to_uppercase();
    KEYS.iter().any(|key| name.contains(key))
}
