//! Operators and changes of the text that a motion, an object, a selection or a count covers.

use super::super::TextArea;
use super::super::buffer::Fragment;
use super::motion::{Case, MotionSpan, Operator, Target};
use super::object::TextRange;
use super::register::{RegisterContent, is_clipboard};
use super::state::{Command, EditorRequest, Extent, Modal};
use super::text::{
    after, after_many, before, below, first_text, indent, line, line_end, line_start,
};
use osier_base::text::graphemes;

/// Inserted by `>` at the start of a line.
const INDENT: &str = "    ";

impl Modal {
    /// Leaves visual mode before a change and records the size of the selection for repetition.
    pub(super) fn end_selection(&mut self, area: &mut TextArea, range: TextRange) {
        let text = &area.marked_text()[range.bytes()];
        let last = text.rsplit('\n').next().unwrap_or_default();
        self.command.extent.get_or_insert(Extent {
            lines: text.matches('\n').count() + 1,
            clusters: (!range.lines).then(|| graphemes(last).count()),
        });
        self.leave_visual(area);
        area.go(range.start);
    }

    /// Applies an operator to as many lines as the count says.
    pub(super) fn operate_lines(&mut self, area: &mut TextArea, operator: Operator) {
        let (text, at, times) = (area.marked_text(), area.at(), self.times());
        if times > 1 && below(&text, at, 1).is_none() {
            return self.cancel();
        }
        let end = below(&text, at, times - 1).unwrap_or(text.len());
        let first = at.min(first_text(&text, at));
        area.go(first);
        let range = TextRange::lines(&text, at, end);
        self.apply(area, operator, range);
        match operator {
            Operator::Copy => area.go(at),
            Operator::Case(_) => area.go(first),
            _ => {}
        }
    }

    /// Applies an operator from the cursor to the target of a motion.
    pub(super) fn operate_to(&mut self, area: &mut TextArea, operator: Operator, target: Target) {
        let (text, from) = (area.marked_text(), area.at());
        let mut range = TextRange {
            start: from.min(target.at),
            end: from.max(target.at),
            lines: target.span == MotionSpan::Lines,
        };
        let start = range.start;
        let leads = start <= indent(&text, start);
        match target.span {
            MotionSpan::Inclusive => range.end = after(&text, range.end),
            // A target at the start of a line covers only up to the end of the line above.
            MotionSpan::Exclusive
                if range.end > start && range.end == line_start(&text, range.end) =>
            {
                range.end -= 1;
                range.lines = leads;
            }
            MotionSpan::Exclusive | MotionSpan::Lines => {}
        }
        if operator == Operator::Delete && text[range.bytes()].contains('\n') {
            let rest = &text[range.end..line_end(&text, range.end)];
            range.lines |= rest.trim().is_empty() && leads;
        }
        if range.lines {
            range = TextRange::lines(&text, start, range.end);
        }
        area.go(start);
        self.apply(area, operator, range);
        if range.lines && matches!(operator, Operator::Copy | Operator::Case(_)) {
            area.go(start);
        }
    }

    /// Applies an operator to a range.
    pub(super) fn apply(&mut self, area: &mut TextArea, operator: Operator, range: TextRange) {
        match operator {
            Operator::Copy => self.store(area, range, true),
            Operator::Delete => return self.remove(area, range),
            Operator::Change => {
                self.store(area, range, false);
                area.splice(range.bytes(), Fragment::default());
                area.go(range.start);
                return self.begin_insert(area, 1, false);
            }
            Operator::Indent | Operator::Outdent => {
                let is_visual = self.command.extent.is_some();
                let times = if is_visual { self.times() } else { 1 };
                let lines = TextRange::lines(&area.marked_text(), range.start, range.end);
                area.rewrite(lines.bytes(), |text| {
                    let lines = text.split('\n').map(|line| shifted(line, operator, times));
                    lines.collect::<Vec<_>>().join("\n")
                });
                area.go(first_text(&area.marked_text(), lines.start));
            }
            Operator::Case(case) => area.rewrite(range.bytes(), |text| in_case(text, case)),
        }
        if let Operator::Copy | Operator::Case(_) = operator {
            area.go(range.start);
        }
        self.changed |= operator != Operator::Copy;
    }

    fn store(&mut self, area: &TextArea, range: TextRange, copied: bool) {
        let (text, lines) = (area.fragment(range.bytes()), range.lines);
        if !text.is_empty() || lines {
            let content = RegisterContent { text, lines };
            let Command {
                register, jumps, ..
            } = self.command;
            let text = self.registers.store(register, content, copied, jumps);
            self.requests.extend(text.map(EditorRequest::Copy));
        }
    }

    /// Deletes a range into a register. Complete lines include their line breaks.
    fn remove(&mut self, area: &mut TextArea, mut range: TextRange) {
        if range.start == range.end && !range.lines {
            return;
        }
        self.store(area, range, false);
        let lines = area.positions(range.bytes());
        let (first, last) = (lines.start.line, lines.end.line);
        if range.lines && last + 1 < area.line_count() {
            range.end += 1;
        } else if range.lines {
            range.start = range.start.saturating_sub(1);
        }
        area.splice(range.bytes(), Fragment::default());
        area.go(range.start);
        self.changed = true;
        if range.lines {
            area.go(first_text(&area.marked_text(), range.start));
            self.marks
                .retain(|name, mark| *name == '\'' || !(first..=last).contains(&mark.line));
            for mark in self.marks.values_mut().filter(|mark| mark.line > last) {
                mark.line -= last - first + 1;
            }
        }
    }

    /// Applies an operator to the selection or its lines; returns false without a selection.
    pub(super) fn operate_selection(
        &mut self,
        area: &mut TextArea,
        operator: Operator,
        lines: bool,
    ) -> bool {
        let Some(mut range) = self.selected(area) else {
            return false;
        };
        if lines {
            range = TextRange::lines(&area.marked_text(), range.start, range.end);
        }
        self.end_selection(area, range);
        self.apply(area, operator, range);
        true
    }

    pub(super) fn toggle_case(&mut self, area: &mut TextArea) {
        if self.operate_selection(area, Operator::Case(Case::Toggle), false) {
            return;
        }
        let (text, at) = (area.marked_text(), area.at());
        let end = after_many(&text, at, self.times());
        area.rewrite(at..end, |text| in_case(text, Case::Toggle));
        self.changed |= end > at;
    }

    /// Replaces every selected cluster, or `count` clusters at the cursor, with a character.
    pub(super) fn replace(&mut self, area: &mut TextArea, char: char) {
        let (text, at, times) = (area.marked_text(), area.at(), self.times());
        let selected = self.selected(area);
        let range = match selected {
            Some(range) => range,
            None if after_many(&text, at, times - 1) == line_end(&text, at) => {
                return self.cancel();
            }
            None => TextRange::from(at..after_many(&text, at, times)),
        };
        if selected.is_some() {
            self.end_selection(area, range);
        }
        let lines = text[range.bytes()].split('\n');
        let replaced = lines.map(|line| char.to_string().repeat(graphemes(line).count()));
        let new = Fragment::plain(&replaced.collect::<Vec<_>>().join("\n"));
        let end = range.start + new.text.len();
        area.splice(range.bytes(), new);
        area.go(match selected {
            Some(_) => range.start,
            None => before(&area.marked_text(), end),
        });
        self.changed = true;
    }

    pub(super) fn join(&mut self, area: &mut TextArea, spaced: bool) {
        let mut count = self.times();
        if let Some(range) = self.selected(area) {
            count = area.marked_text()[range.bytes()].matches('\n').count() + 1;
            self.end_selection(area, range);
        }
        let (text, at) = (area.marked_text(), area.at());
        let mut lines = text[line_start(&text, at)..].split('\n');
        let first = lines.next().unwrap_or_default();
        let mut joined = first.to_owned();
        let mut end = line_end(&text, at);
        let start = end;
        let mut cursor = None;
        for next in lines.take(count.max(2) - 1) {
            end += 1 + next.len();
            cursor = Some(start + joined.len() - first.len());
            let next = if spaced { next.trim_start() } else { next };
            let needs_none = next.is_empty() || next.starts_with(')') || joined.is_empty();
            if spaced && !needs_none && !joined.ends_with([' ', '\t']) {
                joined.push(' ');
            }
            joined.push_str(next);
        }
        let Some(cursor) = cursor else {
            return self.cancel();
        };
        area.rewrite(start..end, |_| joined.split_off(first.len()));
        area.go(cursor);
        self.changed = true;
    }

    /// Inserts a register before or after the cursor, or in place of the selection.
    pub(super) fn put(&mut self, area: &mut TextArea, behind: bool) {
        if is_clipboard(self.command.register) && !self.mode.is_visual() {
            self.clipboard_put = Some((self.command.clone(), behind));
            return self.requests.push(EditorRequest::Paste);
        }
        self.put_register(area, behind);
    }

    pub(super) fn put_register(&mut self, area: &mut TextArea, behind: bool) {
        let Some(content) = self.registers.get(self.command.register).cloned() else {
            return self.cancel();
        };
        let (text, at, selected) = (area.marked_text(), area.at(), self.selected(area));
        let line = line(&text, at);
        // The replaced range, and whether a line break comes before and after the new text.
        let (range, first, last) = match selected {
            Some(range) => {
                let breaks = content.lines && !range.lines;
                (range.bytes(), breaks, breaks)
            }
            None if content.lines && behind => (line.end..line.end, true, false),
            None if content.lines => (line.start..line.start, false, true),
            None if behind => (after(&text, at)..after(&text, at), false, false),
            None => (at..at, false, false),
        };
        if let Some(selected) = selected {
            // The selected text goes to the unnamed register.
            self.command.register = None;
            self.leave_visual(area);
            area.go(range.start);
            self.store(area, selected, false);
        }
        let newline = |breaks| Fragment::plain(if breaks { "\n" } else { "" });
        let mut new = Fragment::default();
        for _ in 0..if selected.is_some() { 1 } else { self.times() } {
            new.append(&newline(first));
            new.append(&content.text);
            new.append(&newline(last));
        }
        let (end, is_part) = (range.start + new.text.len(), !new.text.contains('\n'));
        area.splice(range.clone(), new);
        let text = area.marked_text();
        area.go(
            if content.lines || selected.is_some_and(|range| range.lines) {
                first_text(&text, range.start + usize::from(first))
            } else if is_part {
                before(&text, end)
            } else {
                range.start
            },
        );
        self.changed = true;
    }
}

/// A line with more or less indentation.
fn shifted(line: &str, operator: Operator, times: usize) -> String {
    let mut line = line.to_owned();
    for _ in 0..times {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        match operator {
            _ if line.is_empty() => {}
            Operator::Indent => line.insert_str(0, INDENT),
            _ if line.starts_with('\t') => line.replace_range(..1, ""),
            _ => line.replace_range(..spaces.min(INDENT.len()), ""),
        }
    }
    line
}

/// A text in another case.
pub(super) fn in_case(text: &str, case: Case) -> String {
    let mut has_capital = false;
    let convert = |char: char| {
        let upper = match case {
            Case::Upper => true,
            Case::Lower => false,
            Case::Toggle => !char.is_uppercase(),
            Case::Capital => char.is_alphabetic() && !std::mem::replace(&mut has_capital, true),
        };
        // One letter must stay one letter, so that the marks of chips stay in place.
        if upper {
            single(char.to_uppercase()).unwrap_or(char)
        } else {
            single(char.to_lowercase()).unwrap_or(char)
        }
    };
    text.chars().map(convert).collect()
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let char = chars.next()?;
    chars.next().is_none().then_some(char)
}
