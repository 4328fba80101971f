//! Calls models over HTTP, in every wire format.
//!
//! An [`HttpProvider`] has its own clients, built on the first call because reading the system's certificates
//! is slow. Answers are decoded while they arrive and never buffered completely. Every error ends the stream
//! with one `Failed` event, and no text that leaves this module contains the key.

mod adapt;
mod call;
mod client;
mod encoding;
pub(super) mod fault;
mod fetch;
mod outgoing;
mod polling;
mod provider;
mod proxy;
mod proxy_models;
mod reader;
mod reading;
#[cfg(test)]
mod tests;

pub use client::{
    HttpOptions, PostAnswer, certificates, choose_cryptography, client_for, post_json,
};
pub(crate) use client::{Way, client};
pub use fetch::{Fetch, Fetched};
pub use provider::HttpProvider;
pub use proxy::{ProxyFrame, ProxyOptions, ProxyProvider, ProxyRequest};
pub use proxy_models::{ServedModel, ServedModels};
