//! The texts of attached documents.

use std::sync::Arc;

use async_trait::async_trait;

use osier_agent::{Interceptor, StopRun, UserMessage};
use osier_tools::{Workspace, attachment};

/// Adds the texts of PDF files and documents to the prompts of all clients.
#[derive(Debug)]
pub(crate) struct AttachedTexts(Arc<Workspace>);

impl AttachedTexts {
    pub(crate) fn new(workspace: &Arc<Workspace>) -> Self {
        Self(Arc::clone(workspace))
    }
}

#[async_trait]
impl Interceptor for AttachedTexts {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        attachment::add_texts(&self.0, &mut message.attachments).await;
        Ok(())
    }
}
