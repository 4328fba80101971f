//! Plans that the model presents in plan mode.

use osier_agent::AgentMessage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permissions::PermissionMode;

/// The tool that presents a plan.
pub const PLAN_TOOL: &str = "exit_plan_mode";

/// The outcome of a plan: the details of the tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PresentedPlan {
    pub outcome: PlanOutcome,
    /// Markdown, with the changes of the user.
    pub plan: String,
    /// The file with the plan; not set if it could not be saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_path: Option<String>,
    /// The permission mode after the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
}

/// The decision about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanOutcome {
    /// Plan mode has ended.
    Approved,
    /// The model continues to plan.
    Refused,
    /// The run ends with the plan. Plan mode continues.
    Unanswered,
}

impl PresentedPlan {
    /// The plan in the details of a result of the tool.
    pub fn of(details: &Value) -> Option<Self> {
        Self::deserialize(details).ok()
    }

    /// The plan in a message, if it is a result of the tool.
    pub fn in_message(message: &AgentMessage) -> Option<Self> {
        match message {
            AgentMessage::ToolResult(result) if result.result.tool_name == PLAN_TOOL => {
                Self::of(&result.details)
            }
            _ => None,
        }
    }
}

/// The text with which a run ends if this is its last message: an answer, or a plan that nobody decided about.
pub fn final_text(message: &AgentMessage) -> Option<String> {
    message.answer().or_else(|| {
        PresentedPlan::in_message(message)
            .filter(|presented| presented.outcome == PlanOutcome::Unanswered)
            .map(|presented| presented.plan)
    })
}
