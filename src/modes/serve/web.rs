//! The chat in the browser.

use std::sync::Arc;

use axum::Router;
use axum::response::Html;
use axum::routing::get;

use super::Server;

/// The pages, which everybody may see: without the token they can do nothing.
pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/", get(page))
}

async fn page() -> Html<&'static str> {
    Html(
        "<!doctype html><title>osier</title>\n<p>This is an osier server: <code>osier attach</code> joins it.</p>\n",
    )
}
