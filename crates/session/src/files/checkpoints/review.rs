//! The review of changes, hunk by hunk: rejected hunks are reverted in the files, and one prompt reports the result to
//! the model.

use std::fmt::Write as _;

use super::{Recording, SessionFiles, background, finish_interrupted};
use crate::emitter::Emitter;
use osier_agent::{Agent, Op, Severity};
use osier_protocol::{CheckpointEvent, Event, Reviewed, Unrestored};

impl SessionFiles {
    /// Reverts the rejected hunks. If `report`, sends the result to the model.
    pub(super) async fn review(
        &self,
        emitter: &Emitter,
        hunks: Vec<Reviewed>,
        report: bool,
        agent: &Agent,
    ) {
        let rejected: Vec<(String, String)> = hunks
            .iter()
            .filter(|piece| piece.rejected)
            .map(|piece| (piece.path.clone(), piece.hunk.clone()))
            .collect();
        let mut left = Vec::new();
        if !rejected.is_empty() {
            let files = self.files.clone();
            finish_interrupted(&self.files, Some(self), emitter).await;
            let planned = background(move || files.plan_to_revert(&rejected)).await;
            let restored = match planned {
                Ok((plan, unreverted)) => {
                    let restored = self.carry_out(plan, true, Recording::default()).await;
                    restored.map(|mut restored| {
                        restored.left.extend(unreverted);
                        restored
                    })
                }
                Err(error) => Err(error),
            };
            match restored {
                Ok(restored) => {
                    // The prompt below reports it.
                    self.restored(&restored, report).await;
                    left.clone_from(&restored.left);
                    let event = CheckpointEvent::FilesRestored {
                        changes: restored.changes,
                        left: restored.left,
                        step: None,
                    };
                    emitter.publish(Event::Checkpoint(event));
                }
                Err(error) => return emitter.post_notice(Severity::Warning, error),
            }
        }
        if report && let Some(text) = message(&hunks, &left) {
            // Only the comments are text of the user: the rest quotes files.
            let comments: Vec<&str> = hunks.iter().map(|hunk| hunk.comment.as_str()).collect();
            emitter.passed_to_agent();
            agent.send(Op::Prompt {
                text,
                attachments: Vec::new(),
                typed: Some(comments.join("\n")),
                once: None,
            });
        }
    }
}

/// The prompt for the model; `None` when there is nothing to report.
fn message(pieces: &[Reviewed], left: &[Unrestored]) -> Option<String> {
    let stayed = |piece: &Reviewed| {
        let header = piece.hunk.lines().next().unwrap_or_default();
        let name = format!("{} {header}", piece.path);
        left.iter().find(|left| left.path == name)
    };
    let mut taken = String::new();
    let mut others = String::new();
    let mut comments = String::new();
    let mut outdated = String::new();
    for piece in pieces {
        let to = match (piece.rejected, stayed(piece)) {
            (true, None) => &mut taken,
            (true, Some(_)) => &mut others,
            (false, _) if piece.comment.is_empty() => continue,
            (false, _) if piece.outdated => &mut outdated,
            (false, _) => &mut comments,
        };
        let _ = write!(to, "\n{}", piece.path);
        if !piece.comment.is_empty() {
            let _ = write!(to, ": {}", piece.comment);
        }
        if let Some(left) = stayed(piece).filter(|_| piece.rejected) {
            let _ = write!(to, " ({})", left.reason);
        }
        let fence = "`".repeat(longest_fence(&piece.hunk).max(2) + 1);
        let _ = write!(to, "\n{fence}diff\n{}\n{fence}\n", piece.hunk.trim_end());
    }
    let parts = [
        (
            "I rejected these changes and reverted them in the files:",
            taken,
        ),
        (
            "I rejected these changes; they could not be reverted and are still in the files:",
            others,
        ),
        (
            "I have comments on these changes, which are still in the files:",
            comments,
        ),
        (
            "I have comments on these changes; the lines have changed since then:",
            outdated,
        ),
    ];
    let mut text = String::from("I reviewed the changes.\n");
    let mut any = false;
    for (title, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
        any = true;
        let _ = write!(text, "\n{title}\n{part}");
    }
    any.then(|| text.trim_end().to_owned())
}

/// The longest run of backticks in the text.
fn longest_fence(text: &str) -> usize {
    let runs = text.split(|char| char != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_reports_reverted_kept_and_commented_hunks() {
        let piece = |path: &str, rejected, comment: &str| Reviewed {
            path: path.to_owned(),
            hunk: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
            rejected,
            comment: comment.to_owned(),
            outdated: path == "e",
        };
        assert_eq!(message(&[piece("a", false, "")], &[]), None);
        let left = [Unrestored {
            path: "c @@ -1 +1 @@".to_owned(),
            reason: "it has changed since then".to_owned(),
        }];
        let pieces = [
            piece("a", true, "not this way"),
            piece("b", false, "say why"),
            piece("c", true, ""),
            piece("d", false, ""),
            piece("e", false, "too long"),
        ];
        let diff = "```diff\n@@ -1 +1 @@\n-a\n+b\n```";
        assert_eq!(
            message(&pieces, &left).unwrap(),
            format!(
                "I reviewed the changes.\n\n\
                 I rejected these changes and reverted them in the files:\n\n\
                 a: not this way\n{diff}\n\n\
                 I rejected these changes; they could not be reverted and are still in the files:\n\n\
                 c (it has changed since then)\n{diff}\n\n\
                 I have comments on these changes, which are still in the files:\n\n\
                 b: say why\n{diff}\n\n\
                 I have comments on these changes; the lines have changed since then:\n\n\
                 e: too long\n{diff}"
            )
        );
    }
}
