//! Syntax highlighting: visible code is sent to the highlighter, and its tokens are stored with the block.

use super::Markdown;
use crate::code::CodeBlock;
use crate::unit::{Body, Text};
use osier_term::highlight::{HighlightRequest, Highlighted, Highlighter, MAX_BYTES, MAX_LINES};

/// Maximum lines of a request: the first lines of a large block are coloured before the rest.
const BATCH: usize = 256;

impl Markdown {
    /// Sends the code that `rows` showed last, unless it was sent before.
    pub fn highlight(&mut self, highlighter: &mut Highlighter) {
        let open = self.units.len().saturating_sub(1);
        for index in self.visible.clone() {
            let finished = self.finished || index < open;
            let Some(unit) = self.units.get_mut(index) else {
                continue;
            };
            match &mut unit.body {
                Body::Code(code) => {
                    if let Some(key) = send_code(code, &self.source, highlighter) {
                        self.keys.insert(key, (index, 0));
                    }
                }
                Body::Text(text) if finished && !text.sent => {
                    for (nested, key) in send_nested(text, highlighter).into_iter().enumerate() {
                        self.keys.insert(key, (index, nested));
                    }
                }
                Body::Text(_) | Body::Table(_) => {}
            }
        }
    }

    /// Stores the tokens of a block. Returns whether the block is in this document, which must be
    /// drawn again.
    pub fn apply(&mut self, highlighted: &Highlighted) -> bool {
        let Some(&(index, nested)) = self.keys.get(&highlighted.key) else {
            return false;
        };
        let Some(unit) = self.units.get_mut(index) else {
            return false;
        };
        let tokens = match &mut unit.body {
            Body::Code(code) => &mut code.tokens,
            Body::Text(text) => {
                text.rows = None;
                if text.tokens.len() <= nested {
                    text.tokens.resize(nested + 1, Vec::new());
                }
                &mut text.tokens[nested]
            }
            Body::Table(_) => return false,
        };
        tokens.resize(highlighted.first_line, Vec::new());
        tokens.extend_from_slice(&highlighted.lines);
        true
    }
}

/// Sends the new lines of a code block. Returns its key if it is new.
fn send_code(code: &mut CodeBlock, source: &str, highlighter: &mut Highlighter) -> Option<u64> {
    let total = code.lines.len().min(MAX_LINES);
    if code.sending.done
        || code.language.is_empty()
        || (code.sending.lines == total && !code.closed)
    {
        return None;
    }
    let known = code.sending.key;
    let key = known.unwrap_or_else(|| highlighter.new_key());
    code.sending.key = Some(key);
    while !code.sending.done {
        let first_line = code.sending.lines;
        let lines: Vec<String> = (first_line..total.min(first_line + BATCH))
            .map(|index| code.line(index, source).into_owned())
            .collect();
        code.sending.lines += lines.len();
        code.sending.bytes += lines.iter().map(String::len).sum::<usize>();
        let sent = code.sending.lines == total;
        let full = total == MAX_LINES && sent || code.sending.bytes > MAX_BYTES;
        code.sending.done = full || (sent && code.closed);
        highlighter.request(HighlightRequest {
            key,
            language: (&*code.language).into(),
            first_line,
            lines,
            last: code.sending.done,
        });
        if sent {
            break;
        }
    }
    known.is_none().then_some(key)
}

/// Sends the code blocks inside a finished block. Returns their keys.
fn send_nested(text: &mut Text, highlighter: &mut Highlighter) -> Vec<u64> {
    text.sent = true;
    let nested = std::mem::take(&mut text.nested);
    let send = |nested: crate::render::Nested| {
        let key = highlighter.new_key();
        let lines = nested.text.trim_end_matches('\n').split('\n');
        if !nested.language.is_empty() && nested.text.len() <= MAX_BYTES {
            highlighter.request(HighlightRequest {
                key,
                language: (&*nested.language).into(),
                first_line: 0,
                lines: lines.take(MAX_LINES).map(String::from).collect(),
                last: true,
            });
        }
        key
    };
    nested.into_iter().map(send).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use osier_term::face::{Face, Token};
    use osier_term::row::Row;

    #[test]
    fn code_is_highlighted_when_the_tokens_arrive() {
        let (sender, answers) = mpsc::channel();
        let mut highlighter = Highlighter::new(move |answer| sender.send(answer).unwrap());
        let mut document = Markdown::new();
        let mut rows = |document: &mut Markdown| {
            let mut rows = Vec::new();
            document.rows(40, 0..100, &mut rows);
            document.highlight(&mut highlighter);
            rows
        };
        let tokens =
            |row: &Row| -> Vec<Token> { row.spans.iter().map(|span| span.face.token).collect() };
        document.push("```rust\nlet a = 1;\n");
        assert_eq!(tokens(&rows(&mut document)[1]), [Token::CodeBlock; 2]);
        assert!(document.apply(&answers.recv().unwrap()));
        let coloured = tokens(&rows(&mut document)[1]);
        assert_eq!(coloured[1], Token::SyntaxKeyword);
        document.push("\"text\"\n```\n- item\n  ```py\n  pass\n  ```\nend");
        document.finish();
        rows(&mut document);
        let mut seen = 0;
        while seen < 2 {
            seen += usize::from(document.apply(&answers.recv().unwrap()));
        }
        let shown = rows(&mut document);
        assert_eq!(tokens(&shown[1]), coloured);
        assert_eq!(tokens(&shown[2]), [Token::CodeBlock, Token::SyntaxString]);
        let nested = shown
            .iter()
            .find(|row| row.text().contains("pass"))
            .unwrap();
        let keyword = Face::from(Token::SyntaxKeyword).on(Token::CodeBlock);
        assert_eq!(nested.spans.last().unwrap().face, keyword);
    }
}
