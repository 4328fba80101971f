//! The web chat's files, which are a part of the program: no build step, nothing from elsewhere.
//!
//! They hold no secret, so that a page can be shown before anybody has signed in. The policy they are sent with
//! lets them load and reach this server alone, makes no markup but through the one place of the page that is
//! named for it, and lets nobody put the page into a frame.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use super::Server;

use osier_base::hex::hex;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const MANIFEST: &str = "application/manifest+json";
const JSON: &str = "application/json";
const SVG: &str = "image/svg+xml";
const PNG: &str = "image/png";

/// What the page may do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types osier";

/// Headers of every file, beside those that every answer has.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    // Asked for again each time, and sent only when it is another one.
    ("cache-control", "no-cache"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(self), microphone=(self), geolocation=(), payment=(), usb=()",
    ),
];

struct File {
    path: &'static str,
    kind: &'static str,
    body: &'static [u8],
}

/// Files below `assets/web`, by kind.
macro_rules! files {
    ($($kind:ident: $($path:literal),+;)+) => {
        &[$($(File {
            path: $path,
            kind: $kind,
            body: include_bytes!(concat!("../../../assets/web", $path)),
        }),+),+]
    };
}

const FILES: &[File] = files! {
    HTML: "/index.html";
    MANIFEST: "/manifest.webmanifest";
    SVG: "/icons/icon.svg";
    PNG: "/icons/icon-192.png", "/icons/icon-512.png", "/icons/maskable-512.png", "/icons/touch-180.png";
    CSS: "/style/activity.css", "/style/boards.css", "/style/controls.css", "/style/layout.css", "/style/panels.css",
        "/style/prose.css", "/style/tokens.css", "/style/transcript.css";
    SCRIPT: "/worker.js", "/app/actions.js", "/app/api.js", "/app/board.js", "/app/branches.js", "/app/camera.js", "/app/company.js", "/app/composer.js", "/app/context.js",
        "/app/conversation.js", "/app/developer.js", "/app/diff.js", "/app/dom.js", "/app/drawer.js",
        "/app/events.js", "/app/fan.js", "/app/form.js", "/app/format.js", "/app/gestures.js", "/app/link.js", "/app/login.js",
        "/app/main.js", "/app/markdown.js", "/app/menu.js", "/app/message.js", "/app/pictures.js",
        "/app/questions.js", "/app/restore.js", "/app/servers.js", "/app/sessions.js", "/app/shell.js", "/app/start.js", "/app/suggest.js", "/app/theme.js",
        "/app/toast.js", "/app/tool.js", "/app/transcript.js", "/app/tree.js", "/app/voice.js";
};

/// The list of files for the worker that keeps them.
const LIST: &str = "/shell.json";
/// The page itself is at the root.
const PAGE: &str = "/index.html";

/// The files, which everybody may see: without the token they can do nothing.
pub(super) fn routes() -> Router<Arc<Server>> {
    let list = |headers: HeaderMap| async move { send(JSON, list(), &headers) };
    FILES
        .iter()
        .fold(Router::new().route(LIST, get(list)), |router, file| {
            let send =
                move |headers: HeaderMap| async move { send(file.kind, file.body, &headers) };
            router.route(address(file), get(send))
        })
}

/// Where a file is.
fn address(file: &File) -> &'static str {
    if file.path == PAGE { "/" } else { file.path }
}

/// The addresses of everything the page needs, as JSON.
fn list() -> Vec<u8> {
    let addresses = FILES.iter().map(|file| format!("\"{}\"", address(file)));
    format!("[{}]", addresses.collect::<Vec<_>>().join(",")).into_bytes()
}

/// A body with its name; only the name to a browser that has it.
fn send(kind: &'static str, body: impl Into<Bytes>, headers: &HeaderMap) -> Response {
    let body: Bytes = body.into();
    let tag = tag(&body);
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| tags.split(',').any(|known| known.trim() == tag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(CONTENT_TYPE, kind)], body).into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if let Ok(tag) = tag.parse() {
        headers.insert(ETAG, tag);
    }
    response
}

/// Names a content.
fn tag(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    format!("\"{}\"", hex(&digest[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(address: &str) -> &'static File {
        let mut files = FILES.iter();
        files.find(|file| super::address(file) == address).unwrap()
    }

    fn page(known: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(known) = known {
            headers.insert(IF_NONE_MATCH, known.parse().unwrap());
        }
        let file = find("/");
        send(file.kind, file.body, &headers)
    }

    #[test]
    fn every_file_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/web");
        let mut found: Vec<String> = walk(&root)
            .iter()
            .map(|path| format!("/{}", path.strip_prefix(&root).unwrap().display()))
            .collect();
        let mut known: Vec<&str> = FILES.iter().map(|file| file.path).collect();
        found.sort();
        known.sort_unstable();
        assert_eq!(known, found);
    }

    fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| {
                if path.is_dir() {
                    walk(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }

    #[test]
    fn files_are_guarded_and_sent_once() {
        let first = page(None);
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[CONTENT_TYPE], HTML);
        assert_eq!(first.headers()["content-security-policy"], POLICY);
        let tag = first.headers()[ETAG].to_str().unwrap();
        let again = page(Some(&format!("\"other\", {tag}")));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(again.headers()["content-security-policy"], POLICY);
    }

    #[test]
    fn the_page_has_no_script_or_style_of_its_own() {
        let page = String::from_utf8_lossy(find("/").body).into_owned();
        for bad in [
            "<style",
            "style=",
            "onclick",
            "javascript:",
            "http://",
            "https://",
        ] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script type=\"module\" src=\"/app/").count()
        );
    }
}
