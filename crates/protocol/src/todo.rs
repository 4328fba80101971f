//! The agent's to-do list, which it maintains with the `todo` tool.
//!
//! The list is stored only in the details of the tool's last result on the branch, so it follows every move
//! in the tree.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool that updates the list.
pub const TOOL: &str = "todo";

/// All items, in the agent's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TodoList {
    pub items: Vec<TodoItem>,
}

/// An item of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    pub text: String,
    #[serde(default)]
    pub state: TodoState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    #[default]
    Open,
    /// In progress.
    Doing,
    Done,
}

impl TodoList {
    /// Parses the details of a result of the tool; `None` when they contain no list.
    pub fn of(details: &Value) -> Option<Self> {
        Self::deserialize(details).ok()
    }

    pub fn done(&self) -> usize {
        let done = |item: &&TodoItem| item.state == TodoState::Done;
        self.items.iter().filter(done).count()
    }

    /// Whether all items are done.
    pub fn is_done(&self) -> bool {
        self.done() == self.items.len()
    }

    /// The progress in one line.
    pub fn summary(&self) -> String {
        let Some(place) = self.current() else {
            let empty = self.items.is_empty();
            return if empty { "no to-dos" } else { "all done" }.to_owned();
        };
        let item = &self.items[place];
        let word = match item.state {
            TodoState::Doing => "now",
            _ => "next",
        };
        let (done, all) = (self.done(), self.items.len());
        format!("{done} of {all} done; {word}: {}", item.text)
    }

    /// The item in progress, or the next one.
    pub fn current(&self) -> Option<usize> {
        let place = |state| self.items.iter().position(|item| item.state == state);
        place(TodoState::Doing).or_else(|| place(TodoState::Open))
    }
}
