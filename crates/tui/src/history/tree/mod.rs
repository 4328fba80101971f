//! The session tree: move, collapse, filter and search, and continue from any entry. `flat` turns the
//! outline into rows, `view` is the overlay, `rows` draws it, `compare` shows two branches side by side.
//!
//! The overlay holds the outline, which is two megabytes for a hundred thousand entries, and the
//! first lines of what was on the screen; the session has everything else.

mod compare;
mod flat;
mod keys;
mod menu;
pub(crate) mod rewind;
mod rows;
mod view;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use crate::actions::{
    Command, ExpectedEntry, FilesAfter, Outbox, StoredSession, TabRequest, Toast,
};
use crate::conversation::Transcript;
use crate::drawing::Overlays;
use crate::history::checkpoints;
use crate::input::{POINTS, Prompt};
use crate::status::{Activity, Footer};
use compare::CompareView;
pub(crate) use compare::changed_file;
use flat::Filter;
pub(crate) use menu::open_menu;
use osier_agent::{Severity, UserMessage};
use osier_base::{path, text};
use osier_protocol::{
    CheckpointEvent, CheckpointOp, Event, FilesAt, ForkFiles, Op, Opening, Outline, SessionInfo,
    Tag, TreeEvent, TreeOp,
};
use osier_term::Keymap;
use view::{ID, TreeMemory, TreeView};

/// Columns of the prompt in the notice of a fork.
const FORK_COLUMNS: usize = 30;

/// The tree of the session while its overlay is closed.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The state of the overlay when it was last open.
    memory: Rc<RefCell<TreeMemory>>,
    /// The files of the pending move in the tree.
    files: Option<MoveFiles>,
    /// The command that reverts the pending move.
    way_back: Option<Command>,
    expected: Option<ExpectedEntry>,
}

/// The fate of the files after a move.
#[derive(Debug, Clone, Copy)]
enum MoveFiles {
    /// A notice says that the files differ.
    Compare,
    /// osier offers to restore the files of the last visit.
    Return,
    /// osier offers to restore the files of the target.
    Restore,
    /// osier offers to restore the files that the undone turns changed.
    Undo,
    /// osier restores the files that the undone turns changed.
    UndoAtOnce,
    /// osier offers to redo what was restored after the undo.
    Redo,
}

/// The parts of the main screen that events of the tree change.
#[derive(Debug)]
pub(crate) struct TreeContext<'a> {
    pub(crate) session: &'a SessionInfo,
    pub(crate) prompt: &'a mut Prompt,
    pub(crate) transcript: &'a mut Transcript,
    pub(crate) activity: &'a mut Activity,
    pub(crate) footer: &'a mut Footer,
    pub(crate) overlays: &'a mut Overlays,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) keymap: &'a Keymap<Command>,
    pub(crate) now: Instant,
}

/// The requests of the open tree to the session.
pub(crate) fn take_ops(overlays: &mut Overlays) -> Vec<Op> {
    view(overlays).map(TreeView::take_ops).unwrap_or_default()
}

/// Reads the open tree again when an event has changed it.
pub(crate) fn refresh(overlays: &mut Overlays, event: &Event) {
    let stores = matches!(
        event,
        Event::MessageStored { .. }
            | Event::Tree(
                TreeEvent::Moved { .. }
                    | TreeEvent::EntryLabelled { .. }
                    | TreeEvent::BranchHidden { .. }
                    | TreeEvent::BranchFolded { .. }
            )
    );
    if matches!(
        event,
        Event::Tree(TreeEvent::BranchDeleted { preview: false, .. })
    ) && let Some(view) = view(overlays)
    {
        view.reload();
    }
    let is_moved = matches!(event, Event::Tree(TreeEvent::Moved { .. }));
    if is_moved && view(overlays).is_some_and(|view| view.is_moving) {
        overlays.remove(ID);
    }
    if let Event::Notice {
        severity,
        text: cause,
        ..
    } = event
        && *severity != Severity::Info
        && let Some(view) = view(overlays)
    {
        view.forget_hiding();
        if view.is_moving || std::mem::take(&mut view.is_forking) {
            view.remark = text::single_line(cause).into();
        }
    }
    if matches!(event, Event::Tree(TreeEvent::Forked { .. }))
        && view(overlays).is_some_and(|view| view.is_forking)
    {
        overlays.remove(ID);
    }
    if let Event::Tree(TreeEvent::BranchHidden { entry_id, .. }) = event
        && let Some(view) = view(overlays)
    {
        view.confirm_hidden(entry_id);
    }
    if stores && let Some(view) = view(overlays) {
        view.has_moved |= is_moved;
        view.refresh();
    }
    if let Event::Checkpoint(CheckpointEvent::ChangedLines { request, files, .. }) = event
        && let Some(view) = view(overlays)
    {
        view.set_changes(*request, files);
    }
}

fn view(overlays: &mut Overlays) -> Option<&mut TreeView> {
    overlays.find(ID)
}

impl Tree {
    /// Opens the tree of a session.
    pub(crate) fn open(&mut self, session: &str, overlays: &mut Overlays) {
        if self.memory.borrow().session != session {
            let memory = TreeMemory {
                session: session.to_owned(),
                ..TreeMemory::default()
            };
            self.memory = Rc::new(RefCell::new(memory));
        }
        overlays.push_modal(ID, TreeView::new(Rc::clone(&self.memory)));
    }

    /// Opens the prompts of the session to go back to one of them.
    pub(crate) fn rewind(session: &str, overlays: &mut Overlays) {
        let memory = TreeMemory {
            session: session.to_owned(),
            filter: Filter::UserOnly,
            is_rewind: true,
        };
        let view = TreeView::new(Rc::new(RefCell::new(memory)));
        overlays.push_modal(ID, view);
    }

    /// Shows the entry if its session is the `open` one; else when that session is open.
    pub(crate) fn expect(&mut self, entry: ExpectedEntry, open: &str, overlays: &mut Overlays) {
        let is_open = entry.0 == open;
        self.expected = Some(entry);
        if is_open {
            self.open_expected(open, overlays);
        }
    }

    /// The entry to show, for the tab in which its session opens.
    pub(crate) fn take_expected(&mut self) -> Option<ExpectedEntry> {
        self.expected.take()
    }

    /// Opens the tree at the expected entry of the session that was opened.
    pub(crate) fn open_expected(&mut self, session: &str, overlays: &mut Overlays) {
        let expected = self.expected.take().filter(|(id, _)| id == session);
        if let Some((_, (entry_id, words))) = expected {
            self.open(session, overlays);
            if let Some(view) = view(overlays) {
                view.expected = Some(entry_id);
                view.sought = words;
            }
        }
    }

    /// Moves the conversation; the files follow. A step is refused behind a list in front, which is about the present position.
    pub(crate) fn move_to(
        &mut self,
        op: TreeOp,
        files: FilesAfter,
        front: Option<&'static str>,
        outbox: &mut Outbox,
    ) {
        let is_step = matches!(op, TreeOp::GoBack | TreeOp::GoForward);
        let follows = |front| front == ID || front == checkpoints::ID;
        if is_step && !front.is_none_or(follows) {
            return outbox.push(Toast::info(
                "the conversation does not move behind this: `esc` closes it",
            ));
        }
        self.files = Some(match (files, &op) {
            (FilesAfter::Stay, _) => MoveFiles::Compare,
            (FilesAfter::Return, _) => MoveFiles::Return,
            (FilesAfter::Restored, _) => MoveFiles::UndoAtOnce,
            (FilesAfter::List, TreeOp::UndoPrompt { .. }) => MoveFiles::Undo,
            (FilesAfter::List, TreeOp::RedoPrompt { .. }) => MoveFiles::Redo,
            (FilesAfter::List, _) => MoveFiles::Restore,
        });
        self.way_back = Some(match op {
            TreeOp::GoBack | TreeOp::RedoPrompt { .. } => Command::GoForward,
            _ => Command::GoBack,
        });
        outbox.push(op);
    }

    /// Forgets the steps that were planned for a refused move, before a request that moves in another way.
    pub(crate) fn sending(&mut self, op: Op) -> Op {
        if let Op::Tree(TreeOp::RetryPrompt { .. } | TreeOp::TakeLane { .. }) = &op {
            (self.files, self.way_back) = (None, None);
        }
        op
    }

    /// Applies an event of the tree.
    pub(crate) fn on_event(&mut self, event: &TreeEvent, cx: &mut TreeContext<'_>) {
        match event {
            TreeEvent::Moved {
                from,
                messages,
                prompt,
                ..
            } => {
                cx.activity.end();
                // The list is about the files of the position that was left.
                checkpoints::close(cx.overlays);
                cx.footer.begin_branch();
                for stored in messages {
                    cx.footer.show_tokens(&stored.message);
                }
                cx.prompt.return_prompt(prompt.as_ref(), cx.outbox);
                self.show_way_back(cx);
                self.check_files(from.as_ref(), cx.outbox);
            }
            TreeEvent::Forked {
                session,
                prompt,
                cwd,
                files,
                ..
            } => {
                let notice = match cwd {
                    Some(cwd) => worktree_notice(cwd, *files),
                    None => fork_notice(cx.session, prompt.as_deref()),
                };
                let stored = StoredSession {
                    target: session.clone(),
                    cwd: cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
                    opening: Opening::Itself,
                };
                cx.outbox.push(TabRequest::OpenFork(stored, notice));
            }
            TreeEvent::BranchSummaryStart => {
                cx.activity.begin(cx.now);
                cx.activity.begin_task("summarizing the previous branch");
            }
            TreeEvent::BranchSummaryFailed { message } => {
                cx.activity.end();
                let text = format!("not moved: {message}");
                cx.transcript.notice(Severity::Warning, &text);
            }
            event => show(event, cx),
        }
    }

    /// After a move of the user, the end of the conversation says how to revert it.
    fn show_way_back(&mut self, cx: &mut TreeContext<'_>) {
        let Some(command) = self.way_back.take() else {
            return;
        };
        if let Some(key) = cx.keymap.keys_for("global", command).into_iter().next() {
            let text = match command {
                Command::GoForward => format!("went back; {key} goes forward again"),
                _ => format!("moved in the session tree; {key} goes back to where you were"),
            };
            cx.transcript.notice(Severity::Info, &text);
        }
    }

    /// After a move from the entry `from`: requests the file changes for review, or whether files differ.
    fn check_files(&mut self, from: Option<&String>, outbox: &mut Outbox) {
        match (self.files.take(), from) {
            (Some(MoveFiles::Undo), Some(from)) => {
                let entry_id = from.clone();
                outbox.push(checkpoints::preview_after_move(FilesAt::Undone {
                    entry_id,
                }));
            }
            (Some(MoveFiles::Redo), _) => {
                outbox.push(checkpoints::preview_after_move(FilesAt::Redone));
            }
            (Some(MoveFiles::UndoAtOnce), Some(from)) => {
                let entry_id = from.clone();
                let at = FilesAt::Undone { entry_id };
                let by_hand = false;
                outbox.push(CheckpointOp::RestoreFiles { at, by_hand });
            }
            (Some(MoveFiles::Return), _) => outbox.push(checkpoints::preview_return()),
            (Some(MoveFiles::Undo | MoveFiles::Restore), _) => {
                outbox.push(checkpoints::preview_after_move(FilesAt::Here));
            }
            (Some(MoveFiles::Compare | MoveFiles::UndoAtOnce), _) => {
                outbox.push(checkpoints::compare());
            }
            (None, _) => {}
        }
    }
}

/// Shows the replies to requests of the tree.
fn show(event: &TreeEvent, cx: &mut TreeContext<'_>) {
    match event {
        TreeEvent::Tree {
            request: POINTS,
            outline,
        } => cx.outbox.push(read_prompts(outline)),
        TreeEvent::Entries {
            request: POINTS,
            entries,
        } => {
            let points = entries.iter();
            let points = points.map(|entry| (entry.entry_id.clone(), entry.text.clone()));
            cx.prompt.editor.set_points(points.collect());
        }
        TreeEvent::Tree { request, outline } => {
            if let Some(view) = view(cx.overlays) {
                view.set_outline(*request, outline);
            }
        }
        TreeEvent::Entries { entries, .. } => {
            if let Some(view) = view(cx.overlays) {
                view.set_glimpses(entries);
            }
        }
        TreeEvent::TreeHits {
            request,
            entries,
            done,
        } => {
            if let Some(view) = view(cx.overlays) {
                view.set_hits(*request, entries, *done);
            }
        }
        TreeEvent::BranchesCompared { comparison, .. } => {
            let cwd = PathBuf::from(&cx.session.cwd);
            let view = CompareView::new((**comparison).clone(), cwd);
            cx.overlays.push_modal(compare::ID, view);
        }
        TreeEvent::BranchDeleted {
            entry_id,
            preview: true,
            messages,
            bytes,
        } if view(cx.overlays).is_some() => {
            menu::ask_to_delete(entry_id, (*messages, *bytes), cx.overlays);
        }
        TreeEvent::BranchDeleted {
            preview: false,
            messages,
            ..
        } => {
            let messages = text::counted(*messages, "message", "messages");
            cx.outbox
                .push(Toast::info(format!("{messages} deleted permanently")));
        }
        TreeEvent::BranchHidden { hidden, .. } => {
            let keys = cx.keymap.keys_for("tree", Command::TreeRestore);
            let text = match (*hidden, keys.first()) {
                (true, Some(key)) => format!("hidden; {key} shows it again"),
                (true, None) => "hidden".to_owned(),
                (false, _) => "shown again".to_owned(),
            };
            cx.outbox.push(Toast::info(text));
        }
        _ => {}
    }
}

/// Requests the newest prompts of all branches, newest first.
fn read_prompts(outline: &Outline) -> TreeOp {
    /// How many prompts the completion knows, and the bytes of each.
    const PROMPTS: usize = 200;
    const BYTES: usize = 200;
    let entries = (0..outline.end()).rev();
    let entries = entries.filter_map(|number| outline.get(number));
    let prompts = entries.filter(|entry| entry.tag == Tag::User);
    TreeOp::ReadEntries {
        request: POINTS,
        entry_ids: prompts
            .take(PROMPTS)
            .map(|entry| entry.id.to_owned())
            .collect(),
        bytes: BYTES,
    }
}

/// The notice in the new tab of a fork in a worktree.
fn worktree_notice(cwd: &Path, files: Option<ForkFiles>) -> String {
    let files = match files {
        Some(ForkFiles::Point) => " with the files of that point",
        Some(ForkFiles::Now) => " with the files as they are now",
        Some(ForkFiles::Unrecorded) => " with the files as they are now (none recorded there)",
        None => "",
    };
    // The path is last: a narrow screen cuts the end of a notice.
    format!("new tab: fork{files}, in {}", path::below_home(cwd))
}

/// The notice in the new tab of a fork: the session and the prompt that it was forked from.
fn fork_notice(session: &SessionInfo, prompt: Option<&UserMessage>) -> String {
    let name = session.name.as_deref().unwrap_or("this session");
    match prompt {
        Some(prompt) => {
            let prompt = text::single_line(&prompt.text);
            let prompt = text::truncate(&prompt, FORK_COLUMNS);
            format!("new tab: fork of {name}, before “{prompt}”")
        }
        None => format!("new tab: copy of {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Action;

    #[test]
    fn entry_is_shown_at_once_if_its_session_is_open() {
        let (mut tree, mut overlays) = (Tree::default(), Overlays::default());
        let entry = ("s1".to_owned(), ("e1".to_owned(), "word".to_owned()));
        tree.expect(entry.clone(), "s2", &mut overlays);
        assert!(overlays.is_empty());
        assert_eq!(tree.take_expected(), Some(entry.clone()));
        tree.expect(entry, "s1", &mut overlays);
        let view = view(&mut overlays).unwrap();
        assert_eq!(
            (view.expected.as_deref(), &*view.sought),
            (Some("e1"), "word")
        );
        assert_eq!(tree.take_expected(), None);
    }

    #[test]
    fn files_are_requested_once_after_a_move() {
        let (mut tree, mut outbox) = (Tree::default(), Outbox::default());
        let moved = TreeEvent::Moved {
            from: Some("b".to_owned()),
            leaf: None,
            messages: Vec::new(),
            at_start: true,
            count: 0,
            prompt: Some(UserMessage {
                text: "again".to_owned(),
                ..UserMessage::default()
            }),
        };
        let mut prompt = Prompt::default();
        let undone = FilesAt::Undone {
            entry_id: "b".to_owned(),
        };
        let undo = |with_files| TreeOp::UndoPrompt { with_files };
        let redo = TreeOp::RedoPrompt { with_files: true };
        let redone = checkpoints::preview_after_move(FilesAt::Redone);
        let restore = CheckpointOp::RestoreFiles {
            at: undone.clone(),
            by_hand: false,
        };
        let undone = checkpoints::preview_after_move(undone);
        for (op, files, expected) in [
            (Some(undo(true)), FilesAfter::List, vec![undone]),
            (Some(undo(true)), FilesAfter::Restored, vec![restore.into()]),
            (
                Some(undo(false)),
                FilesAfter::Stay,
                vec![checkpoints::compare()],
            ),
            (
                Some(TreeOp::GoBack),
                FilesAfter::Return,
                vec![checkpoints::preview_return()],
            ),
            (Some(redo), FilesAfter::List, vec![redone]),
            (None, FilesAfter::Stay, Vec::new()),
        ] {
            if let Some(op) = op {
                tree.move_to(op.clone(), files, None, &mut outbox);
                assert_eq!(outbox.take(), [op.into()]);
            }
            let mut cx = TreeContext {
                session: &SessionInfo::default(),
                prompt: &mut prompt,
                transcript: &mut Transcript::new(&std::sync::Arc::default()),
                activity: &mut Activity::default(),
                footer: &mut Footer::default(),
                overlays: &mut Overlays::default(),
                outbox: &mut outbox,
                keymap: &Keymap::default(),
                now: Instant::now(),
            };
            tree.on_event(&moved, &mut cx);
            let expected: Vec<Action> = expected.into_iter().map(Into::into).collect();
            assert_eq!(outbox.take(), expected);
        }
        assert_eq!(prompt.editor.text(), "again");
    }

    #[test]
    fn the_notice_of_a_worktree_begins_with_its_files() {
        let notice = |files| worktree_notice(Path::new("/work/project-fork-1"), Some(files));
        assert_eq!(
            [ForkFiles::Point, ForkFiles::Now, ForkFiles::Unrecorded].map(notice),
            [
                "new tab: fork with the files of that point, in /work/project-fork-1",
                "new tab: fork with the files as they are now, in /work/project-fork-1",
                "new tab: fork with the files as they are now (none recorded there), in /work/project-fork-1",
            ]
        );
    }

    #[test]
    fn a_refused_move_has_no_effect_on_the_next_one() {
        let (mut tree, mut outbox) = (Tree::default(), Outbox::default());
        let undo = TreeOp::UndoPrompt { with_files: true };
        tree.move_to(undo.clone(), FilesAfter::List, None, &mut outbox);
        tree.sending(undo.into());
        assert!(tree.files.is_some() && tree.way_back.is_some());
        tree.sending(TreeOp::RetryPrompt { model: None }.into());
        assert!(tree.files.is_none() && tree.way_back.is_none());
    }
}
