//! Plain text and images of a Markdown text: for one-line summaries and image previews.

use pulldown_cmark::{Event, Tag, TagEnd};

use super::dialect::Dialect;
use osier_base::text::{self, head_bytes};

/// Maximum bytes of a text that are searched for its first line.
const HEAD: usize = 4 * 1024;

/// The first block with text, on one line and without markup and control characters: the first line of a code block, the header of a table.
///
/// ```
/// use osier_markdown::plain::first_line;
///
/// assert_eq!(first_line("The **bold** and `code`.\n\nMore."), "The bold and code.");
/// ```
pub fn first_line(source: &str) -> String {
    let head = head_bytes(source, HEAD);
    let mut line = String::new();
    for (event, _) in Dialect::new(head).events(&|_| None) {
        match event {
            Event::Text(text)
            | Event::Code(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::Html(text)
            | Event::InlineHtml(text) => line.push_str(&text),
            Event::SoftBreak | Event::HardBreak => line.push(' '),
            Event::TaskListMarker(is_done) => line.push_str(if is_done { "☑ " } else { "☐ " }),
            Event::End(TagEnd::TableCell) => line.push_str(" · "),
            // A nested item ends before its outer item.
            Event::End(end) if ends_block(end) || (is_nested(end) && !line.is_empty()) => {
                if !line.trim().is_empty() {
                    break;
                }
                line.clear();
            }
            Event::Start(Tag::List(_) | Tag::BlockQuote(_)) if !line.trim().is_empty() => break,
            _ => {}
        }
    }
    let line = line.trim().trim_end_matches('·').trim_end();
    let first = line.lines().find(|line| !line.trim().is_empty());
    text::sanitize(first.unwrap_or_default().trim()).into_owned()
}

fn ends_block(end: TagEnd) -> bool {
    matches!(
        end,
        TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::TableHead
            | TagEnd::HtmlBlock
    )
}

fn is_nested(end: TagEnd) -> bool {
    matches!(end, TagEnd::Item | TagEnd::DefinitionListDefinition)
}

/// An image of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The description of the image.
    pub alt: String,
    /// A path, a URL, or a data URL, as in the source.
    pub destination: String,
}

/// The first `most` images of a text.
///
/// ```
/// let images = osier_markdown::plain::images("![a cat](cat.png)", 8);
/// assert_eq!((&*images[0].alt, &*images[0].destination), ("a cat", "cat.png"));
/// ```
pub fn images(source: &str, most: usize) -> Vec<Image> {
    let mut images = Vec::new();
    if !source.contains("![") {
        return images;
    }
    let mut open: Option<Image> = None;
    for (event, _) in Dialect::new(source).events(&|_| None) {
        match (event, &mut open) {
            (Event::Start(Tag::Image { dest_url, .. }), None) => {
                open = Some(Image {
                    alt: String::new(),
                    destination: dest_url.into_string(),
                });
            }
            (Event::Text(text) | Event::Code(text), Some(image)) => {
                image.alt.push_str(&text::sanitize(&text));
            }
            (Event::End(TagEnd::Image), _) => images.extend(open.take()),
            _ => {}
        }
        if images.len() == most {
            break;
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_is_the_first_block_without_markup() {
        for (source, expected) in [
            ("The **bold** and `code`.\n\nMore.", "The bold and code."),
            ("# A *heading*\ntext", "A heading"),
            ("\n\n- [x] one\n- two", "☑ one"),
            ("- one\n  - inner", "one"),
            ("1. one\n2. two", "one"),
            ("> quoted\n> on", "quoted on"),
            ("```sh\n\nls -l\nrm\n```", "ls -l"),
            ("| a | b |\n|---|---|\n| 1 | 2 |", "a · b"),
            (
                "see [the page](https://e.org/x) and ![a cat](cat.png)",
                "see the page and a cat",
            ),
            ("one\ntwo", "one two"),
            ("a $x^2$ b", "a x^2 b"),
            ("---\n\ntext", "text"),
            ("a * b * c", "a * b * c"),
            ("a&#x202e;b\x1b[31mc", "abc"),
            ("", ""),
        ] {
            assert_eq!(first_line(source), expected, "{source:?}");
        }
    }

    #[test]
    fn images_have_their_description_and_destination() {
        let source =
            "![one `a`](a.png) and\n\n- ![](<b c.png>)\n\n`![no](c.png)`\n\n![d][d]\n\n[d]: d.png";
        let image = |alt: &str, destination: &str| Image {
            alt: alt.into(),
            destination: destination.into(),
        };
        let expected = [
            image("one a", "a.png"),
            image("", "b c.png"),
            image("d", "d.png"),
        ];
        assert_eq!(images(source, 9), expected);
        assert_eq!(images(source, 1), expected[..1]);
        assert_eq!(images("a ! [b](c.png)", 9), []);
    }
}
