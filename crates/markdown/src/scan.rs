//! What one line of Markdown can open, by the rules of CommonMark and in the dialect of the parser.
//! Pure scanners over a line without its newline.

use std::borrow::Cow;

/// A line being eaten from the left. Columns count tabs to the next multiple of four.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    text: &'a str,
    at: usize,
    column: usize,
    /// Columns left of a tab that was eaten in part.
    spare: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            column: 0,
            spare: 0,
        }
    }

    /// Columns of white space ahead.
    pub(super) fn indent(&self) -> usize {
        let mut copy = *self;
        copy.skip(usize::MAX)
    }

    /// Eats at most `limit` columns of white space; says how many.
    pub(super) fn skip(&mut self, limit: usize) -> usize {
        let mut skipped = 0;
        while skipped < limit {
            if self.spare > 0 {
                self.spare -= 1;
            } else {
                match self.text.as_bytes().get(self.at) {
                    Some(b' ') => self.at += 1,
                    Some(b'\t') => {
                        self.at += 1;
                        self.spare = 3 - self.column % 4;
                    }
                    _ => break,
                }
            }
            self.column += 1;
            skipped += 1;
        }
        skipped
    }

    /// What is left, without the white space in front.
    pub(super) fn rest(&self) -> &'a str {
        self.text[self.at..].trim_start_matches([' ', '\t'])
    }

    /// What is left as it is; spaces for what is left of a tab.
    pub(super) fn remainder(&self) -> Cow<'a, str> {
        let left = &self.text[self.at..];
        match self.spare {
            0 => Cow::Borrowed(left),
            spare => Cow::Owned(format!("{}{left}", " ".repeat(spare))),
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.rest().trim().is_empty()
    }

    /// Eats `bytes` bytes that are not white space.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.column += bytes;
    }

    /// Eats a quote mark and the space behind it.
    pub(super) fn quote(&mut self) -> bool {
        if self.indent() > 3 || !self.rest().starts_with('>') {
            return false;
        }
        self.skip(3);
        self.advance(1);
        self.skip(1);
        true
    }
}

/// An opening code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) byte: u8,
    pub(super) length: usize,
    pub(super) indent: usize,
}

impl Fence {
    /// The fence that `rest`, indented by `indent`, opens.
    pub(super) fn open(rest: &str, indent: usize) -> Option<Self> {
        let byte = *rest.as_bytes().first()?;
        let length = run(rest, byte);
        let opens = matches!(byte, b'`' | b'~')
            && length >= 3
            && !(byte == b'`' && rest[length..].contains('`'));
        opens.then_some(Self {
            byte,
            length,
            indent,
        })
    }

    pub(super) fn is_closed_by(&self, line: &Line<'_>) -> bool {
        let rest = line.rest();
        let length = run(rest, self.byte);
        line.indent() <= 3 && length >= self.length && rest[length..].trim().is_empty()
    }
}

fn run(text: &str, byte: u8) -> usize {
    text.bytes().take_while(|found| *found == byte).count()
}

pub(super) fn is_heading(rest: &str) -> bool {
    let level = run(rest, b'#');
    (1..=6).contains(&level) && rest[level..].chars().next().is_none_or(char::is_whitespace)
}

pub(super) fn is_rule(rest: &str) -> bool {
    let Some(mark @ (b'-' | b'*' | b'_')) = rest.bytes().next() else {
        return false;
    };
    let marks = rest.bytes().filter(|byte| *byte == mark).count();
    marks >= 3
        && rest
            .bytes()
            .all(|byte| byte == mark || byte.is_ascii_whitespace())
}

/// The line under a heading.
pub(super) fn is_underline(rest: &str) -> bool {
    let rest = rest.trim_end();
    !rest.is_empty()
        && (rest.bytes().all(|byte| byte == b'=') || rest.bytes().all(|byte| byte == b'-'))
}

/// The marker of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// The bullet, or the character behind the number: the same for all items of a list.
    pub(super) byte: u8,
    pub(super) number: Option<u64>,
    /// Bytes of the marker.
    pub(super) length: usize,
    /// Nothing but white space follows.
    pub(super) empty: bool,
}

impl Marker {
    pub(super) fn scan(rest: &str) -> Option<Self> {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let byte = *rest.as_bytes().get(digits)?;
        let number = match (digits, byte) {
            (0, b'-' | b'+' | b'*') => None,
            (1..=9, b'.' | b')') => Some(rest[..digits].parse().ok()?),
            _ => return None,
        };
        let behind = &rest[digits + 1..];
        let opens = behind
            .chars()
            .next()
            .is_none_or(|char| matches!(char, ' ' | '\t'));
        (opens && !is_rule(rest)).then(|| Self {
            byte,
            number,
            length: digits + 1,
            empty: behind.trim().is_empty(),
        })
    }

    /// Whether the item may begin inside a paragraph.
    pub(super) fn interrupts(&self) -> bool {
        !self.empty && self.number.is_none_or(|number| number == 1)
    }
}

/// Bytes of `[^label]:` at the start of `rest`.
pub(super) fn footnote(rest: &str) -> Option<usize> {
    let label = rest.strip_prefix("[^")?;
    let end = label.find(']')?;
    let valid = !label[..end].trim().is_empty()
        && !label[..end].contains('[')
        && label[end + 1..].starts_with(':');
    valid.then_some(end + 4)
}

/// How an HTML block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlEnd {
    /// With the line that contains this, in any case.
    Text(&'static str),
    /// With a blank line.
    Blank,
}

/// Tags whose content is raw, and the other openers, each with its end.
const RAW: &[(&str, &str)] = &[
    ("pre", "</pre>"),
    ("style", "</style>"),
    ("script", "</script>"),
    ("textarea", "</textarea>"),
];
const OPENERS: &[(&str, &str)] = &[("!--", "-->"), ("?", "?>"), ("![CDATA[", "]]>")];

/// Tags that open a block wherever they stand at the start of a line.
const BLOCK_TAGS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "source",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// The HTML block that `rest` opens. A lone tag of another name opens one only outside a paragraph.
pub(super) fn html(rest: &str, in_paragraph: bool) -> Option<HtmlEnd> {
    let inner = rest.strip_prefix('<')?;
    let name = tag_name(inner);
    let behind = inner[name.len()..].chars().next();
    if behind.is_none_or(|char| char.is_ascii_whitespace() || char == '>')
        && let Some((_, end)) = RAW.iter().find(|(tag, _)| tag.eq_ignore_ascii_case(name))
    {
        return Some(HtmlEnd::Text(end));
    }
    if let Some((_, end)) = OPENERS.iter().find(|(open, _)| inner.starts_with(open)) {
        return Some(HtmlEnd::Text(end));
    }
    if inner.starts_with('!') && inner[1..].starts_with(|char: char| char.is_ascii_alphabetic()) {
        return Some(HtmlEnd::Text(">"));
    }
    let tag = inner.strip_prefix('/').unwrap_or(inner);
    let name = tag_name(tag);
    let tail = &tag[name.len()..];
    let ends = tail.is_empty() || tail.starts_with([' ', '\t', '>']) || tail.starts_with("/>");
    if ends
        && BLOCK_TAGS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    {
        return Some(HtmlEnd::Blank);
    }
    (!in_paragraph && is_lone_tag(name, tail)).then_some(HtmlEnd::Blank)
}

fn tag_name(text: &str) -> &str {
    let end = text
        .find(|char: char| !char.is_ascii_alphanumeric() && char != '-')
        .unwrap_or(text.len());
    &text[..end]
}

/// Whether a line is one whole tag.
fn is_lone_tag(name: &str, tail: &str) -> bool {
    let mut quote = None;
    let end = tail.find(|char| {
        if quote == Some(char) {
            quote = None;
        } else if quote.is_none() && matches!(char, '"' | '\'') {
            quote = Some(char);
        }
        char == '>' && quote.is_none()
    });
    name.starts_with(|char: char| char.is_ascii_alphabetic())
        && tail.starts_with([' ', '\t', '/', '>'])
        && end.is_some_and(|at| tail[at + 1..].trim().is_empty())
}

/// Whether a line can be the one under a table's header.
pub(super) fn is_delimiter_row(rest: &str) -> bool {
    let rest = rest.trim();
    rest.contains('-')
        && (rest.contains('|') || rest.contains(':'))
        && rest
            .bytes()
            .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
}

/// Columns of a table's row.
pub(super) fn columns(rest: &str) -> usize {
    let rest = rest.trim();
    let mut bars = 0;
    let mut escaped = false;
    let mut last = false;
    for byte in rest.bytes() {
        last = byte == b'|' && !escaped;
        bars += usize::from(last);
        escaped = byte == b'\\' && !escaped;
    }
    bars + 1 - usize::from(rest.starts_with('|')) - usize::from(last)
}
