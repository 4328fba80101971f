//! Auto review: in the mode `auto`, a model judges calls that no rule decides and that name no sensitive file.

use async_trait::async_trait;
use osier_agent::{CheckedCall, ToolOutput};
use osier_llm::ToolCall;
use osier_protocol::{Effect, Review};
use osier_tools::Workspace;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Judges calls instead of the user.
#[async_trait]
pub trait Reviewer: fmt::Debug + Send + Sync {
    /// The judgement; `None` if there is none and the user is asked.
    async fn review(
        &self,
        request: ReviewRequest<'_>,
        cancel: &CancellationToken,
    ) -> Option<Review>;
}

/// A call to judge.
#[derive(Debug, Clone, Copy)]
pub struct ReviewRequest<'a> {
    pub call: &'a CheckedCall,
    pub workspace: &'a Workspace,
}

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reviewed {
    Allowed,
    /// The model receives the reason.
    Denied(String),
    /// The user is asked, for this reason.
    Asked(String),
}

/// The reviewer of a gate, and its reviews of calls that have no result yet.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    reviewer: Option<Arc<dyn Reviewer>>,
    pending: Mutex<HashMap<String, Review>>,
}

impl Reviews {
    pub(super) fn new(reviewer: Arc<dyn Reviewer>) -> Self {
        Self {
            reviewer: Some(reviewer),
            ..Self::default()
        }
    }

    /// Lets the reviewer judge the call, if there is one.
    pub(super) async fn judge(
        &self,
        request: ReviewRequest<'_>,
        cancel: &CancellationToken,
    ) -> Reviewed {
        let review = match &self.reviewer {
            Some(reviewer) => reviewer.review(request, cancel).await,
            None => None,
        };
        if cancel.is_cancelled() {
            return Reviewed::Denied("interrupted".to_owned());
        }
        let Some(review) = review else {
            return Reviewed::Asked(String::new());
        };
        let reviewed = match review.decision {
            Effect::Allow => Reviewed::Allowed,
            Effect::Deny => Reviewed::Denied(format!(
                "auto review denied it: {}; do not work around this with another command or tool: continue without it, or ask the user",
                review.reason
            )),
            Effect::Ask => Reviewed::Asked(format!("auto review: {}", review.reason)),
        };
        self.pending().insert(request.call.call.id.clone(), review);
        reviewed
    }

    /// Adds the review of the call to its result. No other code can add a review.
    pub(super) fn add_to(&self, call: &ToolCall, output: &mut ToolOutput) {
        Review::remove_from(&mut output.details);
        if let Some(review) = self.pending().remove(&call.id) {
            review.add_to(&mut output.details);
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<String, Review>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
