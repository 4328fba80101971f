//! The rows of a call's result.

use std::path::Path;

use serde_json::Value;

use super::{FOLDED_ROWS, ToolCell, result_text};
use crate::conversation::{
    transcript::cell_style::CellStyle, transcript::output::Painted, transcript::output::head_rows,
    transcript::output::tail_rows,
};
use osier_agent::ToolResultMessage;
use osier_base::text;
use osier_term::widgets::diff;
use osier_term::{Row, Span, Token};
use osier_tools::code::report::{DIAGNOSTICS, FoundDiagnostic};
use osier_tools::{BuiltIn, Collapsed};

/// Rows of a diff shown while collapsed.
const FOLDED_DIFF_ROWS: usize = 16;
/// Rows of a diff shown while unfolded; the view of changes shows all of it.
const EXPANDED_DIFF_ROWS: usize = 1000;
/// Bytes of a result that are laid out when unfolded.
const EXPANDED_LIMIT: usize = 256 * 1024;

/// The diagnostics of language servers after a change.
fn diagnostic_rows(details: &Value, width: u16, expanded: bool) -> Vec<Row> {
    let found = details.get(DIAGNOSTICS).cloned();
    let found = found.and_then(|found| serde_json::from_value(found).ok());
    let found: Vec<FoundDiagnostic> = found.unwrap_or_default();
    let limit = if expanded { usize::MAX } else { FOLDED_ROWS };
    let mut rows: Vec<Row> = Vec::new();
    for one in found.iter().take(limit) {
        let token = if one.severity == "error" {
            Token::Error
        } else {
            Token::Warning
        };
        let name = Path::new(&one.file_path).file_name();
        let name = name.map(|name| name.to_string_lossy()).unwrap_or_default();
        let line = format!(
            "  {name}:{}:{} {}: {}",
            one.line, one.column, one.severity, one.message
        );
        let line = text::single_line(&line);
        let line = text::truncate(&line, usize::from(width));
        rows.push(Row::plain(line.into_owned(), token));
    }
    if let Some(more @ 1..) = found.len().checked_sub(rows.len()) {
        rows.push(Row::plain(format!("  … {more} more"), Token::Muted));
    }
    rows
}

impl ToolCell {
    /// The rows of a call's result: its diff, else its text.
    pub(super) fn result_rows(
        &self,
        tool: Option<&BuiltIn>,
        result: &ToolResultMessage,
        width: u16,
        expanded: bool,
        style: CellStyle,
    ) -> Vec<Row> {
        let indent = [Span::new("  ", Token::ToolOutput)];
        if let Some(patch) = result.details.get("diff").and_then(Value::as_str) {
            let limit = if expanded {
                EXPANDED_DIFF_ROWS
            } else {
                FOLDED_DIFF_ROWS
            };
            let layout = diff::DiffLayout::Unified;
            let mut rows = diff::highlighted_rows(patch, width, limit, layout, &self.syntax);
            rows.extend(diagnostic_rows(&result.details, width, expanded));
            return rows;
        }
        let failed = !result.status.is_success();
        let collapsed = match tool.map_or(Collapsed::End, |tool| tool.view.collapsed) {
            Collapsed::Nothing if failed => Collapsed::End,
            collapsed => collapsed,
        };
        if !expanded && collapsed == Collapsed::Nothing {
            return Vec::new();
        }
        let text = result_text(result);
        let output = Painted {
            text: &text,
            colours: &self.colours,
        }
        .without_exit_code(result);
        if expanded {
            output.head(EXPANDED_LIMIT).rows(width, &indent)
        } else if collapsed == Collapsed::Start {
            head_rows(output, width, &indent, style.fold(FOLDED_ROWS))
        } else {
            tail_rows(output, width, &indent, style.fold(FOLDED_ROWS))
        }
    }
}
