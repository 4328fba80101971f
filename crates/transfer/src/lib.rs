//! Import and export of sessions: HTML pages, Markdown documents and JSON lines, and imports from other programs.
//!
//! Start at [`export`] with [`ExportOptions`], and at [`ImportReport`], the result of an import.
//!
//! An export reads the session once, entry by entry, and removes everything that looks like a key. An import
//! never changes the file that it reads. Both create their file atomically. Entries that cannot be imported are
//! counted and reported.
//!
//! The crate does not know tools, settings or the screen; the colours of pages come from a [`Look`].

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
