//! What is wrong with a file of the user, told so that it can be mended: where, what, and how. A broken
//! theme or keymap never stops the program; what is right in it still counts.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

/// One fault in a file. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(
            out,
            "{path}:{}:{}: {}",
            self.line, self.column, self.message
        )?;
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// A TOML file being read, and what was found wrong with it.
#[derive(Debug)]
pub(super) struct Document<'a> {
    path: &'a Path,
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Document<'a> {
    /// Parses as much as is sound; faults of the syntax become problems.
    pub(super) fn parse(path: &'a Path, text: &'a str) -> (Self, DeTable<'a>) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut document = Self {
            path,
            text,
            problems: Vec::new(),
        };
        for error in errors {
            let message = error.message().trim().to_lowercase();
            document.report(error.span().unwrap_or_default(), message, None);
        }
        (document, table.into_inner())
    }

    pub(super) fn report(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let (line, column) = self.place(span.start);
        self.problems.push(Problem {
            path: self.path.to_owned(),
            line,
            column,
            message: message.into(),
            hint,
        });
    }

    /// What was found, in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.problems
            .sort_by_key(|problem| (problem.line, problem.column));
        self.problems
    }

    /// Line and column of a byte offset.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// The name that was probably meant.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(name.len()) / 3 + 1)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The same as a hint.
pub(super) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, known).map(|name| format!("did you mean `{name}`?"))
}

/// Number of edits that turn one name into the other.
fn distance(from: &str, to: &str) -> usize {
    let mut previous: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.bytes().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in to.bytes().enumerate() {
            let replace = previous[column] + usize::from(!a.eq_ignore_ascii_case(&b));
            current.push(
                replace
                    .min(previous[column + 1] + 1)
                    .min(current[column] + 1),
            );
        }
        previous = current;
    }
    previous[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let known = ["word_left", "word_right", "undo"];
        assert_eq!(nearest("wordleft", known), Some("word_left"));
        assert_eq!(nearest("Undo", known), Some("undo"));
        assert_eq!(nearest("entirely_else", known), None);
    }

    #[test]
    fn a_fault_is_placed_and_the_rest_is_read() {
        let text = "a = 1\nb = = 2\nc = 3\n";
        let (document, table) = Document::parse(Path::new("x.toml"), text);
        assert_eq!(document.problems[0].line, 2);
        assert!(
            table.contains_key("a") && table.contains_key("c"),
            "{table:?}"
        );
    }
}
