//! Fences inside of a fenced block of Markdown.
//!
//! A model that shows a README puts ```` ```sh ```` into ```` ```markdown ````. In CommonMark the end of the inner block ends the
//! outer one, and the rest of the answer is turned inside out.

use std::borrow::Cow;

use super::rules::NEUTRAL;
use crate::code_line::language;

/// Languages of blocks in which fences form pairs.
const MARKDOWN: [&str; 2] = ["markdown", "md"];

/// An open fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    char: u8,
    length: usize,
}

impl Fence {
    /// The fence of a line without the marks of its containers, and the text after it.
    fn of(line: &str) -> Option<(Self, &str)> {
        let line = line.trim();
        let char = *line.as_bytes().first()?;
        if !matches!(char, b'`' | b'~') {
            return None;
        }
        let length = line.bytes().take_while(|byte| *byte == char).count();
        let info = line[length..].trim();
        let is_fence = length >= 3 && !(char == b'`' && info.contains('`'));
        is_fence.then_some((Self { char, length }, info))
    }

    /// Whether a line begins a block of Markdown.
    pub(crate) fn opens_markdown(line: &str) -> Option<Self> {
        let (fence, info) = Self::of(behind_marks(line))?;
        let language = language(info);
        let is_markdown = MARKDOWN
            .iter()
            .any(|known| language.eq_ignore_ascii_case(known));
        is_markdown.then_some(fence)
    }

    /// The inner fence that is open after a line.
    pub(crate) fn inner_after(self, inner: Option<Self>, line: &str) -> Option<Self> {
        match (inner, Self::of(behind_marks(line))) {
            (Some(open), Some((fence, ""))) if open.is_closed_by(fence) => None,
            (None, Some((fence, info))) if !info.is_empty() && self.is_closed_by(fence) => {
                Some(fence)
            }
            _ => inner,
        }
    }

    /// Whether `fence` is long enough to end the block, apart from its info string.
    fn is_closed_by(self, fence: Self) -> bool {
        fence.char == self.char && fence.length >= self.length
    }
}

/// The line after the marks of quotes and list items.
fn behind_marks(line: &str) -> &str {
    let mut rest = line.trim_start_matches(['>', ' ', '\t']);
    loop {
        let digits = rest.trim_start_matches(|char: char| char.is_ascii_digit());
        let marker = if digits.len() < rest.len() {
            digits.strip_prefix(['.', ')'])
        } else {
            rest.strip_prefix(['-', '*', '+'])
        };
        match marker.filter(|behind| behind.starts_with(' ')) {
            Some(behind) => rest = behind.trim_start_matches(['>', ' ', '\t']),
            None => return rest,
        }
    }
}

/// The text without the fences that end a block inside of a block of Markdown. The length stays the same.
pub(crate) fn paired(source: &str) -> Cow<'_, str> {
    let names = |word: &str| source.contains(word) || source.contains(&word.to_uppercase());
    let is_candidate = (source.contains("```") || source.contains("~~~"))
        && (names("md") || names("markdown") || source.contains("Markdown"));
    if !is_candidate {
        return Cow::Borrowed(source);
    }
    let mut parsed = String::with_capacity(source.len());
    let mut open: Option<(Fence, bool)> = None;
    let mut inner = None;
    for line in source.split_inclusive('\n') {
        let mut is_hidden = false;
        match open {
            None => {
                if let Some((fence, _)) = Fence::of(behind_marks(line)) {
                    open = Some((fence, Fence::opens_markdown(line).is_some()));
                    inner = None;
                }
            }
            Some((outer, is_markdown)) => {
                let after = outer.inner_after(inner, line).filter(|_| is_markdown);
                is_hidden = inner.is_some() && after.is_none();
                let is_end =
                    |(fence, info): (Fence, &str)| info.is_empty() && outer.is_closed_by(fence);
                if inner.is_none() && Fence::of(behind_marks(line)).is_some_and(is_end) {
                    open = None;
                }
                inner = after;
            }
        }
        if is_hidden {
            let hide = |char| match char {
                '`' | '~' => char::from(NEUTRAL),
                other => other,
            };
            parsed.extend(line.chars().map(hide));
        } else {
            parsed.push_str(line);
        }
    }
    Cow::Owned(parsed)
}
