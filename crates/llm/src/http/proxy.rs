//! Calling a model through an osier server that holds the keys: the request goes out as it is, the
//! events of the answer come back as they are. docs/proxy.md is what the server has to keep to.
//!
//! `POST BASE/api/proxy/stream` with the person's own token as bearer and a `ProxyRequest` as body. The
//! answer is a stream of server-sent events with one `ProxyFrame` each; the last one is `done` or
//! `failed`. An error before the stream is a status with `{"error": {"message", "type"}}`. Closing the
//! connection aborts the call over there.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::{self, Peer};
use super::{HttpOptions, HttpProvider};
use crate::event::{Delta, StreamEvent};
use crate::frames::Framing;
use crate::message::StopReason;
use crate::model::{Api, Compat, KeyHeader, Model, ThinkingLevel};
use crate::provider::{CallOptions, Context, EventStream, Provider, Request, ToolChoice};
use crate::sse::SseEvent;
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::{Decoder, Wire};

/// What the server is asked. It knows the model's address, price and key itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyRequest {
    pub provider: String,
    pub model: String,
    pub context: Context,
    #[serde(default)]
    pub options: ProxyOptions,
}

/// How the model is asked.
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
}

/// One event of the answer.
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
    /// The frame that carries `event`; the request itself stays with whoever sent it.
    pub fn of(event: &StreamEvent) -> Option<Self> {
        Some(match event.clone() {
            StreamEvent::Request { .. } => return None,
            StreamEvent::Start { response_id } => Self::Start { response_id },
            StreamEvent::Delta(delta) => Self::Delta { delta },
            StreamEvent::Usage(usage) => Self::Usage { usage },
            StreamEvent::Done { stop_reason, usage } => Self::Done { stop_reason, usage },
            StreamEvent::Failed { status, usage } => Self::Failed { status, usage },
        })
    }

    fn event(self) -> StreamEvent {
        match self {
            Self::Start { response_id } => StreamEvent::Start { response_id },
            Self::Delta { delta } => StreamEvent::Delta(delta),
            Self::Usage { usage } => StreamEvent::Usage(usage),
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
            trace: false,
        }
    }
}

/// Sends every request to one osier server. The request's key is the person's own at the server; keys of
/// providers never come here.
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

/// The server at `base_url`, as faults name it.
pub(super) fn server(base_url: &str, window: u64) -> Peer {
    let host = Url::parse(base_url).map_or_else(|_| base_url.to_owned(), |url| fault::host(&url));
    Peer {
        name: format!("osier server {host}"),
        mend: "sign in with `osier auth login proxy`, or set OSIER_PROXY_TOKEN".to_owned(),
        window,
    }
}

impl Provider for ProxyProvider {
    fn stream(&self, mut request: Request) -> EventStream {
        let model: &mut Model = Arc::make_mut(&mut request.model);
        self.base_url.clone_into(&mut model.base_url);
        // What was meant for the provider is none of the server's business.
        model.headers = BTreeMap::new();
        model.compat = Compat::default();
        request.signing = None;
        let peer = server(&self.base_url, request.model.context_window);
        self.http.stream_as(request, &WIRE, peer)
    }
}

const WIRE: Wire = Wire {
    // It is never looked up by its name.
    api: Api::Scripted,
    path: "/api/proxy/stream",
    framing: Framing::Events,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body,
    decoder: |model| {
        Box::new(FrameDecoder {
            provider: model.provider.clone(),
            ended: false,
        })
    },
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

/// Takes events as they come.
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

    fn ended(&self) -> bool {
        self.ended
    }
}
