//! Routes for the server status, sign-in, models and the session list.

use osier_base::sort;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::access::Caller;
use super::browser_sign_in::{self, BrowserSignIn};
use super::error::{ApiError, ErrorCode};
use super::headers::host_of;
use super::request_body::{BodyLimits, json_body, json_body_within};
use super::request_check::client_of;
use super::state::ServerState;
use osier_hub::{OpenOptions, OpenSessionInfo};
use osier_llm::http::ServedModel;
#[cfg(feature = "proxy")]
use osier_llm::http::ServedModels;
use osier_protocol::{KeyState, PermissionMode, SessionSummary};
use osier_rpc::PROTOCOL;
use osier_session::SessionSetup;
use osier_session::models::Models;
use osier_store::{Scope, SessionDirectory, SessionError};

/// The limits of the body of a sign-in, the only one that needs no token.
const LOGIN_LIMITS: BodyLimits = BodyLimits {
    bytes: 4 * 1024,
    time: Some(Duration::from_secs(5)),
};
/// Most stored sessions of a list.
const MAX_STORED: usize = 200;

/// The response of `GET /api/status`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerStatus {
    /// The name of the program: `osier`.
    name: String,
    version: String,
    /// The version of the RPC protocol.
    protocol: u32,
    /// The number of open sessions; only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<usize>,
    /// The default working directory of sessions; only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

/// The response of `GET /api/sessions`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Sessions {
    /// The open sessions, last changed first.
    open: Vec<OpenSessionInfo>,
    /// The other stored sessions, last used first.
    stored: Vec<SessionSummary>,
}

/// The body of `POST /api/sessions`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct NewSession {
    /// The working directory, an absolute path.
    cwd: Option<PathBuf>,
    /// A stored session: an id, an id prefix, or a name. A new session when not set.
    session: Option<String>,
    /// `PROVIDER/ID[:LEVEL]` or part of a name.
    model: Option<String>,
    permissions: Option<PermissionMode>,
}

impl NewSession {
    /// Validates the fields.
    pub(super) fn validate(self) -> Result<OpenOptions, ApiError> {
        if self.cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
            return Err(ApiError::malformed("`cwd` must be an absolute path"));
        }
        let is_path = |session: &String| session.contains('/');
        if self.session.as_ref().is_some_and(is_path) {
            let message = "`session` must be an id or a name, not a path";
            return Err(ApiError::malformed(message));
        }
        Ok(OpenOptions {
            cwd: self.cwd,
            session: self.session,
            model: self.model,
            permissions: self.permissions,
        })
    }
}

/// The body of `POST /api/login`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    token: String,
}

/// A model in the list of models.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelEntry {
    #[serde(flatten)]
    served: ServedModel,
    /// `PROVIDER/ID`.
    reference: String,
    key: KeyState,
    in_cycle: bool,
}

pub(super) async fn status(
    State(server): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
) -> Json<ServerStatus> {
    let is_owner = caller == Caller::Owner;
    Json(ServerStatus {
        name: osier_base::PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        sessions: is_owner.then(|| server.registry.list().len()),
        cwd: is_owner.then(|| server.registry.template().cwd.display().to_string()),
    })
}

/// Signs a browser in: a cookie that scripts cannot read, and a secret that only pages of this origin can read.
pub(super) async fn login(
    State(server): State<Arc<ServerState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let from = client_of(&server, &request);
    let host = host_of(request.headers(), request.uri()).to_owned();
    let origin = request.headers().get(header::ORIGIN);
    let is_secure = origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let Login { token } = json_body_within(request, LOGIN_LIMITS).await?;
    if server.access.check(&token, from)? != Caller::Owner {
        let message = "this token can only call models, not sign in a browser";
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    let BrowserSignIn { id, secret } = server.access.sign_in()?;
    let [plain, secure] = browser_sign_in::cookie_names(&host);
    let (name, secure) = if is_secure {
        (secure, "; Secure")
    } else {
        (plain, "")
    };
    let cookie =
        format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000{secure}");
    with_cookies(&[cookie], &json!({"ok": true, "secret": secret}))
}

pub(super) async fn logout(request: Request) -> Result<Response, ApiError> {
    let host = host_of(request.headers(), request.uri());
    let [plain, secure] = browser_sign_in::cookie_names(host);
    let end = "Path=/; HttpOnly; SameSite=Strict; Max-Age=0";
    let cookies = [
        format!("{plain}=; {end}"),
        format!("{secure}=; {end}; Secure"),
    ];
    with_cookies(&cookies, &json!({"ok": true}))
}

fn with_cookies(cookies: &[String], body: &Value) -> Result<Response, ApiError> {
    let mut headers = HeaderMap::new();
    for cookie in cookies {
        let value = HeaderValue::from_str(cookie)
            .map_err(|_| ApiError::malformed("invalid `Host` header"))?;
        headers.append(header::SET_COOKIE, value);
    }
    Ok((headers, Json(body)).into_response())
}

pub(super) async fn models(
    State(server): State<Arc<ServerState>>,
    #[cfg(feature = "proxy")] Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, ApiError> {
    #[cfg(feature = "proxy")]
    if let (Caller::User(user), Some(proxy)) = (caller, server.access.proxy()) {
        return Ok(Json(json!(ServedModels {
            models: proxy.models(&user).await,
        })));
    }
    let template = server.registry.template().clone();
    let listed = osier_base::task::spawn_blocking(move || model_entries(&template));
    let models = listed.await.unwrap_or_default();
    Ok(Json(json!({"models": models})))
}

fn model_entries(template: &SessionSetup) -> Vec<ModelEntry> {
    let (models, _) = Models::load_lenient(template);
    let chosen = models.chosen();
    let mut infos = models.list();
    // The default model is first.
    sort::by_key(&mut infos, |info| {
        (&info.provider, &info.id) != (&chosen.provider, &chosen.id)
    });
    let model_entries = infos.into_iter().filter_map(|info| {
        let reference = info.reference();
        let (model, _) = models.find(&reference).ok()?;
        Some(ModelEntry {
            served: ServedModel::of(&model),
            reference,
            key: info.key,
            in_cycle: info.in_cycle,
        })
    });
    model_entries.collect()
}

pub(super) async fn list(
    State(server): State<Arc<ServerState>>,
) -> Result<Json<Sessions>, ApiError> {
    let mut open = server.registry.list();
    sort::by_key(&mut open, |session| std::cmp::Reverse(session.modified));
    let data = server.registry.template().folders.data.clone();
    let reading = osier_base::task::spawn_blocking(move || {
        let directory = SessionDirectory::new(&data);
        let stored = directory.newest(Scope::All, MAX_STORED)?.into_iter();
        Ok(stored.map(|session| directory.listed(session)).collect())
    });
    let stored = reading.await.unwrap_or_else(|_| Ok(Vec::new()));
    let unreadable = |error: SessionError| ApiError::new(ErrorCode::Unavailable, error.to_string());
    let mut stored: Vec<SessionSummary> = stored.map_err(unreadable)?;
    stored.retain(|session| open.iter().all(|open| open.id != session.id));
    Ok(Json(Sessions { open, stored }))
}

pub(super) async fn open(
    State(server): State<Arc<ServerState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let options: NewSession = json_body(request).await?;
    let options = options.validate()?;
    let session = server.registry.open(options).await?;
    Ok((StatusCode::CREATED, Json(session.info())).into_response())
}

pub(super) async fn close(
    State(server): State<Arc<ServerState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    if server.registry.close(&id).await {
        return Ok(Json(json!({"closed": id})));
    }
    let message = format!("no session `{id}` is open");
    Err(ApiError::new(ErrorCode::UnknownSession, message))
}

/// Converts Markdown to HTML.
pub(super) async fn render_markdown(
    State(server): State<Arc<ServerState>>,
    request: Request,
) -> impl IntoResponse {
    server.renderer.answer(request).await
}
