//! An answer that is being received: its bytes become events, and events become parts of the answer.

use std::borrow::Cow;
use std::future::poll_fn;
use std::task::Poll;

use futures_util::FutureExt as _;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use osier_base::json::with_whole_characters;

use super::client::HttpOptions;
use super::encoding::{Encoding, PIECE};
use super::fault;
use super::polling::Pace;
use crate::errors;
use crate::event::{Delta, StreamEvent};
use crate::frames::FrameParser;
use crate::secret::Secret;
use crate::sse::SseEvent;
use crate::status::TurnStatus;
use crate::wire::Decoder;

/// Maximum bytes of text and arguments of one answer; far more than any model writes.
const ANSWER_LIMIT: usize = 32 * 1024 * 1024;

/// Bytes of a stream without events that are kept for the error text.
const HEAD_BYTES: usize = 1024;

/// The last event of some formats, which is not JSON.
const END: &str = "[DONE]";

/// How often the connection's task can run before a read counts as having no more data.
const TURNS: usize = 2;

/// An answer that is being received.
pub(super) struct Reading {
    response: Response,
    encoding: Encoding,
    /// The name of the server, for errors.
    name: String,
    host: String,
    parser: FrameParser,
    /// The first half of a character that the server has split between two events.
    split: Option<u16>,
    pub decoder: Box<dyn Decoder>,
    /// The first bytes of the body, until the first event.
    head: Vec<u8>,
    saw_event: bool,
    /// Bytes of text and arguments so far.
    pub length: usize,
    pub pace: Pace,
    started: Instant,
    /// The time of the last event.
    last_event: Instant,
}

/// Runs the tasks that are ready. Unlike `yield_now` it does not poll the I/O driver first, which costs more
/// than reading the next chunk.
async fn run_ready_tasks() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Reading {
    /// The answer in `response` of the server `name`.
    pub(super) fn new(
        (response, encoding): (Response, Encoding),
        (name, host): (String, String),
        (parser, decoder): (FrameParser, Box<dyn Decoder>),
        pace: Pace,
    ) -> Self {
        Self {
            response,
            encoding,
            name,
            host,
            parser,
            split: None,
            decoder,
            head: Vec::new(),
            saw_event: false,
            length: 0,
            pace,
            started: Instant::now(),
            last_event: Instant::now(),
        }
    }

    /// Reads the available data. Waits for data if the batch is empty, otherwise until the batch is due.
    pub(super) async fn receive(
        &mut self,
        options: &HttpOptions,
        key: Option<&Secret>,
        out: &mut Vec<StreamEvent>,
    ) {
        let (limit, late) = self.limit(options);
        if limit <= Instant::now() {
            return self.decoder.fail(late, out);
        }
        // Usually data is available, and no timer is needed.
        let mut chunk = match self.response.chunk().now_or_never() {
            Some(chunk) => Ok(chunk),
            None if out.is_empty() => timeout_at(limit, self.response.chunk()).await,
            None => match timeout_at(self.pace.batch(), self.response.chunk()).await {
                Ok(chunk) => Ok(chunk),
                Err(_) => return,
            },
        };
        loop {
            match chunk {
                Ok(Ok(Some(bytes))) => self.push(&bytes, out),
                Ok(Ok(None)) => self.finish(key, out),
                Ok(Err(error)) => self.decoder.fail(fault::cut(&error, &self.host), out),
                Err(_) => self.decoder.fail(late.clone(), out),
            }
            if self.decoder.ended() || self.pace.is_due() {
                return;
            }
            // The connection provides one chunk at a time: its task runs to provide the next.
            let mut next = None;
            for _ in 0..TURNS {
                if next.is_none() {
                    run_ready_tasks().await;
                    next = self.response.chunk().now_or_never();
                }
            }
            let Some(next) = next else {
                return self.pace.drained();
            };
            chunk = Ok(next);
        }
    }

    /// The time at which the answer is given up, and the status for it.
    fn limit(&self, options: &HttpOptions) -> (Instant, TurnStatus) {
        let idle = options.idle_timeout;
        let silent = (self.last_event + idle, fault::silence(&self.host, idle));
        match options.answer_timeout {
            Some(total) if self.started + total < silent.0 => {
                (self.started + total, fault::too_long(&self.host, total))
            }
            _ => silent,
        }
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) {
        if matches!(self.encoding, Encoding::Plain) {
            return self.push_text(bytes, out);
        }
        for piece in bytes.chunks(PIECE) {
            match self.encoding.decode(piece) {
                Ok(text) => self.push_text(&text, out),
                Err(error) => {
                    let status = fault::not_compressed(&self.host, &error);
                    self.decoder.fail(status, out);
                }
            }
            if self.decoder.ended() {
                return;
            }
        }
    }

    fn push_text(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) {
        if !self.saw_event {
            let room = HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        match self.parser.push(bytes) {
            Ok(events) => {
                if !events.is_empty() && !std::mem::replace(&mut self.saw_event, true) {
                    self.head = Vec::new();
                }
                for event in events {
                    if self.decoder.ended() {
                        break;
                    }
                    self.decode(event, out);
                }
            }
            Err(error) => {
                let message = format!("`{}`: {error}", self.host);
                self.decoder
                    .fail(TurnStatus::InvalidResponse { message }, out);
            }
        }
    }

    fn decode(&mut self, mut event: SseEvent, out: &mut Vec<StreamEvent>) {
        let whole = with_whole_characters(event.data.as_bytes(), Some(&mut self.split));
        if let Cow::Owned(whole) = whole {
            event.data = String::from_utf8(whole).unwrap_or_default();
        }
        let before = out.len();
        self.decoder.push(&event, out);
        if out.len() > before || !is_ping(&event) {
            self.last_event = Instant::now();
        }
        self.length += out[before..].iter().map(delta_length).sum::<usize>();
        if self.length > ANSWER_LIMIT && !self.decoder.ended() {
            let limit = ANSWER_LIMIT / 1024 / 1024;
            let status = TurnStatus::ModelError {
                message: format!("the answer has more than {limit} MiB"),
                retryable: false,
            };
            self.decoder.fail(status, out);
        }
    }

    fn finish(&mut self, key: Option<&Secret>, out: &mut Vec<StreamEvent>) {
        let is_json = self.parser.is_json();
        let before = out.len();
        for event in self.parser.finish() {
            let is_first = !std::mem::replace(&mut self.saw_event, true);
            if self.decoder.ended() {
                return;
            }
            if !is_cut(&event) {
                self.decode(event, out);
            } else if is_first || is_json {
                self.decoder.fail(fault::lost(&self.host), out);
            }
        }
        if self.decoder.ended() {
            return;
        }
        if is_json && out.len() == before {
            let status = fault::no_stream(&self.name, "JSON", &self.head, key);
            return self.decoder.fail(status, out);
        }
        if is_json {
            // A body of JSON is complete, even without a mark of its end.
            let data = END.to_owned();
            self.decode(SseEvent { event: None, data }, out);
        }
        if self.head.trim_ascii_start().starts_with(b"<") && !self.saw_event {
            let status = fault::no_stream(&self.name, "a web page", &self.head, key);
            self.decoder.fail(status, out);
        } else if !self.saw_event && self.parser.has_begun(&self.head) {
            self.decoder.fail(fault::lost(&self.host), out);
        } else if !self.saw_event && !self.head.is_empty() {
            let came = errors::excerpt(&self.head, key);
            let host = &self.host;
            let message = format!("`{host}` did not answer with an event stream: {came}");
            self.decoder
                .fail(TurnStatus::InvalidResponse { message }, out);
        }
        if !self.decoder.ended() {
            self.decoder.finish(out);
        }
    }
}

/// Whether the connection was lost within the last event of a body.
fn is_cut(event: &SseEvent) -> bool {
    let data = event.data.trim();
    let parsed = serde_json::from_str::<serde::de::IgnoredAny>(data);
    let is_start_of_end = data.len() > 1 && data.len() < END.len() && END.starts_with(data);
    is_start_of_end || parsed.is_err_and(|error| error.is_eof())
}

/// Whether an event only keeps the connection open.
fn is_ping(event: &SseEvent) -> bool {
    const NAMES: [&str; 3] = ["ping", "keepalive", "keep-alive"];
    let name = event.event.as_deref().unwrap_or_default();
    let data = event.data.trim();
    NAMES.contains(&name) || data.is_empty() || data == "{}" || data == r#"{"type":"ping"}"#
}

fn delta_length(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Delta(
            Delta::TextDelta { delta, .. }
            | Delta::ThinkingDelta { delta, .. }
            | Delta::ToolcallDelta { delta, .. },
        ) => delta.len(),
        _ => 0,
    }
}
