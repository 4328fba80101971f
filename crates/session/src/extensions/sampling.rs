//! Calls of the model for MCP servers (sampling). The server asks, `osier_mcp` limits and permits it, and the call uses
//! the model of the session, without its conversation and its tools.

use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{AccountingEntry, Severity, Transport};
use osier_extensions::hooks::HookQuestion;
use osier_llm::{AssistantMessage, Model, Request, StopReason, Usage};
use osier_mcp::{Sampler, SamplingAnswer, SamplingRequest};
use osier_protocol::Event;
use osier_store::writer::Writer;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::conversation::budget::SessionBudget;
use crate::conversation::usage::Usage as SessionUsage;
use crate::emitter::{Callback, Emitter};
use crate::models::Models;
use crate::models::side_call::{self, Answered};

/// Time for the answer.
const TIMEOUT: Duration = Duration::from_mins(5);
/// Tokens of the answer to a hook.
const JUDGEMENT_TOKENS: u64 = 1_000;
/// The error of a call after the session has ended.
const ENDED: &str = "the session has ended";

/// A message of the sampler to the session.
#[derive(Debug)]
pub(crate) enum SamplingNews {
    /// The model of the session.
    Model(oneshot::Sender<SamplingModel>),
    /// The model with this name for a hook; the small one, or that of the session, without a name.
    HookModel(
        Option<String>,
        oneshot::Sender<Result<SamplingModel, String>>,
    ),
    Called(Box<SamplingCall>),
}

/// The model that answers, and how to call it.
#[derive(Debug)]
pub(crate) struct SamplingModel {
    pub(super) model: Arc<Model>,
    pub(super) transport: Arc<dyn Transport>,
}

/// A call that was made.
#[derive(Debug)]
pub(crate) struct SamplingCall {
    /// The server that asked; `None` for a hook.
    server: Option<String>,
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
        let called = model.map_err(|_| ENDED.to_owned())?;
        let server = Some(request.server.clone());
        let request = model_request(&called.model, request);
        let message = self.made(&called, server, request).await?;
        Ok(SamplingAnswer {
            model: called.model.id.clone(),
            text: message.text(),
            is_cut: message.stop_reason == StopReason::Length,
            tokens: message.usage.total_tokens(),
        })
    }

    /// The model for a hook: the one with this name, or the usual one for hooks.
    pub(super) async fn model(&self, name: Option<String>) -> Result<SamplingModel, String> {
        let (reply, model) = oneshot::channel();
        self.news.call(SamplingNews::HookModel(name, reply));
        model.await.map_err(|_| ENDED.to_owned())?
    }

    /// Stores a call that an agent of a hook has made, and counts it in the session's budget.
    pub(super) async fn count(&self, model: &Model, accounting: AccountingEntry) {
        let AccountingEntry::Llm { usage, .. } = &accounting else {
            return;
        };
        let usage = *usage;
        // A failure does not matter here: if the session cannot be written, the next message stops the run.
        let kind = side_call::usage_entry("hook", model, usage);
        let _ = self.branch.append(kind).await;
        self.news.call(SamplingNews::Called(Box::new(SamplingCall {
            server: None,
            model: model.reference(),
            usage,
            accounting,
        })));
    }

    /// The answer of a model to the question of a hook.
    pub(crate) async fn ask(&self, question: HookQuestion) -> Result<String, String> {
        let called = self.model(question.model).await?;
        let messages = side_call::prompt(question.prompt);
        let request = side_call::request(
            &called.model,
            &question.system_prompt,
            messages,
            JUDGEMENT_TOKENS,
        );
        let message = self.made(&called, None, request).await?;
        if message.stop_reason != StopReason::Stop {
            return Err("the answer of the model was cut".to_owned());
        }
        Ok(message.text())
    }

    /// Makes a call, stores what it used and counts it.
    async fn made(
        &self,
        called: &SamplingModel,
        server: Option<String>,
        request: Request,
    ) -> Result<AssistantMessage, String> {
        let SamplingModel { model, transport } = called;
        let Answered {
            message,
            status,
            accounting,
        } = side_call::call(&**transport, request, Some(TIMEOUT)).await;
        let usage = message.usage;
        let kind = if server.is_some() { "sampling" } else { "hook" };
        let kind = side_call::usage_entry(kind, model, usage);
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
        Ok(message)
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

/// Answers `SamplingNews::Model`. The budget of the session counts each call of the model and can refuse it.
pub(crate) fn send_model(
    models: &Models,
    budget: Option<&SessionBudget>,
    reply: oneshot::Sender<SamplingModel>,
) {
    // The call was interrupted if nobody waits for it.
    let _ = reply.send(counted(models.chosen(), models, budget));
}

/// Answers `SamplingNews::HookModel`. `small` is the small model of the session.
pub(crate) fn send_hook_model(
    models: &Models,
    name: Option<&str>,
    small: Option<&Arc<Model>>,
    budget: Option<&SessionBudget>,
    reply: oneshot::Sender<Result<SamplingModel, String>>,
) {
    let model = match (name, small) {
        (Some(name), _) => models.find(name).map(|(model, _)| model),
        (None, Some(small)) => Ok(Arc::clone(small)),
        (None, None) => Ok(models.chosen()),
    };
    let found = model.map_err(|error| error.to_string());
    let _ = reply.send(found.map(|model| counted(model, models, budget)));
}

fn counted(model: Arc<Model>, models: &Models, budget: Option<&SessionBudget>) -> SamplingModel {
    let transport = models.transport();
    let transport = match budget {
        Some(budget) => budget.transport(transport),
        None => transport,
    };
    SamplingModel { model, transport }
}

impl SamplingCall {
    /// Counts and shows the call.
    pub(crate) fn publish(self, usage: &mut SessionUsage, emitter: &Emitter) {
        usage.outside(&self.model, self.usage);
        let entry = self.accounting;
        emitter.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
        let Some(server) = self.server else { return };
        let (read, written) = (self.usage.context_tokens(), self.usage.output);
        emitter.notice(
            Severity::Info,
            format!(
                "the MCP server `{server}` used the model {}: {read} tokens, {written} of them written",
                self.model
            ),
        );
    }
}
