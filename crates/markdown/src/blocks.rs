//! Block starts in a text, as the Markdown parser sees them.
//!
//! A complete line never changes which blocks begin above it. So everything before a block start is
//! final, and the text can be parsed again from there. Inside of quotes, list items and footnotes
//! this needs an *opener*: lines that open the same containers, each with an empty heading, as in
//! `> #` or ` - #`.

use std::ops::Range;

use pulldown_cmark::{
    CodeBlockKind, DefaultBrokenLinkCallback, Event, OffsetIter, Parser, Tag, TagEnd,
};

use super::code_line::language;
use super::dialect::rules::options;

/// An event of the block parser.
#[derive(Debug)]
pub(super) enum Found {
    /// A line begins a block.
    Start(Start),
    /// A line of the open code block: its range, and the columns of a tab before it.
    CodeLine(Range<usize>, u8),
    /// A table row, whose line starts here.
    TableRow(usize),
    /// The code block or table is complete; the text continues here.
    Closed(usize),
}

/// The outermost block that begins on a line.
#[derive(Debug)]
pub(super) struct Start {
    /// The offset of the line.
    pub(super) line: usize,
    /// The line begins a block of the document or an item of a top-level list.
    pub(super) is_top_level: bool,
    pub(super) block: BlockStart,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockStart {
    /// A paragraph, or another block that is laid out from its text.
    Text,
    Heading,
    /// The number of the first item of a list; `None` for bullets.
    FirstItem(Option<u64>),
    NextItem,
    Code {
        language: Box<str>,
        fence: u8,
    },
    Table,
}

/// The kind of a leaf block, which contains text and no other blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    None,
    Paragraph,
    Heading,
    Code,
    Table,
    Html,
    IndentedCode,
}

/// An open container.
#[derive(Debug, Clone)]
struct Container {
    kind: ContainerKind,
    start: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ContainerKind {
    Quote,
    Footnote,
    Item,
    List {
        number: Option<u64>,
        /// The offset of the list's last item.
        item: Option<usize>,
    },
}

/// Finds block starts, and the lines of code blocks and tables.
pub(super) struct Scan<'a> {
    text: &'a str,
    events: OffsetIter<'a, DefaultBrokenLinkCallback>,
    /// Bytes of the opener, whose blocks are not reported.
    opener: usize,
    containers: Vec<Container>,
    /// A container that opens after the last reported block.
    opening: Option<Container>,
    /// The last leaf block, and whether it is open.
    leaf: Leaf,
    is_in_leaf: bool,
    /// The offsets of the first and the last line of the leaf that were seen.
    leaf_lines: (usize, usize),
    /// Whether no container begins on the first line of the leaf.
    is_direct: bool,
    /// The line that was reported last.
    reported: Option<usize>,
    /// Whether the lines of the open code block or table are reported.
    is_tracked: bool,
    /// The end of the last reported line.
    tracked_end: usize,
    /// Code that was not reported yet, and the columns of a tab before it.
    code: Range<usize>,
    indent: u8,
}

impl<'a> Scan<'a> {
    /// Scans `text`. Its first `opener` bytes open the containers around it.
    pub(super) fn new(text: &'a str, opener: usize) -> Self {
        Self {
            text,
            events: Parser::new_ext(text, options()).into_offset_iter(),
            opener,
            containers: Vec::new(),
            opening: None,
            leaf: Leaf::None,
            is_in_leaf: false,
            leaf_lines: (0, 0),
            is_direct: false,
            reported: None,
            is_tracked: false,
            tracked_end: opener,
            code: 0..0,
            indent: 0,
        }
    }

    /// The last leaf block.
    pub(super) fn leaf(&self) -> Leaf {
        self.leaf
    }

    fn open_leaf(&self) -> Option<Leaf> {
        self.is_in_leaf.then_some(self.leaf)
    }

    /// The offset of the last line of the leaf that was seen.
    pub(super) fn last_leaf_line(&self) -> usize {
        self.leaf_lines.1
    }

    /// Lines that open the containers and the leaf at the end of the text.
    pub(super) fn leaf_opener(&self) -> Option<String> {
        let first = self.leaf_lines.0;
        if first < self.opener {
            return Some(self.text[..self.opener].to_owned());
        }
        let line = &self.text[first..line_end(self.text, first)];
        self.is_direct.then(|| self.opener(false) + line)
    }

    /// The number of containers around the last reported place; the item before a list's next item
    /// counts.
    pub(super) fn depth(&self) -> usize {
        let nested = self.containers.iter().filter(|open| !open.is_list());
        nested.count() + usize::from(self.is_between_items())
    }

    /// Whether the next item of a list begins at the last reported place.
    pub(super) fn is_between_items(&self) -> bool {
        let last = self.containers.last();
        last.and_then(Container::last_item).is_some()
    }

    /// The link definitions of the text, in order: offset, label and destination.
    pub(super) fn definitions(&self) -> Vec<(usize, String, String)> {
        let definitions = self.events.reference_definitions().iter();
        let mut definitions: Vec<(usize, String, String)> = definitions
            .map(|(label, found)| (found.span.start, label.to_owned(), found.dest.to_string()))
            .collect();
        definitions.sort();
        definitions
    }

    /// Lines that open the containers around the place that was reported last. With `in_text`, the
    /// last line has no heading, because text continues after it.
    pub(super) fn opener(&self, in_text: bool) -> String {
        let mut opener = String::new();
        let last_item = self.containers.last().and_then(Container::last_item);
        let nested = self.containers.iter().filter(|open| !open.is_list());
        let mut containers = nested.chain(&last_item).peekable();
        while let Some(container) = containers.next() {
            let line = line_start(self.text, container.start);
            let next = containers.peek();
            if next.is_some_and(|next| line_start(self.text, next.start) == line) {
                continue;
            }
            let end = container.content_start(self.text, line);
            let prefix = &self.text[line..end];
            opener.push_str(prefix);
            if !prefix.ends_with([' ', '\t']) {
                opener.push(' ');
            }
            if !in_text || containers.peek().is_some() {
                opener.push_str("#\n");
            }
        }
        opener
    }

    /// Whether `line` begins the block in the same containers after `opener`. It does not if it is
    /// a lazy line or continues a link definition.
    pub(super) fn is_at(&self, opener: &str, line: &str, block: &BlockStart) -> bool {
        let text = [opener, line].concat();
        let mut scan = Scan::new(&text, opener.len());
        let Some(Found::Start(start)) = scan.next() else {
            return false;
        };
        // The header line alone is no table.
        let is_table = *block == BlockStart::Table;
        let is_same = start.block == *block && scan.open_leaf() == self.open_leaf();
        (is_same || is_table) && scan.depth() == self.depth()
    }

    fn start(&mut self, at: usize, block: BlockStart) -> Option<Found> {
        let line = line_start(self.text, at);
        if line < self.opener || self.reported == Some(line) {
            return None;
        }
        self.reported = Some(line);
        let is_top_level = match block {
            BlockStart::FirstItem(_) | BlockStart::NextItem => self.containers.len() == 1,
            _ => self.containers.is_empty(),
        };
        Some(Found::Start(Start {
            line,
            is_top_level,
            block,
        }))
    }

    fn begin_leaf(&mut self, leaf: Leaf, at: usize, block: BlockStart) -> Option<Found> {
        self.leaf = leaf;
        self.is_in_leaf = true;
        let line = line_start(self.text, at);
        self.leaf_lines = (line, line);
        let is_tracked = matches!(leaf, Leaf::Code | Leaf::Table);
        let in_opener = line < self.opener;
        let found = self.start(at, block);
        self.is_direct = found.is_some();
        self.is_tracked = is_tracked && (in_opener || self.is_direct);
        if self.is_tracked && !in_opener {
            let head = line_end(self.text, at);
            self.tracked_end = match leaf {
                Leaf::Table => line_end(self.text, head),
                _ => head,
            };
        }
        found
    }

    fn begin(&mut self, tag: &Tag<'_>, at: usize) -> Option<Found> {
        let (leaf, block) = match tag {
            Tag::Paragraph => (Leaf::Paragraph, BlockStart::Text),
            Tag::Heading { .. } => (Leaf::Heading, BlockStart::Heading),
            Tag::HtmlBlock => (Leaf::Html, BlockStart::Text),
            Tag::Table(_) => (Leaf::Table, BlockStart::Table),
            Tag::CodeBlock(CodeBlockKind::Indented) => (Leaf::IndentedCode, BlockStart::Text),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let block = BlockStart::Code {
                    language: language(info).into(),
                    fence: self.text.as_bytes()[at],
                };
                (Leaf::Code, block)
            }
            Tag::BlockQuote(_) => return self.open(ContainerKind::Quote, at),
            Tag::FootnoteDefinition(_) => return self.open(ContainerKind::Footnote, at),
            Tag::Item => return self.item(at),
            Tag::List(number) => {
                let (number, item) = (*number, None);
                self.opening = Some(Container {
                    kind: ContainerKind::List { number, item },
                    start: at,
                });
                return None;
            }
            Tag::TableRow if self.is_tracked && at >= self.opener => {
                let line = line_start(self.text, at);
                self.tracked_end = line_end(self.text, at);
                return Some(Found::TableRow(line));
            }
            Tag::TableHead | Tag::TableRow | Tag::TableCell => return None,
            _ => return self.text_begins(at),
        };
        self.begin_leaf(leaf, at, block)
    }

    fn open(&mut self, kind: ContainerKind, start: usize) -> Option<Found> {
        let found = self.start(start, BlockStart::Text);
        self.opening = Some(Container { kind, start });
        found
    }

    fn item(&mut self, at: usize) -> Option<Found> {
        let list = self.containers.last().map(|list| &list.kind);
        let block = match list {
            Some(ContainerKind::List { number, item: None }) => BlockStart::FirstItem(*number),
            _ => BlockStart::NextItem,
        };
        let found = self.start(at, block);
        self.opening = Some(Container {
            kind: ContainerKind::Item,
            start: at,
        });
        found
    }

    /// Handles the start of text without a paragraph: the text of an item of a tight list.
    fn text_begins(&mut self, at: usize) -> Option<Found> {
        if self.is_in_leaf {
            return None;
        }
        self.begin_leaf(Leaf::Paragraph, at, BlockStart::Text)
    }

    fn text(&mut self, range: Range<usize>, text: &str) -> Option<Found> {
        match self.leaf {
            _ if !self.is_in_leaf => return self.text_begins(range.start),
            Leaf::Code if self.is_tracked && range.is_empty() => self.indent = text.len() as u8,
            // The opener can contain the first line of a block.
            Leaf::Code if self.is_tracked => self.code = range.start.max(self.opener)..range.end,
            Leaf::IndentedCode => self.leaf_lines.1 = line_start(self.text, range.start),
            _ => {}
        }
        None
    }

    fn code_line(&mut self) -> Found {
        let end = line_end(self.text, self.code.start).min(self.code.end);
        let line = self.code.start..end;
        self.code.start = end;
        self.tracked_end = end;
        Found::CodeLine(line, std::mem::take(&mut self.indent))
    }

    fn end(&mut self, tag: TagEnd, end: usize) -> Option<Found> {
        match tag {
            // A container that ends only because the text ends stays open.
            TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::List(_) | TagEnd::FootnoteDefinition
                if end < self.text.len() =>
            {
                self.is_in_leaf = false;
                self.containers.pop();
            }
            TagEnd::CodeBlock | TagEnd::Table => {
                let is_fence = self.leaf == Leaf::Code && end > self.tracked_end;
                self.is_in_leaf = false;
                if !std::mem::take(&mut self.is_tracked) {
                    return None;
                }
                let next = if is_fence {
                    line_end(self.text, end - 1)
                } else {
                    self.tracked_end
                };
                return (is_fence || next < self.text.len()).then_some(Found::Closed(next));
            }
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::HtmlBlock => {
                self.is_in_leaf = false;
            }
            _ => {}
        }
        None
    }
}

impl Iterator for Scan<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if !self.code.is_empty() {
                return Some(self.code_line());
            }
            if let Some(container) = self.opening.take() {
                self.leaf = Leaf::None;
                self.is_in_leaf = false;
                let start = container.start;
                if let Some(Container {
                    kind: ContainerKind::List { item, .. },
                    ..
                }) = self.containers.last_mut()
                {
                    *item = Some(start);
                }
                self.containers.push(container);
            }
            let (event, range) = self.events.next()?;
            let found = match event {
                Event::Start(tag) => self.begin(&tag, range.start),
                Event::End(tag) => self.end(tag, range.end),
                Event::Rule => {
                    self.leaf = Leaf::None;
                    self.is_in_leaf = false;
                    self.start(range.start, BlockStart::Text)
                }
                Event::Html(_) => {
                    self.leaf_lines.1 = line_start(self.text, range.start);
                    None
                }
                Event::Text(text) => self.text(range, &text),
                _ => self.text_begins(range.start),
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl Container {
    fn is_list(&self) -> bool {
        matches!(self.kind, ContainerKind::List { .. })
    }

    /// The last item of a list.
    fn last_item(&self) -> Option<Self> {
        let ContainerKind::List { item, .. } = self.kind else {
            return None;
        };
        let kind = ContainerKind::Item;
        item.map(|start| Self { kind, start })
    }

    /// The offset of the text after the item's marker; `line` is the start of the marker's line.
    fn content_start(&self, text: &str, line: usize) -> usize {
        let behind = |marker: &str| {
            let found = text.get(self.start..).and_then(|text| text.find(marker));
            found.map_or(text.len(), |at| self.start + at + marker.len())
        };
        match self.kind {
            ContainerKind::Quote => behind(">"),
            ContainerKind::Footnote => behind("]:"),
            ContainerKind::Item | ContainerKind::List { .. } => {
                let bytes = text.as_bytes();
                let is_marker = |byte: &u8| matches!(byte, b'-' | b'+' | b'*' | b'.' | b')');
                let marker = bytes[self.start..].iter().position(is_marker);
                let end = marker.map_or(text.len(), |at| self.start + at + 1);
                end + padding(bytes, line, end)
            }
        }
    }
}

/// Bytes of white space after the marker of a list item, which ends at `end`, that belong to the marker.
fn padding(text: &[u8], line: usize, end: usize) -> usize {
    let column = |column: usize, byte: &u8| match byte {
        b'\t' => column + 4 - column % 4,
        _ => column + 1,
    };
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let behind = &text[end..];
    let length = behind.iter().take_while(|byte| is_space(byte)).count();
    let marker = text[line..end].iter().fold(0, column);
    let content = behind[..length].iter().fold(marker, column);
    let is_empty = behind.get(length).is_none_or(|byte| *byte == b'\n');
    let is_indented_code = content - marker > 4;
    if is_empty || is_indented_code {
        0
    } else {
        length
    }
}

/// The start of the line that contains a byte.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let head = &text.as_bytes()[..at.min(text.len())];
    let newline = head.iter().rposition(|byte| *byte == b'\n');
    newline.map_or(0, |newline| newline + 1)
}

/// The end of the line that contains a byte, after its newline.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let behind = &text.as_bytes()[at.min(text.len())..];
    let newline = behind.iter().position(|byte| *byte == b'\n');
    newline.map_or(text.len(), |newline| at + newline + 1)
}
