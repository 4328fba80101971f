//! Pages of the web as text for a model.
//!
//! Start at [`Web`], which fetches pages and remembers them for some minutes. A page is limited in size and time, is
//! converted to Markdown, and comes only from addresses on the public internet and from hosts that the user allowed:
//! each address that a request connects to was checked, also after redirects. What a page contains is untrusted.
//!
//! [`SearchService`] searches the web with a service.
//!
//! The crate does not know tools, permissions or sessions.
//!
//! # Design
//!
//! - Pages are untrusted: they come only from addresses that were checked, and a process with limits (`__html`) reads
//!   them.

mod address;
mod cache;
mod client;
mod document;
mod error;
mod fetch;
mod html;
mod search;

pub use address::WebAddress;
pub use client::WebOptions;
pub use document::Page;
pub use error::FetchError;
pub use fetch::{Fetched, Web};
pub use html::helper;
pub use search::{RESULTS, SearchError, SearchResult, SearchService, ServiceKind};
