//! One model call: what goes in (`Request`), what comes out (`StreamEvent`), and how each vendor's
//! wire format is spoken. Knows nothing of tools, files, sessions or terminals.

pub mod auth;
pub mod aws_events;
pub mod builder;
pub mod catalogue;
mod errors;
pub mod event;
pub mod frames;
pub mod handover;
pub mod http;
pub mod message;
pub mod model;
pub mod ndjson;
pub mod provider;
pub mod providers;
pub mod scripted;
pub mod secret;
pub mod sse;
pub mod status;
pub mod surrogates;
pub mod usage;
mod wire;

pub use auth::{KeyStatus, Keys};
pub use builder::MessageBuilder;
pub use catalogue::{Catalogue, ModelsFile, ProviderEntry};
pub use event::{Delta, StreamEvent};
pub use http::{HttpOptions, HttpProvider};
pub use message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, StopReason, ToolCall, ToolResult,
    UserMessage,
};
pub use model::{Api, Modality, Model, ThinkingLevel};
pub use provider::{
    CallOptions, Context, EventStream, Provider, Request, Secret, ToolChoice, ToolSpec,
};
pub use providers::Providers;
pub use scripted::{Script, ScriptedProvider};
pub use status::TurnStatus;
pub use usage::{Cost, Usage};
