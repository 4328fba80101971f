//! An exported page in a real browser: untrusted sessions run no code and make no requests.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use osier_testing::skip;
use serde_json::json;

use super::sample;
use crate::support::cli::Home;

/// The names of the browser on Debian and on other systems.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The document after its scripts have run; `None` without a browser.
fn document(page: &Path) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let browser = skip::program(BROWSERS, "apt install chromium")?;
    #[expect(clippy::disallowed_methods, reason = "the test runs a browser")]
    let mut command = std::process::Command::new(browser);
    let output = command
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-dev-shm-usage",
            "--virtual-time-budget=4000",
        ])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A listener that counts connections.
fn listener() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
            let _ = stream.read(&mut [0; 256]);
        }
    });
    (port, count)
}

/// All known attacks; each connects to `port`.
fn attacks(port: u16) -> Vec<String> {
    let run = format!("document.title='owned';new Image().src='http://127.0.0.1:{port}/x'");
    vec![
        format!("<script>{run}</script>"),
        format!("</script></style></pre></textarea></title><script>{run}</script>"),
        format!("<img src=x onerror=\"{run}\">"),
        format!("<svg/onload=\"{run}\"><svg><script>{run}</script></svg>"),
        format!("<iframe srcdoc=\"<script>{run}</script>\"></iframe>"),
        format!("[x](javascript:{run}) <javascript:{run}> ![x](http://127.0.0.1:{port}/p.png)"),
        format!(
            "<a href=\"javascript:{run}\">x</a><link rel=stylesheet href=http://127.0.0.1:{port}/s.css>"
        ),
        format!(
            "<meta http-equiv=refresh content=\"0;url=http://127.0.0.1:{port}/r\"><base href=http://127.0.0.1:{port}/>"
        ),
        format!("<style>@import 'http://127.0.0.1:{port}/i.css';body{{display:none}}</style>"),
        format!("```\"><script>{run}</script>\ncode</code></pre><script>{run}</script>\n```"),
        format!(
            "| <script>{run}</script> |\n|---|\n| <img src=http://127.0.0.1:{port}/t onerror={run}> |"
        ),
        format!("<!-- --><!--><script>{run}</script>-->\u{202e}\u{1b}]0;owned\u{7}"),
        format!("&lt;script&gt;{run}&lt;/script&gt; &#60;script&#62;{run}&#60;/script&#62;"),
        format!("' onmouseover='{run}' autofocus onfocus='{run}"),
    ]
}

/// A session with every attack in every text field.
fn hostile(port: u16) -> String {
    let mut extra = Vec::new();
    let mut parent = "00000005".to_owned();
    for (place, attack) in attacks(port).into_iter().enumerate() {
        let mut add = |kind: usize, rest: serde_json::Value| {
            let id = format!("{place:04x}{kind:04x}");
            let mut line = json!({"id": id, "parentId": parent, "timestamp": attack});
            line.as_object_mut()
                .unwrap()
                .extend(rest.as_object().unwrap().clone());
            extra.push(line);
            parent.clone_from(&id);
        };
        add(
            1,
            json!({"type": "message", "message": {"role": "user", "text": attack, "timestamp": 1,
            "attachments": [
                {"id": "f", "kind": "image", "fileName": attack, "mimeType": format!("image/png{attack}"), "size": 1, "content": attack},
                {"id": "g", "kind": "image", "fileName": attack, "mimeType": "image/svg+xml", "size": 1, "content": "PHN2Zy8+"},
                {"id": "h", "kind": "document", "fileName": attack, "mimeType": attack, "size": 1, "extractedText": attack}]}}),
        );
        add(
            2,
            json!({"type": "message", "message": {"role": "assistant", "provider": attack, "model": attack,
            "content": [{"type": "text", "text": attack}, {"type": "thinking", "thinking": attack},
                {"type": "toolCall", "id": attack, "name": attack, "arguments": {"command": attack, "more": attack}},
                {"type": "toolCall", "id": "open", "name": "bash", "arguments": {"command": attack}}],
            "stopReason": "error", "errorMessage": attack}}),
        );
        add(
            3,
            json!({"type": "message", "message": {"role": "toolResult", "toolCallId": attack, "toolName": attack,
            "content": [{"type": "text", "text": attack}, {"type": "image", "mimeType": "image/png", "data": attack}],
            "isError": true, "timestamp": 1, "details": {"diff": format!("@@ {attack} @@\n-{attack}\n+{attack}\n {attack}\n")}}}),
        );
        add(
            4,
            json!({"type": "message", "message": {"role": "shellRun", "command": attack, "output": attack}}),
        );
        add(
            5,
            json!({"type": "message", "message": {"role": "notice", "severity": "error", "text": attack}}),
        );
        add(
            6,
            json!({"type": "message", "message": {"role": "custom", "kind": attack, "text": attack, "display": true}}),
        );
        add(
            7,
            json!({"type": "branch_summary", "fromId": attack, "summary": attack}),
        );
        add(
            8,
            json!({"type": "label", "targetId": "00000005", "label": attack}),
        );
        add(9, json!({"type": "session_info", "name": attack}));
    }
    let text = sample(&extra);
    // The header and an id, too.
    let cwd = serde_json::to_string(&format!("/home/{}", attacks(port)[1])).unwrap();
    text.replace("\"/home/me/project\"", &cwd)
        .replace(
            "8000-000000000001",
            "8000-000000000001\\\"><script>document.title='owned'</script>",
        )
        .replace(
            "\"00010001\"",
            "\"\\\"><script>document.title='owned'</script>\"",
        )
}

#[test]
fn untrusted_session_runs_no_code_and_makes_no_requests() {
    let home = Home::new();
    let (port, visits) = listener();
    home.file("session.jsonl", hostile(port));
    let ended = home
        .cli()
        .args(["export", "./session.jsonl", "page.html"])
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = std::fs::read_to_string(home.work().join("page.html")).unwrap();
    assert_eq!(text.matches("<script").count(), 1);
    assert_eq!(text.matches("<style").count(), 1);
    let Some(page) = document(&home.work().join("page.html")) else {
        return;
    };
    // The script of the page has run.
    assert!(
        page.contains("class=\"js"),
        "{}",
        &page[..page.len().min(2000)]
    );
    let title = page
        .split("<title>")
        .nth(1)
        .unwrap()
        .split("</title>")
        .next()
        .unwrap();
    assert_ne!(title, "owned");
    for tag in tags(&page) {
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        assert!(ELEMENTS.contains(&name), "<{tag}>");
        for attribute in attributes(&tag) {
            assert!(
                ATTRIBUTES.contains(&attribute.as_str()),
                "{attribute} in <{tag}>"
            );
        }
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

#[test]
fn attack_is_detected_in_an_unprotected_page() {
    let home = Home::new();
    let (port, visits) = listener();
    let page = home.file("page.html", format!("<title>x</title>{}", attacks(port)[0]));
    let Some(page) = document(&page) else { return };
    assert!(page.contains("<title>owned</title>"), "{page}");
    assert!(visits.load(Ordering::SeqCst) > 0);
}

/// The allowed elements and attributes of a page.
const ELEMENTS: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "article",
    "aside",
    "nav",
    "div",
    "span",
    "p",
    "a",
    "b",
    "i",
    "em",
    "strong",
    "del",
    "ins",
    "sup",
    "sub",
    "small",
    "code",
    "pre",
    "details",
    "summary",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "blockquote",
    "hr",
    "br",
    "figure",
    "figcaption",
    "img",
    "time",
    "button",
    "script",
];
const ATTRIBUTES: &[&str] = &[
    "alt",
    "aria-current",
    "aria-label",
    "aria-pressed",
    "charset",
    "class",
    "content",
    "data-first",
    "data-n",
    "data-p",
    "data-theme",
    "datetime",
    "dir",
    "hidden",
    "href",
    "http-equiv",
    "id",
    "lang",
    "loading",
    "name",
    "open",
    "rel",
    "src",
    "start",
    "tabindex",
    "target",
    "title",
    "type",
];

/// The opening tags of a document as serialized by a browser, which escapes `<` in text.
fn tags(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if rest.starts_with(['/', '!']) {
            continue;
        }
        let mut quoted = false;
        let end = rest.find(|char| {
            quoted ^= char == '"';
            char == '>' && !quoted
        });
        let (tag, after) = rest.split_at(end.unwrap());
        found.push(tag.to_owned());
        // The content of these elements is not markup.
        rest = match tag.split(' ').next() {
            Some(raw @ ("script" | "style" | "title")) => {
                let close = format!("</{raw}>");
                &after[after.find(&close).unwrap()..]
            }
            _ => after,
        };
    }
    found
}

fn attributes(tag: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = tag.split_once(' ').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once("=\"") {
        names.push(name.trim().to_owned());
        rest = after.split_once('"').map_or("", |(_, rest)| rest);
    }
    names
}
