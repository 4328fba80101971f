//! Code blocks. A fence that is a block of its own is never parsed: its lines are counted once per width, and rows are built
//! only for what is shown, so that a fence of any size costs what is on the screen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::containers::{Container, inner_line, is_inside};
use super::long_line::{LONG, LongLine};

use super::scan::Fence;
use osier_base::text;
use osier_term::face::{Face, Token};
use osier_term::highlight::LineTokens;
use osier_term::row::{Row, Span};
use osier_term::wrap::Wrap;

/// Lines of a block that may be a diagram.
const MOST_LINES: usize = 500;

/// The face of code that is not highlighted.
pub(super) fn face() -> Face {
    Face::from(Token::CodeBlock).on(Token::CodeBlock)
}

/// The column between the edge of the block's ground and its text.
pub(super) fn gutter() -> Span {
    Span::new(" ", face())
}

/// The row that names the language: decoration, so that a copy has only code.
pub(super) fn label(language: &str, prefix: &[Span], width: usize) -> Row {
    let mut spans = prefix.to_vec();
    let used: usize = spans.iter().map(|span| text::width(&span.text)).sum();
    let shown = text::truncate(language, width.saturating_sub(used));
    spans.push(Span::new(
        &*shown,
        Face::from(Token::Muted).on(Token::CodeBlock),
    ));
    let mut row = Row::new(spans);
    row.decoration = row.width() as u16;
    row.fill = Some(face());
    row
}

/// Appends the rows of one line of code.
pub(super) fn rows(line: &str, tokens: Option<&LineTokens>, wrap: &Wrap<'_>, out: &mut Vec<Row>) {
    let mut spans = Vec::new();
    let mut plain = 0;
    for (range, token) in tokens.into_iter().flatten() {
        let (start, end) = (range.start as usize, range.end as usize);
        // What was highlighted can be a line that has changed since.
        let Some(coloured) = line.get(start..end).filter(|_| start >= plain) else {
            break;
        };
        if let Some(between) = line.get(plain..start).filter(|between| !between.is_empty()) {
            spans.push(Span::new(between, face()));
        }
        spans.push(Span::new(coloured, Face::from(*token).on(Token::CodeBlock)));
        plain = end;
    }
    if plain < line.len() {
        spans.push(Span::new(&line[plain..], face()));
    }
    wrap.filled(face()).line(&spans, out);
}

/// The language of an info string.
pub(super) fn language(info: &str) -> &str {
    let word = info
        .trim()
        .split([' ', '\t', ',', '{'])
        .next()
        .unwrap_or("");
    word.trim_start_matches('.')
}

/// A fence. Lines are byte ranges of the document's source.
#[derive(Debug, Clone)]
pub(super) struct CodeBlock {
    fence: Fence,
    /// What its lines are inside of, and what stands in front of its rows.
    containers: Vec<Container>,
    prefix: Vec<Span>,
    pub(super) language: Box<str>,
    pub(super) lines: Vec<Range<u32>>,
    /// Tokens of the lines highlighted so far.
    pub(super) tokens: Vec<LineTokens>,
    pub(super) sending: Sending,
    /// No more lines will come.
    pub(super) closed: bool,
    /// Where each line's rows end, for `width`.
    row_ends: Vec<u32>,
    /// The lines that are long, the unfinished one too, by their place.
    pub(super) long: HashMap<usize, LongLine>,
    width: usize,
    diagram: Diagram,
    /// A diagram is shown as it was written.
    pub(super) keeps_source: bool,
}

/// What is shown instead of the lines of a diagram's source.
#[derive(Debug, Clone, Default)]
enum Diagram {
    /// Not looked for at this width.
    #[default]
    Unknown,
    None,
    Shown(Vec<String>),
    /// There is one, but the source is wanted.
    Source,
}

/// How far the block was sent to the highlighter.
#[derive(Debug, Clone, Default)]
pub(super) struct Sending {
    /// The key of the requests; none was sent while there is none.
    pub(super) key: Option<u64>,
    pub(super) lines: usize,
    pub(super) bytes: usize,
    /// Everything was sent, or the limits were reached.
    pub(super) done: bool,
}

impl CodeBlock {
    /// The block whose opening line is `line`.
    pub(super) fn new(fence: Fence, line: &str) -> Self {
        Self::inside(&[], Vec::new(), fence, line)
    }

    /// One inside containers.
    pub(super) fn inside(
        containers: &[Container],
        mut prefix: Vec<Span>,
        fence: Fence,
        line: &str,
    ) -> Self {
        let line = inner_line(containers, line);
        let info = line.trim_start().get(fence.length..).unwrap_or_default();
        prefix.push(gutter());
        Self {
            fence,
            containers: containers.to_vec(),
            prefix,
            language: text::expand_tabs(language(info)).into(),
            lines: Vec::new(),
            tokens: Vec::new(),
            sending: Sending::default(),
            closed: false,
            row_ends: Vec::new(),
            long: HashMap::new(),
            width: 0,
            diagram: Diagram::default(),
            keeps_source: false,
        }
    }

    /// A line as it is shown.
    pub(super) fn shown<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let indent = |line: &str| {
            let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
            spaces.min(self.fence.indent)
        };
        match inner_line(&self.containers, line) {
            Cow::Borrowed(line) => text::expand_tabs(&line[indent(line)..]),
            Cow::Owned(line) => Cow::Owned(text::expand_tabs(&line[indent(&line)..]).into_owned()),
        }
    }

    pub(super) fn line<'a>(&self, index: usize, source: &'a str) -> Cow<'a, str> {
        let range = &self.lines[index];
        self.shown(&source[range.start as usize..range.end as usize])
    }

    /// Whether an unfinished line could be the start of the closing fence, or one that leaves the containers.
    pub(super) fn may_close(&self, partial: &str) -> bool {
        if !self.containers.is_empty() && !is_inside(&self.containers, partial) {
            return true;
        }
        let line = inner_line(&self.containers, partial);
        let rest = line.trim();
        !rest.is_empty() && rest.bytes().all(|byte| byte == self.fence.byte)
    }

    /// Counts the rows of new lines; gives the height with the unfinished line `partial`.
    pub(super) fn height(&mut self, width: usize, source: &str, partial: Option<&str>) -> usize {
        if self.width != width {
            self.width = width;
            self.row_ends.clear();
            self.long.clear();
            if !matches!(self.diagram, Diagram::Source) {
                self.diagram = Diagram::Unknown;
            }
        }
        if !self.keeps_source {
            self.find_diagram(source);
        }
        if let Diagram::Shown(lines) = &self.diagram {
            return self.head() + lines.len();
        }
        let prefix = std::mem::take(&mut self.prefix);
        let wrap = Wrap::new(width).prefixed(&prefix);
        let mut end = self.row_ends.last().copied().unwrap_or(0);
        for index in self.row_ends.len()..self.lines.len() {
            let line = self.line(index, source);
            end += count(&mut self.long, index, &line, &wrap) as u32;
            self.row_ends.push(end);
        }
        let open = self.lines.len();
        let partial = partial.map_or(0, |partial| {
            let line = self.shown(partial);
            count(&mut self.long, open, &line, &wrap)
        });
        self.prefix = prefix;
        (self.head() + end as usize + partial).max(1)
    }

    /// Forgets the layout, a diagram too.
    pub(super) fn forget(&mut self) {
        self.width = 0;
        self.diagram = Diagram::Unknown;
    }

    /// Looks for the diagram of a finished block.
    fn find_diagram(&mut self, source: &str) {
        if !self.closed || &*self.language != "mermaid" || !matches!(self.diagram, Diagram::Unknown)
        {
            return;
        }
        let lines: Vec<Cow<'_, str>> = (0..self.lines.len())
            .take(MOST_LINES)
            .map(|line| self.line(line, source))
            .collect();
        let columns: usize = self.prefix.iter().map(|span| text::width(&span.text)).sum();
        let found = osier_mermaid::diagram(&lines.join("\n"), self.width.saturating_sub(columns));
        self.diagram = found.map_or(Diagram::None, Diagram::Shown);
    }

    /// Shows the source of a diagram, or the diagram again; false where there is none.
    pub(super) fn toggle_diagram(&mut self) -> bool {
        match self.diagram {
            Diagram::Shown(_) => self.diagram = Diagram::Source,
            Diagram::Source => self.diagram = Diagram::Unknown,
            Diagram::Unknown | Diagram::None => return false,
        }
        true
    }

    /// Appends a range of the rows of a diagram.
    fn diagram_rows(&self, lines: &[String], range: Range<usize>, out: &mut Vec<Row>) {
        let wrap = Wrap::new(self.width).prefixed(&self.prefix);
        for place in range {
            match place.checked_sub(self.head()) {
                None => out.push(label(&self.language, &self.prefix, self.width)),
                Some(line) => rows(lines.get(line).map_or("", |line| line), None, &wrap, out),
            }
        }
    }

    /// Rows above the first line.
    pub(super) fn head(&self) -> usize {
        usize::from(!self.language.is_empty())
    }

    /// Appends a range of the rows that `height` counted.
    pub(super) fn rows(
        &self,
        range: Range<usize>,
        source: &str,
        partial: Option<&str>,
        out: &mut Vec<Row>,
    ) {
        if let Diagram::Shown(lines) = &self.diagram {
            return self.diagram_rows(lines, range, out);
        }
        let width = self.width;
        let wrap = Wrap::new(width).prefixed(&self.prefix);
        let start = out.len();
        let wanted = range.len();
        let mut skip = range.start;
        if self.head() > 0 {
            if range.start == 0 {
                out.push(label(&self.language, &self.prefix, width));
            } else {
                skip -= 1;
            }
        }
        let first = self.row_ends.partition_point(|end| *end as usize <= skip);
        skip -= first
            .checked_sub(1)
            .map_or(0, |before| self.row_ends[before] as usize);
        for index in first..self.lines.len() {
            if out.len() >= start + wanted + skip {
                break;
            }
            let line = self.line(index, source);
            let room = start + wanted + skip - out.len();
            if let Some(long) = self.long.get(&index) {
                long.rows(skip..room, &line, self.tokens.get(index), &wrap, out);
                skip = 0;
            } else {
                rows(&line, self.tokens.get(index), &wrap, out);
            }
        }
        if let Some(partial) = partial
            && out.len() < start + wanted + skip
        {
            let line = self.shown(partial);
            let room = start + wanted + skip - out.len();
            if let Some(long) = self.long.get(&self.lines.len()) {
                long.rows(skip..room, &line, None, &wrap, out);
                skip = 0;
            } else {
                rows(&line, None, &wrap, out);
            }
        }
        if out.len() == start && wanted > 0 {
            rows("", None, &wrap, out);
        }
        // The rows of the first line that are above the range stand behind the label, if there is one.
        let above = start + usize::from(self.head() > 0 && range.start == 0);
        out.drain(above..(above + skip).min(out.len()));
        out.truncate(start + wanted);
    }
}

/// Rows of a line.
fn count(long: &mut HashMap<usize, LongLine>, index: usize, line: &str, wrap: &Wrap<'_>) -> usize {
    if line.len() < LONG {
        return wrap.count(line);
    }
    long.entry(index).or_default().height(line, wrap)
}
