//! Syntax highlighting of a patch: sends the old and the new lines of each hunk to the highlighter
//! and stores the results.

use std::path::Path;
use std::sync::Arc;

use super::line::{DiffLine, clean, parse_line};
use crate::text::face::{Face, Token};
use crate::text::highlight::{HighlightRequest, Highlighted, Highlighter, LineTokens};
use crate::text::row::Span;

/// Maximum number of highlighted lines of a patch.
const MAX_LINES: usize = 2000;

/// The syntax tokens of the old and new lines of a patch, as far as they have arrived.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Syntax {
    pub(super) old: Vec<LineTokens>,
    pub(super) new: Vec<LineTokens>,
    /// Per request: its key, whether it is for the new file, and its first line.
    keys: Vec<(u64, bool, usize)>,
    requested: bool,
}

impl Syntax {
    /// Requests highlighting for the patch of a file. Only the first call has an effect.
    pub fn request(&mut self, patch: &str, path: &str, highlighter: &mut Highlighter) {
        if std::mem::replace(&mut self.requested, true) {
            return;
        }
        let Some(language) = language(path) else {
            return;
        };
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let (mut old_first, mut new_first) = (0, 0);
        for line in patch.lines().filter_map(parse_line).take(MAX_LINES) {
            match line {
                DiffLine::Hunk { .. } => {
                    self.send(&mut old, false, &mut old_first, &language, highlighter);
                    self.send(&mut new, true, &mut new_first, &language, highlighter);
                }
                DiffLine::Context(text) => {
                    old.push(clean(text));
                    new.push(clean(text));
                }
                DiffLine::Removed(text) => old.push(clean(text)),
                DiffLine::Added(text) => new.push(clean(text)),
                DiffLine::Note(_) => {}
            }
        }
        self.send(&mut old, false, &mut old_first, &language, highlighter);
        self.send(&mut new, true, &mut new_first, &language, highlighter);
    }

    fn send(
        &mut self,
        lines: &mut Vec<String>,
        is_new: bool,
        first: &mut usize,
        language: &Arc<str>,
        highlighter: &mut Highlighter,
    ) {
        if lines.is_empty() {
            return;
        }
        let key = highlighter.new_key();
        self.keys.push((key, is_new, *first));
        *first += lines.len();
        highlighter.request(HighlightRequest {
            key,
            language: Arc::clone(language),
            first_line: 0,
            lines: std::mem::take(lines),
            last: true,
        });
    }

    /// Applies a result; returns whether it belongs to this patch.
    pub fn apply(&mut self, highlighted: &Highlighted) -> bool {
        let known = self.keys.iter().find(|(key, ..)| *key == highlighted.key);
        let Some(&(_, is_new, first)) = known else {
            return false;
        };
        let side = if is_new { &mut self.new } else { &mut self.old };
        let end = first + highlighted.lines.len();
        if side.len() < end {
            side.resize(end, LineTokens::new());
        }
        side[first..end].clone_from_slice(&highlighted.lines);
        true
    }
}

/// The language of a file: its extension, or its name.
fn language(path: &str) -> Option<Arc<str>> {
    let path = Path::new(path);
    let name = path.extension().or(path.file_name())?.to_str()?;
    // A patch of a patch has enough colours.
    (!matches!(name, "diff" | "patch" | "txt")).then(|| name.into())
}

/// Applies syntax tokens to the spans of a line that have the face `token`. Highlighted words stay
/// unchanged.
pub(super) fn with_syntax(
    spans: Vec<Span>,
    token: Token,
    tokens: Option<&LineTokens>,
) -> Vec<Span> {
    let Some(tokens) = tokens.filter(|tokens| !tokens.is_empty()) else {
        return spans;
    };
    let plain = Face::from(token);
    let mut out = Vec::with_capacity(spans.len() + tokens.len());
    let mut at = 0;
    for span in spans {
        let (start, end) = (at, at + span.text.len());
        at = end;
        if span.face != plain {
            out.push(span);
            continue;
        }
        let mut shown = start;
        for (range, syntax) in tokens {
            let from = (range.start as usize).clamp(shown, end);
            let to = (range.end as usize).clamp(shown, end);
            let before = span.text.get(shown - start..from - start);
            let (Some(before), Some(coloured)) = (before, span.text.get(from - start..to - start))
            else {
                continue;
            };
            if coloured.is_empty() {
                continue;
            }
            if !before.is_empty() {
                out.push(Span::new(before, plain));
            }
            out.push(Span::new(coloured, Face::from(*syntax).on(token)));
            shown = to;
        }
        if let Some(rest) = span
            .text
            .get(shown - start..)
            .filter(|rest| !rest.is_empty())
        {
            out.push(Span::new(rest, plain));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::{DiffLayout, highlighted_rows, rows};
    use super::*;

    const PATCH: &str =
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n let s = \"t\";\n-let a = 1;\n+let a = 2;\n";

    #[test]
    fn syntax_tokens_apply_and_changed_words_stay_highlighted() {
        let (sender, answers) = mpsc::channel();
        let mut highlighter = Highlighter::new(move |answer| sender.send(answer).unwrap());
        let mut syntax = Syntax::default();
        syntax.request(PATCH, "src/x.rs", &mut highlighter);
        syntax.request(PATCH, "src/x.rs", &mut highlighter);
        for _ in 0..2 {
            assert!(syntax.apply(&answers.recv().unwrap()));
        }
        assert!(answers.try_recv().is_err());
        let shown = highlighted_rows(PATCH, 40, 99, DiffLayout::Unified, &syntax);
        let plain = rows(PATCH, 40, 99);
        assert_eq!(shown.len(), plain.len());
        for (shown, plain) in shown.iter().zip(&plain) {
            assert_eq!(shown.text(), plain.text());
        }
        let face = |row: usize, text: &str| {
            let mut spans = shown[row].spans.iter();
            spans.find(|span| &*span.text == text).unwrap().face
        };
        let context = Face::from(Token::SyntaxString).on(Token::DiffContext);
        assert_eq!(face(0, "\"t\""), context);
        let keyword = |token| Face::from(Token::SyntaxKeyword).on(token);
        assert_eq!(face(1, "let"), keyword(Token::DiffRemoved));
        assert_eq!(face(2, "let"), keyword(Token::DiffAdded));
        assert_eq!(
            face(2, "2"),
            Face::from(Token::DiffAddedWord).on(Token::DiffAddedWord)
        );
    }

    #[test]
    fn unknown_language_stays_plain() {
        let mut highlighter = Highlighter::new(|_| panic!("nothing is requested"));
        let mut syntax = Syntax::default();
        syntax.request(PATCH, "notes.txt", &mut highlighter);
        assert_eq!(
            highlighted_rows(PATCH, 40, 99, DiffLayout::Unified, &syntax),
            rows(PATCH, 40, 99)
        );
    }
}
