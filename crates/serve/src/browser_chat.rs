//! The files of the browser chat, which are embedded in the program, and what the page shows of the calls of each tool.
//!
//! They contain no secrets, so they need no token. Their content security policy allows them to load from and connect
//! to this server only, allows only the Trusted Types policy `osier` to create markup, and forbids framing.

use std::io::{self, Read as _};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::compression::accepts_gzip;
use super::state::ServerState;

use osier_base::hex::hex;
use osier_tools::{READ, ToolEffect};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const MANIFEST: &str = "application/manifest+json";
const JSON: &str = "application/json";
const SVG: &str = "image/svg+xml";
const PNG: &str = "image/png";

/// The content security policy of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types osier";

/// Additional headers of every file.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    // Browsers revalidate the file each time, and receive it only if it has changed.
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
    /// Compressed by the build script, as gzip.
    compressed: &'static [u8],
}

/// Files below `assets/chat`, by kind. The build script bundles its modules and style sheets.
macro_rules! files {
    ($($kind:ident: $($path:literal),+;)+) => {
        &[$($(File {
            path: $path,
            kind: $kind,
            compressed: include_bytes!(concat!(env!("OUT_DIR"), "/web", $path)),
        }),+),+]
    };
}

const FILES: &[File] = files! {
    HTML: "/index.html";
    MANIFEST: "/manifest.webmanifest";
    SVG: "/icons/icon.svg";
    PNG: "/icons/icon-192.png", "/icons/icon-512.png", "/icons/maskable-512.png", "/icons/touch-180.png";
    CSS: "/page.css";
    SCRIPT: "/page.js", "/worker.js";
};

/// The list of files that the service worker stores.
const LIST: &str = "/shell.json";
/// The rows of the tools, as far as the page needs them.
const TOOLS: &str = "/tools.js";
/// The page, which is served at `/`.
const PAGE: &str = "/index.html";

/// The routes of the files. They need no token.
pub(super) fn routes() -> Router<Arc<ServerState>> {
    let file_list = |headers: HeaderMap| async move { send(JSON, file_list(), &headers) };
    let tools = |headers: HeaderMap| async move { send(SCRIPT, tools(), &headers) };
    let made = Router::new()
        .route(LIST, get(file_list))
        .route(TOOLS, get(tools));
    FILES.iter().fold(made, |router, file| {
        let send = move |headers: HeaderMap| async move { send_file(file, &headers) };
        router.route(url_path(file), get(send))
    })
}

/// How the page shows the calls of each tool, as the variable `osierTools`. Sorted by name.
fn tools() -> String {
    let rows = osier_tools::all().map(|tool| {
        let use_of_file = match tool.file {
            _ if tool.effect == ToolEffect::Changes => "changed",
            Some(_) if tool.name == READ => READ,
            _ => "",
        };
        let mut row = json!(tool.view);
        row["uses"] = json!(use_of_file);
        (tool.name.to_owned(), row)
    });
    let rows = Value::Object(rows.collect());
    format!("globalThis.osierTools = {rows};\n")
}

/// The path of a file.
fn url_path(file: &File) -> &'static str {
    if file.path == PAGE { "/" } else { file.path }
}

/// The paths of all files, as JSON.
fn file_list() -> Vec<u8> {
    let files = FILES.iter().map(url_path).chain([TOOLS]);
    let addresses = files.map(|path| format!("\"{path}\""));
    format!("[{}]", addresses.collect::<Vec<_>>().join(",")).into_bytes()
}

/// A file, compressed if the browser accepts that.
fn send_file(file: &'static File, headers: &HeaderMap) -> Response {
    let accepted = headers
        .get(ACCEPT_ENCODING)
        .and_then(|encodings| encodings.to_str().ok());
    let accepts_gzip = accepted.is_some_and(accepts_gzip);
    let mut response = if accepts_gzip {
        send(file.kind, file.compressed, headers)
    } else {
        match decompressed(file) {
            Ok(body) => send(file.kind, body, headers),
            Err(error) => {
                return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response();
            }
        }
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if accepts_gzip && response.status() == StatusCode::OK {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(CONTENT_ENCODING, gzip);
    }
    response
}

fn decompressed(file: &File) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    GzDecoder::new(file.compressed).read_to_end(&mut body)?;
    Ok(body)
}

/// A response with an `ETag`; without a body if the browser has the file.
fn send(kind: &'static str, body: impl Into<Bytes>, headers: &HeaderMap) -> Response {
    let body: Bytes = body.into();
    let etag = etag(&body);
    let known_etags = headers
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok());
    let is_known = known_etags.is_some_and(|tags| {
        tags.split(',')
            .any(|known_etags| known_etags.trim() == etag)
    });
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
    if let Ok(etag) = etag.parse() {
        headers.insert(ETAG, etag);
    }
    response
}

/// The `ETag` of a file.
fn etag(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    format!("\"{}\"", hex(&digest[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::slash::{self, SlashClient};

    fn find(url_path: &str) -> &'static File {
        let mut files = FILES.iter();
        files
            .find(|file| super::url_path(file) == url_path)
            .unwrap()
    }

    fn page(known_etags: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(known_etags) = known_etags {
            headers.insert(IF_NONE_MATCH, known_etags.parse().unwrap());
        }
        let file = find("/");
        send_file(file, &headers)
    }

    #[test]
    fn every_file_is_embedded() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/chat");
        let mut found: Vec<String> = walk(&root)
            .iter()
            .map(|path| format!("/{}", path.strip_prefix(&root).unwrap().display()))
            .collect();
        found.retain(|path| !path.starts_with("/app/") && !path.starts_with("/style/"));
        found.extend(["/page.css".to_owned(), "/page.js".to_owned()]);
        let mut known_etags: Vec<&str> = FILES.iter().map(|file| file.path).collect();
        found.sort();
        known_etags.sort_unstable();
        assert_eq!(known_etags, found);
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
    fn scripts_and_styles_are_complete_in_one_file_each() {
        let text = |path| String::from_utf8(decompressed(find(path)).unwrap()).unwrap();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/chat");
        let (script, styles) = (text("/page.js"), text("/page.css"));
        for path in walk(&root.join("app")) {
            let module = path.file_stem().unwrap().to_str().unwrap();
            let start = format!("\nconst ${module} = (() => {{\n");
            assert_eq!(script.matches(&start).count(), 1, "{module}");
        }
        for path in walk(&root.join("style")) {
            assert!(
                styles.contains(&std::fs::read_to_string(&path).unwrap()),
                "{path:?}"
            );
        }
        assert!(!text("/").contains("/app/") && !text("/").contains("/style/"));
    }

    /// The page shows a call by the row of its tool.
    #[test]
    fn rows_of_tools_are_a_script() {
        let script = tools();
        let rows = script.strip_prefix("globalThis.osierTools = ").unwrap();
        let rows: Value = serde_json::from_str(rows.trim_end().trim_end_matches(';')).unwrap();
        let grep = json!({
            "verbs": {"now": "Searching", "done": "Searched", "base": "search", "several": ["searched", "time"]},
            "subject": [
                {"argument": "pattern", "kind": "text"},
                {"before": " in ", "argument": "path", "kind": "path"},
                {"before": " (", "argument": "glob", "after": ")", "kind": "text"},
            ],
            "counts": [
                {"field": "matches", "one": "match", "many": "matches"},
                {"field": "files", "one": "file", "many": "files"},
            ],
            "uses": "",
        });
        assert_eq!(rows["grep"], grep);
        assert_eq!(rows.as_object().unwrap().len(), osier_tools::all().count());
    }

    #[test]
    fn commands_of_the_chat_are_rows_of_the_table() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/chat");
        let script = std::fs::read_to_string(root.join("app/slash.js")).unwrap();
        let (_, rows) = script.split_once("const COMMANDS = {\n").unwrap();
        let (rows, _) = rows.split_once("\n};").unwrap();
        let names = rows
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.split_once(':'));
        let names = names.filter(|(name, _)| !name.starts_with(' '));
        let mut own: Vec<&str> = names.map(|(name, _)| name).collect();
        // Rows that are no request, or that open a dialog, a session or a new draft.
        let dialogs = [
            "clone",
            "context",
            "export",
            "fork",
            "login",
            "mcp",
            "model",
            "name",
            "permissions",
            "session",
            "thinking",
            "undo",
            "usage",
        ];
        let rows = slash::COMMANDS
            .iter()
            .filter(|row| row.works_in(SlashClient::Chat));
        let rows = rows.filter(|row| row.requests.is_none() || dialogs.contains(&row.name));
        let mut expected: Vec<&str> = rows.map(|row| row.name).collect();
        own.sort_unstable();
        expected.sort_unstable();
        assert_eq!(own, expected, "assets/chat/app/slash.js");
    }

    #[test]
    fn the_page_is_small() {
        let loaded = [
            "/",
            "/page.css",
            "/page.js",
            "/icons/icon.svg",
            "/manifest.webmanifest",
        ];
        let size: usize = loaded.iter().map(|path| find(path).compressed.len()).sum();
        assert!(size <= 120_000, "{size} bytes");
    }

    #[test]
    fn files_have_a_policy_and_are_sent_once() {
        let first = page(None);
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[CONTENT_TYPE], HTML);
        assert_eq!(first.headers()["content-security-policy"], POLICY);
        let etag = first.headers()[ETAG].to_str().unwrap();
        let again = page(Some(&format!("\"other\", {etag}")));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(again.headers()["content-security-policy"], POLICY);
    }

    #[test]
    fn files_are_compressed_if_the_browser_accepts_it() {
        for (accepted, compressed) in [("gzip, deflate, br", true), ("br", false)] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
            let response = send_file(find("/"), &headers);
            assert_eq!(response.headers()[VARY], "accept-encoding");
            let encoding = response.headers().get(CONTENT_ENCODING);
            assert_eq!(encoding.is_some_and(|it| it == "gzip"), compressed);
        }
    }

    #[test]
    fn the_page_has_no_script_or_style_of_its_own() {
        let page = String::from_utf8(decompressed(find("/")).unwrap()).unwrap();
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
        let scripts = [
            "<script src=\"/tools.js\" defer>",
            "<script type=\"module\" src=\"/page.js",
        ];
        let known = scripts.map(|script| page.matches(script).count());
        assert_eq!((known, page.matches("<script").count()), ([1, 1], 2));
    }
}
