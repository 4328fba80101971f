//! The preview of a restore: what happens to each file.

use crate::actions::Action;
use crate::drawing::{MenuItem, Picker};
use osier_base::text;
use osier_protocol::{ChangeKind, CheckpointOp, FileChange, FilesAt, Op};

/// The layer of the list.
pub(super) const ID: &str = "restore";

/// Number of the request whose reply opens no list.
pub(super) const COMPARISON: u64 = 1;

/// Number of the request whose list opens after a move in the tree.
pub(super) const AFTER_MOVE: u64 = 2;

/// Number of the request after the list of an undo was closed; its reply opens no list.
pub(super) const AFTER_UNDO: u64 = 3;

/// Requests whether the files differ from this point; a notice appears when they do.
pub(crate) fn compare() -> Op {
    preview(COMPARISON, FilesAt::Here)
}

/// Requests the changes of restoring the files after a move.
pub(crate) fn preview_after_move(at: FilesAt) -> Op {
    preview(AFTER_MOVE, at)
}

/// The list for `at` was closed after a move: requests whether the files differ from where the conversation is now.
pub(super) fn left(at: &FilesAt) -> Op {
    match at {
        FilesAt::Undone { .. } => preview(AFTER_UNDO, FilesAt::Here),
        _ => compare(),
    }
}

fn preview(request: u64, at: FilesAt) -> Op {
    Op::Checkpoint(CheckpointOp::PreviewFiles { request, at })
}

/// The actions, above the files that they affect.
pub(super) fn picker(at: &FilesAt, changes: &[FileChange]) -> Picker<MenuItem> {
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
            // What was changed by hand is never restored by default.
            let label = format!("Keep {}", files(by_hand));
            items.push(MenuItem::new(label, "", Action::CloseLayer));
        }
        let meaning = "including those changed by hand";
        items.push(restore(own + by_hand, meaning, true));
    }
    items.extend(changes.iter().map(item));
    Picker::menu("Restore files", "no file matches", items).taking("restore")
}

/// `1 file`, `2 files`.
pub(crate) fn files(count: usize) -> String {
    text::counted(count, "file", "files")
}

/// A file, which is only listed.
fn item(change: &FileChange) -> MenuItem {
    let does = match change.kind {
        ChangeKind::Create => "will be restored",
        ChangeKind::Modify => "will be reverted",
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
