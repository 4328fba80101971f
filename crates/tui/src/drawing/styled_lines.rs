//! Lines of plugins in the colours of the theme.

use osier_protocol::{StyledLine, StyledSpan};
use osier_term::{Emphasis, Face, Row, Span, Token};

/// One line.
pub(crate) fn row(line: &StyledLine) -> Row {
    Row::new(line.iter().map(span).collect())
}

fn span(span: &StyledSpan) -> Span {
    let token = match span.style.as_str() {
        "muted" => Token::Muted,
        "accent" => Token::Accent,
        "title" => Token::Title,
        "success" => Token::Success,
        "warning" => Token::Warning,
        "error" => Token::Error,
        "added" => Token::DiffAdded,
        "removed" => Token::DiffRemoved,
        "code" => Token::Code,
        _ => Token::Text,
    };
    let face = Face::from(token);
    let face = if span.bold {
        face.emphasised(Emphasis::BOLD)
    } else {
        face
    };
    Span::new(span.text.clone(), face)
}

/// The lines in the details of a stored message, when it has any.
pub(crate) fn stored_rows(details: &serde_json::Value) -> Option<Vec<Row>> {
    let lines: Vec<StyledLine> = serde_json::from_value(details.get("lines")?.clone()).ok()?;
    (!lines.is_empty()).then(|| lines.iter().map(row).collect())
}
