//! Restoring files: the previews and results on screen.

mod picker;

use crate::outbox::Outbox;
use crate::overlays::Overlays;
use crate::transcript::Transcript;
use osier_agent::Severity;
use osier_protocol::{ChangeKind, CheckpointEvent, FilesAt, Unrestored, changed_outside};
pub(crate) use picker::{compare, files};

/// Unrestored files that have a notice each.
const NAMED: usize = 10;

/// Shows the preview of a restore, or its result.
pub(crate) fn on_event(
    event: &CheckpointEvent,
    transcript: &mut Transcript,
    overlays: &mut Overlays,
    outbox: &mut Outbox,
) {
    match event {
        CheckpointEvent::FilesPreview {
            request: picker::COMPARISON,
            changes,
            ..
        } => report_differing(changes.len(), transcript),
        CheckpointEvent::FilesPreview {
            at: FilesAt::LastPrompt | FilesAt::Undone { .. },
            known: false,
            ..
        } => outbox.toast("no files to restore: that turn changed none", false),
        CheckpointEvent::FilesPreview { known: false, .. } => {
            let text = "no checkpoint of the files at this point";
            outbox.toast(text, true);
        }
        CheckpointEvent::FilesPreview { changes, .. } if changes.is_empty() => {
            let text = "no files to restore: none differ from this point";
            outbox.toast(text, false);
        }
        CheckpointEvent::FilesPreview { at, changes, .. } => {
            let picker = picker::picker(at, changes);
            overlays.push(picker::ID, picker);
        }
        CheckpointEvent::FilesRestored { changes, left } => {
            let deleted = changes
                .iter()
                .filter(|change| change.kind == ChangeKind::Remove)
                .count();
            let counts = match (changes.len() - deleted, deleted) {
                (restored, 0) => format!("{} restored", files(restored)),
                (0, deleted) => format!("{} deleted", files(deleted)),
                (restored, deleted) => format!("{restored} restored, {deleted} deleted"),
            };
            let text = format!("{counts}; `/restore undo` reverts this");
            transcript.notice(Severity::Info, &text);
            report_left(left, transcript);
            if let Some(first) = left.first() {
                let text = format!("{}: {}", first.path, first.reason);
                outbox.toast(text, true);
            }
        }
        CheckpointEvent::FilesChangedOutside { paths, more } => {
            let text = changed_outside(paths, *more);
            transcript.notice(Severity::Info, &text);
        }
        CheckpointEvent::FileDiffs { .. } | CheckpointEvent::ChangedLines { .. } => {}
    }
}

fn report_differing(count: usize, transcript: &mut Transcript) {
    let text = match count {
        0 => return,
        1 => "1 file differs from this point: `/restore` to review".to_owned(),
        count => format!("{count} files differ from this point: `/restore` to review"),
    };
    transcript.notice(Severity::Info, &text);
}

fn report_left(left: &[Unrestored], transcript: &mut Transcript) {
    for file in left.iter().take(NAMED) {
        let text = format!("`{}` was not restored: {}", file.path, file.reason);
        transcript.notice(Severity::Warning, &text);
    }
    if let Some(more) = left.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let text = format!("{} more were not restored", files(more));
        transcript.notice(Severity::Warning, &text);
    }
}
