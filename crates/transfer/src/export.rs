//! Exports one session: format, scope and target.

use osier_protocol::{ExportFormat, ExportSummary, Exported};
use std::io::Write;
use std::path::Path;

use super::error::TransferError;
use super::options::ExportOptions;
use super::target::{Target, default_name};
use super::{html, jsonl, markdown};
use osier_store::Reading;

/// Writes the session to `path`, or under its default name in the directory `path` or in `folder`.
pub fn export(
    reading: &Reading,
    folder: &Path,
    path: Option<&Path>,
    options: &ExportOptions,
) -> Result<Exported, TransferError> {
    let asked = options
        .format
        .or_else(|| path.and_then(ExportFormat::of_path))
        .unwrap_or(ExportFormat::Html);
    let usual = || default_name(reading.header(), reading.tree().name());
    let mut target = match path {
        Some(path) if path.is_dir() => Target::usual(path, &usual(), asked)?,
        Some(path) => Target::new(path.to_owned(), options.force)?,
        None => Target::usual(folder, &usual(), asked)?,
    };
    let place = target.path().to_owned();
    let summary = write(reading, asked, options, &mut target, &place)?;
    if asked == ExportFormat::Jsonl {
        let written = target
            .temporary()
            .map_err(|error| TransferError::io("write", &place, error))?;
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
) -> Result<ExportSummary, TransferError> {
    let format = options.format.unwrap_or(ExportFormat::Html);
    write(reading, format, options, out, Path::new("standard output"))
}

fn write(
    reading: &Reading,
    format: ExportFormat,
    options: &ExportOptions,
    out: &mut dyn Write,
    place: &Path,
) -> Result<ExportSummary, TransferError> {
    let scope = options.scope.unwrap_or(format.usual_scope());
    let failed = |error| TransferError::io("write", place, error);
    match format {
        ExportFormat::Html => html::write(reading, scope, options, out, place),
        ExportFormat::Markdown => markdown::write(reading, scope, out).map_err(failed),
        ExportFormat::Jsonl => jsonl::write(reading, scope, out, place),
    }
}

/// The format with this name.
pub fn format_named(name: &str) -> Result<ExportFormat, TransferError> {
    ExportFormat::from_name(name).ok_or_else(|| TransferError::UnknownFormat {
        name: name.to_owned(),
    })
}
