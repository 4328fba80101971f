//! What the agent has set out to do: a short list that it keeps with the `todo` tool.
//!
//! The list is the details of the tool's last result on the branch; nothing else stores it, so it follows
//! every move in the tree.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool that keeps it.
pub const TOOL: &str = "todo";

/// All of it, in the agent's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TodoList {
    pub items: Vec<TodoItem>,
}

/// One thing to do.
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
    /// It is being done.
    Doing,
    Done,
}

impl TodoList {
    /// The list in the details of a result of the tool; `None` when they hold none.
    pub fn of(details: &Value) -> Option<Self> {
        Self::deserialize(details).ok()
    }

    pub fn done(&self) -> usize {
        let done = |item: &&TodoItem| item.state == TodoState::Done;
        self.items.iter().filter(done).count()
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.done() == self.items.len()
    }

    /// How far it is, in a line.
    pub fn summary(&self) -> String {
        let Some(place) = self.current() else {
            let empty = self.items.is_empty();
            return if empty { "nothing to do" } else { "all done" }.to_owned();
        };
        let item = &self.items[place];
        let word = match item.state {
            TodoState::Doing => "now",
            _ => "next",
        };
        let (done, all) = (self.done(), self.items.len());
        format!("{done} of {all} done; {word}: {}", item.text)
    }

    /// What is being done, or comes next.
    pub fn current(&self) -> Option<usize> {
        let place = |state| self.items.iter().position(|item| item.state == state);
        place(TodoState::Doing).or_else(|| place(TodoState::Open))
    }
}
