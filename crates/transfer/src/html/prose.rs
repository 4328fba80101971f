//! Converts a model's Markdown to HTML. Embedded HTML becomes text, links lead only to web pages, and
//! external images become links because the page makes no network requests.

use std::fmt::Write as _;
use std::ops::Range;

use osier_markdown::Dialect;
use pulldown_cmark::{
    Alignment, BlockQuoteKind, CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd,
};

use super::code;
use super::escape::{address, clean, escape, escape_clean};
use super::math;
use super::theme::Highlighter;

/// Longer texts are shown as they are.
const LONGEST: usize = 2 << 20;
/// Bytes of LaTeX from which on a formula in a line may be wider than a phone.
const LONG_FORMULA: usize = 32;

/// `source` as blocks. `scope` separates footnotes of different messages.
pub fn render(highlighter: &mut dyn Highlighter, source: &str, scope: &str) -> String {
    let source = clean(source);
    if source.len() > LONGEST {
        return format!(
            "<pre class=plain tabindex=0>{}</pre>",
            escape_clean(&source)
        );
    }
    let dialect = Dialect::new(&source);
    let mut page = Page {
        highlighter,
        scope,
        source: &source,
        html: String::with_capacity(source.len() * 2),
        code: None,
        picture: None,
        links: Vec::new(),
        columns: Vec::new(),
        column: 0,
        in_head: false,
        markup: Markup::None,
    };
    for (event, range) in dialect.events(&|_| None) {
        page.event(event, range);
    }
    page.html
}

struct Page<'a> {
    highlighter: &'a mut dyn Highlighter,
    scope: &'a str,
    /// The text as the model wrote it.
    source: &'a str,
    html: String,
    /// Language and text of the current code block.
    code: Option<(String, String)>,
    /// Address and description of the current image.
    picture: Option<(String, String)>,
    /// Whether each open link has a target.
    links: Vec<bool>,
    columns: Vec<Alignment>,
    column: usize,
    in_head: bool,
    markup: Markup,
}

/// Whether a block of HTML, which is shown as text, is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markup {
    None,
    /// The markup begins, and nothing of the markup was written yet.
    Waits,
    Shown,
}

impl Page<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Html(text) => self.markup(&text),
            Event::InlineMath(latex) | Event::DisplayMath(latex) => self.math(&latex, range),
            Event::Code(text) => {
                if let Some((_, description)) = &mut self.picture {
                    description.push_str(&text);
                } else {
                    let _ = write!(self.html, "<code>{}</code>", escape_clean(&text));
                }
            }
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(done) => {
                let mark = if done {
                    "<i class=box>☑</i>"
                } else {
                    "<i class=box>☐</i>"
                };
                self.html.push_str(mark);
            }
            Event::FootnoteReference(name) => {
                let (scope, name) = (escape(self.scope), escape_clean(&name));
                let _ = write!(
                    self.html,
                    "<sup><a href=\"#f-{scope}-{name}\">[{name}]</a></sup>"
                );
            }
        }
    }

    /// A formula; as it was written if it is none or cannot be shown.
    fn math(&mut self, latex: &str, range: Range<usize>) {
        let written = &self.source[range];
        if self.picture.is_some() {
            return self.text(written);
        }
        let is_block = written.starts_with("$$") || written.starts_with("\\[");
        self.formula(latex, written, is_block);
    }

    /// A line of HTML as text. Comments are empty.
    fn markup(&mut self, html: &str) {
        if html.is_empty() {
            return;
        }
        if self.markup == Markup::Waits {
            self.html.push_str("<p class=markup>");
            self.markup = Markup::Shown;
        }
        self.text(html);
    }

    /// `written` is shown if the formula cannot be converted.
    fn formula(&mut self, latex: &str, written: &str, is_block: bool) {
        match math::mathml(latex, is_block) {
            Some(mathml) if is_block => {
                let _ = write!(self.html, "<span class=formula tabindex=0>{mathml}</span>");
            }
            // A long formula scrolls: browsers do not wrap formulas.
            Some(mathml) if latex.len() > LONG_FORMULA => {
                let _ = write!(
                    self.html,
                    "<span class=\"formula inline\" tabindex=0>{mathml}</span>"
                );
            }
            Some(mathml) => self.html.push_str(&mathml),
            None => self.text(written),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
        } else if let Some((_, description)) = &mut self.picture {
            description.push_str(text);
        } else {
            self.html.push_str(&escape_clean(text));
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::HtmlBlock => self.markup = Markup::Waits,
            Tag::CodeBlock(kind) => self.code = Some((language(&kind), String::new())),
            Tag::Image { dest_url, .. } => {
                self.picture = Some((dest_url.into_string(), String::new()));
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Heading { level, .. } => {
                let _ = write!(self.html, "<h{}>", rank(level));
            }
            Tag::BlockQuote(kind) => self.html.push_str(quote(kind)),
            Tag::List(Some(first)) => {
                let _ = write!(self.html, "<ol start={first}>");
            }
            Tag::FootnoteDefinition(name) => {
                let (scope, name) = (escape(self.scope), escape_clean(&name));
                let _ = write!(
                    self.html,
                    "<div class=footnote id=\"f-{scope}-{name}\"><sup>[{name}]</sup> "
                );
            }
            Tag::Table(columns) => {
                self.columns = columns;
                self.html.push_str("<div class=table tabindex=0><table>");
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.html.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.html.push_str("<tr>");
            }
            Tag::TableCell => self.cell(),
            tag => self.html.push_str(simple(tag.to_end()).0),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::HtmlBlock => {
                if std::mem::replace(&mut self.markup, Markup::None) == Markup::Shown {
                    self.html.push_str("</p>");
                }
            }
            TagEnd::CodeBlock => match self.code.take() {
                Some((language, latex)) if language == "math" => {
                    self.formula(&latex, &latex, true);
                }
                Some((language, code)) => {
                    let block = code::block(self.highlighter, &language, &code);
                    self.html.push_str(&block);
                }
                None => {}
            },
            TagEnd::Image => self.end_picture(),
            TagEnd::Link => {
                let leads = self.links.pop().unwrap_or(false);
                self.html.push_str(if leads { "</a>" } else { "</span>" });
            }
            TagEnd::Heading(level) => {
                let _ = write!(self.html, "</h{}>", rank(level));
            }
            TagEnd::BlockQuote(_) => self.html.push_str("</blockquote>"),
            TagEnd::List(true) => self.html.push_str("</ol>"),
            TagEnd::FootnoteDefinition => self.html.push_str("</div>"),
            TagEnd::Table => self.html.push_str("</tbody></table></div>"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.html.push_str("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.html.push_str("</tr>"),
            TagEnd::TableCell => {
                self.column += 1;
                let close = if self.in_head { "</th>" } else { "</td>" };
                self.html.push_str(close);
            }
            tag => self.html.push_str(simple(tag).1),
        }
    }

    fn link(&mut self, target: &str) {
        let address = address(target);
        if let Some(address) = &address {
            let _ = write!(
                self.html,
                "<a href=\"{address}\" rel=\"noopener noreferrer nofollow\" target=_blank>"
            );
        } else {
            // The address stays readable.
            let target = escape(target);
            let _ = write!(self.html, "<span class=nolink title=\"{target}\">");
        }
        self.links.push(address.is_some());
    }

    fn end_picture(&mut self) {
        let Some((target, description)) = self.picture.take() else {
            return;
        };
        let name = if description.trim().is_empty() {
            "picture"
        } else {
            &description
        };
        let name = escape_clean(name);
        let in_link = self.links.last().is_some_and(|leads| *leads);
        match address(&target).filter(|_| !in_link) {
            Some(address) => {
                let _ = write!(
                    self.html,
                    "<a class=picture href=\"{address}\" rel=\"noopener noreferrer nofollow\" \
                     target=_blank>🖼 {name}</a>"
                );
            }
            None => {
                let _ = write!(self.html, "<span class=picture>🖼 {name}</span>");
            }
        }
    }

    fn cell(&mut self) {
        let class = match self.columns.get(self.column) {
            Some(Alignment::Right) => " class=right",
            Some(Alignment::Center) => " class=centre",
            _ => "",
        };
        let name = if self.in_head { "th" } else { "td" };
        let _ = write!(self.html, "<{name}{class}>");
    }
}

/// The start and end of elements without attributes.
fn simple(tag: TagEnd) -> (&'static str, &'static str) {
    match tag {
        TagEnd::Paragraph => ("<p>", "</p>"),
        TagEnd::Item => ("<li>", "</li>"),
        TagEnd::List(false) => ("<ul>", "</ul>"),
        TagEnd::Emphasis => ("<em>", "</em>"),
        TagEnd::Strong => ("<strong>", "</strong>"),
        TagEnd::Strikethrough => ("<del>", "</del>"),
        TagEnd::Subscript => ("<sub>", "</sub>"),
        TagEnd::Superscript => ("<sup>", "</sup>"),
        _ => ("", ""),
    }
}

/// Heading level below the page's own headings.
fn rank(level: HeadingLevel) -> usize {
    (level as usize + 2).min(6)
}

fn quote(kind: Option<BlockQuoteKind>) -> &'static str {
    match kind {
        None => "<blockquote>",
        Some(BlockQuoteKind::Note) => "<blockquote class=note><p class=kind>Note</p>",
        Some(BlockQuoteKind::Tip) => "<blockquote class=tip><p class=kind>Tip</p>",
        Some(BlockQuoteKind::Important) => {
            "<blockquote class=important><p class=kind>Important</p>"
        }
        Some(BlockQuoteKind::Warning) => "<blockquote class=warning><p class=kind>Warning</p>",
        Some(BlockQuoteKind::Caution) => "<blockquote class=caution><p class=kind>Caution</p>",
    }
}

/// The first word after a fence.
fn language(kind: &CodeBlockKind<'_>) -> String {
    let info = match kind {
        CodeBlockKind::Fenced(info) => info,
        CodeBlockKind::Indented => &CowStr::Borrowed(""),
    };
    let word = info.split([' ', ',', '{']).next().unwrap_or_default();
    word.chars().take(30).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HtmlThemes as _, PlainThemes};

    fn html(source: &str) -> String {
        render(&mut *PlainThemes.highlighter(), source, "1")
    }

    #[test]
    fn markdown_becomes_elements() {
        assert_eq!(
            html(
                "# A\n\n- [x] *b* `c`\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```rust\nlet x = \"<\";\n```\n"
            ),
            "<h3>A</h3><ul><li><i class=box>☑</i><em>b</em> <code>c</code></li></ul>\
             <div class=table tabindex=0><table><thead><tr><th>a</th><th class=right>b</th></tr></thead><tbody>\
             <tr><td>1</td><td class=right>2</td></tr></tbody></table></div>\
             <div class=code><span class=lang>rust</span><pre tabindex=0><code>let x = &quot;&lt;&quot;;</code></pre></div>"
        );
    }

    #[test]
    fn formulas_are_shown_as_math_and_prices_as_text() {
        let x = "<math><semantics><msup><mi>x</mi><mn>2</mn></msup><annotation encoding=\"application/x-tex\">\
                 x^2</annotation></semantics></math>";
        let block = format!(
            "<span class=formula tabindex=0>{}</span>",
            x.replace("<math>", "<math display=\"block\">")
        );
        for (source, expected) in [
            ("so $x^2$ is", format!("<p>so {x} is</p>")),
            (r"so \(x^2\) is", format!("<p>so {x} is</p>")),
            ("$$x^2$$", format!("<p>{block}</p>")),
            (
                r"\(note\) \[Optional\] \(see below, please\) \[TODO - fix it\]",
                "<p>(note) [Optional] (see below, please) [TODO - fix it]</p>".to_owned(),
            ),
            (r"\[x^2\]", format!("<p>{block}</p>")),
            ("```math\nx^2\n```", block.replace("x^2<", "x^2\n<")),
            (
                r"`\(x\)` \\(x\\)",
                r"<p><code>\(x\)</code> \(x\)</p>".to_owned(),
            ),
            ("$\\href{x}{y}$", r"<p>$\href{x}{y}$</p>".to_owned()),
        ] {
            assert_eq!(html(source), expected, "{source}");
        }
        for text in [
            "it costs $5 and $10",
            "US$ 3 or US$ 4",
            "a $1-$2 range",
            "$HOME and $PATH",
            "$HOME/bin:$PATH",
            "$MY_HOME:$MY_PATH",
            "an unclosed $$x^2",
            "plans: 5$/month (billed yearly) and 10$/month",
            "$20-30M, i.e. (5$-10$)",
            "${HOST}-${PORT}",
        ] {
            assert_eq!(html(text), format!("<p>{text}</p>"));
        }
    }

    #[test]
    fn code_is_shown_as_it_was_written() {
        let html = html("~~~\n\\(x\\)\n~~~\n\n    \\[y\\]\n");
        assert!(html.contains(r"\(x\)") && html.contains(r"\[y\]"), "{html}");
    }

    #[test]
    fn parentheses_that_begin_no_formula_are_shown_as_they_were_written() {
        let target = html(r"[a](https://a.example/b_\(c\))");
        assert!(
            target.contains("href=\"https://a.example/b_(c)\""),
            "{target}"
        );
        for source in [
            r"<div>\(x\)</div>",
            "\\[\na\n- b\n\\]",
            "|a|b|\n|-|-|\n|\\(x|y\\)|",
        ] {
            let html = html(source);
            assert!(!html.contains("$$") && html.contains('\\'), "{html}");
        }
    }

    #[test]
    fn html_and_unsafe_links_are_inactive() {
        for source in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[a](javascript:alert(1))",
            "![a](https://example.org/x.png\"onerror=1)",
            "<a href=\"javascript:x\">y</a>",
            "```\"><script>\nx\n```",
            "[^\"><script>]\n\n[^\"><script>]: x",
            "[a](<javascript:x>) <javascript:alert(1)>",
        ] {
            let html = html(source);
            for bad in ["<script", "<img", "href=\"javascript", "<a href=\"java"] {
                assert!(!html.contains(bad), "{source}: {html}");
            }
        }
    }

    /// The cases of the screen: text without elements, and the targets of links.
    #[test]
    fn pages_show_the_text_and_the_links_that_the_screen_shows() {
        let cases = include_str!("../../../markdown/src/dialect/cases.tsv").lines();
        for case in cases.filter(|case| !case.starts_with('#')) {
            let [source, shown, links] = case.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{case}");
            };
            let source = source.replace("\\n", "\n");
            let page = html(&source);
            let found: Vec<String> = page
                .split("<a href=\"")
                .skip(1)
                .map(|rest| unescaped(rest.split('"').next().unwrap()))
                .collect();
            let expected: Vec<String> = links.split_whitespace().map(str::to_owned).collect();
            assert_eq!(found, expected, "{source}");
            // Formulas are elements, and lists and languages have their own marks.
            if !page.contains("<math") && !page.contains("class=lang") {
                let shown = if shown == "=" { &source } else { shown };
                let shown = shown
                    .replace("\\n", " ")
                    .replace(" (https://c.d/e_f_g)", "");
                assert_eq!(words(&text(&page)), words(&shown), "{source}");
            }
        }
    }

    fn text(page: &str) -> String {
        let parts = page.split('<').enumerate();
        let parts = parts.map(|(number, part)| match part.split_once('>') {
            Some((tag, text)) if number > 0 => {
                let is_block = ["p", "/p", "br"]
                    .iter()
                    .any(|name| tag.split(' ').next() == Some(name));
                [if is_block { " " } else { "" }, text].concat()
            }
            _ => part.to_owned(),
        });
        unescaped(&parts.collect::<String>())
    }

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn unescaped(text: &str) -> String {
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"");
        text.replace("&#39;", "'").replace("&amp;", "&")
    }
}
