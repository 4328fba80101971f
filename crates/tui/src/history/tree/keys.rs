//! The tree as an overlay: the effects of keys on the selected entry, and the input lines.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::flat::HERE;
use super::view::{Summarized, TreeView, Typing};
use crate::actions::{Action, Command, FilesAfter, command::preview};
use crate::drawing::preview_pane::edit;
use osier_protocol::{FilesAt, TreeOp};
use osier_term::{Component, Cx, Handled, KeyPress, LineInput, View};

impl TreeView {
    /// Marks an entry, or compares the marked one with the selected one.
    fn compare(&mut self, cx: &mut Cx<'_, Action>) {
        let Some(selected) = self.selected else {
            return;
        };
        let Some(marked) = self.marked.take() else {
            self.marked = Some(selected);
            return;
        };
        if marked == selected {
            return;
        }
        // On one branch, the two entries are compared; on two branches, the newest entries below
        // them.
        let is_one_branch = self.hangs_on(marked, selected) || self.hangs_on(selected, marked);
        let end = |number| {
            if is_one_branch {
                number
            } else {
                self.newest_below(number)
            }
        };
        let left = self.id_of(Some(end(marked)));
        let right = self.id_of(Some(end(selected)));
        cx.push(TreeOp::CompareBranches {
            request: 0,
            left,
            right,
        });
    }

    fn go(
        &mut self,
        (summarize, instructions): (bool, Option<String>),
        files: bool,
        cx: &mut Cx<'_, Action>,
    ) {
        if self.selected == Some(HERE) {
            cx.push(Action::CloseLayer);
        }
        let entry_id = self.selected_id();
        if entry_id.is_some() {
            self.show_selected(cx);
            let op = TreeOp::MoveTo {
                last_prompt: false,
                entry_id,
                summarize,
                instructions,
                with_files: files,
            };
            if files {
                self.is_moving = true;
            } else {
                cx.push(Action::CloseLayer);
            }
            let files = if files {
                FilesAfter::List
            } else {
                FilesAfter::Stay
            };
            cx.push(Action::Move { op, files });
        }
    }

    /// Shows the branches again that hide the selected entry: the conversation continues there.
    fn show_selected(&mut self, cx: &mut Cx<'_, Action>) {
        let Some(selected) = self.selected else {
            return;
        };
        let hidden = self.outline.hidden.clone().into_iter();
        let above: Vec<u32> = hidden
            .filter(|number| self.hangs_on(selected, *number))
            .collect();
        for number in above {
            if let Some(entry_id) = self.id_of(Some(number)) {
                self.set_hidden(number, false);
                let hidden = false;
                cx.push(TreeOp::HideBranch { entry_id, hidden });
            }
        }
    }

    /// Has a model summarize the conversation before the selected entry.
    fn compact_before(&mut self, instructions: Option<String>, cx: &mut Cx<'_, Action>) {
        if let Some(entry_id) = self.selected_id() {
            cx.push(Action::CloseLayer);
            cx.push(TreeOp::Compact {
                instructions,
                review: true,
                up_to: Some(entry_id),
            });
        }
    }

    /// Forks the selected entry. Until the fork is made, its tab cannot open, so the tree stays and takes its keys.
    fn fork(&mut self, command: Command, cx: &mut Cx<'_, Action>) {
        if self.is_forking {
            self.remark = "the fork is being made: its tab opens when it is done".into();
            return;
        }
        let Some(id) = self.selected_id() else {
            return;
        };
        let entry_id = Some(id);
        let is_worktree = command == Command::TreeForkWorktree;
        self.is_forking = true;
        self.remark = "making the fork …".into();
        cx.push(if is_worktree {
            TreeOp::ForkWorktree { entry_id }
        } else {
            TreeOp::Fork { entry_id }
        });
    }

    fn preview_files(&mut self, cx: &mut Cx<'_, Action>) {
        if let Some(entry_id) = self.selected_id() {
            cx.push(preview(FilesAt::Entry { entry_id }));
        }
    }

    fn on_entry(&mut self, op: impl FnOnce(String) -> TreeOp, cx: &mut Cx<'_, Action>) {
        if let Some(id) = self.selected_id() {
            cx.push(op(id));
        }
    }

    fn hide(&mut self, hidden: bool, cx: &mut Cx<'_, Action>) {
        if hidden
            && self
                .selected
                .is_some_and(|number| self.flat.is_on_path(number))
        {
            self.remark = "the current branch cannot be hidden: go to another branch first".into();
            return;
        }
        if !hidden && self.outline.hidden.is_empty() {
            self.remark = "no branch is hidden".into();
            return;
        }
        let target = if hidden {
            self.selected
        } else {
            // The entry that was hidden last is restored first.
            let selected = self.selected.filter(|number| self.flat.is_hidden(*number));
            let above = selected.and_then(|number| {
                let hidden = &self.outline.hidden;
                hidden
                    .iter()
                    .rev()
                    .find(|other| self.hangs_on(number, **other))
            });
            above.or(self.outline.hidden.last()).copied()
        };
        if let (Some(number), Some(entry_id)) = (target, self.id_of(target)) {
            self.set_hidden(number, hidden);
            if !hidden {
                self.selected = target;
            }
            cx.push(TreeOp::HideBranch { entry_id, hidden });
        }
    }

    /// Asks what deleting the selected branch would delete; the answer opens the question.
    fn erase(&mut self, cx: &mut Cx<'_, Action>) {
        let is_current = |number| self.flat.is_on_path(number);
        if self.selected.is_some_and(is_current) {
            self.remark = "the current branch cannot be deleted: go to another branch first".into();
            return;
        }
        let preview = true;
        self.on_entry(|entry_id| TreeOp::DeleteBranch { entry_id, preview }, cx);
    }

    /// A command while a line is typed.
    fn type_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let (line, is_query) = match &mut self.typing {
            Typing::Nothing => return Handled::No,
            Typing::Query(line) => (line, true),
            Typing::Label(line) | Typing::Instructions(line, _) => (line, false),
        };
        let before = line.text().to_owned();
        match command {
            Command::Up if is_query => self.step(-1),
            Command::Down | Command::Search if is_query => self.step(1),
            Command::Accept => {
                if let Typing::Instructions(_, summarized) = self.typing {
                    let instructions = Some(before).filter(|text| !text.trim().is_empty());
                    self.typing = Typing::Nothing;
                    match summarized {
                        Summarized::LeftBranch => self.go((true, instructions), false, cx),
                        Summarized::Before => self.compact_before(instructions, cx),
                    }
                    return Handled::Yes;
                }
                if !is_query {
                    self.on_entry(
                        |entry_id| TreeOp::LabelEntry {
                            entry_id,
                            label: before.clone(),
                        },
                        cx,
                    );
                }
                self.typing = Typing::Nothing;
                return Handled::Yes;
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                self.typing = Typing::Nothing;
                if is_query {
                    self.search("");
                }
                return Handled::Yes;
            }
            command => {
                // A command that the input line does not know does nothing while the user types.
                let _ = edit(line, command);
            }
        }
        if let Typing::Query(line) = &self.typing
            && line.text() != before
        {
            let query = line.text().to_owned();
            self.search(&query);
        }
        Handled::Yes
    }

    fn type_text(&mut self, text: &str) {
        match &mut self.typing {
            Typing::Nothing => {}
            Typing::Label(line) | Typing::Instructions(line, _) => line.insert(text),
            Typing::Query(line) => {
                line.insert(text);
                let query = line.text().to_owned();
                self.search(&query);
            }
        }
    }

    /// Runs a command that moves the selection or the view; false for another one.
    fn move_command(&mut self, command: Command) -> bool {
        let page = isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1);
        match command {
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-page),
            Command::PageDown => self.step(page),
            Command::First => self.select(0),
            Command::Last => self.select(usize::MAX),
            Command::PreviousPrompt => self.step_prompt(false),
            Command::NextPrompt => self.step_prompt(true),
            Command::TreeParent => self.step_on_branch(false),
            Command::TreeChild => self.step_on_branch(true),
            Command::TreeEnd => self.step_to_end(),
            Command::PreviousSibling => self.step_sibling(false),
            Command::NextSibling => self.step_sibling(true),
            Command::Fold => self.fold(true),
            Command::Unfold => self.fold(false),
            Command::PanLeft => self.shift -= 1,
            Command::PanRight => self.shift += 1,
            _ => return false,
        }
        true
    }

    fn begin_label(&mut self) {
        let Some(selected) = self.selected else {
            return;
        };
        let label = self.label(selected).unwrap_or_default().to_owned();
        self.typing = Typing::Label(LineInput::new(label));
    }
}

/// Whether the command is about the selected entry, or changes branches. `Accept` on the row that stays closes the list.
fn changes_an_entry(command: Command) -> bool {
    matches!(
        command,
        Command::TreeSummarize
            | Command::TreeSummarizeBefore
            | Command::TreeWithFiles
            | Command::TreeMenu
            | Command::TreeFiles
            | Command::TreeFork
            | Command::TreeForkWorktree
            | Command::TreeCompare
            | Command::TreeLabel
            | Command::TreeDelete
            | Command::TreeRestore
            | Command::TreeErase
    )
}

impl Component<Command, Action> for TreeView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.draw(area, buffer, view);
    }

    fn foot(&self) -> u16 {
        self.foot
    }

    fn on_key(&mut self, key: KeyPress, _cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            self.type_text(character.encode_utf8(&mut [0; 4]));
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, _cx: &mut Cx<'_, Action>) -> Handled {
        self.type_text(text.trim_end());
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        self.remark = "".into();
        self.is_moving = false;
        if !matches!(self.typing, Typing::Nothing) {
            return self.type_command(command, cx);
        }
        if self.move_command(command) {
            return Handled::Yes;
        }
        if self.selected == Some(HERE) && changes_an_entry(command) {
            self.remark = "this row changes nothing: select a prompt first".into();
            return Handled::Yes;
        }
        match command {
            Command::Accept if self.marked.is_some() => self.compare(cx),
            Command::Accept => self.go((false, None), false, cx),
            command @ (Command::GoBack | Command::GoForward) => {
                let op = match command {
                    Command::GoBack => TreeOp::GoBack,
                    _ => TreeOp::GoForward,
                };
                let files = FilesAfter::Return;
                cx.push(Action::Move { op, files });
            }
            Command::TreeSummarize if self.selected_id().is_some() => {
                self.typing = Typing::Instructions(LineInput::default(), Summarized::LeftBranch);
            }
            Command::TreeSummarizeBefore => {
                let is_current = |number| self.flat.is_on_path(number);
                if self.selected.is_some_and(is_current) {
                    self.typing = Typing::Instructions(LineInput::default(), Summarized::Before);
                } else {
                    self.remark = "only the current branch can be summarized up to an entry".into();
                }
            }
            Command::TreeWithFiles => self.go((false, None), true, cx),
            Command::TreeMenu => cx.push(Action::Run(command)),
            Command::TreeFiles => self.preview_files(cx),
            Command::TreeFork | Command::TreeForkWorktree => self.fork(command, cx),
            Command::TreeCompare => self.compare(cx),
            Command::TreeLabel => self.begin_label(),
            Command::TreeDelete => self.hide(true, cx),
            Command::TreeRestore => self.hide(false, cx),
            Command::TreeErase => self.erase(cx),
            Command::TreeFilter => {
                let mut memory = self.memory.borrow_mut();
                memory.filter = memory.filter.next();
                self.stale = true;
            }
            Command::Search => self.typing = Typing::Query(LineInput::new(self.query.clone())),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit
                if !self.query.is_empty() =>
            {
                self.search("");
            }
            Command::Cancel if self.marked.is_some() => self.marked = None,
            Command::Cancel | Command::Interrupt | Command::ClearOrExit | Command::Tree => {
                cx.push(Action::CloseLayer);
            }
            // Other keys belong to the covered view.
            _ => return Handled::Yes,
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        match self.typing {
            Typing::Nothing => "tree",
            _ => "list",
        }
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn typed(&self) -> Option<&str> {
        match &self.typing {
            Typing::Query(line) => Some(line.text()),
            _ => None,
        }
    }
}
