//! Exports one session: format, scope and target.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::ExchangeError;
use super::html::look::Look;
use super::target::{Target, default_name};
use super::{html, jsonl, markdown};
use osier_store::Reading;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One self-contained page.
    Html,
    Markdown,
    /// The session file itself.
    Jsonl,
}

impl Format {
    pub const ALL: &[(Self, &str)] = &[
        (Self::Html, "html"),
        (Self::Markdown, "markdown"),
        (Self::Jsonl, "jsonl"),
    ];

    pub fn from_name(name: &str) -> Result<Self, ExchangeError> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found
            .map(|(format, _)| *format)
            .ok_or_else(|| ExchangeError::UnknownFormat {
                name: name.to_owned(),
            })
    }

    /// The format for the file extension of `path`.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Markdown),
            "jsonl" => Some(Self::Jsonl),
            _ => None,
        }
    }

    pub fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
        }
    }

    /// A page and a copy contain all branches, a document only the current one.
    fn usual_scope(self) -> Scope {
        match self {
            Self::Html | Self::Jsonl => Scope::Tree,
            Self::Markdown => Scope::Branch,
        }
    }
}

/// How much of the tree is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The path to the current entry.
    Branch,
    Tree,
}

/// How a session is exported.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// When not set, derived from the file extension; else a page.
    pub format: Option<Format>,
    pub scope: Option<Scope>,
    /// Replace a file that is there.
    pub force: bool,
    /// Colours of a page; plain ones when not set.
    pub look: Option<Arc<dyn Look>>,
    /// The initial theme of a page; when not set, the reader's preference for light or dark.
    pub theme: Option<String>,
}

/// The result of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportSummary {
    /// Messages and summaries; of a copy, entries.
    pub entries: usize,
    /// Branches, the current one counted.
    pub branches: usize,
    /// Entries that could not be read and are not in it.
    pub unreadable: usize,
}

/// A finished export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    pub path: PathBuf,
    pub format: Format,
    pub bytes: u64,
    #[serde(flatten)]
    pub summary: ExportSummary,
}

/// Writes the session to `path` (a directory: under its usual name in there), or under its usual name in
/// `folder`.
pub fn export(
    reading: &Reading,
    folder: &Path,
    path: Option<&Path>,
    options: &ExportOptions,
) -> Result<Exported, ExchangeError> {
    let asked = options
        .format
        .or_else(|| path.and_then(Format::of_path))
        .unwrap_or(Format::Html);
    let usual = || default_name(reading.header(), reading.tree().name());
    let mut target = match path {
        Some(path) if path.is_dir() => Target::usual(path, &usual(), asked)?,
        Some(path) => Target::new(path.to_owned(), options.force)?,
        None => Target::usual(folder, &usual(), asked)?,
    };
    let place = target.path().to_owned();
    let summary = write(reading, asked, options, &mut target, &place)?;
    if asked == Format::Jsonl {
        let written = target
            .temporary()
            .map_err(|error| ExchangeError::io("write", &place, error))?;
        jsonl::verify(written, &place, summary)?;
    }
    let (path, bytes) = target.finish()?;
    Ok(Exported {
        path,
        format: asked,
        bytes,
        summary,
    })
}

/// Writes the session to `out`.
pub fn export_to(
    reading: &Reading,
    options: &ExportOptions,
    out: &mut dyn Write,
) -> Result<ExportSummary, ExchangeError> {
    let format = options.format.unwrap_or(Format::Html);
    write(reading, format, options, out, Path::new("standard output"))
}

fn write(
    reading: &Reading,
    format: Format,
    options: &ExportOptions,
    out: &mut dyn Write,
    place: &Path,
) -> Result<ExportSummary, ExchangeError> {
    let scope = options.scope.unwrap_or(format.usual_scope());
    let failed = |error| ExchangeError::io("write", place, error);
    match format {
        Format::Html => html::write(reading, scope, options, out, place),
        Format::Markdown => markdown::write(reading, scope, out).map_err(failed),
        Format::Jsonl => jsonl::write(reading, scope, out, place),
    }
}
