//! A problem in a file of the user: position, message and suggestion. The rest of the file is still used.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub path: PathBuf,
    /// The line, from 1; not set for a problem of the complete file.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// Lower case, names in backticks, no full stop.
    pub message: String,
    /// Advice for the user; may be empty.
    pub hint: String,
}

impl Problem {
    /// A problem of the complete file.
    pub fn of_file(
        path: impl Into<PathBuf>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self {
            path: path.into(),
            line: None,
            column: None,
            message,
            hint,
        }
    }

    /// Sets the position to byte `offset` of `text`.
    #[must_use]
    pub fn at(mut self, text: &str, offset: usize) -> Self {
        let before = crate::text::head_bytes(text, offset);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.line = Some(before.matches('\n').count() + 1);
        self.column = Some(before[line_start..].chars().count() + 1);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(formatter, ":{column}")?;
        }
        write!(formatter, ": {}", self.message)?;
        if !self.hint.is_empty() {
            write!(formatter, "; {}", self.hint)?;
        }
        Ok(())
    }
}

/// The name in `known` that is most similar to `name`, if it is likely to be a typing error.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = |name: &str| -> Vec<char> { name.to_lowercase().chars().collect() };
    let written = lower(name);
    let find = |candidate: &'a str| {
        let is_near =
            |distance: usize| distance * 3 <= candidate.len().max(name.len()).saturating_add(1);
        let known = lower(candidate);
        // The difference in length is a lower limit of the distance: most names are never compared.
        if !is_near(written.len().abs_diff(known.len())) {
            return None;
        }
        let distance = edit_distance(&written, &known);
        is_near(distance).then_some((distance, candidate))
    };
    let near = known.into_iter().filter_map(find);
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Number of inserted, removed, replaced and exchanged characters.
fn edit_distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut costs: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let replaced = costs[column] + usize::from(from != to);
            let mut cost = replaced.min(costs[column + 1] + 1).min(next[column] + 1);
            let is_exchange =
                row > 0 && column > 0 && (left[row - 1], *from) == (*to, right[column - 1]);
            if is_exchange {
                cost = cost.min(before[column - 1] + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut costs, next);
    }
    costs[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_is_shown_with_position_and_suggestion() {
        let problem = Problem::of_file("a.toml", "unknown key `themes`", "did you mean `theme`?");
        assert_eq!(
            problem.at("x = 1\nthemes = 2\n", 6).to_string(),
            "a.toml:2:1: unknown key `themes`; did you mean `theme`?"
        );
    }

    #[test]
    fn only_likely_typing_errors_are_suggested() {
        assert_eq!(nearest("themes", ["theme", "model"]), Some("theme"));
        assert_eq!(nearest("modle", ["theme", "model"]), Some("model"));
        assert_eq!(
            nearest("wordleft", ["word_left", "word_right"]),
            Some("word_left")
        );
        assert_eq!(nearest("Undo", ["undo"]), Some("undo"));
        assert_eq!(nearest("colour", ["theme", "model"]), None);
        // In a short name, a few letters make another name.
        assert_eq!(nearest("foo", ["op"]), None);
        assert_eq!(nearest("fly", ["fold", "fan"]), None);
        assert_eq!(nearest("oq", ["op"]), Some("op"));
        assert_eq!(nearest("aks", ["ask"]), Some("ask"));
    }
}
