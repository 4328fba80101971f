//! A to-do list with open items that the model has not touched for many answers.

use std::fmt::Write as _;
use std::sync::Arc;

use super::message::message;
use osier_agent::AgentMessage;
use osier_protocol::{TOOL, TodoList, TodoState};
use serde_json::Value;

/// Answers without a change of the list, and without a reminder, after which the model is reminded.
const ANSWERS: usize = 12;
const KIND: &str = "stale_todo";

pub(super) fn reminder(messages: &[Arc<AgentMessage>]) -> Option<AgentMessage> {
    let list = stale(messages)?;
    let mut text = "The to-do list still has open items and was not changed for a while. If it is outdated, update it with \
                    `todo`; otherwise ignore this."
        .to_owned();
    for item in list
        .items
        .iter()
        .filter(|item| item.state != TodoState::Done)
    {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {}", item.text);
    }
    Some(message(KIND, &text, Value::Null))
}

/// The list, if the model seems to have forgotten it.
fn stale(messages: &[Arc<AgentMessage>]) -> Option<TodoList> {
    let mut answers = 0;
    for message in messages.iter().rev() {
        match &**message {
            AgentMessage::Assistant(_) => answers += 1,
            AgentMessage::Custom(custom) if custom.kind == KIND && answers < ANSWERS => {
                return None;
            }
            AgentMessage::ToolResult(result) if result.result.tool_name == TOOL => {
                let list = TodoList::of(&result.details)?;
                return (answers >= ANSWERS && !list.is_done()).then_some(list);
            }
            _ => {}
        }
    }
    None
}
