//! A call with valid arguments, as interceptors judge it and the loop runs it.

use std::sync::Arc;

use osier_llm::ToolCall;
use serde_json::Value;

use super::files::FileTarget;
use super::interface::Tool;
use super::output::{Refusal, ToolOutput};
use super::prepared::{PreparedCall, Preview};
use super::slot::Slot;
use crate::data::ToolOrigin;

/// A call whose arguments are valid, with the prepared call of its tool.
pub struct CheckedCall {
    pub call: ToolCall,
    pub prepared: PreparedCall,
    /// A note that the model reads before the result, if the call runs.
    pub note: Option<String>,
    /// Whether an earlier call of the same message, which has not run yet, can change the files of
    /// this call.
    pub is_preceded: bool,
    slot: Arc<Slot>,
}

impl CheckedCall {
    /// A call of `tool` outside of a run.
    ///
    /// # Errors
    /// The result of a call that cannot run.
    pub async fn of(tool: Arc<dyn Tool>, call: ToolCall) -> Result<Self, ToolOutput> {
        Self::new(Arc::new(Slot::new(tool)), call).await
    }

    pub(super) async fn new(slot: Arc<Slot>, call: ToolCall) -> Result<Self, ToolOutput> {
        slot.validate(&call.arguments)?;
        let prepared = Arc::clone(&slot.tool).prepare(call.arguments.clone());
        Ok(Self {
            prepared: prepared.await.map_err(ToolOutput::from)?,
            call,
            note: None,
            is_preceded: false,
            slot,
        })
    }

    /// The same call with other arguments, which were not judged yet.
    ///
    /// # Errors
    /// The result of a call that cannot run.
    pub async fn with_arguments(&self, arguments: Value) -> Result<Self, ToolOutput> {
        let call = ToolCall {
            arguments,
            ..self.call.clone()
        };
        Self::new(Arc::clone(&self.slot), call).await
    }

    pub fn files(&self) -> &[FileTarget] {
        &self.prepared.files
    }

    /// The effect of the call, and the reason if it would fail now. A call without a preview is shown by its arguments.
    pub async fn preview(&self) -> (Preview, Option<Refusal>) {
        let (shown, refusal) = match self.prepared.preview().await {
            Ok(shown) => (shown, None),
            Err(refusal) => (None, Some(refusal)),
        };
        (shown.unwrap_or_else(|| self.as_text()), refusal)
    }

    fn as_text(&self) -> Preview {
        let freeform = self.slot.tool.spec().freeform.as_ref();
        let text = freeform.and_then(|it| self.call.arguments.get(&it.argument)?.as_str());
        Preview::Text(match text {
            Some(text) => text.to_owned(),
            // A JSON value can always be written.
            None => serde_json::to_string_pretty(&self.call.arguments).unwrap_or_default(),
        })
    }

    /// Whether the call can change the results of the call `later`, or the model's knowledge of them.
    pub(crate) fn can_affect(&self, later: &Self) -> bool {
        let is_own = matches!(self.slot.tool.origin(), ToolOrigin::Program);
        let is_reading = is_own && self.slot.tool.hints().read_only == Some(true);
        let is_same = |file: &FileTarget| later.files().iter().any(|it| it.host == file.host);
        let is_unknown = self.files().is_empty() && !is_reading;
        is_unknown || self.files().iter().any(is_same)
    }
}

osier_base::opaque_debug!(CheckedCall);
