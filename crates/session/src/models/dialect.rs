//! Requests in the dialect of their model: the tools that it is trained with, and what the system prompt says in addition.
//! Everything before has the names of osier.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use osier_agent::Transport;
use osier_llm::{EventStream, Request, TurnStatus};
use osier_tools::trained_forms;

use crate::prompt;

/// Translates requests.
#[derive(Debug)]
pub(super) struct DialectTransport(Arc<dyn Transport>);

impl DialectTransport {
    pub(super) fn new(inner: Arc<dyn Transport>) -> Self {
        Self(inner)
    }
}

impl Transport for DialectTransport {
    fn stream(&self, mut request: Request) -> BoxFuture<'_, Result<EventStream, TurnStatus>> {
        let tuning = &request.model.tuning;
        trained_forms::translate(&mut request.context, tuning.tools);
        prompt::add_preamble(&mut request.context.system_prompt, tuning.preamble);
        self.0.stream(request)
    }
}
