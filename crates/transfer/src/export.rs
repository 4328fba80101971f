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
        jsonl::verify(&written, &place, summary)?;
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
    if options.theme.is_some() && format != ExportFormat::Html {
        return Err(TransferError::NoTheme(format.name()));
    }
    let scope = options.scope.unwrap_or(format.usual_scope());
    let failed = |error| TransferError::io("write", place, error);
    match format {
        ExportFormat::Html => html::write(reading, scope, options, out, place),
        ExportFormat::Markdown => markdown::write(reading, scope, options, out).map_err(failed),
        ExportFormat::Jsonl => jsonl::write(reading, scope, options, out, place),
    }
}

/// The format with this name.
pub fn format_named(name: &str) -> Result<ExportFormat, TransferError> {
    ExportFormat::from_name(name).ok_or_else(|| TransferError::UnknownFormat {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use osier_agent::{AgentMessage, Severity, UserMessage};
    use osier_protocol::{EntryKind, Header, LogLine};
    use osier_store::SessionStore;

    use super::*;

    #[test]
    fn theme_is_for_pages_alone() {
        let store = SessionStore::in_memory(Header::new(Path::new("/work")), &[]).unwrap();
        let reading = Reading::of(store.header().clone(), store.index());
        for format in [ExportFormat::Markdown, ExportFormat::Jsonl] {
            let options = ExportOptions {
                format: Some(format),
                theme: Some("nord".to_owned()),
                ..ExportOptions::default()
            };
            let error = export_to(&reading, &options, &mut Vec::new()).unwrap_err();
            let text = format!(
                "a theme has no effect in {}; it applies to html",
                format.name()
            );
            assert_eq!(error.to_string(), text);
        }
    }

    #[tokio::test]
    async fn log_is_part_of_an_export_on_request() {
        let store = SessionStore::in_memory(Header::new(Path::new("/work")), &[]).unwrap();
        let prompt = UserMessage::new("hello", 0);
        let prompt = EntryKind::message(AgentMessage::User(prompt));
        store.append(prompt).await.unwrap();
        let reading = Reading::of(store.header().clone(), store.index());
        let line = LogLine {
            timestamp: 0,
            severity: Severity::Warning,
            text: "retry <1/5>".to_owned(),
        };
        let folder = tempfile::tempdir().unwrap();
        let exported = |format: ExportFormat, log: Option<Vec<LogLine>>| {
            let options = ExportOptions {
                format: Some(format),
                force: true,
                log,
                ..ExportOptions::default()
            };
            let path = folder.path().join("out");
            export(&reading, folder.path(), Some(&path), &options).unwrap();
            std::fs::read_to_string(path).unwrap()
        };
        for (format, shown) in [
            (
                ExportFormat::Html,
                "<pre class=plain tabindex=0>1970-01-01T00:00:00.000Z warning: retry &lt;1/5&gt;</pre>",
            ),
            (
                ExportFormat::Markdown,
                "# Log\n\n```\n1970-01-01T00:00:00.000Z warning: retry <1/5>\n```\n",
            ),
            (
                ExportFormat::Jsonl,
                r#""type":"custom","customType":"osier_log","data":[{"timestamp":0,"severity":"warning","text":"retry <1/5>"}]"#,
            ),
        ] {
            let without = exported(format, None);
            assert!(!without.contains("1/5"), "{without}");
            let with = exported(format, Some(vec![line.clone()]));
            assert!(with.contains(shown), "{with}");
        }
        // The copy continues where the session ended.
        let copy = exported(ExportFormat::Jsonl, Some(vec![line]));
        let entries = copy.lines().skip(1).map(serde_json::from_str);
        let entries: Vec<serde_json::Value> = entries.collect::<Result<_, _>>().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1]["parentId"], entries[0]["id"]);
    }
}
