//! The table of routes, for dispatch and for `docs/openapi.json`.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};

use super::error::{ApiError, ErrorCode};
#[cfg(feature = "proxy")]
use super::proxy;
use super::state::ServerState;
use super::{browser_chat, request_check, server_routes, session_routes, websocket};

// recipe: a route of the server: its row in the table of `Route`s, then `UPDATE_DOCS=1 cargo test -p osier-serve openapi`
/// A route of the API.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "a test generates docs/openapi.json from it")
)]
pub(super) struct Route {
    pub method: &'static str,
    pub path: &'static str,
    /// The description of the route, for the documentation.
    pub summary: &'static str,
    /// The schema of the body, if there is one.
    pub request: Option<&'static str>,
    /// The kind of response.
    pub response: ResponseKind,
    handler: fn() -> MethodRouter<Arc<ServerState>>,
}

/// The kind of a response.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "a test generates docs/openapi.json from it")
)]
#[derive(Debug, Clone, Copy)]
pub(super) enum ResponseKind {
    /// JSON with this schema.
    Json(&'static str),
    /// Server-sent events.
    Events,
    /// WebSocket frames.
    Frames,
}

/// All routes of the API.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "post",
        path: "/api/login",
        summary: "Sign a browser in: set its cookie and return the secret. The only request that needs no token.",
        request: Some("Login"),
        response: ResponseKind::Json("Ok"),
        handler: || post(server_routes::login),
    },
    Route {
        method: "post",
        path: "/api/logout",
        summary: "Clear the cookies.",
        request: Some("Empty"),
        response: ResponseKind::Json("Ok"),
        handler: || post(server_routes::logout),
    },
    Route {
        method: "get",
        path: "/api/status",
        summary: "Return the version and state of the server.",
        request: None,
        response: ResponseKind::Json("ServerStatus"),
        handler: || get(server_routes::status),
    },
    Route {
        method: "get",
        path: "/api/models",
        summary: "List the models, the default model first.",
        request: None,
        response: ResponseKind::Json("Models"),
        handler: || get(server_routes::models),
    },
    Route {
        method: "get",
        path: "/api/sessions",
        summary: "List the open sessions with their state, and the stored sessions.",
        request: None,
        response: ResponseKind::Json("Sessions"),
        handler: || get(server_routes::list),
    },
    Route {
        method: "post",
        path: "/api/sessions",
        summary: "Open a new or a stored session. A session that is already open is shared.",
        request: Some("NewSession"),
        response: ResponseKind::Json("OpenSessionInfo"),
        handler: || post(server_routes::open),
    },
    Route {
        method: "delete",
        path: "/api/sessions/{id}",
        summary: "Stop what runs in a session, store and close it. Its file stays.",
        request: None,
        response: ResponseKind::Json("Closed"),
        handler: || delete(server_routes::close),
    },
    Route {
        method: "post",
        path: "/api/sessions/{id}/rpc",
        summary: "Run one command of `osier rpc` and return its response.",
        request: Some("Command"),
        response: ResponseKind::Json("Response"),
        handler: || post(session_routes::command),
    },
    Route {
        method: "post",
        path: "/api/sessions/{id}/prompt",
        summary: "Send a prompt and return the events of its run, up to `agent_settled`.",
        request: Some("Prompt"),
        response: ResponseKind::Events,
        handler: || post(session_routes::prompt),
    },
    Route {
        method: "get",
        path: "/api/sessions/{id}/events",
        summary: "Return every event after the number `after` or `Last-Event-ID`.",
        request: None,
        response: ResponseKind::Events,
        handler: || get(session_routes::events),
    },
    Route {
        method: "post",
        path: "/api/markdown",
        summary: "Convert Markdown of a model to HTML. The HTML runs and loads nothing, and its links lead only to web pages.",
        request: Some("MarkdownTexts"),
        response: ResponseKind::Json("MarkdownBlocks"),
        handler: || post(server_routes::render_markdown),
    },
    #[cfg(feature = "proxy")]
    Route {
        method: "get",
        path: "/api/usage",
        summary: "Return the limits and the usage of the proxy user who asks.",
        request: None,
        response: ResponseKind::Json("UserUsage"),
        handler: || get(proxy::usage),
    },
    #[cfg(feature = "proxy")]
    Route {
        method: "post",
        path: "/api/proxy/stream",
        summary: "Call a model with the keys of this server (`--proxy`). See docs/proxy.md.",
        request: Some("ProxyRequest"),
        response: ResponseKind::Events,
        handler: || post(proxy::stream),
    },
    Route {
        method: "get",
        path: "/api/ws",
        summary: "Open a WebSocket for commands and events of several sessions.",
        request: None,
        response: ResponseKind::Frames,
        handler: || get(websocket::open),
    },
];

/// The router of the server. Clients of a trusted listener need no token.
pub(super) fn router(server: Arc<ServerState>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, (route.handler)());
    }
    let layer = from_fn_with_state(Arc::clone(&server), request_check::check_request);
    router
        .merge(browser_chat::routes())
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(layer)
        .with_state(server)
}

async fn not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "unknown path or method; docs/serve.md lists the API",
    )
}
