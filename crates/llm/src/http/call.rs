//! An HTTP call as a state machine: prepare, send, read, end. It returns batches of events; dropping it
//! closes the connection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use super::adapt::{Adaptations, diagnose};
use super::client::{Clients, HttpOptions, Way};
use super::fault::{self, Peer};
use super::polling::Pace;
use crate::errors::{self, Fault};
use crate::event::{Delta, StreamEvent};
use crate::frames::FrameParser;
use crate::provider::Request;
use crate::secret::Secret;
use crate::sigv4::SignableRequest;
use crate::sse::SseEvent;
use crate::status::TurnStatus;
use crate::surrogates::Surrogates;
use crate::usage::Usage;
use crate::wire::{self, Body, Decoder, OriginalKeys, Wire};
use osier_base::clock;
use osier_base::secrets::hide_known;

/// Maximum bytes of text and arguments of one answer; far more than any model writes.
const ANSWER_LIMIT: usize = 32 * 1024 * 1024;

/// Bytes of a stream without events that are kept for the error text.
const HEAD_BYTES: usize = 1024;

/// Maximum number of requests for one answer from which a refused part was removed.
const CHANGES: usize = 12;

/// The last event of some formats, which is not JSON.
const END: &str = "[DONE]";

/// How often the connection's task can run before a read counts as having no more data.
const TURNS: usize = 2;

pub(super) struct Call {
    request: Request,
    clients: Arc<Clients>,
    phase: Phase,
    ready: Vec<StreamEvent>,
    /// The wire format, if it is not that of the model.
    wire: Option<&'static Wire>,
    peer: Peer,
    /// How often a refused part was removed.
    changes: usize,
    /// The renamed arguments of tools.
    renamed: HashMap<String, OriginalKeys>,
    /// The open calls of such tools, by block.
    calls: HashMap<usize, String>,
}

enum Phase {
    Prepare,
    Send(Box<Outgoing>),
    Read(Box<Reading>),
    Ended,
}

/// A prepared request.
struct Outgoing {
    wire: &'static Wire,
    url: Url,
    headers: HeaderMap,
    body: String,
    prefix_hash: Option<String>,
}

/// An answer that is being received.
struct Reading {
    response: Response,
    /// The name of the server, for errors.
    name: String,
    host: String,
    parser: FrameParser,
    surrogates: Surrogates,
    decoder: Box<dyn Decoder>,
    /// The first bytes of the body, until the first event.
    head: Vec<u8>,
    saw_event: bool,
    /// Bytes of text and arguments so far.
    length: usize,
    pace: Pace,
    started: Instant,
    /// The time of the last event.
    last_event: Instant,
}

impl Call {
    pub(super) fn new(request: Request, clients: Arc<Clients>) -> Self {
        Self {
            peer: Peer::provider(&request.model),
            request,
            clients,
            phase: Phase::Prepare,
            ready: Vec::new(),
            wire: None,
            changes: 0,
            renamed: HashMap::new(),
            calls: HashMap::new(),
        }
    }

    pub(super) fn with_wire(mut self, wire: &'static Wire, peer: Peer) -> Self {
        self.wire = Some(wire);
        self.peer = peer;
        self
    }

    pub(super) fn is_unbatched(&self) -> bool {
        self.request.options.unbatched
    }

    /// The next events; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Vec<StreamEvent>> {
        loop {
            if !self.ready.is_empty() {
                let ready = std::mem::take(&mut self.ready);
                return Some(ready.into_iter().map(|event| self.redact(event)).collect());
            }
            match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::Prepare => self.prepare(),
                Phase::Send(outgoing) => self.send(*outgoing).await,
                Phase::Read(reading) => self.read(reading).await,
                Phase::Ended => return None,
            }
        }
    }

    fn fail(&mut self, status: TurnStatus) {
        let usage = Usage::default();
        self.ready.push(StreamEvent::Failed { status, usage });
    }

    /// Removes keys from errors: those inside a stream can quote anything, also headers.
    fn redact(&self, mut event: StreamEvent) -> StreamEvent {
        if let StreamEvent::Failed { status, .. } = &mut event
            && let Some(message) = status.message_mut()
        {
            if let Some(key) = &self.request.api_key
                && let Cow::Owned(hidden) = key.hide_in(message)
            {
                *message = hidden;
            }
            if let Cow::Owned(hidden) = hide_known(message) {
                *message = hidden;
            }
        }
        event
    }

    /// The parts that the model refuses. An LLM proxy finds them itself.
    fn adaptations(&self) -> Option<Arc<Adaptations>> {
        let is_own = self.wire.is_none();
        is_own.then(|| self.clients.refused.of(&self.request))
    }

    fn prepare(&mut self) {
        let tools = self.request.context.tools.iter();
        let api = self.request.model.api;
        self.renamed = tools
            .filter_map(|tool| {
                Some((
                    tool.name.clone(),
                    wire::original_keys(&tool.parameters, api)?,
                ))
            })
            .collect();
        let adaptations = self.adaptations().unwrap_or_default();
        match Outgoing::new(&self.request, self.wire, &adaptations) {
            Ok(outgoing) => {
                let trace = self.request.options.trace;
                self.ready.push(StreamEvent::Request {
                    bytes: outgoing.body.len(),
                    body: trace.then(|| outgoing.body.clone()),
                    prefix_hash: outgoing.prefix_hash.clone(),
                });
                self.phase = Phase::Send(Box::new(outgoing));
            }
            Err(status) => self.fail(status),
        }
    }

    async fn send(&mut self, outgoing: Outgoing) {
        let Outgoing {
            wire,
            url,
            headers,
            body,
            ..
        } = outgoing;
        let bytes = body.len();
        let host = fault::host(&url);
        let local = fault::is_loopback(&url);
        let client = match self.clients.get(Way::to(&url)).await {
            Ok(client) => client,
            Err(reason) => {
                self.fail(TurnStatus::NetworkError {
                    message: format!("the HTTP client cannot be built: {reason}"),
                    retryable: false,
                });
                return;
            }
        };
        let idle = self.clients.options.idle_timeout;
        let sent = client.post(url).headers(headers).body(body).send();
        let response = match timeout(idle, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return self.fail(fault::transport(&error, &host, local)),
            Err(_) => return self.fail(fault::silence(&host, idle)),
        };
        let model = &self.request.model;
        if !response.status().is_success() {
            let key = self.request.api_key.as_ref();
            return match fault::answered(response, &self.peer, bytes, key, idle).await {
                Ok(fault) => self.refused(&fault),
                Err(status) => self.fail(status),
            };
        }
        self.phase = Phase::Read(Box::new(Reading {
            response,
            name: self.peer.name.clone(),
            host,
            parser: wire.framing.parser(),
            surrogates: Surrogates::default(),
            decoder: (wire.decoder)(model),
            head: Vec::new(),
            saw_event: false,
            length: 0,
            pace: Pace::new(self.is_unbatched()),
            started: Instant::now(),
            last_event: Instant::now(),
        }));
    }

    /// Removes the part of the request that an error names, and starts again; fails if it names none.
    fn refused(&mut self, fault: &Fault) {
        if !self.adapt(fault) {
            let key = self.request.api_key.as_ref();
            let status = fault.status_of(&self.peer.name, &self.peer.suggestion, key);
            self.fail(status);
        }
    }

    /// Whether the request is sent again without the part that an error names.
    fn adapt(&mut self, fault: &Fault) -> bool {
        let Some(adaptations) = self.adaptations().filter(|_| self.changes < CHANGES) else {
            return false;
        };
        let adapted = adaptations.request(&self.request);
        let sent = adapted.as_ref().unwrap_or(&self.request);
        let Some(wire) = wire::find(sent.model.api) else {
            return false;
        };
        let mut body = (wire.body)(sent).json;
        adaptations.change_body(&mut body);
        let Some(diagnosis) = diagnose(fault, sent, &body) else {
            return false;
        };
        if !self.clients.refused.add(&self.request, diagnosis.change) {
            return false;
        }
        let text = errors::clean(&diagnosis.said, self.request.api_key.as_ref());
        self.ready.push(StreamEvent::Warning { text });
        self.changes += 1;
        self.phase = Phase::Prepare;
        true
    }

    /// Whether the answer failed before it had content, and the request is sent again without the part that the error
    /// names.
    fn adapts_after(&mut self, reading: &Reading, out: &[StreamEvent]) -> bool {
        let Some(StreamEvent::Failed { status, .. }) = out.last() else {
            return false;
        };
        let (TurnStatus::ModelError { message, .. }, 0) = (status, reading.length) else {
            return false;
        };
        let fault = Fault {
            message: message.clone(),
            ..Fault::default()
        };
        self.adapt(&fault)
    }

    /// Reads until a batch is complete or the answer ends.
    async fn read(&mut self, mut reading: Box<Reading>) {
        let options = &self.clients.options;
        let mut out = Vec::new();
        loop {
            reading.pace.rest().await;
            let key = self.request.api_key.as_ref();
            reading.receive(options, key, &mut out).await;
            let can_wait = !out.is_empty() && out.iter().all(is_deferrable);
            if reading.decoder.ended() || !can_wait || reading.pace.is_due() {
                break;
            }
        }
        reading.pace.delivered();
        if self.adapts_after(&reading, &out) {
            return;
        }
        for event in out {
            self.add(event);
        }
        if !reading.decoder.ended() {
            self.phase = Phase::Read(reading);
        }
    }

    /// Merges deltas that arrived together, so that receivers handle them once.
    fn add(&mut self, mut event: StreamEvent) {
        if !self.renamed.is_empty() {
            self.restore(&mut event);
        }
        if let (Some(StreamEvent::Delta(last)), StreamEvent::Delta(next)) =
            (self.ready.last_mut(), &event)
            && last.merge(next)
        {
            return;
        }
        self.ready.push(event);
    }
}

impl Call {
    /// Gives the arguments of a call their original names.
    fn restore(&mut self, event: &mut StreamEvent) {
        match event {
            StreamEvent::Delta(Delta::ToolcallStart { index, name, .. }) => {
                self.calls.insert(*index, name.clone());
            }
            StreamEvent::Delta(Delta::ToolcallEnd {
                index, arguments, ..
            }) => {
                let name = self.calls.remove(index);
                if let Some(keys) = name.and_then(|name| self.renamed.get(&name)) {
                    keys.restore(arguments);
                }
            }
            _ => {}
        }
    }
}

/// Whether an event can wait for the next batch.
fn is_deferrable(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Delta(_) | StreamEvent::Usage(_))
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
    /// Reads the available data. Waits for data if the batch is empty, otherwise until the batch is due.
    async fn receive(
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
                Ok(Ok(Some(bytes))) => self.take(&bytes, out),
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

    /// When the answer is given up, and why.
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

    fn take(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) {
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
        if let Cow::Owned(repaired) = self.surrogates.repair(&event.data) {
            event.data = repaired;
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
            // Complete, also without a mark of its end.
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

impl Outgoing {
    fn new(
        request: &Request,
        wire: Option<&'static Wire>,
        adaptations: &Adaptations,
    ) -> Result<Self, TurnStatus> {
        let adapted = adaptations.request(request);
        let request = adapted.as_ref().unwrap_or(request);
        let model = &request.model;
        let refuse = |message: String| TurnStatus::ModelError {
            message,
            retryable: false,
        };
        let wire = wire.or_else(|| wire::find(model.api)).ok_or_else(|| {
            refuse(format!(
                "`{}` uses `{}`, which is not an HTTP protocol",
                model.reference(),
                model.api.name(),
            ))
        })?;
        let address = wire.url(model);
        let url = Url::parse(&address)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                refuse(format!(
                    "the base URL `{}` of `{}` is not an http or https address{}",
                    model.base_url,
                    model.provider,
                    unset(&model.base_url)
                ))
            })?;
        let mut headers = headers(request, wire).map_err(refuse)?;
        let Body {
            mut json,
            prefix_hash,
        } = (wire.body)(request);
        adaptations.change_body(&mut json);
        let body = json.to_string();
        sign(request, &url, &mut headers, &body).map_err(refuse)?;
        Ok(Self {
            wire,
            url,
            headers,
            body,
            prefix_hash,
        })
    }
}

/// Signs the request if the vendor uses signatures instead of keys.
fn sign(request: &Request, url: &Url, headers: &mut HeaderMap, body: &str) -> Result<(), String> {
    let Some(signing) = &request.signing else {
        return Ok(());
    };
    let to_sign = SignableRequest {
        method: "POST",
        path: url.path(),
        query: url.query().unwrap_or_default(),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("host", fault::host(url)),
        ],
        body: body.as_bytes(),
    };
    for (name, value) in signing.headers(to_sign, clock::now_ms()) {
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            format!(
                "the credentials of `{}` contain characters that are invalid in a header",
                request.model.provider
            )
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(())
}

/// The suggestion for a base URL with variables that are not set.
fn unset(base_url: &str) -> &'static str {
    if base_url.contains('{') {
        ": set the variables it names, or `baseUrl` in models.json"
    } else {
        ""
    }
}

/// The headers of a call. The model's own headers have precedence over those of the wire format.
fn headers(request: &Request, wire: &Wire) -> Result<HeaderMap, String> {
    let model = &request.model;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static(wire.framing.content_type()),
    );
    let own = wire.headers(request);
    let own = own
        .iter()
        .map(|(name, value)| (name.as_ref(), value.as_str()));
    let named = model
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    if let Some(key) = &request.api_key {
        let header = wire.key_header(model);
        let mut value = HeaderValue::from_str(&header.value(key.expose())).map_err(|_| {
            format!(
                "the key of `{}` contains characters that are invalid in a header",
                model.provider
            )
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(header.name()), value);
    }
    for (name, value) in own.chain(named) {
        let bad = || format!("the header `{name}` of `{}` is not valid", model.provider);
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        // Beta features are a list: a sign-in extends the format's own.
        let value = match headers.get(&parsed).and_then(|have| have.to_str().ok()) {
            Some(have) if parsed == "anthropic-beta" => format!("{have},{value}"),
            _ => value.to_owned(),
        };
        let value = HeaderValue::from_str(&value).map_err(|_| bad())?;
        headers.insert(parsed, value);
    }
    Ok(headers)
}
