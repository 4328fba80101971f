//! Thinking that models write as `<think>…</think>` into the text of their answer.
//!
//! A tag counts only at the start of a line, outside of code. It can be split over chunks. If a
//! template begins the answer with `<think>`, the stream lacks that tag: then everything before
//! `</think>` was thinking.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// Fences of code have at least three of one of these characters.
const FENCES: [char; 2] = ['`', '~'];
const SHORTEST_FENCE: usize = 3;
/// Lines with this many spaces are code.
const CODE_INDENT: usize = 4;

/// A part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Thinking(String),
    /// The text so far was thinking.
    WasThinking,
}

/// The fence of a block of code.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    /// Whether nothing follows the fence: only such a fence closes code.
    is_alone: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| FENCES.contains(mark))?;
        let length = line.chars().take_while(|char| *char == mark).count();
        let is_alone = line.len() == length;
        (length >= SHORTEST_FENCE).then_some(Self {
            mark,
            length,
            is_alone,
        })
    }

    fn closes(self, open: Self) -> bool {
        self.is_alone && self.mark == open.mark && self.length >= open.length
    }
}

/// Divides the text of an answer.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    /// Text that can be the beginning of a tag.
    held: String,
    thinks: bool,
    /// The current line of the text, up to the length of a fence.
    line: String,
    /// The fence of the open code.
    fence: Option<Fence>,
    /// White space after thinking is not part of the answer.
    skips_space: bool,
    inline: InlineCode,
    /// Whether a tag was found.
    had_tag: bool,
}

/// Code between equal runs of backticks. It can extend over lines, but not over the end of a paragraph.
#[derive(Debug, Default)]
struct InlineCode {
    /// The length of the open run; 0 outside of code.
    open: usize,
    /// The length of the current run.
    run: usize,
}

impl InlineCode {
    fn add(&mut self, text: &str) {
        for char in text.chars() {
            if char == '`' {
                self.run += 1;
            } else {
                self.end_run();
            }
        }
    }

    fn end_run(&mut self) {
        match std::mem::take(&mut self.run) {
            0 => {}
            run if self.open == 0 => self.open = run,
            run if self.open == run => self.open = 0,
            _ => {}
        }
    }

    fn is_open(&self) -> bool {
        self.open > 0
    }
}

impl ThinkTags {
    /// Adds text; returns the parts that are complete.
    pub(super) fn push(&mut self, delta: &str) -> Vec<Part> {
        let text = std::mem::take(&mut self.held) + delta;
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (part, after) = if self.thinks {
                self.thinking(rest)
            } else {
                self.text(rest)
            };
            if let Some(part) = part {
                add(&mut parts, part);
            }
            if after.len() == rest.len() {
                after.clone_into(&mut self.held);
                break;
            }
            rest = after;
        }
        parts
    }

    /// The text that was held back.
    pub(super) fn finish(&mut self) -> Option<Part> {
        let held = std::mem::take(&mut self.held);
        let part = if self.thinks {
            Part::Thinking(held)
        } else {
            Part::Text(held)
        };
        (!part.is_empty()).then_some(part)
    }

    /// Thinking up to its end, and the rest. Without a result, the rest is unchanged, because more
    /// text is needed.
    fn thinking<'a>(&mut self, text: &'a str) -> (Option<Part>, &'a str) {
        if let Some(at) = text.find(CLOSE) {
            self.thinks = false;
            self.skips_space = true;
            self.line.clear();
            let part = Part::Thinking(text[..at].to_owned());
            return (
                (!part.is_empty()).then_some(part),
                &text[at + CLOSE.len()..],
            );
        }
        let kept = text.len() - start_of(text, CLOSE);
        let part = (kept > 0).then(|| Part::Thinking(text[..kept].to_owned()));
        (part, &text[kept..])
    }

    /// Text up to the next line or tag, and the rest. Without a result, the rest is unchanged,
    /// because more text is needed.
    fn text<'a>(&mut self, text: &'a str) -> (Option<Part>, &'a str) {
        if self.skips_space {
            let rest = text.trim_start();
            if rest.len() < text.len() {
                return (None, rest);
            }
            self.skips_space = false;
        }
        if self.line.trim().is_empty() && self.fence.is_none() {
            let start = text.trim_start_matches([' ', '\t']);
            let before = format!("{}{}", self.line, &text[..text.len() - start.len()]);
            let is_code =
                before.len() >= CODE_INDENT || before.contains('\t') || self.inline.is_open();
            if let Some(rest) = start.strip_prefix(OPEN).filter(|_| !is_code) {
                self.thinks = true;
                self.had_tag = true;
                return (None, rest);
            }
            let can_close = !is_code && !self.had_tag;
            if let Some(rest) = start.strip_prefix(CLOSE).filter(|_| can_close) {
                self.had_tag = true;
                self.skips_space = true;
                self.line.clear();
                return (Some(Part::WasThinking), rest);
            }
            if (OPEN.starts_with(start) && !is_code) || (CLOSE.starts_with(start) && can_close) {
                // More text is needed.
                return (None, text);
            }
        }
        let end = text.find('\n').map_or(text.len(), |at| at + 1);
        let (line, rest) = text.split_at(end);
        self.add_to_line(line);
        (Some(Part::Text(line.to_owned())), rest)
    }

    /// Tracks the fences of code.
    fn add_to_line(&mut self, text: &str) {
        self.inline.add(text);
        let room = 64_usize.saturating_sub(self.line.len());
        self.line
            .extend(text.chars().take(room).filter(|char| *char != '\n'));
        if !text.ends_with('\n') {
            return;
        }
        let fence = Fence::of(&self.line);
        if fence.is_some() || self.fence.is_some() || self.line.trim().is_empty() {
            self.inline = InlineCode::default();
        }
        match (self.fence, fence) {
            (None, fence) => self.fence = fence,
            (Some(open), Some(fence)) if fence.closes(open) => self.fence = None,
            _ => {}
        }
        self.line.clear();
    }
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Thinking(text) => text.is_empty(),
            Self::WasThinking => false,
        }
    }
}

fn add(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), &part) {
        (Some(Part::Text(have)), Part::Text(more))
        | (Some(Part::Thinking(have)), Part::Thinking(more)) => have.push_str(more),
        _ => parts.push(part),
    }
}

/// The length of the end of `text` that can be the start of `tag`.
fn start_of(text: &str, tag: &str) -> usize {
    let longest = tag.len().min(text.len());
    (1..=longest)
        .rev()
        .find(|length| text.ends_with(&tag[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(text: &str, size: usize) -> (String, String) {
        let mut tags = ThinkTags::default();
        let (mut thinking, mut answer) = (String::new(), String::new());
        let chars: Vec<char> = text.chars().collect();
        let mut parts = Vec::new();
        for chunk in chars.chunks(size) {
            parts.extend(tags.push(&chunk.iter().collect::<String>()));
        }
        parts.extend(tags.finish());
        for part in parts {
            match part {
                Part::Text(text) => answer.push_str(&text),
                Part::Thinking(text) => thinking.push_str(&text),
                Part::WasThinking => thinking.push_str(&std::mem::take(&mut answer)),
            }
        }
        (thinking, answer)
    }

    #[test]
    fn tags_are_found_outside_of_code_in_any_chunks() {
        for (text, thinking, answer) in [
            ("<think>hm</think>\n\nyes", "hm", "yes"),
            ("\n<think>\nhm\n</think>yes", "\nhm\n", "\nyes"),
            ("<think></think>yes", "", "yes"),
            ("yes\n<think>why</think>\nno", "why", "yes\nno"),
            ("<think>a</th>b</think>c", "a</th>b", "c"),
            ("<think>never ends", "never ends", ""),
            (
                "the tag <think> is text</think>",
                "",
                "the tag <think> is text</think>",
            ),
            ("`<think>` and <thin", "", "`<think>` and <thin"),
            (
                "```\n<think>code</think>\n```\n<think>x</think>y",
                "x",
                "```\n<think>code</think>\n```\ny",
            ),
            ("~~~\n```\n<think>\n~~~\n", "", "~~~\n```\n<think>\n~~~\n"),
            (
                "````md\n```\n<think>a</think>\n```\n````\n<think>b</think>c",
                "b",
                "````md\n```\n<think>a</think>\n```\n````\nc",
            ),
            (
                "    <think>code</think>\n\t<think>",
                "",
                "    <think>code</think>\n\t<think>",
            ),
            ("`a\n<think>b` c", "", "`a\n<think>b` c"),
            ("``a ` b\n<think>b`` c", "", "``a ` b\n<think>b`` c"),
            ("`a\n\n<think>b</think>c", "b", "`a\n\nc"),
            ("`a` b\n<think>b</think>c", "b", "`a` b\nc"),
            // The template has the first tag.
            ("hm\n\nso\n</think>\n\nyes", "hm\n\nso\n", "yes"),
            ("</think>yes", "", "yes"),
            ("hm </think> yes", "", "hm </think> yes"),
            ("```\n</think>\n```\n", "", "```\n</think>\n```\n"),
            ("<think>a</think>b\n</think>\nc", "a", "b\n</think>\nc"),
            ("hm\n</thi", "", "hm\n</thi"),
            ("<thin", "", "<thin"),
            ("é<think>ü", "", "é<think>ü"),
            ("a < b", "", "a < b"),
        ] {
            for size in [1, 2, 3, 7, 100] {
                let expected = (thinking.to_owned(), answer.to_owned());
                assert_eq!(divided(text, size), expected, "{text:?} {size}");
            }
        }
    }
}
