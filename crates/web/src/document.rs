//! The text of a document: its character encoding, its type, and its conversion to Markdown.

use std::path::Path;

use encoding_rs::{Encoding, UTF_8};
use osier_base::text::sanitize;
use reqwest::Url;

use crate::error::FetchError;
use crate::html;

/// A page as text. All of it is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The address after redirects.
    pub url: String,
    /// The media type without parameters, such as `text/html`.
    pub content_type: String,
    pub title: Option<String>,
    /// Markdown if the page was HTML, otherwise as sent; without control characters.
    pub text: String,
}

/// Bytes at the start in which the encoding of an HTML page is declared.
const PRESCAN: usize = 1024;

/// The page with the content `body`.
pub(crate) async fn page(
    url: &Url,
    body: Vec<u8>,
    content_type: Option<String>,
    program: Option<&Path>,
) -> Result<Page, FetchError> {
    let declared = content_type.unwrap_or_default().to_ascii_lowercase();
    let (kind, parameters) = declared.split_once(';').unwrap_or((&declared, ""));
    let kind = match kind.trim() {
        "" => sniff(&body),
        kind => kind,
    };
    if !is_text(kind)
        || (kind == "text/plain" && body.contains(&0) && Encoding::for_bom(&body).is_none())
    {
        let content_type = sanitize(kind).into_owned();
        return Err(FetchError::ContentType { content_type });
    }
    let text = decode(&body, parameters, is_html(kind));
    drop(body);
    let mut page = Page {
        url: url.to_string(),
        content_type: kind.to_owned(),
        title: None,
        text,
    };
    if is_html(kind) {
        let converted = html::to_markdown(&sanitize(&page.text), program).await?;
        page.title = converted.title;
        page.text = converted.markdown;
    }
    page.text = sanitize(&page.text).into_owned();
    Ok(page)
}

fn is_html(kind: &str) -> bool {
    matches!(kind, "text/html" | "application/xhtml+xml")
}

fn is_text(kind: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "application/json",
        "application/xhtml+xml",
        "application/xml",
        "application/javascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-sh",
        "application/x-ndjson",
    ];
    kind.starts_with("text/")
        || OTHERS.contains(&kind)
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

/// The type of a document without one.
fn sniff(body: &[u8]) -> &'static str {
    let start = body.trim_ascii_start();
    let start = &start[..start.len().min(PRESCAN)];
    let is_page = [&b"<!doctype html"[..], b"<html", b"<head", b"<body"]
        .iter()
        .any(|tag| start.len() >= tag.len() && start[..tag.len()].eq_ignore_ascii_case(tag));
    if is_page { "text/html" } else { "text/plain" }
}

/// Decodes by the byte order mark, the header, the page itself, and otherwise as UTF-8.
fn decode(body: &[u8], parameters: &str, is_html: bool) -> String {
    let label = parameters
        .split(';')
        .filter_map(|parameter| parameter.trim().strip_prefix("charset="))
        .map(|label| label.trim_matches(['"', '\'', ' ']))
        .next();
    let named = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named.or_else(|| is_html.then(|| declared(body)).flatten());
    let (text, _, _) = encoding.unwrap_or(UTF_8).decode(body);
    text.into_owned()
}

/// The encoding in a `<meta>` element.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(PRESCAN)]).to_ascii_lowercase();
    let (_, rest) = start.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(['"', '\'', ' ', '>', ';', '/'])?;
    let found = Encoding::for_label(&rest.as_bytes()[..end])?;
    // The declaration was read as ASCII, so it cannot be one of these.
    let is_wide = found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE;
    Some(if is_wide { UTF_8 } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn of(body: &[u8], content_type: &str) -> Result<Page, FetchError> {
        let url = Url::parse("https://example.org/").unwrap();
        let content_type = Some(content_type.to_owned()).filter(|kind| !kind.is_empty());
        page(&url, body.to_vec(), content_type, None).await
    }

    #[tokio::test]
    async fn texts_are_decoded_and_without_control_characters() {
        for (body, kind, expected) in [
            (
                &b"plain \x1b[31mred\x1b[0m\x07\n"[..],
                "text/plain",
                "plain red\n",
            ),
            (b"gr\xfc\xdfe", "text/plain; charset=iso-8859-1", "grüße"),
            (b"\xff\xfeh\0i\0", "text/plain", "hi"),
            (b"{\"a\": 1}", "application/json", "{\"a\": 1}"),
            (b"# Title", "text/markdown", "# Title"),
            (
                b"<meta charset=\"windows-1252\"><p>\x80 5</p>",
                "text/html",
                "€ 5",
            ),
            (b"a\xe2\x80\xaeb\xf3\xa0\x81\x81c", "text/plain", "abc"),
            (b"  <!DOCTYPE html><h1>Hi</h1>", "", "# Hi"),
            (b"no type", "", "no type"),
        ] {
            let page = of(body, kind).await.unwrap();
            assert_eq!(page.text, expected, "{kind}");
        }
    }

    #[tokio::test]
    async fn binary_files_are_refused() {
        for (body, kind, shown) in [
            (&b"\x89PNG"[..], "image/png", "image/png"),
            (b"a\0b", "", "text/plain"),
            (b"", "application/octet-stream", "application/octet-stream"),
        ] {
            let content_type = shown.to_owned();
            let expected = Err(FetchError::ContentType { content_type });
            assert_eq!(of(body, kind).await, expected);
        }
    }
}
