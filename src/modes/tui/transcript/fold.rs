//! How events become cells. The only writer of the transcript.

use std::sync::Arc;

use super::cell::Body;
use super::shell::ShellCell;
use super::tool::{Phase, ToolCell};
use super::{OpenMessage, Position, Transcript};
use crate::agent::{self, AgentMessage, Notice, Severity};
use crate::base::clock;
use crate::coding::host::Event;
use crate::llm::{AssistantBlock, AssistantMessage, Delta, StopReason};
use crate::term::markdown::Markdown;

impl Transcript {
    /// Applies an event; returns whether anything visible may have changed.
    pub fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::SessionOpened { messages, .. } => self.reset(messages),
            Event::ShellStart {
                id,
                command,
                exclude_from_context,
            } => {
                let cell = ShellCell::running(id.clone(), command.clone(), *exclude_from_context);
                let place = self.push(Body::Shell(Box::new(cell)));
                self.shells.insert(id.clone(), place);
            }
            Event::ShellUpdate { id, text, skipped } => {
                return self.change_shell(id, |cell| cell.update(text, *skipped));
            }
            Event::ShellEnd { id, run } => {
                let changed = self.change_shell(id, |cell| cell.run = Some((**run).clone()));
                self.shells.remove(id);
                return changed;
            }
            Event::HostNotice { severity, text } => self.notice(*severity, text),
            Event::Agent(event) => return self.apply_agent(event),
            _ => return false,
        }
        true
    }

    /// Adds a line for the person.
    pub fn notice(&mut self, severity: Severity, text: &str) {
        let notice = Notice {
            severity,
            text: text.to_owned(),
            timestamp: clock::now_ms(),
        };
        self.push(Body::Notice(notice));
    }

    fn apply_agent(&mut self, event: &agent::Event) -> bool {
        match event {
            agent::Event::MessageStart { id, message } => match &**message {
                AgentMessage::Assistant(_) => {
                    self.open = Some(OpenMessage {
                        id: id.clone(),
                        blocks: Vec::new(),
                    });
                    return false;
                }
                message => return self.add_message(message),
            },
            agent::Event::MessageUpdate { id, delta } => {
                if self.open.as_ref().is_some_and(|open| open.id == *id) {
                    self.apply_delta(delta);
                }
            }
            agent::Event::MessageEnd { id, message } => {
                if self.open.as_ref().is_none_or(|open| open.id != *id) {
                    return false;
                }
                if let AgentMessage::Assistant(message) = &**message {
                    self.close_message(message);
                }
            }
            agent::Event::MessageRetracted { id } => self.retract(id),
            agent::Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => {
                let place = self.call_cell(call_id, tool_name);
                self.change_tool(place, |cell| {
                    cell.arguments.clone_from(arguments);
                    cell.phase = Phase::Running;
                });
            }
            agent::Event::ToolExecutionUpdate { call_id, update } => {
                if let Some(place) = self.calls.get(call_id).copied() {
                    self.change_tool(place, |cell| cell.update(update));
                }
            }
            agent::Event::ToolExecutionEnd {
                call_id,
                tool_name,
                result,
            } => {
                let place = self.call_cell(call_id, tool_name);
                self.change_tool(place, |cell| cell.finish(Arc::clone(result)));
                self.calls.remove(call_id);
            }
            agent::Event::Notice { severity, text } => self.notice(*severity, text),
            agent::Event::AgentEnd { outcome } => {
                if let Some(error) = outcome.error() {
                    self.notice(Severity::Error, &error);
                } else if *outcome == agent::RunOutcome::Interrupted {
                    self.notice(Severity::Warning, "interrupted");
                }
            }
            agent::Event::ProviderSwitched { from, to, status } => {
                let text = format!("{from} failed ({}): going on with {to}", status.message());
                self.notice(Severity::Warning, &text);
            }
            _ => return false,
        }
        true
    }

    /// Shows a stored conversation from its end.
    fn reset(&mut self, messages: &[Arc<AgentMessage>]) {
        // Problems found on the way to the first session are still to be read.
        let reported = std::mem::take(&mut self.cells);
        let keep = !std::mem::replace(&mut self.opened, true);
        self.calls.clear();
        self.shells.clear();
        self.open = None;
        self.unseen = 0;
        self.position = Position::Follow;
        for message in messages {
            self.add_message(message);
        }
        self.calls.clear();
        if keep {
            self.cells.extend(reported);
        }
    }

    fn add_message(&mut self, message: &AgentMessage) -> bool {
        match message {
            AgentMessage::User(message) => {
                self.push(Body::User(message.clone()));
            }
            AgentMessage::Assistant(message) => {
                for block in &message.content {
                    self.add_block(block);
                }
                self.add_ending(message);
            }
            AgentMessage::ToolResult(result) => {
                // Live results have shown with their execution event.
                let Some(place) = self.calls.remove(&result.result.tool_call_id) else {
                    return false;
                };
                let result = Arc::new(result.clone());
                self.change_tool(place, |cell| cell.finish(result));
            }
            AgentMessage::ShellRun(run) => {
                // A live run shows as its own cell already.
                let shown = self
                    .cells
                    .iter()
                    .rev()
                    .take(4)
                    .any(|cell| match &cell.body {
                        Body::Shell(shell) => {
                            shell.run.as_ref() == Some(run) || shell.run.is_none()
                        }
                        _ => false,
                    });
                if shown {
                    return false;
                }
                self.push(Body::Shell(Box::new(ShellCell::stored(run))));
            }
            AgentMessage::BranchSummary(summary) => {
                let markdown = Markdown::from_text(&summary.summary);
                self.push(Body::Summary {
                    title: "Summary of the branch that was left",
                    markdown,
                });
            }
            AgentMessage::CompactionSummary(summary) => {
                let markdown = Markdown::from_text(&summary.summary);
                self.push(Body::Summary {
                    title: "Summary of the conversation so far",
                    markdown,
                });
            }
            AgentMessage::Notice(notice) => {
                self.push(Body::Notice(notice.clone()));
            }
            AgentMessage::Custom(message) if message.display => {
                self.notice(Severity::Info, &message.text);
            }
            AgentMessage::Custom(_) => return false,
        }
        true
    }

    fn add_block(&mut self, block: &AssistantBlock) {
        match block {
            AssistantBlock::Text { text, .. } if text.trim().is_empty() => {}
            AssistantBlock::Text { text, .. } => {
                self.push(Body::Text(Markdown::from_text(text)));
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

    /// What a stored answer that did not end well says about it.
    fn add_ending(&mut self, message: &AssistantMessage) {
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

    fn apply_delta(&mut self, delta: &Delta) {
        match delta {
            Delta::TextStart { index } => self.open_block(*index, Body::Text(Markdown::new())),
            Delta::ThinkingStart { index } => {
                let body = Body::Thinking {
                    markdown: Markdown::new(),
                    open: true,
                };
                self.open_block(*index, body);
            }
            Delta::ToolcallStart { index, id, name } => {
                let cell = ToolCell::streaming(id.clone(), name.clone());
                self.open_block(*index, Body::Tool(Box::new(cell)));
                if let Some(place) = self.block(*index) {
                    self.calls.insert(id.clone(), place);
                }
            }
            Delta::TextDelta { index, delta } | Delta::ThinkingDelta { index, delta } => {
                let Some(place) = self.block(*index) else {
                    return;
                };
                match &mut self.cells[place].body {
                    Body::Text(markdown) | Body::Thinking { markdown, .. } => markdown.push(delta),
                    _ => {}
                }
            }
            Delta::TextEnd { index, .. } | Delta::ThinkingEnd { index, .. } => {
                let Some(place) = self.block(*index) else {
                    return;
                };
                match &mut self.cells[place].body {
                    Body::Text(markdown) => markdown.finish(),
                    Body::Thinking { markdown, open } => {
                        markdown.finish();
                        *open = false;
                    }
                    _ => {}
                }
                self.cells[place].changed();
            }
            Delta::ToolcallDelta { index, delta } => {
                if let Some(place) = self.block(*index) {
                    self.change_tool(place, |cell| cell.raw.push_str(delta));
                }
            }
            Delta::ToolcallEnd {
                index, arguments, ..
            } => {
                if let Some(place) = self.block(*index) {
                    self.change_tool(place, |cell| cell.arguments.clone_from(arguments));
                }
            }
        }
    }

    fn open_block(&mut self, index: usize, body: Body) {
        let place = self.push(body);
        if let Some(open) = &mut self.open {
            open.blocks.resize(index, place);
            open.blocks.push(place);
        }
    }

    fn block(&self, index: usize) -> Option<usize> {
        self.open.as_ref()?.blocks.get(index).copied()
    }

    /// The message is final. Its blocks have streamed; only its ending is new.
    fn close_message(&mut self, message: &AssistantMessage) {
        let streamed = self.open.take().is_some_and(|open| !open.blocks.is_empty());
        if !streamed {
            for block in &message.content {
                self.add_block(block);
            }
        }
        for cell in self.cells.iter_mut().rev().take(message.content.len() + 1) {
            if let Body::Text(markdown) = &mut cell.body {
                markdown.finish();
            } else if let Body::Thinking { markdown, open } = &mut cell.body {
                markdown.finish();
                *open = false;
                cell.changed();
            }
        }
        // Interrupts and errors are told by the run's end.
        if matches!(
            message.stop_reason,
            StopReason::Length | StopReason::Refusal
        ) {
            self.add_ending(message);
        }
    }

    /// Takes the blocks of a failed attempt away.
    fn retract(&mut self, id: &str) {
        let Some(open) = self.open.take_if(|open| open.id == id) else {
            return;
        };
        let mut blocks = open.blocks;
        blocks.sort_unstable();
        blocks.dedup();
        for place in blocks.into_iter().rev() {
            self.remove(place);
        }
    }

    fn remove(&mut self, place: usize) {
        self.cells.remove(place);
        self.calls.retain(|_, cell| *cell != place);
        for cell in self.calls.values_mut().chain(self.shells.values_mut()) {
            *cell -= usize::from(*cell > place);
        }
        if let Position::At { cell, row } = &mut self.position {
            if *cell > place {
                *cell -= 1;
            } else if *cell == place {
                *row = 0;
            }
            if *cell >= self.cells.len() {
                self.position = Position::Follow;
            }
        }
    }

    /// The cell of a call; made when its message did not stream.
    fn call_cell(&mut self, call_id: &str, name: &str) -> usize {
        if let Some(place) = self.calls.get(call_id) {
            return *place;
        }
        let cell = ToolCell::streaming(call_id.to_owned(), name.to_owned());
        let place = self.push(Body::Tool(Box::new(cell)));
        self.calls.insert(call_id.to_owned(), place);
        place
    }

    fn change_tool(&mut self, place: usize, change: impl FnOnce(&mut ToolCell)) {
        let Some(cell) = self.cells.get_mut(place) else {
            return;
        };
        if let Body::Tool(tool) = &mut cell.body {
            change(tool);
            cell.changed();
        }
    }

    fn change_shell(&mut self, id: &str, change: impl FnOnce(&mut ShellCell)) -> bool {
        let Some(cell) = self
            .shells
            .get(id)
            .and_then(|place| self.cells.get_mut(*place))
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
