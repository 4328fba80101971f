//! Calls of the model for MCP servers (sampling). The server asks, `osier_mcp` limits and permits it, and the call uses
//! the model of the session, without its conversation and its tools.

use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{AccountingEntry, Severity, Transport};
use osier_llm::{Model, Request, StopReason, Usage};
use osier_mcp::{Sampler, SamplingAnswer, SamplingRequest};
use osier_protocol::Event;
use osier_store::writer::Writer;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::conversation::usage::Usage as SessionUsage;
use crate::emitter::{Callback, Emitter};
use crate::models::Models;
use crate::models::side_call::{self, Answered};

/// Time for the answer.
const TIMEOUT: Duration = Duration::from_mins(5);

/// A message of the sampler to the session.
#[derive(Debug)]
pub(crate) enum SamplingNews {
    /// The model of the session.
    Model(oneshot::Sender<SamplingModel>),
    Called(Box<SamplingCall>),
}

/// The model that answers, and how to call it.
#[derive(Debug)]
pub(crate) struct SamplingModel {
    model: Arc<Model>,
    transport: Arc<dyn Transport>,
}

/// A call that was made.
#[derive(Debug)]
pub(crate) struct SamplingCall {
    server: String,
    model: String,
    usage: Usage,
    accounting: AccountingEntry,
}

/// Calls the model of a session for its servers.
#[derive(Debug)]
pub(crate) struct SessionSampler {
    branch: Writer,
    news: Callback<SamplingNews>,
}

impl SessionSampler {
    pub(crate) fn new(branch: Writer, news: Callback<SamplingNews>) -> Self {
        Self { branch, news }
    }

    async fn call(&self, request: SamplingRequest) -> Result<SamplingAnswer, String> {
        let (reply, model) = oneshot::channel();
        self.news.call(SamplingNews::Model(reply));
        let model = model.await;
        let SamplingModel { model, transport } =
            model.map_err(|_| "the session has ended".to_owned())?;
        let server = request.server.clone();
        let request = model_request(&model, request);
        let Answered {
            message,
            status,
            accounting,
        } = side_call::call(&*transport, request, Some(TIMEOUT)).await;
        let usage = message.usage;
        let kind = side_call::usage_entry("sampling", &model, usage);
        // If the session cannot be written, the next message stops the run.
        let _ = self.branch.append(kind).await;
        self.news.call(SamplingNews::Called(Box::new(SamplingCall {
            server,
            model: model.reference(),
            usage,
            accounting,
        })));
        if !status.is_success() {
            return Err(format!("the model failed: {}", status.message()));
        }
        Ok(SamplingAnswer {
            model: model.id.clone(),
            text: message.text(),
            is_cut: message.stop_reason == StopReason::Length,
            tokens: usage.total_tokens(),
        })
    }
}

#[async_trait]
impl Sampler for SessionSampler {
    async fn sample(
        &self,
        request: SamplingRequest,
        cancel: &CancellationToken,
    ) -> Result<SamplingAnswer, String> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("interrupted".to_owned()),
            answer = self.call(request) => answer,
        }
    }
}

fn model_request(model: &Arc<Model>, request: SamplingRequest) -> Request {
    let limit = if model.max_tokens == 0 {
        request.max_tokens
    } else {
        model.max_tokens.min(request.max_tokens)
    };
    let SamplingRequest {
        system_prompt,
        messages,
        temperature,
        ..
    } = request;
    let mut request = side_call::request(model, &system_prompt, messages, limit);
    request.options.temperature = temperature;
    request
}

/// Answers `SamplingNews::Model`.
pub(crate) fn send_model(models: &Models, reply: oneshot::Sender<SamplingModel>) {
    let model = SamplingModel {
        model: models.chosen(),
        transport: models.transport(),
    };
    // The call was interrupted if nobody waits for it.
    let _ = reply.send(model);
}

impl SamplingCall {
    /// Counts and shows the call.
    pub(crate) fn publish(self, usage: &mut SessionUsage, emitter: &Emitter) {
        usage.outside(&self.model, self.usage);
        let entry = self.accounting;
        emitter.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
        let (read, written) = (self.usage.context_tokens(), self.usage.output);
        emitter.notice(
            Severity::Info,
            format!(
                "the MCP server `{}` used the model {}: {} tokens, {written} of them written",
                self.server, self.model, read
            ),
        );
    }
}
