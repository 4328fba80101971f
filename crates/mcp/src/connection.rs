//! A connection to a server, in both generations of the protocol: requests that can be cancelled, report
//! progress, and ask the user questions before they are answered.

#![expect(
    deprecated,
    reason = "servers of versions before 2026-07-28 request sampling"
)]

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, CreateMessageRequest, ElicitRequest, GetPromptRequest, GetPromptRequestParams,
    GetPromptResult, InputRequest, InputRequests, InputResponses, ProtocolVersion,
    ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, ServerPeerInfo,
    ServerResult, SetLevelRequestParams,
};
use rmcp::service::{
    Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::changes::ToolChanges;
use super::client::{Client, Followed, Progress};
use osier_agent::{ToolUpdate, UpdateSink};

/// Maximum rounds of questions per request.
pub(super) const ROUNDS: usize = 10;
/// A request that reports progress can take this many times as long as a silent one.
pub(super) const PATIENCE: u32 = 30;

/// The running service.
pub(super) type Service = RunningService<RoleClient, Client>;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("interrupted")]
    Cancelled,
    #[error("no answer within {} s", after.as_secs())]
    Late { after: Duration },
    #[error("{0}")]
    Closed(String),
    /// The server's error.
    #[error("{0}")]
    Server(String),
}

impl From<ServiceError> for CallError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Server(error.message.to_string()),
            ServiceError::TransportClosed => Self::Closed("the connection was closed".to_owned()),
            ServiceError::TransportSend(error) => Self::Closed(with_causes(error.error.as_ref())),
            ServiceError::UnexpectedResponse => {
                Self::Server("the server sent an unexpected kind of answer".to_owned())
            }
            error => Self::Server(error.to_string()),
        }
    }
}

/// How a request waits for its answer.
#[derive(Debug, Clone)]
pub(super) struct Wait {
    pub cancel: CancellationToken,
    /// Time without progress after which the request fails.
    pub timeout: Duration,
    pub updates: UpdateSink,
}

/// The connection to a running server. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    client: Client,
}

impl Connection {
    pub(super) fn new(service: &Service) -> Self {
        Self {
            peer: service.peer().clone(),
            client: service.service().clone(),
        }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// Whether the server has ended; its task may not have noticed yet.
    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    pub(super) fn tool_changes(&self) -> &ToolChanges {
        &self.client.tool_changes
    }

    /// Whether the server announces changes of its tools.
    pub(super) fn announces_tools(&self) -> bool {
        let tools = self.info().and_then(|info| info.capabilities.tools.clone());
        tools.and_then(|tools| tools.list_changed) == Some(true)
    }

    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Asks the server to log only messages of this level and above. Versions from 2026-07-28 on have no such request.
    pub(super) async fn set_log_level(&self, level: &str) {
        let Some(info) = self.info() else { return };
        if info.capabilities.logging.is_none()
            || info.protocol_version >= ProtocolVersion::V_2026_07_28
        {
            return;
        }
        let Ok(level) = serde_json::from_value(Value::from(level)) else {
            return;
        };
        let set = self.peer.set_level(SetLevelRequestParams::new(level));
        if let Err(error) = set.await {
            let message = format!("cannot set the log level: {error}");
            self.client.log.line("osier", &message);
        }
    }

    pub(super) async fn read_resource(
        &self,
        uri: &str,
        wait: &Wait,
    ) -> Result<ReadResourceResult, CallError> {
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..ROUNDS {
            let request = ReadResourceRequest::new(params.clone());
            let request = ClientRequest::ReadResourceRequest(request);
            let asked = match self.send(request, wait).await? {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                other => self.answers(other, wait).await?,
            };
            (params.input_responses, params.request_state) = asked;
        }
        Err(too_many_rounds())
    }

    pub(super) async fn get_prompt(
        &self,
        mut params: GetPromptRequestParams,
        wait: &Wait,
    ) -> Result<GetPromptResult, CallError> {
        for _ in 0..ROUNDS {
            let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params.clone()));
            let asked = match self.send(request, wait).await? {
                ServerResult::GetPromptResult(result) => return Ok(result),
                other => self.answers(other, wait).await?,
            };
            (params.input_responses, params.request_state) = asked;
        }
        Err(too_many_rounds())
    }

    /// Sends a request and waits for its answer. A request that times out or is interrupted is cancelled at
    /// the server.
    pub(super) async fn send(
        &self,
        request: ClientRequest,
        wait: &Wait,
    ) -> Result<ServerResult, CallError> {
        let followed: &Followed = &self.client.followed;
        let (sender, mut progress) = mpsc::unbounded_channel();
        let mut handle = {
            let mut followed = followed.lock().await;
            let options = PeerRequestOptions::no_options();
            let sent = self.peer.send_request_with_option(request, options).await;
            let handle = sent.map_err(|error| self.fault(error))?;
            followed.insert(handle.progress_token.clone(), sender);
            handle
        };
        let ended = self.follow(&mut handle, &mut progress, wait).await;
        followed.lock().await.remove(&handle.progress_token);
        if matches!(ended, Err(CallError::Cancelled | CallError::Late { .. })) {
            let reason = ended.as_ref().err().map(ToString::to_string);
            // A server that has ended needs no notification.
            let taken_back = handle.cancel(reason);
            let _ = tokio::time::timeout(Duration::from_secs(1), taken_back).await;
        }
        ended
    }

    /// The error of a failed request. A required sign-in is reported to the server's task.
    fn fault(&self, error: ServiceError) -> CallError {
        let Some(header) = challenge(&error) else {
            return match CallError::from(error) {
                CallError::Closed(message) => CallError::Closed(self.client.log.hide(&message)),
                CallError::Server(message) => CallError::Server(self.client.log.hide(&message)),
                error => error,
            };
        };
        // The server's task may have ended.
        let _ = self.client.refused.send(header.to_owned());
        let server = &self.client.server;
        CallError::Closed(format!(
            "it requires a sign-in with more permissions: the user can run `/mcp login {server}`"
        ))
    }

    async fn follow(
        &self,
        handle: &mut RequestHandle<RoleClient>,
        progress: &mut mpsc::UnboundedReceiver<Progress>,
        wait: &Wait,
    ) -> Result<ServerResult, CallError> {
        let began = Instant::now();
        let mut deadline = began + wait.timeout;
        loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    let answer = answer.map_err(|_| ServiceError::TransportClosed)?;
                    return answer.map_err(|error| self.fault(error));
                }
                () = wait.cancel.cancelled() => return Err(CallError::Cancelled),
                Some(progress) = progress.recv() => {
                    let text = describe(&progress);
                    wait.updates.send(ToolUpdate::Status { text });
                    let longest = began + wait.timeout * PATIENCE;
                    deadline = (Instant::now() + wait.timeout).min(longest);
                }
                () = tokio::time::sleep_until(deadline) => {
                    // The user can take any time to answer.
                    if !self.client.asking.is_any() {
                        return Err(CallError::Late { after: began.elapsed() });
                    }
                    deadline = Instant::now() + wait.timeout;
                }
            }
        }
    }

    /// The answers to questions of a 2026 server, if its result contains questions.
    pub(super) async fn answers(
        &self,
        result: ServerResult,
        wait: &Wait,
    ) -> Result<(Option<InputResponses>, Option<String>), CallError> {
        let ServerResult::InputRequiredResult(result) = result else {
            return Err(ServiceError::UnexpectedResponse.into());
        };
        let requests = result.input_requests.unwrap_or_default();
        if requests.is_empty() {
            if result.request_state.is_none() {
                return Err(ServiceError::UnexpectedResponse.into());
            }
            // The server only requests a retry.
            tokio::select! {
                () = wait.cancel.cancelled() => return Err(CallError::Cancelled),
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
            return Ok((None, result.request_state));
        }
        let answers = self.answer_all(requests, wait).await?;
        Ok((Some(answers), result.request_state))
    }

    /// The answers to `requests`, by their keys.
    pub(super) async fn answer_all(
        &self,
        requests: InputRequests,
        wait: &Wait,
    ) -> Result<InputResponses, CallError> {
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let answer = self.answer(request, &wait.cancel).await?;
            if wait.cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    async fn answer(
        &self,
        request: InputRequest,
        cancel: &CancellationToken,
    ) -> Result<Value, CallError> {
        let value = match request {
            InputRequest::Elicitation(ElicitRequest { params, .. }) => {
                let answer = self.client.elicit(params, cancel).await;
                serde_json::to_value(answer.map_err(CallError::Server)?)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(self.client.roots()),
            InputRequest::CreateMessage(CreateMessageRequest { params, .. }) => {
                let answer = self.client.sample(params, cancel).await;
                serde_json::to_value(answer.map_err(|error| CallError::Server(error.to_string()))?)
            }
            _ => {
                let message = "the server asked for something that osier does not know";
                return Err(CallError::Server(message.to_owned()));
            }
        };
        value.map_err(|error| CallError::Server(error.to_string()))
    }
}

/// The `WWW-Authenticate` header of a server that requires a sign-in.
pub(super) fn challenge(error: &ServiceError) -> Option<&str> {
    let ServiceError::TransportSend(failed) = error else {
        return None;
    };
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(failed.error.as_ref());
    while let Some(cause) = source {
        let required = cause.downcast_ref::<AuthRequiredError>();
        let header = required.map(|error| error.www_authenticate_header.as_str());
        let narrow = cause.downcast_ref::<InsufficientScopeError>();
        let header = header.or(narrow.map(|error| error.www_authenticate_header.as_str()));
        if header.is_some() {
            return header;
        }
        source = cause.source();
    }
    None
}

pub(super) fn too_many_rounds() -> CallError {
    CallError::Server(format!(
        "the server asked more than {ROUNDS} rounds of questions"
    ))
}

/// A progress as text: `3/10 copying`.
fn describe(progress: &Progress) -> String {
    let done = match progress.total {
        Some(total) if total > 0.0 => format!("{}/{total}", progress.done),
        _ => progress.done.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{done} {message}"),
        None => done,
    }
}

/// The error with its causes, which contain the details.
pub(super) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
