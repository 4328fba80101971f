//! Model calls: one interface for the wire formats of all vendors.
//!
//! - [`Request`] is the input of a call, a stream of [`StreamEvent`]s its output, [`TurnStatus`] its result.
//! - [`Provider`] performs calls: [`HttpProvider`] over HTTP, [`ScriptedProvider`] from scripts in tests, and
//!   [`Providers`] selects between them.
//! - [`MessageBuilder`] builds an [`AssistantMessage`] from the events.
//! - [`Catalogue`] has the known providers and models, [`auth`] manages keys and sign-ins.
//!
//! Differences between vendors are data ([`Compat`]), not conditions in the code. The crate does not know
//! tools, files, sessions or terminals.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use futures_util::StreamExt;
//! use osier_llm::{
//!     CallOptions, Catalogue, Context, Message, MessageBuilder, Provider, Request, Script,
//!     ScriptedProvider, UserMessage,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let catalogue = Catalogue::default();
//! let model = catalogue.get("demo/tour").expect("the model is bundled");
//! let request = Request {
//!     model: Arc::clone(model),
//!     context: Context {
//!         system_prompt: String::new(),
//!         messages: vec![Message::User(UserMessage::text("What is the capital of France?"))],
//!         tools: Vec::new(),
//!     },
//!     options: CallOptions::default(),
//!     api_key: None,
//!     signing: None,
//! };
//!
//! // A provider with a prepared answer; `Providers` calls real models.
//! let provider = ScriptedProvider::new(Script::always("Paris."));
//! let mut events = provider.stream(request);
//! let mut builder = MessageBuilder::new(model, 0);
//! while let Some(event) = events.next().await {
//!     builder.apply(&event);
//! }
//! assert_eq!(builder.partial().text(), "Paris.");
//! # }
//! ```
//!
//! # Design
//!
//! - A call is a stream of `StreamEvent`s, made by a pure decoder for each wire format in `wire`. Vendor quirks are
//!   data in `Compat`; no code asks which provider it talks to.
//! - `MessageBuilder` builds the answer from the events, so the partial answer is available at every moment.
//! - One thread of the process reads all answers (`http/reader.rs`). It sleeps between reads instead of waking for
//!   each delta, and passes batches on.

pub mod auth;
mod aws_events;
mod builder;
pub mod catalogue;
mod errors;
mod event;
mod frames;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod handover;
pub mod http;
mod message;
mod model;
mod ndjson;
mod provider;
mod providers;
pub mod scripted;
mod secret;
mod sigv4;
pub mod sse;
mod status;
mod tuning;
mod url_template;
mod usage;
mod wire;

pub use auth::{KeyStatus, Keys};
pub use builder::MessageBuilder;
pub use catalogue::{Catalogue, ModelsFile, ProviderEntry};
pub use event::{Delta, StreamEvent};
pub use http::{HttpOptions, HttpProvider};
pub use message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, OriginalCall, StopReason, ToolCall,
    ToolResult, UserMessage,
};
pub use model::{Api, Compat, KeyHeader, Modality, Model, ThinkingFormat, ThinkingLevel};
pub use provider::{
    CallOptions, Context, EventStream, Freeform, Provider, Request, ToolChoice, ToolSpec,
};
pub use providers::Providers;
pub use scripted::{Script, ScriptedProvider};
pub use secret::Secret;
pub use status::TurnStatus;
pub use tuning::{
    CacheRetention, ModelOptions, Preamble, ToolForm, Tuning, TuningChange, Verbosity,
};
pub use usage::{Cost, Price, PriceTier, Tiers, TooManyTiers, Usage};
pub use wire::{ignored_options, ignores_temperature, valid_schema};
