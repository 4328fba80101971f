//! Export of sessions: HTML pages, Markdown documents and JSON lines.
//!
//! ```
//! use std::path::Path;
//!
//! use osier_agent::{AgentMessage, UserMessage};
//! use osier_protocol::{EntryKind, ExportFormat, Header};
//! use osier_store::{Reading, SessionStore};
//! use osier_transfer::{ExportOptions, export_to};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), osier_transfer::TransferError> {
//! let store = SessionStore::in_memory(Header::new(Path::new("/work")), &[])?;
//! let prompt = AgentMessage::User(UserMessage {
//!     text: "fix the parser".to_owned(),
//!     ..UserMessage::default()
//! });
//! store.append(EntryKind::message(prompt)).await?;
//!
//! let options = ExportOptions {
//!     format: Some(ExportFormat::Markdown),
//!     ..ExportOptions::default()
//! };
//! let reading = Reading::of(store.header().clone(), store.index());
//! let mut document = Vec::new();
//! let summary = export_to(&reading, &options, &mut document)?;
//! assert_eq!(summary.entries, 1);
//! # Ok(())
//! # }
//! ```
//!
//! - [`export`] and [`export_to`] write a session with [`ExportOptions`] to a file or a stream.
//! - [`HtmlThemes`] and [`Highlighter`] provide the colours of HTML pages; [`PlainThemes`] is the default.
//!
//! An export reads the session once, entry by entry, and removes everything that looks like a key. It creates its
//! file atomically.
//!
//! The crate does not depend on tools, settings or the screen.

mod error;
mod export;
mod html;
mod jsonl;
mod markdown;
mod options;
mod patch;
mod plan;
mod target;

pub use error::TransferError;
pub use export::{export, export_to, format_named};
pub use html::prose::render as prose;
pub use html::theme::{Highlighter, HtmlThemes, MarkedLine, Palette, PlainThemes, TextStyle};
pub use options::ExportOptions;
pub use target::Target;
