//! Every path of the server: one table for dispatch and for the description of the interface.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};

use super::fault::{Code, Fault};
#[cfg(feature = "proxy")]
use super::relay;
use super::{Server, gate, html, sessions, socket, talk, web};

/// One thing a client can ask for.
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "a test makes the description of the interface of it"
    )
)]
pub(super) struct Route {
    pub method: &'static str,
    pub path: &'static str,
    /// What it does, in one sentence.
    pub does: &'static str,
    /// The schema of the body; none where there is no body.
    pub takes: Option<&'static str>,
    /// The schema of the answer, or what it is instead.
    pub gives: Gives,
    handler: fn() -> MethodRouter<Arc<Server>>,
}

/// What is answered.
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "a test makes the description of the interface of it"
    )
)]
#[derive(Debug, Clone, Copy)]
pub(super) enum Gives {
    /// JSON of this schema.
    Json(&'static str),
    /// Server-sent events.
    Events,
    /// Frames both ways.
    Frames,
}

/// All of them.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "post",
        path: "/api/login",
        does: "Lets a browser in: sets the cookie `osier`. The only path that needs no token.",
        takes: Some("Login"),
        gives: Gives::Json("Ok"),
        handler: || post(sessions::login),
    },
    Route {
        method: "post",
        path: "/api/logout",
        does: "Takes the cookie away.",
        takes: Some("Empty"),
        gives: Gives::Json("Ok"),
        handler: || post(sessions::logout),
    },
    Route {
        method: "get",
        path: "/api/status",
        does: "What this server is.",
        takes: None,
        gives: Gives::Json("ServerStatus"),
        handler: || get(sessions::status),
    },
    Route {
        method: "get",
        path: "/api/models",
        does: "The models, the one to start with first.",
        takes: None,
        gives: Gives::Json("Models"),
        handler: || get(sessions::models),
    },
    Route {
        method: "get",
        path: "/api/sessions",
        does: "The sessions that are open with how they stand, and those that are stored.",
        takes: None,
        gives: Gives::Json("Sessions"),
        handler: || get(sessions::list),
    },
    Route {
        method: "post",
        path: "/api/sessions",
        does: "Opens a new session, or a stored one. One that is open is shared.",
        takes: Some("NewSession"),
        gives: Gives::Json("RoomInfo"),
        handler: || post(sessions::open),
    },
    Route {
        method: "delete",
        path: "/api/sessions/{id}",
        does: "Stops what runs in a session, stores it and closes it; its file stays.",
        takes: None,
        gives: Gives::Json("Closed"),
        handler: || delete(sessions::close),
    },
    Route {
        method: "post",
        path: "/api/sessions/{id}/rpc",
        does: "Does one command of `osier rpc`, and answers with its response.",
        takes: Some("Command"),
        gives: Gives::Json("Response"),
        handler: || post(talk::command),
    },
    Route {
        method: "post",
        path: "/api/sessions/{id}/prompt",
        does: "Says something; the events of the run follow, up to `agent_settled`.",
        takes: Some("Prompt"),
        gives: Gives::Events,
        handler: || post(talk::prompt),
    },
    Route {
        method: "get",
        path: "/api/sessions/{id}/events",
        does: "Everything that happens from the event `after`, or `Last-Event-ID`, on.",
        takes: None,
        gives: Gives::Events,
        handler: || get(talk::events),
    },
    Route {
        method: "post",
        path: "/api/markdown",
        does: "Makes HTML of what a model wrote: nothing in it can run, load or lead elsewhere than to a page.",
        takes: Some("MarkdownTexts"),
        gives: Gives::Json("MarkdownBlocks"),
        handler: || post(html::render),
    },
    #[cfg(feature = "proxy")]
    Route {
        method: "post",
        path: "/api/proxy/stream",
        does: "Calls a model with the keys of this server (`--proxy`); docs/proxy.md describes it.",
        takes: Some("ProxyRequest"),
        gives: Gives::Events,
        handler: || post(relay::stream),
    },
    Route {
        method: "get",
        path: "/api/ws",
        does: "A WebSocket for commands and events of many sessions.",
        takes: None,
        gives: Gives::Frames,
        handler: || get(socket::open),
    },
];

/// The server's paths. On a trusted socket no token is asked for.
pub(super) fn router(server: Arc<Server>, is_trusted: bool) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, (route.handler)());
    }
    let guard = from_fn_with_state((Arc::clone(&server), is_trusted), gate::guard);
    router
        .merge(web::routes())
        .fallback(nothing)
        .method_not_allowed_fallback(nothing)
        .layer(guard)
        .with_state(server)
}

async fn nothing() -> Fault {
    Fault::new(
        Code::NotFound,
        "there is nothing here: docs/serve.md lists what there is",
    )
}
