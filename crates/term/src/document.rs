//! Parses TOML files of the user and reports problems with line and column. An invalid theme or
//! keymap never stops the program: its valid entries still apply.

use osier_base::sort;
use std::ops::Range;
use std::path::Path;

use toml::de::DeTable;

use osier_base::problem::{Problem, nearest};

/// A TOML file being parsed and the problems found so far.
#[derive(Debug)]
pub(super) struct Document<'a> {
    path: &'a Path,
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Document<'a> {
    /// Parses as much as possible. Syntax errors become problems.
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
        let problem = Problem::of_file(self.path, message, hint.unwrap_or_default());
        self.problems.push(problem.at(self.text, span.start));
    }

    /// The problems, in file order.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        sort::by_key(&mut self.problems, |problem| (problem.line, problem.column));
        self.problems
    }

    /// Line and column of a byte offset, from 1.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// Suggests the closest known name as a hint.
pub(super) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, known).map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_error_has_its_line_and_the_other_entries_are_parsed() {
        let text = "a = 1\nb = = 2\nc = 3\n";
        let (document, table) = Document::parse(Path::new("x.toml"), text);
        assert_eq!(document.problems[0].line, Some(2));
        assert!(
            table.contains_key("a") && table.contains_key("c"),
            "{table:?}"
        );
    }
}
