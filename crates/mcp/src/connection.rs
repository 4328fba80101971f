//! A connection to a server, in both generations of the protocol: requests that can be cancelled, report
//! progress, and ask the user questions before they are answered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequest,
    GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputRequest, InputRequiredResult,
    InputResponses, ProtocolVersion, ReadResourceRequest, ReadResourceRequestParams,
    ReadResourceResult, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer,
    PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClientTransport,
    StreamableHttpClientTransportConfig,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answers::Answering;
use super::client::{Client, Followed, Progress};
use super::config::{Launch, ServerConfig};
use super::login::Logins;
use super::stdio::StdioTransport;
use osier_agent::{ToolUpdate, UpdateSink};
use osier_base::private;
use osier_base::process::Invocation;

/// Maximum rounds of questions per request.
const ROUNDS: usize = 10;
/// A request that reports progress can take this many times as long as a silent one.
const PATIENCE: u32 = 30;

/// The running service.
pub(super) type Service = RunningService<RoleClient, Client>;

/// Why a server is unavailable.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("cannot start `{program}`: {source}")]
    Spawn {
        program: String,
        source: std::io::Error,
    },
    #[error("it did not answer within {} s", limit.as_secs())]
    Late { limit: Duration },
    #[error("it requires a sign-in")]
    Login,
    #[error("the header `{name}` is invalid")]
    Header { name: String },
    #[error("{0}")]
    Failed(String),
}

impl ConnectError {
    /// Whether a retry may help.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Failed(_))
    }
}

/// Connects to the server of `config`.
pub(super) async fn connect(
    config: &ServerConfig,
    client: &Client,
    logins: &Logins,
    trace: bool,
) -> Result<Service, ConnectError> {
    let modern = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let limit = config.start_timeout;
    let both = async {
        let first = start(config, client, modern, logins, trace).await;
        match first {
            // Some servers answer the new handshake with an invalid message or exit.
            Err(ConnectError::Failed(message)) => {
                client.log.line(
                    "osier",
                    &format!("retrying with the protocol before 2026: {message}"),
                );
                start(
                    config,
                    client,
                    ClientLifecycleMode::Initialize,
                    logins,
                    trace,
                )
                .await
            }
            first => first,
        }
    };
    let connected = tokio::time::timeout(limit, both).await;
    connected.unwrap_or(Err(ConnectError::Late { limit }))
}

async fn start(
    config: &ServerConfig,
    client: &Client,
    mode: ClientLifecycleMode,
    logins: &Logins,
    trace: bool,
) -> Result<Service, ConnectError> {
    let started = match &config.launch {
        Launch::Command { program, .. } => {
            let invocation = invocation(config, client);
            let log = Arc::clone(&client.log);
            let transport = StdioTransport::start(&invocation, log, trace).map_err(|source| {
                let program = program.clone();
                ConnectError::Spawn { program, source }
            })?;
            let transport = Answering::new(transport, &client.log);
            client.clone().serve_with_lifecycle(transport, mode).await
        }
        Launch::Url { url, headers, .. } => {
            let mut http = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            http.custom_headers = header_map(headers)?;
            let has_authorization = http.custom_headers.contains_key("authorization");
            let http_client = logins.client(url, has_authorization).await;
            let http_client = http_client.map_err(ConnectError::Failed)?;
            let transport = StreamableHttpClientTransport::with_client(http_client, http);
            let transport = Answering::new(transport, &client.log);
            client.clone().serve_with_lifecycle(transport, mode).await
        }
    };
    let service = started.map_err(|error| {
        if let (Launch::Url { url, .. }, Some(header)) = (&config.launch, error.auth_challenge()) {
            logins.challenged(url, header);
        }
        failure(&error)
    })?;
    // The cache would store every page of every list, and every resource.
    let no_cache = ClientCacheConfig::disabled();
    service.peer().set_response_cache_config(no_cache).await;
    Ok(service)
}

fn failure(error: &ClientInitializeError) -> ConnectError {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return ConnectError::Login;
    }
    let message = match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::TransportError { error, .. } => with_causes(error.error.as_ref()),
        error => error.to_string(),
    };
    ConnectError::Failed(message)
}

/// The error with its causes, which contain the details.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
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

fn invocation(config: &ServerConfig, client: &Client) -> Invocation {
    let Launch::Command {
        program,
        args,
        env,
        cwd,
    } = &config.launch
    else {
        return Invocation::default();
    };
    let cwd = match cwd {
        Some(cwd) => client.cwd.join(cwd),
        None if config.of_project => client.cwd.clone(),
        None => {
            // In the project, `npx` would run what the project brings. Starting fails if there is no folder.
            let _ = private::create_folder(&client.folder);
            client.folder.clone()
        }
    };
    let env = env.iter().map(|(name, value)| (name.into(), value.into()));
    Invocation {
        cwd: Some(cwd),
        env: env.collect(),
        ..Invocation::new(program, args.iter().cloned())
    }
}

fn header_map(
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ConnectError> {
    let header = |(name, value): (&String, &String)| {
        let fault = || ConnectError::Header { name: name.clone() };
        let value = HeaderValue::from_str(value).map_err(|_| fault())?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| fault())?;
        Ok((name, value))
    };
    headers.iter().map(header).collect()
}

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
    /// Time without progress after which it fails.
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

    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    pub(super) async fn call_tool(
        &self,
        mut params: CallToolRequestParams,
        wait: &Wait,
    ) -> Result<CallToolResult, CallError> {
        for _ in 0..ROUNDS {
            let request = CallToolRequest::new(params.clone());
            match self
                .send(ClientRequest::CallToolRequest(request), wait)
                .await?
            {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(result) => {
                    (params.input_responses, params.request_state) =
                        self.answers(result, wait).await?;
                }
                _ => return Err(ServiceError::UnexpectedResponse.into()),
            }
        }
        Err(too_many_rounds())
    }

    pub(super) async fn read_resource(
        &self,
        uri: &str,
        wait: &Wait,
    ) -> Result<ReadResourceResult, CallError> {
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..ROUNDS {
            let request = ReadResourceRequest::new(params.clone());
            match self
                .send(ClientRequest::ReadResourceRequest(request), wait)
                .await?
            {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(result) => {
                    (params.input_responses, params.request_state) =
                        self.answers(result, wait).await?;
                }
                _ => return Err(ServiceError::UnexpectedResponse.into()),
            }
        }
        Err(too_many_rounds())
    }

    pub(super) async fn get_prompt(
        &self,
        mut params: GetPromptRequestParams,
        wait: &Wait,
    ) -> Result<GetPromptResult, CallError> {
        for _ in 0..ROUNDS {
            let request = GetPromptRequest::new(params.clone());
            match self
                .send(ClientRequest::GetPromptRequest(request), wait)
                .await?
            {
                ServerResult::GetPromptResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(result) => {
                    (params.input_responses, params.request_state) =
                        self.answers(result, wait).await?;
                }
                _ => return Err(ServiceError::UnexpectedResponse.into()),
            }
        }
        Err(too_many_rounds())
    }

    /// Sends a request and waits for its answer. A request that times out or is interrupted is cancelled at
    /// the server.
    async fn send(&self, request: ClientRequest, wait: &Wait) -> Result<ServerResult, CallError> {
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

    /// The answers to the questions of a 2026 server.
    async fn answers(
        &self,
        result: InputRequiredResult,
        wait: &Wait,
    ) -> Result<(Option<InputResponses>, Option<String>), CallError> {
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
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let answer = self.answer(request, &wait.cancel).await?;
            if wait.cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            answers.insert(key, answer);
        }
        Ok((Some(answers), result.request_state))
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
            _ => {
                let message = "the server requested sampling, which is not supported";
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

fn too_many_rounds() -> CallError {
    CallError::Server(format!(
        "the server asked more than {ROUNDS} rounds of questions"
    ))
}

/// `3/10 copying`.
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
