//! Why an edit matched nothing, or too much, as a message for the model.

use super::edit_closest::{Closest, closest};
use super::edit_match::{Edit, MatchError};

/// Bytes of a new text from which on its presence in the file means something.
const MIN_APPLIED: usize = 12;

/// What went wrong and what to do next, with the prefix `edit 2: ` when there are several edits.
pub(super) fn explain_match(error: &MatchError, edits: &[Edit], name: &str, text: &str) -> String {
    let (index, message) = match error {
        MatchError::EmptyOld { index } => (
            index,
            "old_string is empty; use write to replace the complete file, or set old_string to the text before which to insert".to_owned(),
        ),
        MatchError::NoChange { index } => {
            (index, "old_string and new_string are the same; nothing to change".to_owned())
        }
        MatchError::NotFound { index } => (index, not_found(name, text, &edits[*index])),
        MatchError::NotExact { index } => (
            index,
            format!("old_string does not occur exactly in `{name}`, which was not read in this session; read it first"),
        ),
        MatchError::Ambiguous { index, lines, more } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *more { " and more" } else { "" };
            let lines = lines.join(", ");
            (
                index,
                format!("old_string occurs in `{name}` in lines {lines}{more}; add surrounding lines to make it unique, or set replace_all"),
            )
        }
        MatchError::Placeholder { index, line } => (
            index,
            format!("new_string has `{line}` in place of code, which would be lost; write the complete text, or edit only the lines that change"),
        ),
        MatchError::Overlap { first, second } => {
            let (first, second) = (first + 1, second + 1);
            return format!("edits {first} and {second} overlap in `{name}`; combine them. Nothing was changed");
        }
    };
    let which = if edits.len() > 1 {
        format!("edit {}: ", index + 1)
    } else {
        String::new()
    };
    let tail = if edits.len() > 1 {
        "\nNothing was changed"
    } else {
        ""
    };
    format!("{which}{message}{tail}")
}

fn not_found(name: &str, text: &str, edit: &Edit) -> String {
    let Closest {
        excerpts,
        differences,
    } = closest(text, &edit.old);
    let is_there = edit.new.trim().len() >= MIN_APPLIED && text.contains(edit.new.trim());
    let applied = if is_there {
        ", but new_string is: the edit may be done already"
    } else {
        ""
    };
    match (&excerpts[..], &differences[..]) {
        ([], _) => format!(
            "old_string was not found in `{name}`{applied}, and nothing similar; read the file again"
        ),
        ([only], [_, ..]) => format!(
            "old_string was not found in `{name}`{applied}. The closest match:\n{only}Differences: {}",
            differences.join("; ")
        ),
        _ => format!(
            "old_string was not found in `{name}`{applied}. The closest matches:\n{}Copy the text exactly from the file",
            excerpts.join("   ...\n")
        ),
    }
}
