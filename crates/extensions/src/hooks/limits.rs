//! Limits of hooks, and their texts: without control sequences, and limited in length.

use std::time::Duration;

use osier_base::text;

/// Default timeout of a hook, as in the contract.
pub(super) const TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum characters of a text for a model or a user.
pub(super) const LONGEST: usize = 10_000;
/// Maximum characters of a line about a failed hook.
const LINE: usize = 300;

/// Text without control sequences, limited in length.
pub(super) fn bounded(given: &str) -> String {
    let clean = text::sanitize(given.trim());
    match clean.char_indices().nth(LONGEST) {
        None => clean.into_owned(),
        Some((end, _)) => {
            let more = clean[end..].chars().count();
            format!("{}\n[{more} more characters omitted]", &clean[..end])
        }
    }
}

/// The text as one line.
pub(super) fn line(given: &str) -> String {
    let first = given.trim().lines().next().unwrap_or_default();
    let clean = text::single_line(first);
    match clean.char_indices().nth(LINE) {
        None => clean,
        Some((end, _)) => format!("{}…", &clean[..end]),
    }
}
