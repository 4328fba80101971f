//! Converts Markdown of models to HTML for the browser chat, with the renderer of exported pages: HTML is displayed as
//! text, links lead only to web pages, and external images become links.
//!
//! A growing text is rendered from the end of its finished blocks: a client requests each finished block once and only
//! the open block again. The server keeps no state between requests except the grammars.

use std::ops::Range;
use std::sync::{OnceLock, mpsc};
use std::thread;

use axum::Json;
use axum::extract::Request;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::error::{ApiError, ErrorCode};
use super::request_body::json_body;
use crate::highlighter::SyntaxHighlighter;
use osier_transfer::{Highlighter, HtmlThemes as _, PlainThemes, prose};

/// Longest open block with syntax highlighting, in bytes. A longer one is highlighted when it is complete.
const MAX_HIGHLIGHTED_OPEN: usize = 24 * 1024;

/// Most texts of one request.
const MAX_TEXTS: usize = 500;

/// The body of `POST /api/markdown`: `{"texts":[{"text":"…","open":true}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct MarkdownTexts {
    texts: Vec<MarkdownText>,
}

/// A Markdown text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct MarkdownText {
    text: String,
    /// The text is still growing.
    #[serde(default)]
    open: bool,
    /// Separates the footnotes of different texts on one page.
    #[serde(default)]
    scope: String,
}

/// The response of `POST /api/markdown`: one entry for each text, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct MarkdownBlocks {
    html: Vec<RenderedText>,
}

/// A text as HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RenderedText {
    /// The HTML of the blocks, in order.
    blocks: Vec<String>,
    /// The number of first blocks that will not change.
    finished: usize,
    /// The end of these blocks, in UTF-16 units as in JavaScript. The next request starts there.
    taken: usize,
}

/// Renders for all clients on one thread, which starts with the first request, so that the grammars are loaded once.
#[derive(Debug, Default)]
pub(super) struct Renderer(OnceLock<mpsc::Sender<RenderJob>>);

#[derive(Debug)]
struct RenderJob {
    texts: Vec<MarkdownText>,
    reply: oneshot::Sender<Vec<RenderedText>>,
}

impl Renderer {
    /// Answers `POST /api/markdown`.
    pub(super) async fn answer(&self, request: Request) -> Result<Json<MarkdownBlocks>, ApiError> {
        let MarkdownTexts { texts } = json_body(request).await?;
        if texts.len() > MAX_TEXTS {
            let message = format!("more than {MAX_TEXTS} texts in one request");
            return Err(ApiError::new(ErrorCode::TooLarge, message));
        }
        let html = self.render(texts).await;
        let closed = || ApiError::new(ErrorCode::ShuttingDown, "the server is shutting down");
        Ok(Json(MarkdownBlocks {
            html: html.ok_or_else(closed)?,
        }))
    }

    /// `None` if the thread could not be started.
    async fn render(&self, texts: Vec<MarkdownText>) -> Option<Vec<RenderedText>> {
        let (reply, rendered) = oneshot::channel();
        let jobs = self.0.get_or_init(start);
        jobs.send(RenderJob { texts, reply }).ok()?;
        rendered.await.ok()
    }
}

/// Starts the thread. If that fails, every request fails.
fn start() -> mpsc::Sender<RenderJob> {
    let (sender, jobs) = mpsc::channel::<RenderJob>();
    let work = move || {
        let mut highlighter = SyntaxHighlighter::default();
        for RenderJob { texts, reply } in jobs {
            // Skip requests of clients that have disconnected.
            if !reply.is_closed() {
                let rendered = texts.iter().map(|text| text.render(&mut highlighter));
                let _ = reply.send(rendered.collect());
            }
        }
    };
    let _ = thread::Builder::new().name("markdown".into()).spawn(work);
    sender
}

impl MarkdownText {
    fn render(&self, highlighter: &mut dyn Highlighter) -> RenderedText {
        if self.open {
            return self.render_open(highlighter);
        }
        RenderedText {
            blocks: vec![prose(highlighter, &self.text, &self.scope)],
            finished: 1,
            taken: self.text.encode_utf16().count(),
        }
    }

    fn render_open(&self, highlighter: &mut dyn Highlighter) -> RenderedText {
        let (text, scope) = (self.text.as_str(), self.scope.as_str());
        let finished = finished(text);
        let open_start = finished.last().map_or(0, |block| block.end);
        let mut blocks: Vec<String> = finished
            .iter()
            .map(|block| prose(highlighter, &text[block.clone()], scope))
            .collect();
        let open = &text[open_start..];
        if !open.trim().is_empty() {
            blocks.push(if open.len() > MAX_HIGHLIGHTED_OPEN {
                prose(&mut *PlainThemes.highlighter(), open, scope)
            } else {
                prose(highlighter, open, scope)
            });
        }
        RenderedText {
            blocks,
            finished: finished.len(),
            taken: text[..open_start].encode_utf16().count(),
        }
    }
}

/// The blocks of a growing text that later text cannot change: all before the last block with a complete line. They
/// are contiguous from the start.
fn finished(text: &str) -> Vec<Range<usize>> {
    // A partial line can become an item of the list above it.
    let complete_lines = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut from = 0;
    let ends = osier_markdown::block_starts(complete_lines)
        .into_iter()
        .skip(1);
    ends.map(|end| {
        let block = from..end;
        from = end;
        block
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, open: bool) -> RenderedText {
        render_with(&mut SyntaxHighlighter::default(), text, open)
    }

    fn render_with(highlighter: &mut SyntaxHighlighter, text: &str, open: bool) -> RenderedText {
        let (text, scope) = (text.to_owned(), "1".to_owned());
        MarkdownText { text, open, scope }.render(highlighter)
    }

    /// The final HTML of a client that sends a request after every character of `text`.
    fn streamed(text: &str) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let (mut taken, mut shown) = (0, Vec::<String>::new());
        let mut finished = 0;
        let mut highlighter = SyntaxHighlighter::default();
        for (at, char) in text.char_indices() {
            let end = text[..at + char.len_utf8()].encode_utf16().count();
            let part = String::from_utf16(&units[taken..end]).unwrap();
            let answer = render_with(&mut highlighter, &part, true);
            shown.truncate(finished);
            shown.extend(answer.blocks);
            taken += answer.taken;
            finished += answer.finished;
        }
        shown.concat()
    }

    #[test]
    fn a_growing_text_ends_like_the_complete_one() {
        let text = "# Häding 🦀\n\nOne *two*\nthree.\n\n1. a\n\n2. b\n   - c\n\n> quote\nlazy\n\n```rust\nlet x = 1;\n\n// y\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nTitle\n=====\n\n    indented\n\n---\nend";
        assert_eq!(streamed(text), rendered(text, false).blocks.concat());
    }

    #[test]
    fn streamed_cases_of_the_screen_end_like_the_complete_ones() {
        let cases = include_str!("../../markdown/src/dialect/cases.tsv").lines();
        for case in cases.filter(|case| !case.starts_with('#')) {
            let source = case.split('\t').next().unwrap().replace("\\n", "\n");
            let complete = rendered(&source, false).blocks.concat();
            assert_eq!(streamed(&source), complete, "{source}");
        }
    }

    #[test]
    fn finished_blocks_are_rendered_once() {
        assert_eq!(
            rendered("ä one\n\ntwo\n\n- thr", true),
            RenderedText {
                blocks: vec![
                    "<p>ä one</p>".into(),
                    "<p>two</p><ul><li>thr</li></ul>".into()
                ],
                finished: 1,
                taken: 7,
            }
        );
        assert_eq!(rendered("", true), RenderedText::default());
        assert_eq!(rendered("a\n\n1. b\n\n2", true).finished, 1);
    }

    #[test]
    fn hostile_text_is_escaped_in_every_state_of_its_stream() {
        let text = "<script>alert(1)</script>\n\n[a](javascript:alert(1)) ![b](https://evil.example/x.png)\n\n\
            <img src=x onerror=alert(1)>\n\n```\"><svg onload=alert(1)>\n</code><script>x</script>\n```\n\n\
            <a href=\"data:text/html,x\">y</a>\n\n| <iframe> |\n|---|\n| \" onmouseover=x |\n";
        let mut highlighter = SyntaxHighlighter::default();
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            for open in [true, false] {
                let html = render_with(&mut highlighter, &text[..end], open)
                    .blocks
                    .concat();
                for bad in [
                    "<script",
                    "<img",
                    "<svg",
                    "<iframe",
                    "href=\"javascript",
                    "href=\"data",
                    "<a href=\"data",
                ] {
                    assert!(!html.contains(bad), "{end}: {html}");
                }
            }
        }
    }

    #[test]
    fn code_is_highlighted_until_it_is_long() {
        let short = "```rust\nlet x = 1;\n";
        assert!(rendered(short, true).blocks[0].contains("<b class=s-keyword>let</b>"));
        let long = format!("```rust\n{}", "let x = 1;\n".repeat(4000));
        assert!(!rendered(&long, true).blocks[0].contains("<b class"));
        assert!(rendered(&long, false).blocks[0].contains("<b class=s-keyword>let</b>"));
    }
}
