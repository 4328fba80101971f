//! A plugin's tool as a tool of the agent.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::channel::Call;
use super::halt::Halt;
use osier_agent::{PreparedCall, Preparing, Tool, ToolContext, ToolOrigin, ToolOutput, ToolStatus};
use osier_llm::ToolSpec;

/// A tool of a plugin. The agent can know it longer than the plugin exists.
#[derive(Debug)]
pub(super) struct PluginTool {
    pub spec: ToolSpec,
    pub plugin: String,
    pub calls: mpsc::UnboundedSender<Call>,
    pub halt: Arc<Halt>,
}

impl Tool for PluginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Plugin {
            name: self.plugin.clone(),
        }
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        PreparedCall::new(move |cx| async move { self.call(arguments, cx).await }).ready()
    }
}

impl PluginTool {
    async fn call(&self, arguments: Value, cx: ToolContext) -> ToolOutput {
        let (reply, output) = oneshot::channel();
        let cancel = cx.cancel.clone();
        let call = Call::Tool {
            name: self.spec.name.clone(),
            arguments,
            cx,
            reply,
        };
        let gone = || {
            ToolOutput::error(format!(
                "the plugin `{}` has ended: it was reloaded, or failed to load",
                self.plugin
            ))
        };
        if self.halt.token.is_cancelled() {
            return ToolOutput::error(self.halt.refusal());
        }
        if self.calls.send(call).is_err() {
            return gone();
        }
        // A plugin that blocks its thread must not delay an interrupt.
        tokio::select! {
            output = output => output.unwrap_or_else(|_| gone()),
            () = self.halt.token.cancelled() => ToolOutput::error(self.halt.message()),
            () = cancel.cancelled() => ToolOutput::failed(ToolStatus::Aborted, "interrupted"),
        }
    }
}
