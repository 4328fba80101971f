//! Restoring files: the previews and results on screen.

mod picker;

use crate::actions::{Outbox, Toast};
use crate::conversation::Transcript;
use crate::drawing::Overlays;
use osier_agent::Severity;
use osier_protocol::{ChangeKind, CheckpointEvent, FilesAt, Unrestored, changed_outside};
pub(crate) use picker::{compare, files, preview_after_move};

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
        } => report_differing(changes.len(), "`/restore` to review", transcript),
        CheckpointEvent::FilesPreview {
            request: picker::AFTER_UNDO,
            changes,
            ..
        } => {
            let keys = "`/restore` to review, `/redo` to revert the undo";
            report_differing(changes.len(), keys, transcript);
        }
        CheckpointEvent::FilesPreview {
            at: FilesAt::LastPrompt | FilesAt::Undone { .. },
            known: false,
            ..
        } => outbox.push(Toast::info("no files to restore: that turn changed none")),
        CheckpointEvent::FilesPreview { known: false, .. } => {
            let text = "no checkpoint of the files at this point";
            outbox.push(Toast::error(text));
        }
        CheckpointEvent::FilesPreview { changes, .. } if changes.is_empty() => {
            let text = "no files to restore: none differ from this point";
            outbox.push(Toast::info(text));
        }
        CheckpointEvent::FilesPreview {
            request,
            at,
            changes,
            ..
        } => {
            let mut picker = picker::picker(at, changes);
            if *request == picker::AFTER_MOVE {
                // The conversation has moved already.
                picker = picker.closing("keep files").on_leave(picker::left(at));
            }
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
                outbox.push(Toast::error(text));
            }
        }
        CheckpointEvent::FilesChangedOutside { paths, more } => {
            let text = changed_outside(paths, *more);
            transcript.notice(Severity::Info, &text);
        }
        CheckpointEvent::FileDiffs { .. } | CheckpointEvent::ChangedLines { .. } => {}
    }
}

fn report_differing(count: usize, keys: &str, transcript: &mut Transcript) {
    let text = match count {
        0 => return,
        1 => format!("1 file differs from this point: {keys}"),
        count => format!("{count} files differ from this point: {keys}"),
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
