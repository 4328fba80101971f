//! The options of an export.

use std::sync::Arc;

use osier_protocol::{ExportFormat, ExportScope, LogLine};

use super::html::theme::HtmlThemes;

/// How a session is exported.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// When not set, the file extension decides; the default is HTML.
    pub format: Option<ExportFormat>,
    pub scope: Option<ExportScope>,
    /// Replace an existing file.
    pub force: bool,
    /// Themes of a page; plain colours when not set.
    pub themes: Option<Arc<dyn HtmlThemes>>,
    /// The initial theme of a page; when not set, the reader's preference for light or dark.
    pub theme: Option<String>,
    /// The log of the session; not part of the export when not set.
    pub log: Option<Vec<LogLine>>,
}

impl ExportOptions {
    /// The log as text, if it is part of the export.
    pub(super) fn log_text(&self) -> Option<String> {
        let log = self.log.as_ref()?;
        let lines: Vec<String> = log.iter().map(LogLine::shown).collect();
        Some(match lines.as_slice() {
            [] => "no warnings, retries or failed calls".to_owned(),
            lines => lines.join("\n"),
        })
    }
}
