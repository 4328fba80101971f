//! Why an edit matched nothing, or too much, as a message for the model.

use super::closest::{Closest, closest};
use super::matching::{Edit, MatchError};

/// Bytes of a new text from which on its presence in the file means something.
const MIN_APPLIED: usize = 12;

/// How a message names the parts of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    edit: &'static str,
    old: &'static str,
    new: &'static str,
    /// How to say which place is meant.
    unique: &'static str,
}

impl Terms {
    pub(crate) const EDIT: Self = Self {
        edit: "edit",
        old: "old_string",
        new: "new_string",
        unique: "add surrounding lines to make it unique, or set replace_all",
    };

    /// The terms of a patch, in which the old text is the unchanged and the removed lines of a
    /// hunk.
    pub(crate) const HUNK: Self = Self {
        edit: "hunk",
        old: "the text of the hunk",
        new: "its new text",
        unique: "add unchanged lines to make it unique, or a line such as `@@ class A` before the hunk",
    };
}

/// The error and the advice for the model, with the prefix `edit 2: ` when there are several edits.
pub(crate) fn explain_match(
    error: &MatchError,
    edits: &[Edit],
    name: &str,
    text: &str,
    terms: Terms,
) -> String {
    let Terms {
        edit,
        old,
        new,
        unique,
    } = terms;
    let (index, message) = match error {
        MatchError::EmptyOld { index } => (
            index,
            format!(
                "{old} is empty; use write to replace the complete file, or set {old} to the text before which to insert"
            ),
        ),
        MatchError::NoChange { index } => (
            index,
            format!("{old} and {new} are the same; nothing to change"),
        ),
        MatchError::NotFound { index } => (index, not_found(name, text, &edits[*index], terms)),
        MatchError::NotExact { index } => (
            index,
            format!(
                "{old} does not occur exactly in `{name}`, which was not read in this session; read it first"
            ),
        ),
        MatchError::Ambiguous { index, lines, more } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *more { " and more" } else { "" };
            let lines = lines.join(", ");
            (
                index,
                format!("{old} occurs in `{name}` in lines {lines}{more}; {unique}"),
            )
        }
        MatchError::Placeholder { index, line } => (
            index,
            format!(
                "{new} has `{line}` in place of code, which would be lost; write the complete text, or edit only the lines that change"
            ),
        ),
        MatchError::Overlap { first, second } => {
            let (first, second) = (first + 1, second + 1);
            return format!(
                "{edit}s {first} and {second} overlap in `{name}`; combine them. Nothing was changed"
            );
        }
    };
    let which = if edits.len() > 1 {
        format!("{edit} {}: ", index + 1)
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

fn not_found(name: &str, text: &str, edit: &Edit, terms: Terms) -> String {
    let Terms { old, new, .. } = terms;
    let Closest {
        excerpts,
        differences,
    } = closest(text, &edit.old);
    let differences = differences.join("; ").replace(Terms::EDIT.old, old);
    let is_there = edit.new.trim().len() >= MIN_APPLIED && text.contains(edit.new.trim());
    let applied = if is_there {
        format!(", but {new} is: the edit may be done already")
    } else {
        String::new()
    };
    match (&excerpts[..], differences.as_str()) {
        ([], _) => format!(
            "{old} was not found in `{name}`{applied}, and nothing similar; read the file again"
        ),
        ([only], differences) if !differences.is_empty() => format!(
            "{old} was not found in `{name}`{applied}. The closest match:\n{only}Differences: {differences}"
        ),
        _ => format!(
            "{old} was not found in `{name}`{applied}. The closest matches:\n{}Copy the text exactly from the file",
            excerpts.join("   ...\n")
        ),
    }
}
