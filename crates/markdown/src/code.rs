//! Code blocks. The lines of a block that is a unit are measured once per width, and its rows are
//! built only when they are drawn, so that the cost does not depend on the size of the block.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::code_line::{gutter, label, rows};
use super::context::Context;
use super::long_line::{LONG, LongLine};
use super::optional;
use osier_base::text;
use osier_term::highlight::LineTokens;
use osier_term::row::{Row, Span};
use osier_term::wrap::Wrap;

/// Maximum lines of a block that may be a diagram.
const MOST_LINES: usize = 500;

/// A fence. Lines are byte ranges of the document's source.
#[derive(Debug, Clone)]
pub(super) struct CodeBlock {
    /// The character of the fence.
    fence: u8,
    /// The spans before each row of the code.
    prefix: Vec<Span>,
    pub(super) language: Box<str>,
    pub(super) lines: Vec<Range<u32>>,
    /// Columns of a tab before a line that is not a part of its range.
    indents: HashMap<usize, u8>,
    /// Tokens of the lines highlighted so far.
    pub(super) tokens: Vec<LineTokens>,
    pub(super) sending: Sending,
    /// Whether all lines are known.
    pub(super) closed: bool,
    /// The end of each line's rows, for `width`.
    row_ends: Vec<u32>,
    /// The long lines by index, including the unfinished line.
    pub(super) long: HashMap<usize, LongLine>,
    width: usize,
    diagram: Diagram,
    /// Whether a diagram is shown as source.
    pub(super) keeps_source: bool,
}

/// The drawing of a diagram, which replaces its source.
#[derive(Debug, Clone, Default)]
enum Diagram {
    /// The diagram is not drawn at this width yet.
    #[default]
    Unknown,
    None,
    Shown(Vec<String>),
    /// There is a drawing, but the source is shown.
    Source,
}

/// How much of the block was sent to the highlighter.
#[derive(Debug, Clone, Default)]
pub(super) struct Sending {
    /// The key of the requests, once one is sent.
    pub(super) key: Option<u64>,
    pub(super) lines: usize,
    pub(super) bytes: usize,
    /// Whether everything was sent, or the limits were reached.
    pub(super) done: bool,
}

impl CodeBlock {
    /// A block inside of `context`; without a context, no container is open around it.
    pub(super) fn new(fence: u8, language: &str, context: Option<&Context>) -> Self {
        let mut prefix = context.map(Context::spans).unwrap_or_default();
        prefix.push(gutter());
        Self {
            fence,
            prefix,
            language: text::expand_tabs(language).into(),
            lines: Vec::new(),
            indents: HashMap::new(),
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

    /// Adds a line: its range in the document, and the columns of a tab before it.
    pub(super) fn push(&mut self, line: Range<usize>, indent: u8) {
        if indent > 0 {
            self.indents.insert(self.lines.len(), indent);
        }
        self.lines.push(line.start as u32..line.end as u32);
    }

    /// A line as it is shown.
    pub(super) fn line<'a>(&self, index: usize, source: &'a str) -> Cow<'a, str> {
        let range = &self.lines[index];
        let line = &source[range.start as usize..range.end as usize];
        match self.indents.get(&index) {
            None => text::expand_tabs(line),
            Some(indent) => Cow::Owned(indented(line, *indent)),
        }
    }

    /// Whether an unfinished line can be the start of the closing fence.
    pub(super) fn may_close(&self, partial: &str) -> bool {
        let partial = partial.trim();
        !partial.is_empty() && partial.bytes().all(|byte| byte == self.fence)
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
            let line = text::expand_tabs(partial);
            count(&mut self.long, open, &line, &wrap)
        });
        self.prefix = prefix;
        (self.head() + end as usize + partial).max(1)
    }

    /// Drops the layout, also that of a diagram.
    pub(super) fn forget(&mut self) {
        self.width = 0;
        self.diagram = Diagram::Unknown;
    }

    /// Draws the diagram of a complete block.
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
        let found = optional::diagram(&lines.join("\n"), self.width.saturating_sub(columns));
        self.diagram = found.map_or(Diagram::None, Diagram::Shown);
    }

    /// Switches between a diagram and its source; false if there is no diagram.
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
            let line = text::expand_tabs(partial);
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
        // Rows of the first line that are above the range are after the label, if there is one.
        let above = start + usize::from(self.head() > 0 && range.start == 0);
        out.drain(above..(above + skip).min(out.len()));
        out.truncate(start + wanted);
    }
}

/// A line with some columns of a tab before it.
pub(super) fn indented(line: &str, indent: u8) -> String {
    let spaces = " ".repeat(usize::from(indent));
    text::expand_tabs(&(spaces + line)).into_owned()
}

/// The number of rows of a line.
fn count(long: &mut HashMap<usize, LongLine>, index: usize, line: &str, wrap: &Wrap<'_>) -> usize {
    if line.len() < LONG {
        return wrap.count(line);
    }
    long.entry(index).or_default().height(line, wrap)
}
