//! The diagnostics of language servers for the changed files: below the changes of each file, and to jump to.

use std::path::Path;

use osier_base::text;
use osier_protocol::{CodeProblem, CodeServerInfo};
use osier_term::{Row, Token};

/// The errors and warnings of the servers.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    pub(super) list: Vec<CodeProblem>,
    /// The diagnostic that the user jumped to.
    pub(super) selected: Option<usize>,
}

impl Problems {
    pub(crate) fn of(servers: &[CodeServerInfo]) -> Self {
        let list = servers.iter().flat_map(|server| server.problems.clone());
        Self {
            list: list.collect(),
            selected: None,
        }
    }

    /// One row for each diagnostic of a file; `path` is the end of the file's path.
    pub(super) fn rows(&self, path: &str, width: u16) -> Vec<Row> {
        let own = self.list.iter().enumerate();
        let own = own.filter(|(_, problem)| is_in(problem, path));
        let rows = own.map(|(place, problem)| {
            let CodeProblem {
                line,
                column,
                severity,
                message,
                ..
            } = problem;
            let mark = if self.selected == Some(place) {
                "▸"
            } else {
                " "
            };
            let shown = format!(" {mark} {line}:{column} {severity}: {message}");
            let shown = text::single_line(&shown);
            let shown = text::truncate(&shown, usize::from(width)).into_owned();
            let token = if severity == "error" {
                Token::Error
            } else {
                Token::Warning
            };
            Row::plain(shown, token)
        });
        rows.collect()
    }

    /// The line of the diagnostic that the user jumped to, if it is in this file.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        let problem = self.list.get(self.selected?)?;
        is_in(problem, path).then_some(problem.line as usize)
    }
}

pub(super) fn is_in(problem: &CodeProblem, path: &str) -> bool {
    Path::new(&problem.file_path).ends_with(path)
}

/// Whether a change contains a line of the new file.
pub(super) fn contains(piece: &str, line: usize) -> bool {
    let header = piece.lines().next().unwrap_or_default();
    let new = header.split(" +").nth(1).unwrap_or_default();
    let new = new.split(' ').next().unwrap_or_default();
    let (start, count) = new.split_once(',').unwrap_or((new, "1"));
    let (start, count) = (start.parse().unwrap_or(1_usize), count.parse().unwrap_or(1));
    (start..start + count).contains(&line)
}

#[cfg(test)]
mod tests {
    use osier_protocol::{ChangeKind, DiffRange, FileChange, FileDiff};

    use super::super::state::DiffView;
    use super::*;
    use crate::history::review::verdicts::Review;

    fn problem(path: &str, line: u32, severity: &str) -> CodeProblem {
        CodeProblem {
            file_path: path.to_owned(),
            line,
            column: 1,
            severity: severity.to_owned(),
            message: "bad\u{1b}[2J".to_owned(),
        }
    }

    #[test]
    fn jumps_go_to_the_change_of_each_problem_in_turn() {
        let file = |path: &str| FileDiff {
            change: FileChange {
                path: path.to_owned(),
                kind: ChangeKind::Modify,
                by_hand: false,
                obstacle: None,
            },
            from: None,
            diff: "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -8,2 +8,2 @@\n-a\n+b\n c\n"
                .to_owned(),
        };
        let files = vec![file("src/a.rs"), file("b.rs")];
        let mut view = DiffView::new(DiffRange::Session, false, files, Review::default());
        view.problems = Problems {
            list: vec![
                problem("/w/src/a.rs", 9, "error"),
                problem("/w/other.rs", 1, "error"),
                problem("/w/b.rs", 1, "warning"),
            ],
            selected: None,
        };
        view.lay_out(40);
        let mut seen = Vec::new();
        for _ in 0..3 {
            view.next_problem();
            let path = view.files[view.selected].change.path.clone();
            seen.push((view.problems.line(&path), path, view.hunk));
        }
        let first = (Some(9), "src/a.rs".to_owned(), 1);
        let second = (Some(1), "b.rs".to_owned(), 0);
        assert_eq!(seen, [first.clone(), second, first]);
        let rows = view.problems.rows("src/a.rs", 40);
        let text: Vec<&str> = rows[0].spans.iter().map(|span| &*span.text).collect();
        assert_eq!(text.concat(), " ▸ 9:1 error: bad");
        assert_eq!(view.problems.rows("a.rs", 40).len(), 1);
        assert_eq!(view.problems.rows("c.rs", 40), []);
    }
}
