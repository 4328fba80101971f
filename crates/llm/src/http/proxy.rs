//! Calls models through an LLM proxy, which has the keys: it receives the request and returns the events of
//! the answer. docs/proxy.md specifies the protocol.
//!
//! `POST BASE/api/proxy/stream` with the user's token as bearer and a `ProxyRequest` as body. The response is
//! a stream of server-sent events with one `ProxyFrame` each; the last one is `done` or `failed`. An error
//! before the stream is a status with `{"error": {"message", "type"}}`. Closing the connection cancels the
//! call on the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::HttpOptions;
use super::fault::{self, Peer};
use super::provider::HttpProvider;

use crate::event::{Delta, StreamEvent};
use crate::frames::Framing;
use crate::message::StopReason;
use crate::model::{Api, Compat, KeyHeader, Model, ThinkingLevel};
use crate::provider::{CallOptions, Context, EventStream, Provider, Request, ToolChoice};
use crate::sse::SseEvent;
use crate::status::TurnStatus;
use crate::tuning::CacheRetention;
use crate::usage::Usage;
use crate::wire::{Decoder, Wire};

/// A request to the server, which knows the base URL, price and key of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyRequest {
    pub provider: String,
    pub model: String,
    pub context: Context,
    #[serde(default)]
    pub options: ProxyOptions,
}

/// The options of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyOptions {
    pub thinking: ThinkingLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    pub tool_choice: ToolChoice,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub cache_retention: CacheRetention,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hosted_search: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_default(retention: &CacheRetention) -> bool {
    *retention == CacheRetention::default()
}

/// An event of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ProxyFrame {
    Start {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
    },
    Delta {
        delta: Delta,
    },
    Usage {
        usage: Usage,
    },
    Source {
        title: String,
        url: String,
    },
    Warning {
        text: String,
    },
    Done {
        stop_reason: StopReason,
        usage: Usage,
    },
    Failed {
        status: TurnStatus,
        usage: Usage,
    },
}

impl ProxyFrame {
    /// The frame for `event`; `None` for `Request` events, which are not sent.
    pub fn of(event: &StreamEvent) -> Option<Self> {
        Some(match event.clone() {
            StreamEvent::Request { .. } => return None,
            StreamEvent::Start { response_id } => Self::Start { response_id },
            StreamEvent::Delta(delta) => Self::Delta { delta },
            StreamEvent::Usage(usage) => Self::Usage { usage },
            StreamEvent::Source { title, url } => Self::Source { title, url },
            StreamEvent::Warning { text } => Self::Warning { text },
            StreamEvent::Done { stop_reason, usage } => Self::Done { stop_reason, usage },
            StreamEvent::Failed { status, usage } => Self::Failed { status, usage },
        })
    }

    fn event(self) -> StreamEvent {
        match self {
            Self::Start { response_id } => StreamEvent::Start { response_id },
            Self::Delta { delta } => StreamEvent::Delta(delta),
            Self::Usage { usage } => StreamEvent::Usage(usage),
            Self::Source { title, url } => StreamEvent::Source { title, url },
            Self::Warning { text } => StreamEvent::Warning { text },
            Self::Done { stop_reason, usage } => StreamEvent::Done { stop_reason, usage },
            Self::Failed { status, usage } => StreamEvent::Failed { status, usage },
        }
    }
}

impl From<&CallOptions> for ProxyOptions {
    fn from(options: &CallOptions) -> Self {
        Self {
            thinking: options.thinking,
            temperature: options.temperature,
            max_tokens: options.max_tokens,
            tool_choice: options.tool_choice,
            cache_key: options.cache_key.clone(),
            cache_retention: options.cache_retention,
            hosted_search: options.hosted_search,
        }
    }
}

impl From<ProxyOptions> for CallOptions {
    fn from(options: ProxyOptions) -> Self {
        Self {
            thinking: options.thinking,
            temperature: options.temperature,
            max_tokens: options.max_tokens,
            tool_choice: options.tool_choice,
            cache_key: options.cache_key,
            cache_retention: options.cache_retention,
            hosted_search: options.hosted_search,
            trace: false,
            unbatched: false,
        }
    }
}

/// Sends all requests to one LLM proxy. The key of a request is the user's token for the proxy; the keys of
/// providers stay on the server.
#[derive(Debug, Clone)]
pub struct ProxyProvider {
    http: HttpProvider,
    base_url: String,
}

impl ProxyProvider {
    pub fn new(base_url: impl Into<String>, options: HttpOptions) -> Self {
        Self {
            http: HttpProvider::new(options),
            base_url: base_url.into(),
        }
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }
}

/// The server at `base_url`, for error texts.
pub(super) fn server(base_url: &str, window: u64) -> Peer {
    let host = Url::parse(base_url).map_or_else(|_| base_url.to_owned(), |url| fault::host(&url));
    Peer {
        name: format!("osier server {host}"),
        suggestion: "sign in with `osier auth login proxy`, or set OSIER_PROXY_TOKEN".to_owned(),
        window,
    }
}

impl Provider for ProxyProvider {
    fn stream(&self, mut request: Request) -> EventStream {
        let model: &mut Model = Arc::make_mut(&mut request.model);
        self.base_url.clone_into(&mut model.base_url);
        // The settings of the provider are not sent to the server.
        model.headers = BTreeMap::new();
        model.compat = Compat::default();
        request.signing = None;
        let peer = server(&self.base_url, request.model.context_window);
        self.http.stream_as(request, &WIRE, peer)
    }
}

const WIRE: Wire = Wire {
    // This field is not used: the wire format is set explicitly.
    api: Api::Scripted,
    path: "/api/proxy/stream",
    framing: Framing::Events,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: |request| body(request).into(),
    decoder: |model| {
        Box::new(FrameDecoder {
            provider: model.provider.clone(),
            ended: false,
        })
    },
    #[cfg(test)]
    reasons: &[],
    #[cfg(test)]
    parts: &[],
};

fn body(request: &Request) -> Value {
    let request = ProxyRequest {
        provider: request.model.provider.clone(),
        model: request.model.id.clone(),
        context: request.context.clone(),
        options: ProxyOptions::from(&request.options),
    };
    serde_json::to_value(request).unwrap_or_default()
}

/// Decodes the frames.
struct FrameDecoder {
    provider: String,
    ended: bool,
}

impl Decoder for FrameDecoder {
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) {
        if self.ended || event.data.is_empty() {
            return;
        }
        match serde_json::from_str::<ProxyFrame>(&event.data) {
            Ok(frame) => {
                self.ended = matches!(frame, ProxyFrame::Done { .. } | ProxyFrame::Failed { .. });
                out.push(frame.event());
            }
            Err(error) => {
                let message = format!("the osier server sent an invalid answer: {error}");
                self.fail(TurnStatus::InvalidResponse { message }, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        let message = format!(
            "the osier server closed the connection before the answer of `{}` ended",
            self.provider
        );
        self.fail(
            TurnStatus::NetworkError {
                message,
                retryable: true,
            },
            out,
        );
    }

    fn fail(&mut self, status: TurnStatus, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.ended, true) {
            let usage = Usage::default();
            out.push(StreamEvent::Failed { status, usage });
        }
    }

    fn ended(&mut self) -> bool {
        self.ended
    }
}
