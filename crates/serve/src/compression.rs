//! Compresses what clients read over slow connections: answers of the API and large WebSocket messages, as gzip.
//!
//! The WebSocket library has no compression of its own. A client that sends `"compression": "gzip"` in its `hello`
//! receives large messages as binary ones that are gzip.

use std::io::{self, Write as _};

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Smaller answers and messages fit into one packet, so they are sent as they are.
pub(super) const MIN_COMPRESSED: usize = 1400;
/// Larger answers are not read into memory again.
const MAX_COMPRESSED: u64 = 64 * 1024 * 1024;

/// `bytes` as gzip. Fast, because it happens while the client waits.
pub(super) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressed = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(4));
    compressed.write_all(bytes)?;
    compressed.finish()
}

/// Whether a client accepts gzip.
pub(super) fn accepts_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        let is_gzip = parts.next() == Some("gzip");
        is_gzip && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
    })
}

/// Compresses an answer in JSON whose size is known. Streams of events are sent as they arise.
pub(super) async fn compress_answer(response: Response) -> Response {
    let size = response.body().size_hint().exact().unwrap_or_default();
    let is_sized = (MIN_COMPRESSED as u64..=MAX_COMPRESSED).contains(&size);
    if !is_sized || !is_plain_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // The body is in memory, so reading it cannot fail.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Ok(compressed) = gzip(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts
        .headers
        .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts
        .headers
        .insert(VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(parts, Body::from(compressed))
}

fn is_plain_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    is_json && !headers.contains_key(CONTENT_ENCODING)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::Json;
    use axum::response::IntoResponse as _;
    use flate2::read::GzDecoder;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_client_names_gzip_to_receive_it() {
        for (accepted, expected) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("gzip;q=0", false),
            ("br", false),
            ("", false),
        ] {
            assert_eq!(accepts_gzip(accepted), expected, "{accepted}");
        }
    }

    #[tokio::test]
    async fn large_answers_are_compressed() {
        let encoding = |response: &Response| response.headers().contains_key(CONTENT_ENCODING);
        let small = compress_answer(Json(json!("small")).into_response()).await;
        assert!(!encoding(&small));
        let value = json!("large ".repeat(1000));
        let large = compress_answer(Json(value.clone()).into_response()).await;
        assert!(encoding(&large));
        let bytes = to_bytes(large.into_body(), usize::MAX).await.unwrap();
        assert!(bytes.len() < 200, "{}", bytes.len());
        let mut text = String::new();
        GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
