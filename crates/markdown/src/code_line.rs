//! The rows of a line of code, and of the language above it.

use osier_base::text;
use osier_term::face::{Face, Token};
use osier_term::highlight::LineTokens;
use osier_term::row::{Row, Span};
use osier_term::wrap::Wrap;

/// The face of code that is not highlighted.
pub(super) fn face() -> Face {
    Face::from(Token::CodeBlock).on(Token::CodeBlock)
}

/// The column between the edge of the block's background and its text.
pub(super) fn gutter() -> Span {
    Span::new(" ", face())
}

/// The row with the language. It is decoration, so that copied text has only code.
pub(super) fn label(language: &str, prefix: &[Span], width: usize) -> Row {
    let mut spans = prefix.to_vec();
    let used: usize = spans.iter().map(|span| text::width(&span.text)).sum();
    let shown = text::truncate(language, width.saturating_sub(used));
    spans.push(Span::new(
        &*shown,
        Face::from(Token::Muted).on(Token::CodeBlock),
    ));
    let mut row = Row::new(spans);
    row.decoration = row.width() as u16;
    row.fill = Some(face());
    row
}

/// Appends the rows of one line of code.
pub(super) fn rows(line: &str, tokens: Option<&LineTokens>, wrap: &Wrap<'_>, out: &mut Vec<Row>) {
    let mut spans = Vec::new();
    let mut plain = 0;
    for (range, token) in tokens.into_iter().flatten() {
        let (start, end) = (range.start as usize, range.end as usize);
        // The line can have changed since it was highlighted.
        let Some(coloured) = line.get(start..end).filter(|_| start >= plain) else {
            break;
        };
        if let Some(between) = line.get(plain..start).filter(|between| !between.is_empty()) {
            spans.push(Span::new(between, face()));
        }
        spans.push(Span::new(coloured, Face::from(*token).on(Token::CodeBlock)));
        plain = end;
    }
    if plain < line.len() {
        spans.push(Span::new(&line[plain..], face()));
    }
    wrap.filled(face()).line(&spans, out);
}

/// The language of an info string.
pub(super) fn language(info: &str) -> &str {
    let word = info
        .trim()
        .split([' ', '\t', ',', '{'])
        .next()
        .unwrap_or("");
    word.trim_start_matches('.')
}
