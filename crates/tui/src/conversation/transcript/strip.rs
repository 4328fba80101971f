//! A strip is a sequence of consecutive messages as cells. New messages are added to the strip at
//! the end of the conversation; a part further up that the user reads is another strip.

use std::collections::HashMap;
use std::sync::Arc;

use crate::actions::shell_commands::as_slash_commands;
use crate::drawing::styled_lines::stored_rows;

use super::cell::{Body, Cell};
use super::cell_rows::problem_file;
use super::shell::ShellCell;
use super::tool::{Phase, ToolCell};
use super::turn::Turn;
use osier_agent::{AgentMessage, Notice, Severity};
use osier_base::{clock, text};
use osier_llm::{AssistantBlock, AssistantMessage, StopReason};
use osier_markdown::Markdown;
use osier_protocol::StoredMessage;

/// The start of the mark of a switch of the model.
pub(super) const SWITCHED: &str = "model switched from ";

/// Cells that follow each other without a gap.
#[derive(Debug, Default)]
pub(super) struct Strip {
    pub(super) cells: Vec<Cell>,
    /// Cells of tool calls that have not ended, by call id.
    pub(super) calls: HashMap<String, usize>,
    /// Entries of the first and the last message, as far as they are stored. Not every message has a
    /// cell.
    pub(super) first: Option<Arc<str>>,
    pub(super) last: Option<Arc<str>>,
    /// There are earlier messages that are not loaded.
    pub(super) earlier: bool,
    /// The turn at the end.
    pub(super) turn: Turn,
}

impl Strip {
    /// The strip of stored messages.
    pub(super) fn of(messages: &[StoredMessage], earlier: bool) -> Self {
        let mut strip = Self {
            earlier,
            first: messages
                .first()
                .map(|stored| stored.entry_id.as_str().into()),
            last: messages
                .last()
                .map(|stored| stored.entry_id.as_str().into()),
            ..Self::default()
        };
        let mut model = None;
        for stored in messages {
            if let AgentMessage::Assistant(answer) = &*stored.message {
                let name = format!("{}/{}", answer.provider, answer.model);
                let before = model.replace(name.clone());
                if let Some(before) = before.filter(|before| *before != name) {
                    strip.mark_switch(&before, &name, &stored.entry_id);
                }
            }
            strip.add_stored(stored);
        }
        // A page ends with the results of its calls.
        for (_, place) in std::mem::take(&mut strip.calls) {
            strip.change_tool(place, |cell| cell.phase = Phase::Interrupted);
        }
        strip
    }

    /// Marks a switch of the model above the prompt that the new one answers, or above its answer.
    fn mark_switch(&mut self, before: &str, after: &str, answer: &str) {
        let prompt = self.cells.last().filter(|cell| cell.is_prompt());
        let entry = prompt.and_then(|cell| cell.entry.clone());
        let place = self.cells.len() - usize::from(entry.is_some());
        self.notice(Severity::Info, &format!("{SWITCHED}{before} to {after}"));
        if let Some(mut mark) = self.cells.pop() {
            // The mark appears and disappears with the message below it.
            mark.entry = Some(entry.unwrap_or_else(|| answer.into()));
            self.cells.insert(place, mark);
        }
    }

    fn add_stored(&mut self, stored: &StoredMessage) {
        let entry: Arc<str> = stored.entry_id.as_str().into();
        let start = self.cells.len();
        if let AgentMessage::ToolResult(result) = &*stored.message
            && let Some(place) = self.calls.get(&result.result.tool_call_id)
        {
            self.cells[*place].result_entry = Some(Arc::clone(&entry));
        }
        self.add_message(&stored.message);
        for cell in &mut self.cells[start..] {
            cell.entry = Some(Arc::clone(&entry));
        }
    }

    pub(super) fn push(&mut self, body: Body) -> usize {
        self.cells.push(Cell::new(body));
        self.cells.len() - 1
    }

    /// Adds a notice for the user.
    pub(super) fn notice(&mut self, severity: Severity, text: &str) {
        let mut text = as_slash_commands(text);
        if let Some(file) = problem_file(&text) {
            // The screen and the session read the same files, so both report the same problem.
            let newest = self.cells.iter().rev().map_while(|cell| match &cell.body {
                Body::Notice(notice) => Some(&notice.text),
                _ => None,
            });
            let mut lines = newest.flat_map(|notice| notice.lines());
            if lines.any(|line| line == text) {
                return;
            }
            if let Some(Body::Notice(last)) = self.cells.last().map(|cell| &cell.body)
                && problem_file(&last.text) == Some(file)
            {
                text = format!("{}\n{text}", last.text);
                self.cells.pop();
            }
        }
        let notice = Notice {
            severity,
            text,
            timestamp: clock::now_ms(),
        };
        self.push(Body::Notice(notice));
    }

    pub(super) fn add_message(&mut self, message: &AgentMessage) -> bool {
        let summary = |title: &'static str, text: &str| Body::Summary {
            title,
            markdown: Markdown::from_text(text),
        };
        match message {
            AgentMessage::User(message) => {
                self.turn = Turn::since(message.timestamp);
                self.push(Body::User(message.clone()));
            }
            AgentMessage::Assistant(message) => {
                for block in &message.content {
                    self.add_block(block);
                }
                self.add_ending(message);
                self.add_turn(message);
            }
            AgentMessage::ToolResult(result) => {
                self.turn.add_tool(result.duration_ms);
                // The event of their execution has already shown live results.
                let Some(place) = self.calls.remove(&result.result.tool_call_id) else {
                    return false;
                };
                let result = Arc::new(result.clone());
                self.change_tool(place, |cell| cell.finish(result));
            }
            AgentMessage::ShellRun(run) => {
                // A live run already has its own cell.
                let mut newest = self.cells.iter().rev().take(4);
                let shown = newest.any(|cell| match &cell.body {
                    Body::Shell(shell) => shell.run.as_ref() == Some(run) || shell.run.is_none(),
                    _ => false,
                });
                if shown {
                    return false;
                }
                self.push(Body::Shell(Box::new(ShellCell::stored(run))));
            }
            AgentMessage::BranchSummary(branch) => {
                let title = "Summary of the previous branch";
                self.push(summary(title, &branch.summary));
            }
            AgentMessage::CompactionSummary(conversation) => {
                let title = "Summary of the earlier conversation";
                self.push(summary(title, &conversation.summary));
            }
            AgentMessage::Notice(notice) => {
                self.push(Body::Notice(notice.clone()));
            }
            AgentMessage::Custom(message) if message.display => {
                match stored_rows(&message.details) {
                    Some(rows) => {
                        self.push(Body::Lines(rows));
                    }
                    None => self.notice(Severity::Info, &message.text),
                }
            }
            AgentMessage::Custom(_) => return false,
        }
        true
    }

    pub(super) fn add_block(&mut self, block: &AssistantBlock) {
        match block {
            AssistantBlock::Text { text, .. } if text.trim().is_empty() => {}
            AssistantBlock::Text { text, .. } => {
                for (place, section) in Markdown::sections(text).into_iter().enumerate() {
                    let cell = self.push(Body::Text(section));
                    self.cells[cell].continues = place > 0;
                    self.cells[cell].illustrate();
                }
            }
            AssistantBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => {}
            AssistantBlock::Thinking { thinking, .. } => {
                self.push(Body::Thinking {
                    markdown: Markdown::from_text(thinking),
                    open: false,
                });
            }
            AssistantBlock::ToolCall(call) => {
                let place = self.push(Body::Tool(Box::new(ToolCell::stored(call))));
                self.calls.insert(call.id.clone(), place);
            }
        }
    }

    /// Adds a notice if a stored answer did not end well.
    pub(super) fn add_ending(&mut self, message: &AssistantMessage) {
        match (message.stop_reason, &message.error_message) {
            (StopReason::Aborted, _) => self.notice(Severity::Warning, "interrupted"),
            (StopReason::Error, Some(error)) => self.notice(Severity::Error, error),
            (StopReason::Length, _) => {
                self.notice(Severity::Warning, "the answer reached the output limit");
            }
            (StopReason::Refusal, _) => {
                self.notice(Severity::Warning, "the model declined to answer");
            }
            _ => {}
        }
    }

    /// The line below the last answer of a turn.
    pub(super) fn add_turn(&mut self, answer: &AssistantMessage) {
        if let Some(line) = self.turn.count(answer) {
            self.push(Body::Turn(line));
        }
    }

    pub(super) fn change_tool(&mut self, place: usize, change: impl FnOnce(&mut ToolCell)) {
        let Some(cell) = self.cells.get_mut(place) else {
            return;
        };
        if let Body::Tool(tool) = &mut cell.body {
            change(tool);
            cell.changed();
        }
    }

    /// The cells of the message stored as `entry`, or of the calls it is the result of.
    pub(super) fn cells_of(&self, entry: &str) -> Option<std::ops::Range<usize>> {
        let is = |id: &Option<Arc<str>>| id.as_deref() == Some(entry);
        let belongs = |cell: &Cell| is(&cell.entry) || is(&cell.result_entry);
        let start = self.cells.iter().position(belongs)?;
        let count = self.cells[start..].iter().take_while(|cell| belongs(cell));
        Some(start..start + count.count())
    }

    /// Whether a stored message begins with this cell: the strip can be cut before it.
    pub(super) fn begins_message(&self, cell: usize) -> bool {
        self.cells.get(cell).is_some_and(|at| at.entry.is_some())
            && (cell == 0 || self.cells[cell - 1].entry != self.cells[cell].entry)
    }

    /// About how many bytes the cells hold.
    pub(super) fn weight(&self) -> usize {
        self.cells.iter().map(Cell::weight).sum()
    }

    /// Inserts the cells of `before` in front; the cells of this strip move up by their number, which is returned.
    pub(super) fn prepend(&mut self, before: Self) -> usize {
        let count = before.cells.len();
        self.cells.splice(..0, before.cells);
        self.calls.values_mut().for_each(|place| *place += count);
        self.earlier = before.earlier;
        self.first = before.first.or(self.first.take());
        count
    }

    /// Removes the cells before `cell`, the first of a message. They can be read again.
    pub(super) fn cut_before(&mut self, cell: usize) {
        if cell == 0 {
            return;
        }
        self.cells.drain(..cell);
        self.calls.values_mut().for_each(|place| *place -= cell);
        self.first = self.cells.first().and_then(|cell| cell.entry.clone());
        self.earlier = true;
    }

    /// How many prompts and calls are loaded: `3 prompts and 11 calls`; `None` without a prompt.
    pub(super) fn describe(&self) -> Option<String> {
        let count =
            |is_one: fn(&Cell) -> bool| self.cells.iter().filter(|cell| is_one(cell)).count();
        let prompts = count(Cell::is_prompt);
        let calls = count(|cell| matches!(cell.body, Body::Tool(_)));
        let least = if self.earlier { "at least " } else { "" };
        let prompts = (prompts > 0).then(|| text::counted(prompts, "prompt", "prompts"))?;
        let calls = match calls {
            0 => String::new(),
            calls => format!(" and {}", text::counted(calls, "call", "calls")),
        };
        Some(format!("{least}{prompts}{calls}"))
    }

    /// Removes `cell`, the first of a message, and the cells behind it.
    pub(super) fn cut_from(&mut self, cell: usize) {
        self.cells.truncate(cell);
        self.last = self.cells.iter().rev().find_map(|cell| cell.entry.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::UserMessage;

    #[test]
    fn a_stored_conversation_marks_switches_of_the_model() {
        let message = |id: usize, message: AgentMessage| StoredMessage {
            entry_id: id.to_string(),
            message: Arc::new(message),
        };
        let answer = |model: &str| {
            AgentMessage::Assistant(AssistantMessage {
                provider: "p".to_owned(),
                model: model.to_owned(),
                content: vec![AssistantBlock::Text {
                    text: "ok".to_owned(),
                    signature: None,
                }],
                ..AssistantMessage::default()
            })
        };
        let prompt = || AgentMessage::User(UserMessage::new("go", 0));
        let messages = [
            prompt(),
            answer("a"),
            prompt(),
            answer("a"),
            prompt(),
            answer("b"),
        ];
        let messages: Vec<StoredMessage> = messages
            .into_iter()
            .enumerate()
            .map(|(id, one)| message(id, one))
            .collect();
        let strip = Strip::of(&messages, false);
        let marks: Vec<(usize, &str)> = strip
            .cells
            .iter()
            .enumerate()
            .filter_map(|(place, cell)| match &cell.body {
                Body::Notice(notice) => Some((place, notice.text.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(marks, [(4, "model switched from p/a to p/b")]);
        // The mark and the prompt are one message.
        assert_eq!(strip.cells_of("4"), Some(4..6));
    }
}
