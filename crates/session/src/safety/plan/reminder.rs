//! Tells the model that plan mode begins or ends, by a message at the end of the conversation: the system prompt and the
//! tools stay as they are, so that providers find them in their cache.
//!
//! The conversation itself shows the last reminder, so that the next one is right after a restart, on another branch and
//! after a compaction.

use async_trait::async_trait;
use std::sync::Arc;

use osier_agent::{AgentAccess, AgentMessage, Interceptor};
use osier_permissions::Permissions;
use osier_protocol::{PLAN_TOOL, PermissionMode, PlanOutcome, PresentedPlan};
use serde_json::json;

use crate::context::reminders;

const KIND: &str = "plan_mode";

/// The interceptor that adds the messages.
#[derive(Debug)]
pub(crate) struct PlanReminder {
    pub rules: Arc<Permissions>,
}

#[async_trait]
impl Interceptor for PlanReminder {
    async fn reminders(&self, agent: &dyn AgentAccess) -> Vec<AgentMessage> {
        self.news(agent).into_iter().collect()
    }
}

impl PlanReminder {
    /// A reminder of the plan mode, if the model does not know the current one.
    fn news(&self, agent: &dyn AgentAccess) -> Option<AgentMessage> {
        let mode = self.rules.mode();
        let is_on = mode == PermissionMode::Plan;
        if is_on == is_known(&agent.messages()) {
            return None;
        }
        let text = if is_on {
            let presents = agent.tools().iter().any(|tool| tool.name == PLAN_TOOL);
            begin(presents)
        } else {
            format!(
                "Plan mode is off: tools that write can be used again. Permission mode: `{}` ({}).",
                mode.name(),
                mode.meaning()
            )
        };
        Some(reminders::message(KIND, &text, json!({"on": is_on})))
    }
}

/// Whether plan mode is on, as far as the model knows.
fn is_known(messages: &[Arc<AgentMessage>]) -> bool {
    let told = |message: &Arc<AgentMessage>| match &**message {
        AgentMessage::Custom(custom) if custom.kind == KIND => custom.details["on"].as_bool(),
        // Earlier reminders are not in the conversation any more.
        AgentMessage::CompactionSummary(_) => Some(false),
        message => PresentedPlan::in_message(message)
            .filter(|presented| presented.outcome == PlanOutcome::Approved)
            .map(|_| false),
    };
    messages.iter().rev().find_map(told).unwrap_or(false)
}

fn begin(presents: bool) -> String {
    let end = if presents {
        "Ask what only the user can decide. Then call `exit_plan_mode` with the complete plan: what changes, in which \
         files, in which order, and how it is tested. The user approves or edits it there; do not ask for that in text. \
         If the user only asks something, answer without a plan."
    } else {
        "Answer with the complete plan: what changes, in which files, in which order, and how it is tested."
    };
    format!(
        "Plan mode is on: the user wants a plan before anything changes. Only read and search. Tools that write are denied, \
         and commands run read-only and without network. {end}"
    )
}
