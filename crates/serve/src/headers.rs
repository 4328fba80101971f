//! Reads headers of requests.

use axum::http::{HeaderMap, Uri};

pub(super) fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

pub(super) fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> &'a str {
    let named = uri.authority().map(axum::http::uri::Authority::as_str);
    named
        .or_else(|| header_text(headers, "host"))
        .unwrap_or_default()
}
