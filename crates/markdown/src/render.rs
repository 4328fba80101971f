//! Lays out one top-level block: the parser's events become rows.
//!
//! Every block that is open puts a prefix before the rows inside it: a bullet, then the indent
//! below it, or the bar of a quote. All prefixes are decoration.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd};

use super::code_line as code;
use super::context::{Carry, Context, List, Prefix, Previous, gap, rest_of};
use super::dialect::Dialect;
use super::inline::Inline;
use super::optional;
use super::parse::{is_inline, parse};
use super::table::{Cell, Table};
use osier_base::text;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::highlight::LineTokens;
use osier_term::row::{Row, Span};
use osier_term::wrap::Wrap;

/// Bullets by depth.
const BULLETS: &[&str] = &["• ", "◦ ", "▪ "];

/// Alerts: title and face.
const ALERTS: &[(BlockQuoteKind, &str, Token)] = &[
    (BlockQuoteKind::Note, "Note", Token::Accent),
    (BlockQuoteKind::Tip, "Tip", Token::Success),
    (BlockQuoteKind::Important, "Important", Token::Accent),
    (BlockQuoteKind::Warning, "Warning", Token::Warning),
    (BlockQuoteKind::Caution, "Caution", Token::Error),
];

/// A code block inside the block: in a list item or a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nested {
    pub(super) language: Box<str>,
    pub(super) text: String,
}

/// Whether an HTML block is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HtmlBlock {
    None,
    /// The block begins at this offset, and no part of it was drawn yet.
    Waits(usize),
    Shown,
}

/// How a block is laid out, and the result.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) width: usize,
    /// The number of the first item, if the block continues a list.
    pub(super) number: Option<u64>,
    /// Bytes of the source that open the containers of the block. They are not drawn.
    pub(super) opener: usize,
    /// The containers of the block.
    pub(super) context: Option<&'a Context>,
    /// Whether a blank line is above the block.
    pub(super) after_blank: bool,
    /// The block begins in the middle of a paragraph, with this row.
    pub(super) carry: Option<&'a Carry>,
    /// Whether tables are lines, not boxes.
    pub(super) linear: bool,
    /// Tokens of the code blocks inside, in order.
    pub(super) tokens: &'a [Vec<LineTokens>],
    pub(super) rows: Vec<Row>,
    pub(super) nested: Vec<Nested>,
}

/// Parses and lays out `source`. `resolve` finds the destination of a reference.
pub(super) fn render(
    source: &str,
    block: Block<'_>,
    resolve: &dyn Fn(&str) -> Option<String>,
) -> (Vec<Row>, Vec<Nested>) {
    let continues = block.carry.is_some_and(|carry| carry.continues);
    let mut renderer = Renderer::new(source, block);
    for (event, range) in parse(&Dialect::new(source), resolve) {
        renderer.event(event, range);
    }
    renderer.flush();
    let mut rows = renderer.block.rows;
    if let Some(first) = rows.first_mut().filter(|_| continues) {
        first.continues = true;
    }
    (rows, renderer.block.nested)
}

/// The text of an event without the control characters that references such as `&#27;` stand for.
/// The source itself has no control characters.
fn decoded<'t>(text: &'t CowStr<'_>) -> Cow<'t, str> {
    match text {
        CowStr::Borrowed(text) => Cow::Borrowed(text),
        CowStr::Boxed(_) | CowStr::Inlined(_) => text::sanitize(text),
    }
}

/// The table in `source`, which contains nothing else.
pub(super) fn table(
    source: &str,
    block: Block<'_>,
    resolve: &dyn Fn(&str) -> Option<String>,
) -> Option<Table> {
    let mut renderer = Renderer::new(source, block);
    for (event, range) in parse(&Dialect::new(source), resolve) {
        if matches!(event, Event::End(TagEnd::Table)) {
            break;
        }
        renderer.event(event, range);
    }
    renderer.table
}

/// Lays out the events of a block.
pub(super) struct Renderer<'s, 'b> {
    source: &'s str,
    block: Block<'b>,
    prefixes: Vec<Prefix>,
    lists: Vec<List>,
    inline: Inline,
    table: Option<Table>,
    /// Finished lines of the open cell.
    cell: Cell,
    /// Language and text of the open code block.
    code: Option<(Box<str>, String)>,
    /// Faces of the open heading.
    heading: Option<Face>,
    html: HtmlBlock,
    /// Whether the text of a paragraph is open.
    in_text: bool,
    /// The number of rows above the open text.
    above: usize,
}

impl<'s, 'b> Renderer<'s, 'b> {
    pub(super) fn new(source: &'s str, block: Block<'b>) -> Self {
        let context = block.context.cloned().unwrap_or_default();
        Self {
            source,
            prefixes: context.prefixes,
            lists: context.lists,
            inline: block.carry.map(Inline::continuing).unwrap_or_default(),
            table: None,
            cell: Vec::new(),
            code: None,
            heading: None,
            html: HtmlBlock::None,
            in_text: block.carry.is_some(),
            above: 0,
            block,
        }
    }

    /// The context at the end, unless a marker still waits for its row.
    pub(super) fn context(self) -> Option<Context> {
        let waits = self.prefixes.iter().any(|prefix| prefix.first.is_some());
        (!waits).then_some(Context {
            prefixes: self.prefixes,
            lists: self.lists,
        })
    }

    /// The context inside the current paragraph, whose first row can have a marker.
    pub(super) fn paragraph_context(&self) -> Option<Context> {
        let is_in_paragraph =
            self.in_text && self.heading.is_none() && self.table.is_none() && self.code.is_none();
        is_in_paragraph.then(|| {
            let mut prefixes = self.prefixes.clone();
            for prefix in &mut prefixes {
                prefix.first = None;
            }
            let lists = self.lists.clone();
            Context { prefixes, lists }
        })
    }

    /// Whether text waits for its rows.
    pub(super) fn has_text(&self) -> bool {
        !self.inline.is_empty()
    }

    /// The rows, and how many of them the last paragraph has.
    pub(super) fn finish(mut self) -> (Vec<Row>, usize) {
        self.flush();
        let count = self.block.rows.len() - self.above;
        (self.block.rows, count)
    }

    /// Handles an event of the opener, whose container is in the context already.
    fn opener_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(Tag::HtmlBlock) => self.html = HtmlBlock::Shown,
            Event::Start(Tag::CodeBlock(_)) => self.code = Some(Default::default()),
            Event::End(TagEnd::Heading(_)) => {}
            Event::End(tag) => self.end(*tag),
            _ => {}
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        if range.start < self.block.opener {
            return self.opener_event(&event);
        }
        if is_inline(&event) {
            self.begin_text(range.start);
        }
        let base = self.base();
        match event {
            Event::Start(tag) => self.start(tag, range.start),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.inline.text(&text::expand_tabs(&decoded(&text)), base),
            },
            Event::Code(text) => self.inline.code(&text::expand_tabs(&text), base),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.math(&text, range, base),
            Event::Html(html) => self.html_lines(&html),
            Event::InlineHtml(html) => self.inline.text(&html, base),
            Event::FootnoteReference(label) => self.inline.text(&format!("[^{label}]"), base),
            Event::SoftBreak => self.inline.text(" ", base),
            Event::HardBreak => self.line_break(),
            Event::Rule => self.rule(range.start),
            Event::TaskListMarker(done) => self.task(done),
        }
    }

    /// A formula as text, on lines of its own if it has several; its source if it is not supported.
    fn math(&mut self, latex: &str, range: Range<usize>, base: Face) {
        let Some(lines) = optional::math_lines(latex) else {
            let source = self.source.get(range).unwrap_or(latex);
            return self.inline.text(&text::expand_tabs(source), base);
        };
        let alone = lines.len() == 1 || self.table.is_some() || self.heading.is_some();
        if alone {
            return self.inline.text(&lines.join("; "), base);
        }
        for (place, line) in lines.iter().enumerate() {
            if place > 0 || !self.inline.is_empty() {
                self.line_break();
            }
            self.inline.text(line, base);
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph => self.begin_text(at),
            Tag::Heading { level, .. } => {
                self.begin(at, Previous::Other);
                self.in_text = true;
                self.heading = Some(heading(level));
            }
            Tag::BlockQuote(kind) => {
                self.begin(at, Previous::Other);
                self.quote(kind);
            }
            Tag::CodeBlock(kind) => {
                self.begin(at, Previous::Other);
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => code::language(info),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((text::single_line(language).into(), String::new()));
            }
            Tag::HtmlBlock => {
                self.flush();
                self.html = HtmlBlock::Waits(at);
            }
            Tag::List(number) => {
                self.begin(at, Previous::List);
                let number = number.map(|number| self.block.number.take().unwrap_or(number));
                self.lists.push(List { number, items: 0 });
            }
            Tag::Item => self.item(at),
            Tag::FootnoteDefinition(label) => {
                self.begin(at, Previous::Other);
                let mark = Span::new(format!("[^{label}]: "), Token::Link);
                self.push_prefix(mark);
            }
            Tag::Table(alignments) => {
                self.begin(at, Previous::Other);
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.inline.emphasise(Emphasis::ITALIC, true),
            Tag::Strong => self.inline.emphasise(Emphasis::BOLD, true),
            Tag::Strikethrough => self.inline.emphasise(Emphasis::STRIKE, true),
            Tag::Link { dest_url, .. } => self.inline.open_link(&text::single_line(&dest_url)),
            Tag::Image { dest_url, .. } => self.inline.open_image(&text::single_line(&dest_url)),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.heading = None;
            }
            TagEnd::HtmlBlock => self.html = HtmlBlock::None,
            TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.flush();
                self.show_lone_marker();
                if self.prefixes.len() > 1 {
                    self.prefixes.pop();
                }
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Table => self.finish_table(),
            TagEnd::TableCell => self.finish_cell(),
            TagEnd::Emphasis => self.inline.emphasise(Emphasis::ITALIC, false),
            TagEnd::Strong => self.inline.emphasise(Emphasis::BOLD, false),
            TagEnd::Strikethrough => self.inline.emphasise(Emphasis::STRIKE, false),
            TagEnd::Link => self.inline.close_link(self.block.width / 2),
            TagEnd::Image => self.inline.close_image(self.block.width / 2),
            _ => {}
        }
    }

    fn base(&self) -> Face {
        let base = self
            .prefixes
            .last()
            .map_or_else(Face::default, |prefix| prefix.base);
        self.heading.unwrap_or(base)
    }

    /// Begins a block: ends the text before it, and adds a blank row if the two blocks need one.
    fn begin(&mut self, at: usize, kind: Previous) {
        self.flush();
        let is_after_blank = self.is_after_blank(at);
        let Some(prefix) = self.prefixes.last_mut() else {
            return;
        };
        let tight = kind == Previous::List
            && matches!(prefix.previous, Some(Previous::Text | Previous::List));
        let gap = prefix.previous.is_some() && (!tight || is_after_blank);
        prefix.previous = Some(kind);
        if gap {
            self.gap();
        }
    }

    /// Begins text: a paragraph, or the text of an item of a tight list.
    fn begin_text(&mut self, at: usize) {
        if self.in_text || self.table.is_some() || self.code.is_some() {
            return;
        }
        self.begin(at, Previous::Text);
        self.in_text = true;
        self.above = self.block.rows.len();
    }

    fn is_after_blank(&self, at: usize) -> bool {
        let above = self.source.get(self.block.opener..at);
        let is_first = !above.is_some_and(|above| above.contains('\n'));
        if is_first {
            self.block.after_blank
        } else {
            blank_before(self.source, at)
        }
    }

    fn gap(&mut self) {
        self.block.rows.push(gap(rest_of(&self.prefixes)));
    }

    fn item(&mut self, at: usize) {
        self.flush();
        let depth = self.lists.len().saturating_sub(1);
        let is_after_blank = self.is_after_blank(at);
        let Some(list) = self.lists.last_mut() else {
            return;
        };
        list.items += 1;
        let marker = match &mut list.number {
            Some(number) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            None => BULLETS[depth % BULLETS.len()].to_owned(),
        };
        // The first item follows the gap of its list.
        if list.items > 1 && is_after_blank {
            self.gap();
        }
        self.push_prefix(Span::new(marker, Token::ListMarker));
    }

    fn push_prefix(&mut self, marker: Span) {
        let indent = " ".repeat(text::width(&marker.text));
        self.prefixes.push(Prefix {
            first: Some(marker),
            rest: Span::new(indent, Token::Text),
            base: self.base(),
            previous: None,
        });
    }

    fn task(&mut self, done: bool) {
        let (mark, token) = if done {
            ("☑ ", Token::Success)
        } else {
            ("☐ ", Token::ListMarker)
        };
        let Some(prefix) = self.prefixes.last_mut() else {
            return;
        };
        match &mut prefix.first {
            Some(first) if first.text.starts_with(|char: char| !char.is_ascii_digit()) => {
                *first = Span::new(mark, token);
            }
            _ => self.inline.text(mark, token.into()),
        }
    }

    fn quote(&mut self, kind: Option<BlockQuoteKind>) {
        let alert = ALERTS.iter().find(|(known, _, _)| Some(*known) == kind);
        let bar = alert.map_or(Token::Quote, |(_, _, token)| *token);
        let base = alert.map_or(Face::from(Token::Quote), |_| self.base());
        self.prefixes.push(Prefix {
            first: None,
            rest: Span::new("▌ ", bar),
            base,
            previous: None,
        });
        if let Some((_, title, token)) = alert {
            let face = Face::from(*token).emphasised(Emphasis::BOLD);
            self.emit(&[Span::new(*title, face)]);
        }
    }

    /// Ends a line inside a paragraph or a cell.
    fn line_break(&mut self) {
        if self.table.is_some() {
            self.cell.push(self.inline.take());
            return;
        }
        let line = self.inline.take();
        self.emit(&line);
    }

    /// Ends the text of a block, if there is any.
    pub(super) fn flush(&mut self) {
        self.in_text = false;
        if self.inline.is_empty() {
            return;
        }
        let line = self.inline.take();
        self.emit(&line);
        if let Some(prefix) = self.prefixes.last_mut() {
            prefix.previous = prefix.previous.or(Some(Previous::Text));
        }
    }

    /// Lays out a logical line after the prefixes.
    fn emit(&mut self, line: &[Span]) {
        let (first, rest) = self.next_prefix();
        Wrap::new(self.block.width)
            .hanging(&first, &rest)
            .line(line, &mut self.block.rows);
    }

    fn peek_prefix(&self) -> (Vec<Span>, Vec<Span>) {
        let shown = |prefix: &&Prefix| !prefix.rest.text.is_empty();
        let prefixes = || self.prefixes.iter().filter(shown);
        let first =
            prefixes().map(|prefix| prefix.first.clone().unwrap_or_else(|| prefix.rest.clone()));
        (
            first.collect(),
            prefixes().map(|prefix| prefix.rest.clone()).collect(),
        )
    }

    /// The prefixes of the next rows; bullets are used up.
    fn next_prefix(&mut self) -> (Vec<Span>, Vec<Span>) {
        let taken = self.peek_prefix();
        for prefix in &mut self.prefixes {
            prefix.first = None;
        }
        taken
    }

    /// Shows the marker of an item without content.
    fn show_lone_marker(&mut self) {
        if self
            .prefixes
            .last()
            .is_some_and(|prefix| prefix.first.is_some())
        {
            self.emit(&[]);
        }
    }

    fn rule(&mut self, at: usize) {
        self.begin(at, Previous::Other);
        let (mut spans, _) = self.next_prefix();
        let used: usize = spans.iter().map(|span| text::width(&span.text)).sum();
        let width = self.block.width.saturating_sub(used).max(1);
        spans.push(Span::new("─".repeat(width), Token::Rule));
        let mut row = Row::new(spans);
        row.decoration = row.width() as u16;
        self.block.rows.push(row);
    }

    fn html_lines(&mut self, html: &str) {
        match self.html {
            // Comments are omitted.
            _ if html.is_empty() => return,
            HtmlBlock::None => {
                let base = self.base();
                self.inline.text(html, base);
                return;
            }
            HtmlBlock::Waits(at) => {
                self.begin(at, Previous::Other);
                self.html = HtmlBlock::Shown;
            }
            HtmlBlock::Shown => {}
        }
        let face = self.base();
        for line in html.trim_end_matches('\n').split('\n') {
            let line = text::expand_tabs(line).into_owned();
            self.emit(&[Span::new(line, face)]);
        }
    }

    fn code_block(&mut self) {
        let Some((language, text)) = self.code.take() else {
            return;
        };
        let (mut first, mut rest) = self.next_prefix();
        first.push(code::gutter());
        rest.push(code::gutter());
        let width = self.block.width;
        if !language.is_empty() {
            let row = code::label(&language, &first, width);
            self.block.rows.push(row);
            first.clone_from(&rest);
        }
        let text = text::expand_tabs(&text).into_owned();
        let tokens = self.block.tokens.get(self.block.nested.len());
        // A block with a label is visible without a row.
        let body = text.strip_suffix('\n').unwrap_or(&text);
        let lines = (!text.is_empty() || language.is_empty()).then(|| body.split('\n'));
        for (index, line) in lines.into_iter().flatten().enumerate() {
            let head = if index == 0 { &first } else { &rest };
            let tokens = tokens.and_then(|tokens| tokens.get(index));
            let wrap = Wrap::new(width).hanging(head, &rest);
            code::rows(line, tokens, &wrap, &mut self.block.rows);
        }
        self.block.nested.push(Nested { language, text });
    }

    fn finish_cell(&mut self) {
        let mut cell = std::mem::take(&mut self.cell);
        cell.push(self.inline.take());
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
            row.push(cell);
        }
    }

    fn finish_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let prefix = rest_of(&self.prefixes);
        self.show_lone_marker();
        let boxed = !self.block.linear;
        table.rows(&prefix, self.block.width, boxed, &mut self.block.rows);
    }
}

fn heading(level: HeadingLevel) -> Face {
    let face = Face::from(Token::Heading).emphasised(Emphasis::BOLD);
    match level {
        HeadingLevel::H1 => face.emphasised(Emphasis::UNDERLINE),
        HeadingLevel::H2 => face,
        _ => face.emphasised(Emphasis::ITALIC),
    }
}

/// Whether the line above the one that `at` is on is blank, quote marks apart.
pub(super) fn blank_before(source: &str, at: usize) -> bool {
    let head = source.get(..at).unwrap_or_default();
    let Some(line) = head.rfind('\n').map(|newline| &head[..newline]) else {
        return false;
    };
    let above = &line[line.rfind('\n').map_or(0, |newline| newline + 1)..];
    above.trim_matches([' ', '\t', '>', '\r']).is_empty()
}
