//! Plan mode, which a session provides.

use async_trait::async_trait;
use osier_protocol::PermissionMode;
use std::fmt;
use tokio_util::sync::CancellationToken;

/// Plan mode as the tool uses it.
#[async_trait]
pub trait PlanMode: fmt::Debug + Send + Sync {
    fn is_on(&self) -> bool;

    /// Saves a plan and asks the user about it. An approval ends plan mode.
    async fn present(&self, plan: &str, call_id: &str, cancel: &CancellationToken) -> PlanDecision;
}

/// The decision on a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDecision {
    pub answer: PlanAnswer,
    /// The file with the plan, unless it could not be saved.
    pub path: Option<String>,
}

/// The answer of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAnswer {
    /// `plan` is the text with the changes of the user.
    Approved { mode: PermissionMode, plan: String },
    /// The reason is not empty.
    Refused { reason: String },
    /// The user gave no reason, or nobody is there to answer.
    Unanswered,
}
