//! A single model call: requests, the stream of events that answers them, and the wire formats of the vendors.
//!
//! Start at [`Request`], the input of a call; [`StreamEvent`], its output; and [`Catalogue`], the known
//! providers and models. [`HttpProvider`] calls models over HTTP, [`auth`] manages keys and sign-ins, and
//! [`ScriptedProvider`] replays scripts in tests.
//!
//! Differences between vendors are data in the catalogue, not conditions in the code.
//!
//! The crate does not know tools, files, sessions or terminals.

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
