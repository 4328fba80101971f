//! Restoring files: the previews and results on screen.

use crate::actions::command::UNDO;
use crate::actions::{Action, FilesAfter, Outbox, Toast};
use crate::conversation::Transcript;
use crate::drawing::{MenuItem, Overlays, Picker};
use osier_agent::Severity;
use osier_base::text;
use osier_protocol::{
    ChangeKind, ChangedLines, CheckpointEvent, CheckpointOp, FileChange, FilesAt, Op, RestoreStep,
    TreeOp, Unrestored, changed_outside,
};

/// The layer of the list.
pub(super) const ID: &str = "restore";

/// The layer of the choice what to undo.
const UNDO_ID: &str = "undo";

/// Number of the request whose reply opens no list.
const COMPARISON: u64 = 1;

/// Number of the request whose list opens after a move in the tree.
const AFTER_MOVE: u64 = 2;

/// Number of the request after the list of an undo was closed; its reply opens no list.
const AFTER_UNDO: u64 = 3;

/// Requests whether the files differ from this point; a notice appears when they do.
pub(crate) fn compare() -> Op {
    preview(COMPARISON, FilesAt::Here)
}

/// Number of the request after a step back or forward; its list opens if osier changed files since.
const RETURN: u64 = 4;

/// Requests how the files differ from those of the last visit, after a step back or forward.
pub(crate) fn preview_return() -> Op {
    preview(RETURN, FilesAt::Returned)
}

/// Closes the list of files to restore: the conversation has moved.
pub(crate) fn close(overlays: &mut Overlays) {
    overlays.remove(ID);
}

/// Requests the changes of restoring the files after a move.
pub(crate) fn preview_after_move(at: FilesAt) -> Op {
    preview(AFTER_MOVE, at)
}

/// The list for `at` was closed after a move: requests whether the files differ from where the conversation is now.
fn left(at: &FilesAt) -> Op {
    match at {
        FilesAt::Undone { .. } => preview(AFTER_UNDO, FilesAt::Here),
        _ => compare(),
    }
}

fn preview(request: u64, at: FilesAt) -> Op {
    Op::Checkpoint(CheckpointOp::PreviewFiles { request, at })
}

/// The ways to undo the last prompt. Files that were changed by hand stay.
fn undo_menu(changed: &[ChangedLines], more: u64) -> Picker<MenuItem> {
    let conversation = |with_files, files| Action::Move {
        op: TreeOp::UndoPrompt { with_files },
        files,
    };
    let by_hand = false;
    let files = CheckpointOp::RestoreFiles {
        at: FilesAt::LastPrompt,
        by_hand,
    };
    let items = [
        MenuItem::new(
            "Conversation and files",
            named(changed, more),
            conversation(true, FilesAfter::Restored),
        ),
        MenuItem::new(
            "Conversation only",
            "files stay",
            conversation(false, FilesAfter::Stay),
        ),
        MenuItem::new("Files only", "the conversation stays", files),
    ];
    Picker::menu("Undo the last prompt", "no choice matches", items)
        .with_answers()
        .taking("undo")
}

/// `cart.py +1 -1`, or the number of several files.
fn named(changed: &[ChangedLines], more: u64) -> String {
    match (changed, more) {
        ([file], 0) => {
            let path = text::single_line(&file.path);
            format!("{path} +{} -{}", file.added, file.removed)
        }
        (changed, more) => files(changed.len() + usize::try_from(more).unwrap_or_default()),
    }
}

/// The actions, above the files that they affect.
fn picker(at: &FilesAt, changes: &[FileChange]) -> Picker<MenuItem> {
    let free = changes.iter().filter(|change| change.obstacle.is_none());
    let by_hand = free.clone().filter(|change| change.by_hand).count();
    let own = free.count() - by_hand;
    let restore = |count: usize, meaning: &str, by_hand: bool| {
        let at = at.clone();
        let op = CheckpointOp::RestoreFiles { at, by_hand };
        MenuItem::new(format!("Restore {}", files(count)), meaning, op)
    };
    let mut items = Vec::with_capacity(changes.len() + 2);
    if own > 0 {
        items.push(restore(own, "", false));
    }
    if by_hand > 0 {
        if own == 0 {
            // Changes that were made by hand are never reverted by default.
            let label = format!("Keep {}", files(by_hand));
            items.push(MenuItem::new(label, "", Action::CloseLayer));
        }
        let meaning = "including those changed by hand";
        items.push(restore(own + by_hand, meaning, true));
    }
    items.extend(changes.iter().map(|change| item(at, change)));
    Picker::menu("Restore files", "no file matches", items).taking("restore")
}

/// `1 file`, `2 files`.
pub(crate) fn files(count: usize) -> String {
    text::counted(count, "file", "files")
}

/// A file, which is only listed.
fn item(at: &FilesAt, change: &FileChange) -> MenuItem {
    let is_redo = matches!(at, FilesAt::Redone | FilesAt::Returned);
    let does = match change.kind {
        ChangeKind::Create => "will be restored",
        ChangeKind::Modify if is_redo => "will be restored",
        ChangeKind::Modify => "will be reverted",
        ChangeKind::Mode if is_redo => "mode will be restored",
        ChangeKind::Mode => "mode will be reverted",
        ChangeKind::Remove => "will be deleted",
    };
    let detail = match &change.obstacle {
        Some(obstacle) => format!("will be skipped: {obstacle}"),
        // First, so that it is never cut.
        None if change.by_hand => format!("changed by hand · {does}"),
        None => does.to_owned(),
    };
    MenuItem::without_action(&change.path, detail).dimmed()
}

/// The maximum number of files that could not be restored and have their own notices.
const NAMED: usize = 10;

/// Shows the preview of a restore, or its result.
pub(crate) fn on_event(
    event: &CheckpointEvent,
    transcript: &mut Transcript,
    overlays: &mut Overlays,
    outbox: &mut Outbox,
) {
    match event {
        CheckpointEvent::FilesPreview { .. } => show_preview(event, transcript, overlays, outbox),
        CheckpointEvent::FilesRestored {
            changes,
            left,
            step,
        } => {
            let text = restored(changes, *step);
            transcript.notice(Severity::Info, &text);
            // The view in front covers the notice.
            if overlays.top().is_some() {
                outbox.push(Toast::info(text));
            }
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
        CheckpointEvent::ChangedLines {
            request: UNDO,
            files,
            more,
            ..
        } => {
            if files.is_empty() {
                outbox.push(Action::Move {
                    op: TreeOp::UndoPrompt { with_files: false },
                    files: FilesAfter::Stay,
                });
            } else {
                overlays.push_modal(UNDO_ID, undo_menu(files, *more));
            }
        }
        CheckpointEvent::FileDiffs { .. } | CheckpointEvent::ChangedLines { .. } => {}
    }
}

/// Shows the preview of a restore: as a list, or as a notice.
fn show_preview(
    event: &CheckpointEvent,
    transcript: &mut Transcript,
    overlays: &mut Overlays,
    outbox: &mut Outbox,
) {
    match event {
        CheckpointEvent::FilesPreview {
            request: COMPARISON,
            changes,
            ..
        } => report_differing(changes, "`/restore` to review", transcript),
        CheckpointEvent::FilesPreview {
            request: AFTER_UNDO,
            changes,
            ..
        } => {
            let keys = "`/restore` to review, `/redo` to revert the undo";
            report_differing(changes, keys, transcript);
        }
        CheckpointEvent::FilesPreview {
            request: RETURN,
            at,
            changes,
            ..
        } => {
            let is_own = |change: &FileChange| !change.by_hand && change.obstacle.is_none();
            if changes.iter().any(is_own) {
                let picker = picker(at, changes).closing("keep files").on_leave(left(at));
                overlays.push(ID, picker);
            } else {
                report_differing(changes, "`/restore` to review", transcript);
            }
        }
        CheckpointEvent::FilesPreview {
            at: FilesAt::LastPrompt | FilesAt::Undone { .. },
            known: false,
            ..
        } => outbox.push(Toast::info("no files to restore: that turn changed none")),
        CheckpointEvent::FilesPreview {
            at: FilesAt::Redone,
            known: false,
            ..
        } => outbox.push(Toast::info(
            "no files to restore: none were restored after the undo",
        )),
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
            let mut picker = picker(at, changes);
            if *request == AFTER_MOVE {
                // The conversation has moved already.
                picker = picker.closing("keep files").on_leave(left(at));
            }
            overlays.push(ID, picker);
        }
        _ => {}
    }
}

/// How many files a restore changed, and how to revert it.
fn restored(changes: &[FileChange], step: Option<RestoreStep>) -> String {
    let deleted = changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Remove)
        .count();
    let counts = match (changes.len() - deleted, deleted) {
        (restored, 0) => format!("{} restored", files(restored)),
        (0, deleted) => format!("{} deleted", files(deleted)),
        (restored, deleted) => format!("{} restored, {deleted} deleted", files(restored)),
    };
    match step {
        Some(RestoreStep::Undo) => {
            format!("restore undone: {counts}; `/restore redo` makes it again")
        }
        _ => format!("{counts}; `/restore undo` reverts this"),
    }
}

/// Differing files that a notice names.
const DIFFERING: usize = 3;

fn report_differing(changes: &[FileChange], keys: &str, transcript: &mut Transcript) {
    let differ = match changes.len() {
        0 => return,
        1 => "differs",
        _ => "differ",
    };
    let named = changes.iter().take(DIFFERING).map(|change| &*change.path);
    let named = text::single_line(&named.collect::<Vec<_>>().join(", "));
    let more = match changes.len().saturating_sub(DIFFERING) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = files(changes.len());
    let text = format!("{count} {differ} from this point: {named}{more}; {keys}");
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
