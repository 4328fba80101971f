//! The connection to one editor: reads its messages, opens its sessions and sends their messages.

use std::collections::HashMap;
use std::future::Future;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use crate::credentials;
use crate::jsonrpc::{
    self, AcpClient, Incoming, Outgoing, decode, encode, error, internal_error, invalid_params,
};
use crate::mcp_servers;
use crate::prompt;
use crate::session::{self, Closing, Lifecycle, OpenKind, SessionCommand};
use crate::stored;
use osier_base::{terminal_output, visible};
use osier_rpc::LINE_LIMIT;
use osier_rpc::lines::{Line, LineReader};
use osier_session::{SessionChoice, SessionSetup};
use osier_settings::Settings;

/// The id of the authentication method.
const AUTH_METHOD: &str = "terminal";
/// Queued messages to the client. Sessions wait while the queue is full.
const QUEUE_SIZE: usize = 64;

/// Serves an editor until the input ends or `stop` completes, then closes and stores all sessions. Returns
/// whether `stop` completed.
pub(super) async fn run(
    template: SessionSetup,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> bool {
    let (sender, mut outgoing) = mpsc::channel(QUEUE_SIZE);
    let (lifecycle, mut events) = mpsc::unbounded_channel();
    let mut connection = Connection {
        template,
        output,
        disconnected: false,
        closing: false,
        client: AcpClient::new(sender),
        lifecycle,
        sessions: HashMap::new(),
        opening: 0,
        requests: HashMap::new(),
    };
    let mut lines = LineReader::new(input, LINE_LIMIT);
    tokio::pin!(stop);
    let stopped = loop {
        if connection.disconnected {
            break false;
        }
        tokio::select! {
            biased;
            () = &mut stop => break true,
            Some(event) = events.recv() => connection.on_lifecycle(event),
            Some(message) = outgoing.recv() => connection.send(message).await,
            line = lines.next() => match line {
                Ok(Some(Line::Complete(line))) => connection.receive(&line).await,
                Ok(Some(Line::TooLong)) => connection.reject_long_line().await,
                // A read error also ends the input.
                Ok(None) | Err(_) => break false,
            },
        }
    };
    connection.closing = true;
    connection.requests.clear();
    for commands in connection.sessions.values() {
        let _ = commands.send(SessionCommand::Close(None));
    }
    while !connection.sessions.is_empty() || connection.opening > 0 {
        tokio::select! {
            Some(event) = events.recv() => {
                if let Lifecycle::Opened { commands, .. } = &event {
                    let _ = commands.send(SessionCommand::Close(None));
                }
                connection.on_lifecycle(event);
            }
            Some(message) = outgoing.recv() => connection.send(message).await,
        }
    }
    // Sends the messages that the sessions queued before they closed.
    while let Ok(message) = outgoing.try_recv() {
        connection.send(message).await;
    }
    stopped
}

/// The parameters of `session/new`, `session/load` and `session/resume`. The types of the schema crate differ
/// only in which of these fields they require.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenRequest {
    session_id: Option<acp::SessionId>,
    cwd: PathBuf,
    additional_directories: Option<Vec<PathBuf>>,
    mcp_servers: Option<Vec<Value>>,
    system_prompt: Option<acp::SystemPrompt>,
}

/// The parameters that osier reads for each method, besides `_meta`.
const PARAMETERS: [(&str, &[&str]); 20] = [
    (
        "initialize",
        &["protocolVersion", "clientCapabilities", "clientInfo"],
    ),
    ("authenticate", &["methodId"]),
    ("logout", &[]),
    ("auth/status", &[]),
    ("session/list", &["cwd", "cursor", "archived"]),
    ("session/delete", &["sessionId"]),
    ("session/archive", &["sessionId"]),
    ("session/unarchive", &["sessionId"]),
    ("session/status", &["sessionId"]),
    ("session/set_title", &["sessionId", "title"]),
    (
        "session/new",
        &["cwd", "additionalDirectories", "mcpServers", "systemPrompt"],
    ),
    ("session/load", OPEN),
    ("session/resume", OPEN),
    ("session/fork", OPEN),
    ("session/prompt", &["sessionId", "prompt"]),
    ("session/set_mode", &["sessionId", "modeId"]),
    (
        "session/set_config_option",
        &["sessionId", "configId", "value", "type"],
    ),
    ("session/close", &["sessionId"]),
    ("session/cancel", &["sessionId"]),
    ("$/cancel_request", &["requestId"]),
];
const OPEN: &[&str] = &[
    "sessionId",
    "cwd",
    "additionalDirectories",
    "mcpServers",
    "systemPrompt",
];

/// The parameters that have no effect. Editors send parameters that are newer than osier's version
/// of the protocol.
fn unknown_parameters<'a>(method: &str, params: &'a Value) -> Vec<&'a str> {
    let Some((_, known)) = PARAMETERS.iter().find(|(name, _)| *name == method) else {
        return Vec::new();
    };
    let fields = params.as_object().into_iter().flatten();
    fields
        .filter(|(name, value)| {
            !value.is_null() && *name != "_meta" && !known.contains(&name.as_str())
        })
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Reports parameters without an effect on standard error, which editors show in their log of the
/// agent.
fn name_unknown_parameters(method: &str, params: &Value) {
    for name in unknown_parameters(method, params) {
        // A failed write to standard error cannot be reported.
        let _ = writeln!(
            terminal_output::stderr(),
            "[WRN] unknown parameter `{}` of `{method}` has no effect",
            visible::one_line(name, 100)
        );
    }
}

struct Connection<W> {
    /// The setup that every session starts from.
    template: SessionSetup,
    output: W,
    /// Whether writing failed.
    disconnected: bool,
    /// Whether the connection ends. Then it sends no requests.
    closing: bool,
    client: AcpClient,
    lifecycle: mpsc::UnboundedSender<Lifecycle>,
    sessions: HashMap<acp::SessionId, mpsc::UnboundedSender<SessionCommand>>,
    /// How many sessions are opening.
    opening: usize,
    /// Requests to the client without a response.
    requests: HashMap<acp::RequestId, oneshot::Sender<acp::Result<Value>>>,
}

impl<W: AsyncWrite + Unpin> Connection<W> {
    fn on_lifecycle(&mut self, event: Lifecycle) {
        match event {
            Lifecycle::Opened { id, commands } => {
                self.opening -= 1;
                self.sessions.insert(id, commands);
            }
            Lifecycle::OpenFailed => self.opening -= 1,
            Lifecycle::Closed { id } => drop(self.sessions.remove(&id)),
        }
    }

    async fn send(&mut self, message: Outgoing) {
        match message {
            Outgoing::Message(line) => self.write(line).await,
            Outgoing::Request { .. } if self.closing => {}
            Outgoing::Request { id, line, result } => {
                self.requests.insert(id, result);
                self.write(line).await;
            }
            Outgoing::Cancel { id, line } => {
                if self.requests.remove(&id).is_some() {
                    self.write(line).await;
                }
            }
        }
    }

    async fn write(&mut self, line: String) {
        let written = self.output.write_all(line.as_bytes()).await;
        self.disconnected |= written.is_err() || self.output.flush().await.is_err();
    }

    async fn respond(&mut self, id: acp::RequestId, result: acp::Result<acp::AgentResponse>) {
        if let Ok(line) = encode(acp::Response::new(id, result)) {
            self.write(line).await;
        }
    }

    async fn reject_long_line(&mut self) {
        let text = format!("the line is longer than {LINE_LIMIT} bytes and was ignored");
        self.respond(
            acp::RequestId::Null,
            Err(error(acp::ErrorCode::ParseError, text)),
        )
        .await;
    }

    async fn receive(&mut self, line: &[u8]) {
        match jsonrpc::parse(line) {
            Incoming::Request { id, method, params } => {
                let result = self.on_request(id.clone(), &method, params);
                if let Some(result) = result.transpose() {
                    self.respond(id, result).await;
                }
            }
            Incoming::Notification { method, params } => {
                // A notification has no response, so errors are ignored.
                let _ = self.on_notification(&method, params);
            }
            Incoming::Response { id, result } => {
                if let Some(request) = self.requests.remove(&id) {
                    let _ = request.send(result);
                }
            }
            Incoming::Invalid { id, error } => self.respond(id, Err(error)).await,
        }
    }

    fn on_notification(&self, method: &str, params: Value) -> acp::Result<()> {
        name_unknown_parameters(method, &params);
        match method {
            "session/cancel" => {
                self.command(params, |_: acp::CancelNotification| SessionCommand::Cancel)?;
            }
            "$/cancel_request" => {
                let acp::CancelRequestNotification { request_id, .. } = decode(params)?;
                for commands in self.sessions.values() {
                    let id = request_id.clone();
                    let _ = commands.send(SessionCommand::CancelRequest(id));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the response, or `None` if a session responds.
    fn on_request(
        &mut self,
        id: acp::RequestId,
        method: &str,
        params: Value,
    ) -> acp::Result<Option<acp::AgentResponse>> {
        name_unknown_parameters(method, &params);
        match method {
            "initialize" => return Ok(Some(self.initialize(&params))),
            "authenticate" => return self.authenticate(id, &decode(params)?),
            "auth/status" => {
                decode::<acp::AuthStatusRequest>(params)?;
                return credentials::status(&self.template).map(Some);
            }
            "session/list" => {
                return stored::list(&self.template.folders, &decode(params)?).map(Some);
            }
            "session/archive" => return self.archive(id, &decode(params)?),
            "session/unarchive" => {
                let request: acp::UnarchiveSessionRequest = decode(params)?;
                return stored::unarchive(&self.template.folders, &request.session_id).map(Some);
            }
            "session/status" => return self.session_status(&decode(params)?).map(Some),
            "session/set_title" => self.set_title(id, decode(params)?)?,
            "session/delete" => return self.delete_session(&decode(params)?).map(Some),
            "session/new" => self.open(id, OpenKind::New, decode(params)?)?,
            "session/load" => self.open(id, OpenKind::Load, decode(params)?)?,
            "session/resume" => self.open(id, OpenKind::Resume, decode(params)?)?,
            "session/fork" => self.open(id, OpenKind::Fork, decode(params)?)?,
            "logout" => self.log_out(id),
            "session/prompt" => {
                let params = prompt::complete(params);
                self.command(params, |request| SessionCommand::Prompt(id, request))?;
            }
            "session/set_mode" => {
                self.command(params, |request| SessionCommand::SetMode(id, request))?;
            }
            "session/set_config_option" => {
                self.command(params, |request| SessionCommand::SetOption(id, request))?;
            }
            "session/close" => {
                let close =
                    |_: acp::CloseSessionRequest| SessionCommand::Close(Some((id, Closing::Close)));
                self.command(params, close)?;
            }
            _ => {
                let text = format!("unknown method `{method}`");
                return Err(error(acp::ErrorCode::MethodNotFound, text));
            }
        }
        Ok(None)
    }

    /// Sends a command to the session in the parameters.
    fn command<R: DeserializeOwned>(
        &self,
        params: Value,
        command: impl FnOnce(R) -> SessionCommand,
    ) -> acp::Result<()> {
        let id = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let command = command(decode(params)?);
        let Some(commands) = self.sessions.get(&acp::SessionId::from(id.clone())) else {
            let text = format!("session `{id}` is not open; open it with `session/load`");
            return Err(error(acp::ErrorCode::ResourceNotFound, text));
        };
        // A session that is closing responds when it has closed.
        let _ = commands.send(command);
        Ok(())
    }

    fn initialize(&mut self, params: &Value) -> acp::AgentResponse {
        // An editor without valid capabilities has none.
        let capabilities = decode(params["clientCapabilities"].clone());
        self.client.capabilities = Arc::new(capabilities.unwrap_or_default());
        let login = acp::AuthMethodTerminal::new(AUTH_METHOD, "Sign in")
            .description("Sign in to a provider or store an API key, in a terminal")
            .args(vec!["--login".to_owned()]);
        // Without a terminal the error of `session/prompt` says how to sign in.
        let can_login = self.client.capabilities.auth.terminal;
        let auth_methods = can_login.then_some(acp::AuthMethod::Terminal(login));
        let session_capabilities = acp::SessionCapabilities::new()
            .list(acp::SessionListCapabilities::new())
            .delete(acp::SessionDeleteCapabilities::new())
            .resume(acp::SessionResumeCapabilities::new())
            .close(acp::SessionCloseCapabilities::new())
            .fork(acp::SessionForkCapabilities::new())
            .archive(acp::SessionArchiveCapabilities::new())
            .status(acp::SessionStatusCapabilities::new())
            .title(acp::SessionTitleCapabilities::new())
            .system_prompt(
                acp::SessionSystemPromptCapabilities::new().mode(
                    acp::SessionSystemPromptModeCapabilities::new()
                        .override_(acp::SessionSystemPromptOverrideCapabilities::new()),
                ),
            )
            .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new());
        let agent_capabilities = acp::AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(
                acp::PromptCapabilities::new()
                    .image(true)
                    .audio(true)
                    .embedded_context(true),
            )
            .mcp_capabilities(acp::McpCapabilities::new().http(true).sse(true))
            .auth(
                acp::AgentAuthCapabilities::new()
                    .logout(acp::LogoutCapabilities::new())
                    .status(acp::AuthStatusCapabilities::new()),
            )
            .session_capabilities(session_capabilities);
        let info = acp::Implementation::new(osier_base::PROGRAM, env!("CARGO_PKG_VERSION"));
        acp::AgentResponse::InitializeResponse(
            acp::InitializeResponse::new(ProtocolVersion::V1)
                .agent_info(info.title("osier"))
                .agent_capabilities(agent_capabilities)
                .auth_methods(auth_methods.into_iter().collect()),
        )
    }

    /// Open sessions load the new credentials. The first of them responds.
    fn authenticate(
        &self,
        id: acp::RequestId,
        request: &acp::AuthenticateRequest,
    ) -> acp::Result<Option<acp::AgentResponse>> {
        if *request.method_id.0 != *AUTH_METHOD {
            let method = &request.method_id;
            let text =
                format!("unknown authentication method `{method}`; expected `{AUTH_METHOD}`");
            return Err(invalid_params(text));
        }
        let mut id = Some(id);
        for commands in self.sessions.values() {
            let _ = commands.send(SessionCommand::Reload(id.take()));
        }
        let response = acp::AgentResponse::AuthenticateResponse(acp::AuthenticateResponse::new());
        Ok(id.map(|_| response))
    }

    /// Deletes the stored keys and sign-ins of all providers, then reloads the open sessions. Keys of the environment and
    /// of `models.json` stay.
    fn log_out(&self, id: acp::RequestId) {
        let (client, template) = (self.client.clone(), self.template.clone());
        let sessions: Vec<_> = self.sessions.values().cloned().collect();
        osier_base::task::spawn(async move {
            let removed = credentials::accounts(&template).remove_all().await;
            for commands in sessions {
                let _ = commands.send(SessionCommand::Reload(None));
            }
            let response = removed
                .map(|()| acp::AgentResponse::LogoutResponse(acp::LogoutResponse::new()))
                .map_err(internal_error);
            client.respond(id, response).await;
        });
    }

    fn open(
        &mut self,
        id: acp::RequestId,
        kind: OpenKind,
        request: OpenRequest,
    ) -> acp::Result<()> {
        let cwd = directory("cwd", &request.cwd)?;
        let directories = request.additional_directories.unwrap_or_default();
        let directories = directories
            .iter()
            .map(|path| directory("additionalDirectories", path))
            .collect::<Result<_, _>>()?;
        let session = match (kind, request.session_id) {
            (OpenKind::New, _) => SessionChoice::New,
            // An open session can be forked, too.
            (OpenKind::Fork, Some(id)) => SessionChoice::Copy(id.to_string()),
            (_, Some(id)) if self.sessions.contains_key(&id) => {
                let text = format!("session `{id}` is already open");
                return Err(error(acp::ErrorCode::InvalidRequest, text));
            }
            (_, Some(id)) => SessionChoice::Resume(id.to_string()),
            (_, None) => return Err(invalid_params("missing parameter `sessionId`")),
        };
        let servers = request.mcp_servers.unwrap_or_default().into_iter();
        let servers = servers.map(mcp_servers::config).collect::<Result<_, _>>()?;
        let (settings, _) = Settings::load_for(&self.template.folders, &cwd);
        let mut setup = SessionSetup {
            cwd,
            directories,
            settings,
            session,
            servers,
            ..self.template.clone()
        };
        if let Some(prompt) = request.system_prompt {
            prompt::add_system_prompt(&mut setup, prompt)?;
        }
        self.opening += 1;
        let (client, lifecycle) = (self.client.clone(), self.lifecycle.clone());
        osier_base::task::spawn(session::run(setup, kind, id, client, lifecycle));
        Ok(())
    }

    /// Moves a session to the trash, if it is closed.
    fn delete_session(
        &self,
        request: &acp::DeleteSessionRequest,
    ) -> acp::Result<acp::AgentResponse> {
        let id = &request.session_id;
        if self.sessions.contains_key(id) {
            let text = format!("session `{id}` is open; close it first with `session/close`");
            return Err(error(acp::ErrorCode::InvalidRequest, text));
        }
        stored::delete(&self.template.folders, id)
    }

    /// Archives a session. An open one closes first, and responds.
    fn archive(
        &self,
        id: acp::RequestId,
        request: &acp::ArchiveSessionRequest,
    ) -> acp::Result<Option<acp::AgentResponse>> {
        let (folders, session) = (self.template.folders.clone(), &request.session_id);
        let Some(commands) = self.sessions.get(session) else {
            return stored::archive(&folders, session).map(Some);
        };
        let closing = Closing::Archive(Box::new(folders));
        let _ = commands.send(SessionCommand::Close(Some((id, closing))));
        Ok(None)
    }

    fn session_status(
        &self,
        request: &acp::SessionStatusRequest,
    ) -> acp::Result<acp::AgentResponse> {
        let id = &request.session_id;
        stored::status(&self.template.folders, id, self.sessions.contains_key(id))
    }

    /// An open session renames itself, and responds.
    fn set_title(
        &self,
        id: acp::RequestId,
        request: acp::SetSessionTitleRequest,
    ) -> acp::Result<()> {
        let title = stored::title(&request)?;
        if let Some(commands) = self.sessions.get(&request.session_id) {
            let _ = commands.send(SessionCommand::SetTitle(id, title));
            return Ok(());
        }
        let (client, folders) = (self.client.clone(), self.template.folders.clone());
        osier_base::task::spawn(async move {
            let renamed = stored::rename(folders, request.session_id, title).await;
            client.respond(id, renamed).await;
        });
        Ok(())
    }
}

/// The canonical path of a directory parameter.
fn directory(name: &str, path: &Path) -> acp::Result<PathBuf> {
    let shown = path.display();
    if !path.is_absolute() {
        let text = format!("`{name}` must be an absolute path, not `{shown}`");
        return Err(invalid_params(text));
    }
    path.canonicalize()
        .map_err(|cause| invalid_params(format!("`{name}`: cannot use `{shown}`: {cause}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each parameter of an editor is one that a method uses, or osier reports it.
    #[test]
    fn parameters_have_an_effect_or_are_named() {
        for (method, known) in PARAMETERS {
            let mut params = json!({"_meta": {"x": 1}, "nothing": null});
            for name in known {
                params[*name] = json!("x");
            }
            assert_eq!(unknown_parameters(method, &params), [""; 0], "{method}");
            params["extra"] = json!(1);
            assert_eq!(unknown_parameters(method, &params), ["extra"], "{method}");
        }
    }
}
