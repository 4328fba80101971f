//! Event handling: turns events into cells. The only writer of the transcript.

use std::sync::Arc;

use super::cell::{Body, Cell};
use super::pages::PageResult;
use super::shell::ShellCell;
use super::state::{Position, Reported, Started, Transcript};
use super::strip::{SWITCHED, Strip};
use super::tool::{Phase, ToolCell};
use osier_agent::{AgentMessage, Severity, ToolResultMessage};
use osier_protocol::{Event, ModelInfo, StoredMessage, TerminalInfo, TreeEvent};
use osier_tools::ToolEffect;
use serde_json::Value;

/// The number of recent cells that are searched for the call of a new result.
const RECENT: usize = 256;

/// Below calls that have no result because osier was killed.
const INTERRUPTED: &str = "the calls above were interrupted: /retry to continue";

impl Transcript {
    /// Applies an event; returns whether anything visible may have changed.
    pub fn apply(&mut self, event: &Event) -> bool {
        let is_live = !matches!(
            event,
            Event::SessionOpened { .. }
                | Event::Tree(_)
                | Event::TranscriptPage { .. }
                | Event::MessageStored { .. }
        );
        if is_live {
            self.begin_below();
        }
        self.on_event(event)
    }

    fn on_event(&mut self, event: &Event) -> bool {
        match event {
            Event::SessionOpened {
                messages, at_start, ..
            } => self.reset(messages, *at_start),
            Event::Tree(TreeEvent::Moved {
                messages, at_start, ..
            }) => self.moved(messages, *at_start),
            Event::TranscriptPage {
                request,
                found,
                messages,
                at_start,
                at_end,
            } => {
                return self.add_page(PageResult {
                    request: *request,
                    found: *found,
                    messages,
                    at_start: *at_start,
                    at_end: *at_end,
                });
            }
            Event::MessageStored { id, entry_id } => {
                self.stored(id, entry_id);
                return false;
            }
            Event::ShellStart {
                id,
                command,
                exclude_from_context,
            } => {
                let cell = ShellCell::running(id.clone(), command.clone(), *exclude_from_context);
                let place = self.near.push(Body::Shell(Box::new(cell)));
                self.shells.insert(id.clone(), place);
            }
            Event::ShellUpdate { id, output } => {
                return self.change_shell(id, |cell| cell.update(output));
            }
            Event::ShellEnd { id, run } => {
                let changed = self.change_shell(id, |cell| cell.finish((**run).clone()));
                self.shells.remove(id);
                return changed;
            }
            Event::TerminalScreen { id, screen } => {
                return self.change_terminal(id, |cell| cell.screen = Some(screen.output.clone()));
            }
            Event::Terminals { terminals } => {
                let ended = terminals.iter().filter(|terminal| !terminal.running);
                for terminal in ended {
                    self.terminals.remove(&terminal.id);
                }
                return false;
            }
            Event::Notice { severity, text, .. } => self.notice(*severity, text),
            Event::CallReviewed {
                call_id,
                tool_name,
                review,
            } => {
                if let Some(place) = self.near.calls.get(call_id).copied() {
                    let change = |cell: &mut ToolCell| cell.review = Some(review.clone());
                    self.near.change_tool(place, change);
                } else {
                    // A call of a subagent, a lane or a plugin.
                    let text = format!("{tool_name}: {}", review.line());
                    self.notice(Severity::Info, &text);
                }
            }
            Event::Subagents { subagents } => return self.set_subagents(subagents),
            Event::QuestionAsked { question } => self.propose(question),
            Event::QuestionClosed { id } => self.withdraw(|question| question == id),
            Event::Questions { questions } => {
                self.withdraw(|id| questions.iter().all(|question| question.id != id));
                for question in questions {
                    self.propose(question);
                }
            }
            Event::Agent(event) => return self.apply_agent(event),
            _ => return false,
        }
        true
    }

    /// Adds a notice for the user.
    pub fn notice(&mut self, severity: Severity, text: &str) {
        self.near.notice(severity, text);
    }

    /// Marks a switch of the model. Switches without an answer between them are one.
    pub(crate) fn model_switched(&mut self, before: &ModelInfo, model: &ModelInfo, costs: &str) {
        let mut from = before.reference();
        if self.is_empty() || from == model.reference() {
            return;
        }
        if let Some(cell) = self.near.cells.last()
            && let Body::Notice(notice) = &cell.body
            && let Some((first, _)) = notice
                .text
                .strip_prefix(SWITCHED)
                .and_then(|text| text.split_once(' '))
        {
            first.clone_into(&mut from);
            self.remove(self.near.cells.len() - 1);
        }
        if from != model.reference() {
            let mut text = format!("{SWITCHED}{from} to {}", model.reference());
            if !costs.is_empty() {
                text = format!("{text}; {costs}");
            }
            self.notice(Severity::Info, &text);
        }
    }

    /// The conversation continues at another entry. Before its first prompt, a notice names the way
    /// back.
    fn moved(&mut self, messages: &[StoredMessage], at_start: bool) {
        let left = self.near.describe();
        self.reset(messages, at_start);
        self.announce_branch();
        if let Some(left) = left.filter(|_| messages.is_empty()) {
            let text = format!(
                "before the first prompt of this session; the branch that you left has {left}: `/redo` to return, \
                 `/tree` to see it"
            );
            self.notice(Severity::Info, &text);
            self.is_before_start = true;
        }
    }

    /// Shows a stored conversation from its end.
    fn reset(&mut self, messages: &[StoredMessage], at_start: bool) {
        // Problems that were reported before the first session opened stay on the screen.
        let reported = std::mem::take(&mut self.near.cells);
        let keep = !std::mem::replace(&mut self.opened, true);
        self.near = Strip::of(messages, !at_start);
        if self.near.cells.last().is_some_and(is_interrupted) {
            self.notice(Severity::Warning, INTERRUPTED);
        }
        self.unmark();
        self.away = None;
        self.asked = None;
        self.shells.clear();
        self.proposals.clear();
        self.subagents = Reported::default();
        self.terminals.clear();
        for message in messages {
            if let AgentMessage::ToolResult(result) = &*message.message {
                self.link_terminal(&result.result.tool_call_id, result);
            }
        }
        self.restored_terminals = self.terminals.keys().cloned().collect();
        self.open = None;
        self.started = None;
        self.below = None;
        self.is_before_start = false;
        self.position = Position::Follow;
        self.print_again();
        if messages.is_empty() {
            self.printed.next = Some((0, 0));
        }
        if keep {
            self.near.cells.extend(reported);
        }
    }

    /// A message that is complete from its start.
    pub(super) fn start_message(&mut self, id: &str, message: &AgentMessage) -> bool {
        let at = match message {
            AgentMessage::ToolResult(result) => {
                let call = &result.result.tool_call_id;
                let cells = self.near.cells.iter();
                cells.rev().take(RECENT).position(|cell| cell.is_call(call))
            }
            _ => None,
        };
        let place = match at {
            Some(back) => self.near.cells.len() - 1 - back,
            None => self.near.cells.len(),
        };
        let changed = self.near.add_message(message);
        self.started = Some(Started {
            id: id.to_owned(),
            place,
            is_result: matches!(message, AgentMessage::ToolResult(_)),
        });
        changed
    }

    /// The message `id` is stored: its cells can be let go and read again.
    fn stored(&mut self, id: &str, entry_id: &str) {
        let entry: Arc<str> = entry_id.into();
        if let Some(open) = self.open.as_mut().filter(|open| open.id == id) {
            open.entry = Some(Arc::clone(&entry));
            for place in &open.blocks {
                if let Some(cell) = self.near.cells.get_mut(*place) {
                    cell.entry = Some(Arc::clone(&entry));
                }
            }
        } else if let Some(started) = self.started.take_if(|started| started.id == id) {
            let cells = self.near.cells.get_mut(started.place..).unwrap_or_default();
            if started.is_result {
                if let Some(cell) = cells.first_mut() {
                    cell.result_entry = Some(Arc::clone(&entry));
                }
            } else {
                for cell in cells.iter_mut().filter(|cell| cell.entry.is_none()) {
                    cell.entry = Some(Arc::clone(&entry));
                }
            }
        }
        if self.near.first.is_none() {
            self.near.first = Some(Arc::clone(&entry));
        }
        self.near.last = Some(entry);
        self.trim();
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.near.cells.remove(place);
        self.near.calls.retain(|_, cell| *cell != place);
        for cell in self.near.calls.values_mut().chain(self.shells.values_mut()) {
            *cell -= usize::from(*cell > place);
        }
        if let Some(started) = &mut self.started {
            started.place -= usize::from(started.place > place);
        }
        self.printed.removed(place);
        if self.away.is_some() {
            return;
        }
        self.unmark();
        if let Position::At { cell, row } = &mut self.position {
            if *cell > place {
                *cell -= 1;
            } else if *cell == place {
                *row = 0;
            }
            if *cell >= self.near.cells.len() {
                self.position = Position::Follow;
            }
        }
    }

    /// The cell of a call; created here if the message of the call did not stream.
    pub(super) fn call_cell(&mut self, call_id: &str, name: &str) -> usize {
        if let Some(place) = self.near.calls.get(call_id) {
            return *place;
        }
        if let Some(place) = self.join_call(call_id) {
            return place;
        }
        let cell = ToolCell::streaming(call_id.to_owned(), name.to_owned());
        let place = self.near.push(Body::Tool(Box::new(cell)));
        self.near.calls.insert(call_id.to_owned(), place);
        place
    }

    /// A running call of a stored message: the client joined during the run. The calls behind it
    /// wait for it.
    pub(super) fn join_call(&mut self, call_id: &str) -> Option<usize> {
        let cells = &self.near.cells;
        let is_it = |cell: &Cell| cell.is_call(call_id) && is_interrupted(cell);
        let back = cells.iter().rev().take(RECENT).position(is_it)?;
        let place = cells.len() - 1 - back;
        let entry = cells[place].entry.clone();
        for at in place..cells.len() {
            let cell = &self.near.cells[at];
            if let (true, Body::Tool(tool)) = (cell.entry == entry, &cell.body)
                && tool.phase == Phase::Interrupted
            {
                let id = tool.call_id.clone();
                self.near
                    .change_tool(at, |tool| tool.phase = Phase::Streaming);
                self.near.calls.insert(id, at);
            }
        }
        let mut behind = self.near.cells.iter().skip(place);
        let is_hint =
            |cell: &Cell| matches!(&cell.body, Body::Notice(notice) if notice.text == INTERRUPTED);
        if let Some(hint) = behind.position(is_hint) {
            self.remove(place + hint);
        }
        Some(place)
    }

    /// Shows the screen of a terminal in the cell of the newest call that used the terminal.
    pub(super) fn link_terminal(&mut self, call_id: &str, result: &ToolResultMessage) {
        let is_tool = osier_tools::effect(&result.result.tool_name) == Some(ToolEffect::Runs);
        let running = result.details.get("running").and_then(Value::as_bool);
        let id = result.details.get("id").and_then(Value::as_str);
        if let (true, Some(true), Some(id)) = (is_tool, running, id) {
            self.change_terminal(id, |cell| cell.screen = None);
            self.terminals.insert(id.to_owned(), call_id.to_owned());
        }
    }

    /// The running terminals of an opened conversation whose screens are not known yet.
    pub(crate) fn take_restored_terminals(&mut self, terminals: &[TerminalInfo]) -> Vec<String> {
        let runs = |id: &String| terminals.iter().any(|one| one.running && one.id == *id);
        self.restored_terminals
            .extract_if(.., |id| runs(id))
            .collect()
    }

    fn change_terminal(&mut self, id: &str, change: impl FnOnce(&mut ToolCell)) -> bool {
        let Some(call) = self.terminals.get(id) else {
            return false;
        };
        let cells = self.near.cells.iter();
        let Some(back) = cells.rev().take(RECENT).position(|cell| cell.is_call(call)) else {
            return false;
        };
        let place = self.near.cells.len() - 1 - back;
        self.near.change_tool(place, change);
        true
    }

    fn change_shell(&mut self, id: &str, change: impl FnOnce(&mut ShellCell)) -> bool {
        let Some(cell) = self
            .shells
            .get(id)
            .and_then(|place| self.near.cells.get_mut(*place))
        else {
            return false;
        };
        if let Body::Shell(shell) = &mut cell.body {
            change(shell);
            cell.changed();
        }
        true
    }
}

fn is_interrupted(cell: &Cell) -> bool {
    matches!(&cell.body, Body::Tool(tool) if tool.phase == Phase::Interrupted)
}
