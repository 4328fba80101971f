//! The syntax of the lines of a patch: sent to the highlighter hunk by hunk, the old file's lines and the new
//! one's each for themselves, and kept as they come back.

use std::path::Path;
use std::sync::Arc;

use super::{Line, clean, read};
use crate::face::{Face, Token};
use crate::highlight::{Highlighted, Highlighter, LineTokens, Request};
use crate::row::Span;

/// Lines of a patch that are coloured.
const MOST_LINES: usize = 2000;

/// Tokens of the lines of both files that a patch shows, in their order, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Syntax {
    pub(super) old: Vec<LineTokens>,
    pub(super) new: Vec<LineTokens>,
    /// Keys of what was sent: whether of the new file, and its first line there.
    keys: Vec<(u64, bool, usize)>,
    sent: bool,
}

impl Syntax {
    /// Sends the lines of the patch of a file, once.
    pub fn request(&mut self, patch: &str, path: &str, highlighter: &mut Highlighter) {
        if std::mem::replace(&mut self.sent, true) {
            return;
        }
        let Some(language) = language(path) else {
            return;
        };
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let (mut old_first, mut new_first) = (0, 0);
        for line in patch.lines().filter_map(read).take(MOST_LINES) {
            match line {
                Line::Hunk { .. } => {
                    self.send(&mut old, (false, &mut old_first), &language, highlighter);
                    self.send(&mut new, (true, &mut new_first), &language, highlighter);
                }
                Line::Context(text) => {
                    old.push(clean(text));
                    new.push(clean(text));
                }
                Line::Removed(text) => old.push(clean(text)),
                Line::Added(text) => new.push(clean(text)),
                Line::Note(_) => {}
            }
        }
        self.send(&mut old, (false, &mut old_first), &language, highlighter);
        self.send(&mut new, (true, &mut new_first), &language, highlighter);
    }

    fn send(
        &mut self,
        lines: &mut Vec<String>,
        (is_new, first): (bool, &mut usize),
        language: &Arc<str>,
        highlighter: &mut Highlighter,
    ) {
        if lines.is_empty() {
            return;
        }
        let key = highlighter.new_key();
        self.keys.push((key, is_new, *first));
        *first += lines.len();
        highlighter.request(Request {
            key,
            language: Arc::clone(language),
            first_line: 0,
            lines: std::mem::take(lines),
            last: true,
        });
    }

    /// Takes an answer; whether it was for this patch.
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

/// The name or the extension of a file, by which its grammar is found.
fn language(path: &str) -> Option<Arc<str>> {
    let path = Path::new(path);
    let name = path.extension().or(path.file_name())?.to_str()?;
    // A patch of a patch has colours enough.
    (!matches!(name, "diff" | "patch" | "txt")).then(|| name.into())
}

/// Spans of a line whose text is `token`, in the colours of its syntax. What is marked stays as it is.
pub(super) fn dressed(spans: Vec<Span>, token: Token, tokens: Option<&LineTokens>) -> Vec<Span> {
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

    use super::super::{Layout, laid_out_in, rows};
    use super::*;

    const PATCH: &str =
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n let s = \"t\";\n-let a = 1;\n+let a = 2;\n";

    #[test]
    fn lines_take_the_colours_of_their_language_and_keep_their_marks() {
        let (sender, answers) = mpsc::channel();
        let mut highlighter = Highlighter::new(move |answer| sender.send(answer).unwrap());
        let mut syntax = Syntax::default();
        syntax.request(PATCH, "src/x.rs", &mut highlighter);
        syntax.request(PATCH, "src/x.rs", &mut highlighter);
        for _ in 0..2 {
            assert!(syntax.apply(&answers.recv().unwrap()));
        }
        assert!(answers.try_recv().is_err());
        let shown = laid_out_in(PATCH, 40, 99, Layout::Unified, &syntax);
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
    fn what_has_no_language_stays_plain() {
        let mut highlighter = Highlighter::new(|_| panic!("nothing was asked for"));
        let mut syntax = Syntax::default();
        syntax.request(PATCH, "notes.txt", &mut highlighter);
        assert_eq!(
            laid_out_in(PATCH, 40, 99, Layout::Unified, &syntax),
            rows(PATCH, 40, 99)
        );
    }
}
