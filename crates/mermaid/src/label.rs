//! Labels of both kinds of diagrams.

/// A label without its quotes and line breaks.
pub(crate) fn label(text: &str) -> String {
    let text = text.trim().trim_matches('"');
    let text = text
        .replace("<br/>", " ")
        .replace("<br>", " ")
        .replace("\\n", " ");
    osier_base::text::single_line(&text)
}
