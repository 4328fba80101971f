//! Finds where top-level blocks start, line by line, so that a finished block is never parsed again.
//!
//! It follows the block structure of CommonMark: containers that a line continues, then what the line
//! opens. Only complete lines are fed to it, so its answer never changes. Items of a top-level list are
//! blocks of their own: a list of thousands of items stays cheap. What is inside a block is the
//! parser's business; a block that holds more than one by the parser's view is no harm.

use super::containers::Container;
use super::literal::Literal;
use super::scan::{
    Fence, HtmlEnd, Line, Marker, columns, footnote, html, is_delimiter_row, is_heading, is_rule,
    is_underline,
};

/// What a top-level block is, as far as laying out goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Heading,
    /// An item of a top-level list; `number` counts on through an ordered one.
    Item {
        number: Option<u64>,
        first: bool,
    },
    Code(Fence),
}

/// What a line is to the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It begins a new top-level block.
    Starts(Kind),
    /// It belongs to the open block.
    Continues,
    /// It is a line of code of the open fence.
    Code,
    /// It is below a line that it makes the header of a table.
    Table,
    /// It is a row of the open table.
    Row,
    /// It is blank and in no block that cares.
    Blank,
}

/// Where a line inside containers begins a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    /// The containers that go on.
    pub(super) depth: usize,
    /// It begins the next item of the list that is open there.
    pub(super) sibling: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Leaf {
    #[default]
    None,
    Paragraph {
        /// Columns of the last line, when it could be the header of a table.
        header: usize,
    },
    /// The title of an alert: text goes on below it, but it is no heading's.
    Title,
    Table,
    Fence(Fence),
    Html(HtmlEnd),
    Indented,
}

/// The state between two lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Splitter {
    containers: Vec<Container>,
    leaf: Leaf,
    /// Number of the last item of the open top-level list.
    number: Option<u64>,
    /// What the last line began inside containers.
    boundary: Option<Boundary>,
    /// The last line went on in all containers that are open now, and opened none.
    direct: bool,
}

impl Splitter {
    /// Takes the next complete line, without its newline.
    pub(super) fn line(&mut self, text: &str) -> Step {
        self.boundary = None;
        let mut line = Line::new(text);
        let matched = self.match_containers(&mut line);
        let step = self.step(line, matched);
        self.direct = self.containers.len() == matched;
        step
    }

    fn step(&mut self, line: Line<'_>, matched: usize) -> Step {
        let whole = matched == self.containers.len();
        if whole && self.continue_leaf(&line) {
            let code = matches!(self.leaf, Leaf::Fence(_));
            return if code { Step::Code } else { Step::Continues };
        }
        if line.is_blank() {
            return self.blank(matched);
        }
        let paragraph = matches!(self.leaf, Leaf::Paragraph { .. } | Leaf::Title);
        let depth = self.containers.len();
        let restricted = whole && paragraph;
        let open = self.containers.get(matched).copied();
        match self.open(line, matched, restricted) {
            Some(kind) if matched == 0 => Step::Starts(kind),
            Some(_) => {
                let begun = self.containers.get(matched);
                self.boundary = Some(Boundary {
                    depth: matched,
                    sibling: is_sibling(open.as_ref(), begun),
                });
                Step::Continues
            }
            None if paragraph && (whole || depth > 0) => {
                self.more_text(&line, whole);
                if self.leaf == Leaf::Table {
                    Step::Table
                } else {
                    Step::Continues
                }
            }
            None if whole && self.leaf == Leaf::Table => Step::Row,
            None => {
                self.containers.truncate(matched);
                self.leaf = text_leaf(&line);
                if matched == 0 {
                    return Step::Starts(Kind::Text);
                }
                self.boundary = Some(Boundary {
                    depth: matched,
                    sibling: false,
                });
                Step::Continues
            }
        }
    }

    /// Where the last line began a block inside containers.
    pub(super) fn boundary(&self) -> Option<Boundary> {
        self.boundary
    }

    pub(super) fn is_direct(&self) -> bool {
        self.direct
    }

    pub(super) fn containers(&self) -> &[Container] {
        &self.containers
    }

    pub(super) fn is_in_table(&self) -> bool {
        self.leaf == Leaf::Table
    }

    /// Whether the last line may be a table's header that waits for the line below it.
    pub(super) fn may_become_table(&self) -> bool {
        matches!(self.leaf, Leaf::Paragraph { header: 1.. })
    }

    /// What the lines of the open block are at the top level, where they are shown as they are.
    pub(super) fn literal(&self) -> Option<Literal> {
        match self.leaf {
            _ if !self.containers.is_empty() => None,
            Leaf::Html(_) => Some(Literal::Markup),
            Leaf::Indented => Some(Literal::Indented),
            _ => None,
        }
    }

    /// The open fence.
    pub(super) fn fence(&self) -> Option<Fence> {
        match self.leaf {
            Leaf::Fence(fence) => Some(fence),
            _ => None,
        }
    }

    fn match_containers(&mut self, line: &mut Line<'_>) -> usize {
        for (index, container) in self.containers.iter_mut().enumerate() {
            let blank = line.is_blank();
            if !container.takes(line) {
                return index;
            }
            if let Container::Item { empty, .. } = container
                && !blank
            {
                *empty = false;
            }
        }
        self.containers.len()
    }

    /// Whether the line is inside a leaf that takes lines as they are.
    fn continue_leaf(&mut self, line: &Line<'_>) -> bool {
        match self.leaf {
            Leaf::Fence(fence) => {
                if fence.is_closed_by(line) {
                    self.leaf = Leaf::None;
                }
                true
            }
            Leaf::Html(HtmlEnd::Text(end)) => {
                if contains_ignoring_case(line.rest(), end) {
                    self.leaf = Leaf::None;
                }
                true
            }
            Leaf::Html(HtmlEnd::Blank) => !line.is_blank(),
            Leaf::Indented => !line.is_blank() && line.indent() >= 4,
            Leaf::Paragraph { .. } => {
                let underlined = line.indent() <= 3 && is_underline(line.rest());
                if underlined {
                    self.leaf = Leaf::None;
                }
                underlined
            }
            Leaf::None | Leaf::Table | Leaf::Title => false,
        }
    }

    fn blank(&mut self, matched: usize) -> Step {
        if self.leaf != Leaf::Indented || matched < self.containers.len() {
            self.leaf = Leaf::None;
        }
        // A list stays open over a blank line that ends its empty item; nothing can enter that item.
        let mut kept = matched;
        if let Some(Container::Item { offset, .. }) = self.containers.first_mut()
            && matched == 0
        {
            *offset = usize::MAX;
            kept = 1;
        }
        self.containers.truncate(kept);
        Step::Blank
    }

    /// Opens what the line opens behind `matched` containers; the kind of the outermost.
    fn open(&mut self, mut line: Line<'_>, matched: usize, mut restricted: bool) -> Option<Kind> {
        let mut outermost = None;
        let whole = matched == self.containers.len();
        let lazy = match self.leaf {
            Leaf::Paragraph { .. } | Leaf::Title => true,
            // The parser ends a table at what could open a block, however far it is indented.
            Leaf::Table => whole && !(line.indent() > 3 && opens_block(line.rest())),
            _ => false,
        };
        loop {
            let indent = line.indent();
            let rest = line.rest();
            if rest.is_empty() {
                break;
            }
            if indent > 3 {
                if outermost.is_some() || !lazy {
                    self.close(matched, outermost.is_some());
                    self.leaf = Leaf::Indented;
                    outermost = outermost.or(Some(Kind::Text));
                }
                break;
            }
            let marker = Marker::scan(rest).filter(|marker| !restricted || marker.interrupts());
            if let Some(label) = footnote(rest) {
                self.close(matched, outermost.is_some());
                line.skip(3);
                line.advance(label);
                line.skip(usize::MAX);
                self.containers.push(Container::Footnote);
                outermost = outermost.or(Some(Kind::Text));
            } else if let Some(marker) = marker {
                let nested = outermost.is_some();
                let kind = self.item_kind(marker, matched == 0 && !nested);
                self.close(matched, nested);
                self.push_item(&mut line, marker);
                outermost = outermost.or(Some(kind));
                if is_task(line.rest()) {
                    self.leaf = Leaf::Paragraph { header: 0 };
                    return outermost;
                }
            } else if rest.starts_with('>') {
                self.close(matched, outermost.is_some());
                line.quote();
                self.containers.push(Container::Quote);
                outermost = outermost.or(Some(Kind::Text));
                if is_alert(line.rest()) {
                    self.leaf = Leaf::Title;
                    return outermost;
                }
            } else if let Some((leaf, kind)) =
                leaf(rest, indent, restricted || (lazy && outermost.is_none()))
            {
                self.close(matched, outermost.is_some());
                self.leaf = leaf;
                return outermost.or(Some(kind));
            } else {
                if outermost.is_some() {
                    self.leaf = text_leaf(&line);
                }
                break;
            }
            self.leaf = Leaf::None;
            restricted = false;
        }
        outermost
    }

    fn close(&mut self, matched: usize, nested: bool) {
        if !nested {
            self.containers.truncate(matched);
            self.leaf = Leaf::None;
        }
    }

    /// The kind of an item; one at the top goes on the open list when the marker is the same.
    fn item_kind(&mut self, marker: Marker, top: bool) -> Kind {
        let sibling = top
            && matches!(self.containers.first(), Some(Container::Item { marker: open, .. }) if *open == marker.byte);
        let number = match self.number {
            Some(last) if sibling => Some(last.saturating_add(1)),
            _ => marker.number,
        };
        if top {
            self.number = number;
        }
        Kind::Item {
            number,
            first: !sibling,
        }
    }

    fn push_item(&mut self, line: &mut Line<'_>, marker: Marker) {
        let indent = line.skip(3);
        line.advance(marker.length);
        let behind = line.indent();
        let padding = if marker.empty || behind > 4 {
            1
        } else {
            behind
        };
        line.skip(padding);
        self.containers.push(Container::Item {
            offset: indent + marker.length + padding,
            marker: marker.byte,
            empty: marker.empty,
        });
    }

    /// Another line of a paragraph, perhaps of one inside containers that the line does not continue.
    fn more_text(&mut self, line: &Line<'_>, whole: bool) {
        let header = match self.leaf {
            Leaf::Paragraph { header } => header,
            _ => 0,
        };
        let rest = line.rest();
        self.leaf = if whole && header > 0 && is_delimiter_row(rest) && columns(rest) == header {
            Leaf::Table
        } else if whole && rest.starts_with('|') {
            text_leaf(line)
        } else {
            // In the middle of a paragraph only a line that starts with a bar begins a table.
            Leaf::Paragraph { header: 0 }
        };
    }
}

/// Whether an item begins where one with the same marker was open.
fn is_sibling(open: Option<&Container>, begun: Option<&Container>) -> bool {
    let marker = |container: Option<&Container>| match container {
        Some(Container::Item { marker, .. }) => Some(*marker),
        _ => None,
    };
    marker(open).is_some() && marker(open) == marker(begun)
}

fn text_leaf(line: &Line<'_>) -> Leaf {
    let rest = line.rest();
    Leaf::Paragraph {
        header: if rest.contains('|') { columns(rest) } else { 0 },
    }
}

/// The leaf other than a paragraph that `rest` opens.
fn leaf(rest: &str, indent: usize, in_paragraph: bool) -> Option<(Leaf, Kind)> {
    if let Some(end) = html(rest, in_paragraph) {
        let closed = matches!(end, HtmlEnd::Text(end) if contains_ignoring_case(&rest[1..], end));
        let leaf = if closed { Leaf::None } else { Leaf::Html(end) };
        return Some((leaf, Kind::Text));
    }
    if is_rule(rest) {
        return Some((Leaf::None, Kind::Text));
    }
    if is_heading(rest) {
        return Some((Leaf::None, Kind::Heading));
    }
    let fence = Fence::open(rest, indent)?;
    Some((Leaf::Fence(fence), Kind::Code(fence)))
}

fn opens_block(rest: &str) -> bool {
    rest.starts_with('>')
        || footnote(rest).is_some()
        || Marker::scan(rest).is_some()
        || leaf(rest, 0, true).is_some()
}

fn is_alert(rest: &str) -> bool {
    const TAGS: &[&str] = &[
        "[!note]",
        "[!tip]",
        "[!important]",
        "[!warning]",
        "[!caution]",
    ];
    TAGS.iter()
        .any(|tag| rest.trim_end().eq_ignore_ascii_case(tag))
}

fn is_task(rest: &str) -> bool {
    ["[ ]", "[x]", "[X]"]
        .iter()
        .any(|task| rest.starts_with(task))
}

fn contains_ignoring_case(text: &str, wanted: &str) -> bool {
    text.as_bytes()
        .windows(wanted.len())
        .any(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}
