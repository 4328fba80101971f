//! Sessions that leave and sessions that come: a page for people, text for documents, lines for another
//! osier; and the files of other programs made into sessions.
//!
//! An export goes through the session once, entry by entry, into a file that appears when it is whole;
//! whatever looks like a key is removed on the way. An import never touches the file it reads, and what it
//! makes appears whole, too. What could not be carried over is counted and told.

mod error;
mod export;
mod html;
mod import;
mod jsonl;
mod markdown;
mod plan;
mod target;

pub use error::ExchangeError;
pub use export::{ExportOptions, ExportSummary, Exported, Format, Scope, export, export_to};
pub use html::look::{Ink, Look, MarkedLine, Paint, Palette, PlainLook};
pub use html::prose::{OPTIONS as MARKDOWN, render as prose};
pub use import::{
    Dropped, Found, ImportOptions, ImportReport, Imported, Source, SourceFolders, find, import,
};
pub use target::{Target, default_name};
