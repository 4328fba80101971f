//! Markdown of models as HTML for the web chat. What is HTML in it is text, links lead to pages only,
//! pictures from elsewhere are links: the rules of exported pages, whose renderer this is.
//!
//! A text that grows is rendered from where its finished blocks end: those are asked for once, only the open
//! block comes again. Nothing is kept between two requests but the grammars, so a client that comes back has
//! nothing to restore.

use std::ops::Range;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use axum::Json;
use axum::extract::{Request, State};
use pulldown_cmark::{Event, Parser};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::Server;
use super::fault::{Code, Fault};
use super::gate::body;
use crate::painter::Painter;
use osier_transfer::{Highlighter, HtmlThemes as _, MARKDOWN, PlainThemes, prose};

/// Bytes of an open block whose code is still marked; a longer one is marked when it is complete.
const MARKED_WHILE_OPEN: usize = 24 * 1024;

/// Texts of one request.
const MOST_TEXTS: usize = 500;

/// What a client wants to see: `{"texts":[{"text":"…","open":true}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct MarkdownTexts {
    texts: Vec<MarkdownText>,
}

/// One text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MarkdownText {
    text: String,
    /// More of it will come.
    #[serde(default)]
    open: bool,
}

/// What a client is answered: as many as were asked for, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct MarkdownBlocks {
    html: Vec<Rendered>,
}

/// A text as HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Rendered {
    /// One behind the other.
    blocks: Vec<String>,
    /// How many of the first blocks will not change.
    finished: usize,
    /// Where they end, in UTF-16 units as JavaScript counts: the next request begins there.
    taken: usize,
}

/// Renders for every client of a server, on a thread of its own that starts with the first request and ends with
/// this: grammars are loaded once, and stay where they are.
#[derive(Debug, Default)]
pub(super) struct Renderer(OnceLock<mpsc::Sender<Order>>);

#[derive(Debug)]
struct Order {
    texts: Vec<MarkdownText>,
    reply: oneshot::Sender<Vec<Rendered>>,
}

pub(super) async fn render(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Json<MarkdownBlocks>, Fault> {
    let MarkdownTexts { texts } = body(request).await?;
    if texts.len() > MOST_TEXTS {
        let message = format!("more than {MOST_TEXTS} texts at once");
        return Err(Fault::new(Code::TooLarge, message));
    }
    let html = server.renderer.render(texts).await;
    let ending = || Fault::new(Code::ShuttingDown, "nothing is rendered any more");
    Ok(Json(MarkdownBlocks {
        html: html.ok_or_else(ending)?,
    }))
}

impl Renderer {
    /// `None` when there can be no thread.
    async fn render(&self, texts: Vec<MarkdownText>) -> Option<Vec<Rendered>> {
        let (reply, rendered) = oneshot::channel();
        let orders = self.0.get_or_init(start);
        orders.send(Order { texts, reply }).ok()?;
        rendered.await.ok()
    }
}

/// The way to a new thread. Without one nothing is rendered, and whoever asks is told.
fn start() -> mpsc::Sender<Order> {
    let (sender, orders) = mpsc::channel::<Order>();
    let work = move || {
        let mut painter = Painter::default();
        for Order { texts, reply } in orders {
            // Nobody waits any more for a client that has left.
            if !reply.is_closed() {
                let rendered = texts.iter().map(|text| text.render(&mut painter));
                let _ = reply.send(rendered.collect());
            }
        }
    };
    let _ = thread::Builder::new().name("markdown".into()).spawn(work);
    sender
}

impl MarkdownText {
    fn render(&self, painter: &mut dyn Highlighter) -> Rendered {
        if self.open {
            return self.render_open(painter);
        }
        Rendered {
            blocks: vec![prose(painter, &self.text, "")],
            finished: 1,
            taken: self.text.encode_utf16().count(),
        }
    }

    fn render_open(&self, painter: &mut dyn Highlighter) -> Rendered {
        let text = self.text.as_str();
        let finished = finished(text);
        let rest = finished.last().map_or(0, |block| block.end);
        let mut blocks: Vec<String> = finished
            .iter()
            .map(|block| prose(painter, &text[block.clone()], ""))
            .collect();
        let open = &text[rest..];
        if !open.trim().is_empty() {
            blocks.push(if open.len() > MARKED_WHILE_OPEN {
                prose(&mut *PlainThemes.highlighter(), open, "")
            } else {
                prose(painter, open, "")
            });
        }
        Rendered {
            blocks,
            finished: finished.len(),
            taken: text[..rest].encode_utf16().count(),
        }
    }
}

/// The blocks of a growing text that no later text can change: all before the last one that has a whole line.
/// They lie side by side from the start.
fn finished(text: &str) -> Vec<Range<usize>> {
    // Half a line may turn out to be an item of the list above it.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut depth = 0;
    let mut starts = Vec::new();
    for (event, range) in Parser::new_ext(whole, MARKDOWN).into_offset_iter() {
        if depth == 0 {
            let line = whole[..range.start].rfind('\n').map_or(0, |end| end + 1);
            starts.push(line);
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    let mut from = 0;
    let ends = starts.into_iter().skip(1);
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

    fn rendered(text: &str, open: bool) -> Rendered {
        painted(&mut Painter::default(), text, open)
    }

    fn painted(painter: &mut Painter, text: &str, open: bool) -> Rendered {
        let text = text.to_owned();
        MarkdownText { text, open }.render(painter)
    }

    /// What a client has in the end that asks again whenever `text` has grown by a character.
    fn streamed(text: &str) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let (mut taken, mut shown) = (0, Vec::<String>::new());
        let mut kept = 0;
        let mut painter = Painter::default();
        for (at, char) in text.char_indices() {
            let end = text[..at + char.len_utf8()].encode_utf16().count();
            let part = String::from_utf16(&units[taken..end]).unwrap();
            let answer = painted(&mut painter, &part, true);
            shown.truncate(kept);
            shown.extend(answer.blocks);
            taken += answer.taken;
            kept += answer.finished;
        }
        shown.concat()
    }

    #[test]
    fn a_growing_text_ends_as_the_whole_one_does() {
        let text = "# Häding 🦀\n\nOne *two*\nthree.\n\n1. a\n\n2. b\n   - c\n\n> quote\nlazy\n\n```rust\nlet x = 1;\n\n// y\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nTitle\n=====\n\n    indented\n\n---\nend";
        assert_eq!(streamed(text), rendered(text, false).blocks.concat());
    }

    #[test]
    fn finished_blocks_come_once() {
        assert_eq!(
            rendered("ä one\n\ntwo\n\n- thr", true),
            Rendered {
                blocks: vec![
                    "<p>ä one</p>".into(),
                    "<p>two</p><ul><li>thr</li></ul>".into()
                ],
                finished: 1,
                taken: 7,
            }
        );
        assert_eq!(rendered("", true), Rendered::default());
        assert_eq!(rendered("a\n\n1. b\n\n2", true).finished, 1);
    }

    #[test]
    fn hostile_text_is_text_in_every_state_of_its_stream() {
        let text = "<script>alert(1)</script>\n\n[a](javascript:alert(1)) ![b](https://evil.example/x.png)\n\n\
            <img src=x onerror=alert(1)>\n\n```\"><svg onload=alert(1)>\n</code><script>x</script>\n```\n\n\
            <a href=\"data:text/html,x\">y</a>\n\n| <iframe> |\n|---|\n| \" onmouseover=x |\n";
        let mut painter = Painter::default();
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            for open in [true, false] {
                let html = painted(&mut painter, &text[..end], open).blocks.concat();
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
    fn code_is_marked_until_it_is_long() {
        let short = "```rust\nlet x = 1;\n";
        assert!(rendered(short, true).blocks[0].contains("<b class=s-keyword>let</b>"));
        let long = format!("```rust\n{}", "let x = 1;\n".repeat(4000));
        assert!(!rendered(&long, true).blocks[0].contains("<b class"));
        assert!(rendered(&long, false).blocks[0].contains("<b class=s-keyword>let</b>"));
    }
}
