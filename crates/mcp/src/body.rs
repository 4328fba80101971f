//! The bodies of HTTP responses. The content decides whether a body is events or JSON: servers and
//! proxies send a wrong type, or none.

use std::io::{self, Cursor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// Maximum bytes of a message.
const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;
/// The starts of the fields of an event.
const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;
type Chunk = Cursor<Vec<u8>>;
type Chunks = BoxStream<'static, io::Result<Chunk>>;

/// The content of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Events,
    Empty,
    Other,
}

impl Form {
    /// The form of a body that starts with `start`; `None` if more bytes are needed.
    fn of(start: &[u8]) -> Option<Self> {
        if start.len() < MARK.len() && MARK.starts_with(start) {
            return None;
        }
        let start = start.strip_prefix(MARK).unwrap_or(start).trim_ascii_start();
        let first = start.first()?;
        if matches!(first, b'{' | b'[') {
            return Some(Self::Json);
        }
        if FIELDS.iter().any(|field| start.starts_with(field)) {
            return Some(Self::Events);
        }
        let is_begun = FIELDS.iter().any(|field| field.starts_with(start));
        (!is_begun).then_some(Self::Other)
    }
}

/// A body whose form is known.
pub(super) struct Body {
    pub form: Form,
    start: Vec<u8>,
    rest: Chunks,
}

impl Body {
    /// Reads the start of a response.
    pub(super) async fn begin(response: Response) -> io::Result<Self> {
        let chunks = response.bytes_stream();
        let mut rest = chunks
            .map(|chunk| {
                chunk
                    .map(|bytes| Cursor::new(bytes.to_vec()))
                    .map_err(io::Error::other)
            })
            .boxed();
        let mut start = Vec::new();
        loop {
            if let Some(form) = Form::of(&start) {
                return Ok(Self { form, start, rest });
            }
            let Some(chunk) = rest.try_next().await? else {
                let form = if start.trim_ascii().is_empty() {
                    Form::Empty
                } else {
                    Form::Other
                };
                return Ok(Self { form, start, rest });
            };
            start.extend(chunk.into_inner());
            if start.len() > MESSAGE_LIMIT {
                return Err(too_large());
            }
        }
    }

    /// All bytes of the body.
    pub(super) async fn bytes(mut self) -> io::Result<Vec<u8>> {
        while let Some(chunk) = self.rest.try_next().await? {
            if chunk.get_ref().len() > MESSAGE_LIMIT.saturating_sub(self.start.len()) {
                return Err(too_large());
            }
            self.start.extend(chunk.into_inner());
        }
        let start = self.start.strip_prefix(MARK);
        Ok(start.map(<[u8]>::to_vec).unwrap_or(self.start))
    }

    /// The events of the body; a body of JSON is one event.
    pub(super) fn events(self) -> Events {
        if self.form == Form::Json {
            let json = async move {
                let data = self
                    .bytes()
                    .await
                    .map_err(|error| SseError::Body(error.into()))?;
                let data = Some(String::from_utf8_lossy(&data).into_owned());
                Ok(Sse {
                    data,
                    ..Sse::default()
                })
            };
            return stream::once(json).boxed();
        }
        let start = stream::iter([Ok(Cursor::new(self.start))]);
        events_of(start.chain(self.rest).boxed())
    }
}

/// The events of a response whose type is a stream of events. Does not wait for its start.
pub(super) fn events(response: Response) -> Events {
    let events = async move {
        match Body::begin(response).await {
            Ok(body) => body.events(),
            Err(error) => stream::iter([Err(SseError::Body(error.into()))]).boxed(),
        }
    };
    stream::once(events).flatten().boxed()
}

/// The events of a body. The bytes from the end of one event to the end of the next are limited.
fn events_of(chunks: Chunks) -> Events {
    let unread = Arc::new(AtomicUsize::new(0));
    let complete = Arc::clone(&unread);
    let chunks = chunks.map(move |chunk| {
        let chunk = chunk?;
        let before = unread.fetch_add(chunk.get_ref().len(), Ordering::Relaxed);
        if before > MESSAGE_LIMIT {
            return Err(too_large());
        }
        Ok(chunk)
    });
    let events = SseStream::from_bytes_stream(chunks);
    events
        .inspect(move |event| {
            if event.is_ok() {
                complete.store(0, Ordering::Relaxed);
            }
        })
        .boxed()
}

fn too_large() -> io::Error {
    io::Error::other(format!("a message has more than {MESSAGE_LIMIT} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_body_is_its_content() {
        for (start, form) in [
            ("", None),
            (" \n", None),
            ("\u{feff}", None),
            ("\u{feff} {", Some(Form::Json)),
            ("[", Some(Form::Json)),
            ("da", None),
            ("data: 1", Some(Form::Events)),
            ("\r\nevent:", Some(Form::Events)),
            (": ping", Some(Form::Events)),
            ("<html>", Some(Form::Other)),
            ("dog", Some(Form::Other)),
        ] {
            assert_eq!(Form::of(start.as_bytes()), form, "{start:?}");
        }
    }
}
