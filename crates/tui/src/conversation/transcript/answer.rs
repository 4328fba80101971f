//! The agent's work: the answer that streams, its retries, and its calls.

use std::sync::Arc;

use super::cell::Body;
use super::state::{OpenMessage, Transcript};
use super::tool::{Phase, ToolCell};
use osier_agent::{AgentMessage, Event, RunOutcome, Severity};
use osier_base::text;
use osier_llm::{AssistantMessage, Delta, StopReason};
use osier_markdown::Markdown;

impl Transcript {
    pub(super) fn apply_agent(&mut self, event: &Event) -> bool {
        match event {
            Event::MessageStart { id, message } => match &**message {
                AgentMessage::Assistant(_) => {
                    self.open = Some(OpenMessage {
                        id: id.clone(),
                        entry: None,
                        blocks: Vec::new(),
                        partial: None,
                    });
                    return false;
                }
                message => return self.start_message(id, message),
            },
            Event::MessageUpdate { id, delta } => {
                if self.open.as_ref().is_some_and(|open| open.id == *id) {
                    self.apply_delta(delta);
                }
            }
            Event::MessageEnd { id, message } => {
                if self.open.as_ref().is_none_or(|open| open.id != *id) {
                    return false;
                }
                if let AgentMessage::Assistant(message) = &**message {
                    self.close_message(message);
                }
            }
            Event::MessageRetracted { id } => self.retract(id),
            Event::RetryScheduled { status, .. } => {
                return self.mark_partial(status.message());
            }
            Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => {
                let place = self.call_cell(call_id, tool_name);
                self.near.change_tool(place, |cell| {
                    // The name was repaired after the answer was complete.
                    cell.name.clone_from(tool_name);
                    cell.arguments.clone_from(arguments);
                    cell.phase = Phase::Running;
                });
                self.show_proposal(call_id);
                self.show_subagent_of(call_id);
            }
            Event::ToolExecutionUpdate { call_id, update } => {
                if let Some(place) = self.near.calls.get(call_id).copied() {
                    self.near.change_tool(place, |cell| cell.update(update));
                }
            }
            Event::ToolExecutionEnd {
                call_id,
                tool_name,
                result,
            } => {
                let place = self.call_cell(call_id, tool_name);
                self.near
                    .change_tool(place, |cell| cell.finish(Arc::clone(result)));
                self.near.calls.remove(call_id);
                self.link_terminal(call_id, result);
            }
            Event::Notice { severity, text } => self.notice(*severity, text),
            Event::AgentEnd { outcome } => {
                if let Some(error) = outcome.error() {
                    self.notice(Severity::Error, &error);
                } else if *outcome == RunOutcome::Interrupted {
                    self.notice(Severity::Warning, "interrupted");
                }
            }
            Event::ProviderSwitched { from, to, status } => {
                let text = format!("{from} failed ({}); continuing with {to}", status.message());
                self.notice(Severity::Warning, &text);
            }
            _ => return false,
        }
        true
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
                    self.near.calls.insert(id.clone(), place);
                    self.show_proposal(id);
                }
            }
            Delta::TextDelta { index, delta } | Delta::ThinkingDelta { index, delta } => {
                let Some(place) = self.block(*index) else {
                    return;
                };
                match &mut self.near.cells[place].body {
                    Body::Text(markdown) | Body::Thinking { markdown, .. } => markdown.push(delta),
                    _ => {}
                }
            }
            Delta::TextEnd { index, .. } | Delta::ThinkingEnd { index, .. } => {
                let Some(place) = self.block(*index) else {
                    return;
                };
                match &mut self.near.cells[place].body {
                    Body::Text(markdown) => {
                        markdown.finish();
                        self.near.cells[place].illustrate();
                    }
                    Body::Thinking { markdown, open } => {
                        markdown.finish();
                        *open = false;
                    }
                    _ => {}
                }
                self.near.cells[place].changed();
            }
            Delta::ToolcallDelta { index, delta } => {
                if let Some(place) = self.block(*index) {
                    self.near
                        .change_tool(place, |cell| cell.raw.push_str(delta));
                }
            }
            Delta::ToolcallEnd {
                index, arguments, ..
            } => {
                if let Some(place) = self.block(*index) {
                    self.near
                        .change_tool(place, |cell| cell.arguments.clone_from(arguments));
                }
            }
        }
    }

    fn open_block(&mut self, index: usize, body: Body) {
        if let Some(place) = self.block(index) {
            // The block is replaced: its text was thinking.
            self.near.cells[place].body = body;
            return self.near.cells[place].changed();
        }
        let place = self.near.push(body);
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
        let open = self.open.take();
        if let Some(place) = open.as_ref().and_then(|open| open.partial) {
            self.remove(place);
        }
        let start = self.near.cells.len();
        let streamed = open.as_ref().is_some_and(|open| !open.blocks.is_empty());
        if !streamed {
            for block in &message.content {
                self.near.add_block(block);
            }
        }
        let added = start..self.near.cells.len();
        let streamed = open.as_ref().map_or(&[][..], |open| &open.blocks);
        for place in streamed.iter().copied().chain(added) {
            let Some(cell) = self.near.cells.get_mut(place) else {
                continue;
            };
            if let Body::Text(markdown) = &mut cell.body {
                markdown.finish();
            } else if let Body::Thinking { markdown, open } = &mut cell.body {
                markdown.finish();
                *open = false;
                cell.changed();
            }
        }
        // The end of the run reports interrupts and errors.
        if matches!(
            message.stop_reason,
            StopReason::Length | StopReason::Refusal
        ) {
            self.near.add_ending(message);
        }
        self.near.add_turn(message);
        let entry = open.and_then(|open| open.entry);
        for cell in &mut self.near.cells[start..] {
            cell.entry.clone_from(&entry);
        }
    }

    /// Marks the answer so far as partial, because a failed call is repeated. Returns whether
    /// something changed.
    fn mark_partial(&mut self, reason: &str) -> bool {
        let place = self.near.cells.len();
        let Some(open) = &mut self.open else {
            return false;
        };
        if open.blocks.is_empty() || open.partial.is_some() {
            return false;
        }
        open.partial = Some(place);
        let reason = text::single_line(reason);
        let text = format!("partial answer: {reason}; the retry replaces it");
        self.notice(Severity::Warning, &text);
        true
    }

    /// Removes the blocks of a failed attempt.
    fn retract(&mut self, id: &str) {
        let Some(open) = self.open.take_if(|open| open.id == id) else {
            return;
        };
        let mut blocks = open.blocks;
        let is_printed = blocks.first().is_some_and(|first| self.is_printed(*first));
        blocks.extend(open.partial);
        blocks.sort_unstable();
        blocks.dedup();
        for place in blocks.into_iter().rev() {
            self.remove(place);
        }
        if is_printed {
            self.notice(
                Severity::Warning,
                "the retry replaces the partial answer above",
            );
        }
    }
}
