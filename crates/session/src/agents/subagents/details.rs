//! The details of a task: its steps and what it used, as the session stores them with the result of the call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use osier_protocol::{Review, Spending};

/// The details of a task that are stored, to show it when the session is opened again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetails {
    /// `agent1`; empty in sessions of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    pub agent: Option<String>,
    /// `PROVIDER/ID`.
    pub model: String,
    /// The call returned while the subagent continued in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    pub turns: u32,
    pub steps: Vec<TaskStep>,
    pub spending: Spending,
}

/// A tool call of a subagent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStep {
    pub call_id: String,
    pub tool: String,
    pub arguments: Value,
    /// Name of its `ToolStatus`; not set while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl TaskDetails {
    /// Updates the details from an event of the subagent.
    pub fn on_event(&mut self, event: &osier_agent::Event) {
        match event {
            osier_agent::Event::TurnStart { turn } => self.turns = *turn,
            osier_agent::Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => self.steps.push(TaskStep {
                call_id: call_id.clone(),
                tool: tool_name.clone(),
                arguments: arguments.clone(),
                status: None,
            }),
            osier_agent::Event::ToolExecutionEnd {
                call_id, result, ..
            } => {
                if let Some(review) = Review::of(&result.details) {
                    self.spending.review(&review);
                }
                let mut steps = self.steps.iter_mut();
                if let Some(step) = steps.find(|step| step.call_id == *call_id) {
                    step.status = Some(result.status.name().to_owned());
                }
            }
            osier_agent::Event::Accounting { entry } => self.spending.add(entry),
            _ => {}
        }
    }
}
