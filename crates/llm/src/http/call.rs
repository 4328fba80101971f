//! An HTTP call as a state machine: prepare, send, read, end. It returns batches of events; dropping it
//! closes the connection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::adapt::{Adaptations, diagnose};
use super::client::{Clients, Way};
use super::encoding::Encoding;
use super::fault::{self, Peer};
use super::outgoing::Outgoing;
use super::polling::Pace;
use super::reading::Reading;
use crate::errors::{self, Fault};
use crate::event::{Delta, StreamEvent};
use crate::provider::Request;
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::{self, OriginalKeys, Wire};
use osier_base::secrets::hide_known;

/// Maximum number of requests for one answer from which a refused part was removed. A server refuses them at no cost.
const CHANGES: usize = 40;
/// The time before the only retry after a web page.
const PAGE_WAIT: Duration = Duration::from_secs(1);

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
    /// Whether a web page was received instead of an answer.
    had_page: bool,
    /// Whether the model has begun to answer.
    is_accepted: bool,
    /// The renamed arguments of tools.
    renamed: HashMap<String, OriginalKeys>,
    /// The open calls of tools with renamed arguments, by block.
    calls: HashMap<usize, String>,
}

enum Phase {
    Prepare,
    Send(Box<Outgoing>),
    Read(Box<Reading>),
    Ended,
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
            had_page: false,
            is_accepted: false,
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

    /// Removes keys from errors: an error inside a stream can quote anything, also headers.
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
                Ok(fault) if fault.is_page => self.received_page(fault).await,
                Ok(fault) => self.refused(&fault),
                Err(status) => self.fail(status),
            };
        }
        let encoding = match Encoding::of(response.headers()) {
            Ok(encoding) => encoding,
            Err(name) => return self.fail(fault::compressed(&host, &name)),
        };
        let framing = (wire.framing.parser(), (wire.decoder)(model));
        let pace = Pace::new(self.is_unbatched());
        let reading = Reading::new(
            (response, encoding),
            (self.peer.name.clone(), host),
            framing,
            pace,
        );
        self.phase = Phase::Read(Box::new(reading));
    }

    /// Sends the request again after the page of a gateway. A second page ends the call.
    async fn received_page(&mut self, mut fault: Fault) {
        if std::mem::replace(&mut self.had_page, true) {
            fault.should_retry = Some(false);
            return self.refused(&fault);
        }
        sleep(PAGE_WAIT).await;
        self.phase = Phase::Prepare;
    }

    /// Removes the part of the request that an error names, and starts again; fails if it names none.
    fn refused(&mut self, fault: &Fault) {
        if !self.adapt(fault) {
            let key = self.request.api_key.as_ref();
            let status = fault.status_of(&self.peer.name, &self.peer.suggestion, key);
            if self.changes > 0 {
                self.clients.refused.failed(&self.request);
            }
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
        let refused = &self.clients.refused;
        let Some(more) = refused.add(&self.request, diagnosis.change) else {
            return false;
        };
        let said = diagnosis.said + &more;
        let text = errors::clean(&said, self.request.api_key.as_ref());
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
        if !self.is_accepted && out.iter().any(is_accepting) {
            self.is_accepted = true;
            if self.wire.is_none()
                && let Some(text) = self.clients.refused.accepted(&self.request)
            {
                self.ready.push(StreamEvent::Warning { text });
            }
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

/// Whether an event shows that the request was accepted.
fn is_accepting(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Delta(_) | StreamEvent::Done { .. })
}

/// Whether an event can wait for the next batch.
fn is_deferrable(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Delta(_) | StreamEvent::Usage(_))
}
