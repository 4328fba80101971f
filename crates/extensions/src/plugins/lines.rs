//! Styled lines of plugins, without colours. They are stored in the session, so that it can be shown without
//! the plugin.

use osier_protocol::{StyledLine, StyledSpan};
use serde_json::Value;

use super::api::STYLES;
use osier_base::text;

/// Maximum number of lines of a message or widget.
const LINE_LIMIT: usize = 500;
/// Maximum bytes of a line.
const WIDTH_LIMIT: usize = 4 * 1024;

/// Reads lines: a string, or a list of lines, each a string, a span `{text=, style=, bold=}` or a list of
/// those. Control characters are removed, because the text is untrusted.
///
/// # Errors
/// A message about the invalid part.
pub fn read(value: &Value) -> Result<Vec<StyledLine>, String> {
    let mut lines = Vec::new();
    match value {
        Value::Null => {}
        Value::String(text) => lines.extend(text.lines().map(|line| vec![plain(line)])),
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(text) => lines.extend(text.lines().map(|line| vec![plain(line)])),
                    Value::Array(spans) => {
                        lines.push(spans.iter().map(span).collect::<Result<_, _>>()?);
                    }
                    other => lines.push(vec![span(other)?]),
                }
            }
        }
        // An empty table is an empty list.
        Value::Object(fields) if fields.is_empty() => {}
        other => lines.push(vec![span(other)?]),
    }
    lines.truncate(LINE_LIMIT);
    Ok(lines)
}

/// The size of lines in memory.
pub(super) fn bytes(lines: &[StyledLine]) -> usize {
    let spans = lines.iter().flatten();
    spans
        .map(|span| span.text.len() + size_of::<StyledSpan>())
        .sum()
}

fn plain(line: &str) -> StyledSpan {
    StyledSpan {
        text: clean(line),
        ..StyledSpan::default()
    }
}

fn span(value: &Value) -> Result<StyledSpan, String> {
    if let Value::String(text) = value {
        return Ok(plain(text));
    }
    let mut span: StyledSpan = serde_json::from_value(value.clone())
        .map_err(|_| "a line must be a string, or a list of `{text=, style=}`".to_owned())?;
    if !span.style.is_empty() && !STYLES.contains(&span.style.as_str()) {
        return Err(format!(
            "unknown style `{}`; expected one of {}",
            span.style,
            STYLES.join(", ")
        ));
    }
    span.text = clean(&span.text);
    Ok(span)
}

fn clean(line: &str) -> String {
    let line = text::head_bytes(line, WIDTH_LIMIT);
    text::single_line(&text::sanitize(line))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_line_format_is_read_and_sanitized() {
        let value = json!(["one\ntwo", {"text": "red\u{1b}[31m", "style": "error", "bold": true}, ["a", {"text": "b"}]]);
        let lines = read(&value).unwrap();
        let texts: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| line.iter().map(|span| span.text.as_str()).collect())
            .collect();
        assert_eq!(texts.len(), 4);
        assert_eq!(
            (&texts[0], &texts[1], &texts[3]),
            (&vec!["one"], &vec!["two"], &vec!["a", "b"])
        );
        assert!(!texts[2][0].contains('\u{1b}'), "{:?}", texts[2]);
        assert!(lines[2][0].bold);
        assert_eq!(read(&json!({})).unwrap(), Vec::<StyledLine>::new());
        assert!(
            read(&json!([{"text": "x", "style": "pink"}]))
                .unwrap_err()
                .contains("unknown style `pink`")
        );
        assert!(read(&json!([3])).is_err());
    }
}
