//! What there is: the server itself, its models, the sessions that are open and those that are stored.

use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "proxy")]
use axum::Extension;
use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Server;
#[cfg(feature = "proxy")]
use super::access::Caller;
use super::fault::{Code, Fault};
use super::gate::{COOKIE, address_of, body};
use osier_hub::{RoomInfo, Wanted};
use osier_llm::http::ServedModel;
#[cfg(feature = "proxy")]
use osier_llm::http::ServedModels;
use osier_protocol::{KeyState, PermissionMode, SessionSummary};
use osier_rpc::PROTOCOL;
use osier_session::SessionSetup;
use osier_session::models::Models;
use osier_store::SessionDirectory;

/// Stored sessions of a list.
const LISTED: usize = 200;

/// What `GET /api/status` answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerStatus {
    /// `osier`.
    name: String,
    version: String,
    /// Of the commands: that of `osier rpc`.
    protocol: u32,
    /// Sessions that are open.
    sessions: usize,
    /// Where sessions work that say nothing else.
    cwd: String,
}

/// What `GET /api/sessions` answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Sessions {
    /// Those that are open, what happened last first.
    open: Vec<RoomInfo>,
    /// The others, the last used first.
    stored: Vec<SessionSummary>,
}

/// What `POST /api/sessions` takes.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct NewSession {
    /// Where to work, as an absolute path.
    cwd: Option<PathBuf>,
    /// A stored session: an id, the start of one, or a name. A new one when it is left out.
    session: Option<String>,
    /// `PROVIDER/ID[:LEVEL]` or part of a name.
    model: Option<String>,
    permissions: Option<PermissionMode>,
}

impl NewSession {
    /// What it asks for, where that makes sense.
    pub(super) fn checked(self) -> Result<Wanted, Fault> {
        if self.cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
            return Err(Fault::malformed("`cwd` has to be an absolute path"));
        }
        let is_path = |session: &String| session.contains('/');
        if self.session.as_ref().is_some_and(is_path) {
            let message = "`session` is an id or a name, not a path";
            return Err(Fault::malformed(message));
        }
        Ok(Wanted {
            cwd: self.cwd,
            session: self.session,
            model: self.model,
            permissions: self.permissions,
        })
    }
}

/// What `POST /api/login` takes.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Login {
    token: String,
}

/// A model that can be called, and whether it can.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Offered {
    #[serde(flatten)]
    served: ServedModel,
    /// `PROVIDER/ID`.
    reference: String,
    key: KeyState,
    in_cycle: bool,
}

pub(super) async fn status(State(server): State<Arc<Server>>) -> Json<ServerStatus> {
    Json(ServerStatus {
        name: osier_base::PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        sessions: server.hosts.list().len(),
        cwd: server.hosts.template().cwd.display().to_string(),
    })
}

/// Lets a browser in: the token becomes a cookie that no script can read.
pub(super) async fn login(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response, Fault> {
    let from = address_of(&request);
    let origin = request.headers().get(header::ORIGIN);
    let is_secure = origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let Login { token } = body(request).await?;
    let is_word = token
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b';');
    if !is_word {
        return Err(Fault::malformed("`token` is none"));
    }
    server.access.check(&token, from)?;
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000{secure}");
    with_cookie(&cookie)
}

pub(super) async fn logout() -> Result<Response, Fault> {
    let cookie = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    with_cookie(&cookie)
}

fn with_cookie(cookie: &str) -> Result<Response, Fault> {
    let value = HeaderValue::from_str(cookie).map_err(|_| Fault::malformed("`token` is none"))?;
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, value);
    Ok((headers, Json(json!({"ok": true}))).into_response())
}

pub(super) async fn models(
    State(server): State<Arc<Server>>,
    #[cfg(feature = "proxy")] Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, Fault> {
    #[cfg(feature = "proxy")]
    if let (Caller::User(_), Some(relay)) = (caller, server.access.relay()) {
        return Ok(Json(json!(ServedModels {
            models: relay.models().await,
        })));
    }
    let template = server.hosts.template().clone();
    let listed = tokio::task::spawn_blocking(move || offered(&template));
    let models = listed.await.unwrap_or_default();
    Ok(Json(json!({"models": models})))
}

fn offered(template: &SessionSetup) -> Vec<Offered> {
    let (models, _) = Models::load_lenient(template);
    let chosen = models.chosen();
    let mut infos = models.list();
    // What one starts with comes first.
    infos.sort_by_key(|info| (&info.provider, &info.id) != (&chosen.provider, &chosen.id));
    let offered = infos.into_iter().filter_map(|info| {
        let reference = info.reference();
        let (model, _) = models.find(&reference).ok()?;
        Some(Offered {
            served: ServedModel::of(&model),
            reference,
            key: info.key,
            in_cycle: info.in_cycle,
        })
    });
    offered.collect()
}

pub(super) async fn list(State(server): State<Arc<Server>>) -> Json<Sessions> {
    let mut open = server.hosts.list();
    open.sort_by_key(|room| std::cmp::Reverse(room.modified));
    let data = server.hosts.template().folders.data.clone();
    let reading = tokio::task::spawn_blocking(move || SessionDirectory::new(&data).newest(LISTED));
    let stored = reading.await.unwrap_or_default().into_iter();
    let stored = stored
        .filter(|session| open.iter().all(|room| room.id != session.id))
        .map(|session| SessionSummary {
            id: session.id,
            path: session.path.to_string_lossy().into_owned(),
            cwd: session.cwd,
            name: session.name,
            first_prompt: session.first_prompt,
            modified: session.modified,
            size: session.size,
        })
        .collect();
    Json(Sessions { open, stored })
}

pub(super) async fn open(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response, Fault> {
    let wanted: NewSession = body(request).await?;
    let wanted = wanted.checked()?;
    let room = server.hosts.open(wanted).await?;
    Ok((StatusCode::CREATED, Json(room.info())).into_response())
}

pub(super) async fn close(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Fault> {
    if server.hosts.close(&id).await {
        return Ok(Json(json!({"closed": id})));
    }
    let message = format!("no session `{id}` is open");
    Err(Fault::new(Code::UnknownSession, message))
}
