//! Command lines: a part of the text by its lines, and what is done to it. What is none of the editor's goes to
//! whoever asked.

use std::ops::RangeInclusive;

use regex::Regex;

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::super::undo::Kind;
use super::operate::Part;
use super::pattern;
use super::register::How;
use super::substitute::Replacement;
use super::walk::first_text;
use super::{Awaiting, Edit, Modal, Request};

/// A substitution, for doing it again.
#[derive(Debug, Clone)]
pub(super) struct Substitution {
    pub(super) pattern: Regex,
    pub(super) with: Replacement,
    pub(super) all: bool,
}

/// What a command line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Substitute,
    SubstituteAgain,
    Delete,
    Yank,
    Put,
    Join,
    Move,
    Copy,
    Indent,
    Outdent,
    Global,
    GlobalNot,
    Mark,
    Undo,
    Redo,
    Nothing,
}

/// Names with their shortest form.
const NAMES: &[(&str, &str, Name)] = &[
    ("s", "substitute", Name::Substitute),
    ("&", "&", Name::SubstituteAgain),
    ("d", "delete", Name::Delete),
    ("y", "yank", Name::Yank),
    ("pu", "put", Name::Put),
    ("j", "join", Name::Join),
    ("m", "move", Name::Move),
    ("t", "t", Name::Copy),
    ("co", "copy", Name::Copy),
    (">", ">", Name::Indent),
    ("<", "<", Name::Outdent),
    ("g", "global", Name::Global),
    ("v", "vglobal", Name::GlobalNot),
    ("k", "k", Name::Mark),
    ("ma", "mark", Name::Mark),
    ("u", "undo", Name::Undo),
    ("red", "redo", Name::Redo),
    ("noh", "nohlsearch", Name::Nothing),
];

/// Why nothing was done.
type Wrong = &'static str;

const NO_PATTERN: Wrong = "that pattern is wrong, or asks for what is not there";
const NOT_FOUND: Wrong = "not found";
const NO_LINE: Wrong = "there is no such line";
const NO_MARK: Wrong = "there is no such mark";

/// A command line that is read from its start.
struct Reading<'a> {
    rest: &'a str,
}

impl<'a> Reading<'a> {
    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = &self.rest[char.len_utf8()..];
        Some(char)
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn number(&mut self) -> Option<usize> {
        let end = self
            .rest
            .find(|char: char| !char.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = digits.parse().ok()?;
        self.rest = rest;
        Some(number)
    }

    /// Up to the next `end` that has no backslash before it, or to the end of the line.
    fn until(&mut self, end: char) -> String {
        let mut text = String::new();
        while let Some(char) = self.next() {
            if char == end {
                break;
            }
            if char == '\\' {
                match self.next() {
                    Some(next) if next == end => text.push(end),
                    Some(next) => text.extend(['\\', next]),
                    None => text.push('\\'),
                }
                continue;
            }
            text.push(char);
        }
        text
    }

    /// The name of a command: letters, or one sign.
    fn name(&mut self) -> &'a str {
        let letters = self
            .rest
            .find(|char: char| !char.is_ascii_alphabetic())
            .unwrap_or(self.rest.len());
        let length = match self.rest.chars().next() {
            Some(char) if letters == 0 => char.len_utf8(),
            _ => letters,
        };
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        name
    }
}

fn known(name: &str) -> Option<Name> {
    let found = NAMES
        .iter()
        .find(|(short, long, _)| name.starts_with(short) && long.starts_with(name));
    found.map(|(.., known)| *known)
}

impl Modal {
    /// Begins a command line, with the lines that are selected or counted.
    pub(super) fn open_line(&mut self, area: &TextArea) {
        let typed = if self.mode.is_visual() {
            self.leave_visual(area);
            "'<,'>".to_owned()
        } else {
            match self.count {
                None => String::new(),
                Some(1) => ".".to_owned(),
                Some(count) => format!(".,.+{}", count - 1),
            }
        };
        self.drop_begun();
        self.awaiting = Some(Awaiting::Line { typed });
    }

    pub(super) fn run_line(&mut self, area: &mut TextArea, typed: &str) {
        let typed = typed.trim();
        if typed.is_empty() {
            return;
        }
        self.line = Some(typed.to_owned());
        let (changed, cursor) = (self.changed, area.cursor);
        if let Err(wrong) = self.command(area, typed) {
            area.cursor = area.buffer.clamp(cursor);
            self.say(wrong.to_owned(), true);
            self.fail();
        }
        // `.` is for keys.
        self.changed = changed;
        self.recording.clear();
    }

    pub(super) fn say(&mut self, text: String, error: bool) {
        self.requests.push(Request::Say { text, error });
    }

    fn command(&mut self, area: &mut TextArea, typed: &str) -> Result<(), Wrong> {
        let mut reading = Reading { rest: typed };
        let lines = self.lines(area, &mut reading)?;
        reading.blanks();
        if reading.rest.is_empty() {
            let Some(lines) = lines else { return Ok(()) };
            self.marks.insert('\'', area.cursor);
            to_line(area, *lines.end());
            return Ok(());
        }
        let whole = reading.rest;
        let name = reading.name();
        // The mark stands right behind it.
        if let (2, Some(mark)) = (name.len(), name.strip_prefix('k')) {
            self.marks.extend(
                mark.chars()
                    .map(|mark| (mark, line_start(area, lines.as_ref()))),
            );
            return Ok(());
        }
        // `:sort` and `:session` are no substitutions.
        let is_short = name.len() > 1
            && name.starts_with('s')
            && !"substitute".starts_with(name)
            && !reading.rest.starts_with(['/', '#', ',']);
        let name = match known(name) {
            Some(name) if !is_short => name,
            _ if lines.is_none() => {
                self.requests.push(Request::Command(whole.to_owned()));
                return Ok(());
            }
            _ => return Err("no such command for lines"),
        };
        self.execute(area, name, lines, reading)
    }

    fn execute(
        &mut self,
        area: &mut TextArea,
        name: Name,
        lines: Option<RangeInclusive<usize>>,
        mut reading: Reading<'_>,
    ) -> Result<(), Wrong> {
        let here = area.cursor.line;
        let is_all = lines.is_none() && matches!(name, Name::Global | Name::GlobalNot);
        let given = lines.is_some();
        let mut lines = lines.unwrap_or(here..=here);
        if is_all {
            lines = 0..=area.line_count() - 1;
        }
        let (first, end) = (*lines.start(), *lines.end());
        match name {
            Name::Substitute | Name::SubstituteAgain => {
                let again = name == Name::SubstituteAgain || reading.rest.is_empty();
                if !again {
                    self.read_substitution(&mut reading)?;
                }
                let flags = reading.rest.trim().to_owned();
                self.substitute(area, lines, &flags)?;
            }
            Name::Delete | Name::Yank | Name::Join | Name::Indent | Name::Outdent => {
                let register = reading.rest.trim().chars().next();
                let register = register.filter(|name| name.is_ascii_alphabetic() || *name == '_');
                if matches!(name, Name::Delete | Name::Yank) {
                    self.register = register;
                }
                self.on_lines(area, name, (first, end), given);
            }
            Name::Put => {
                reading.blanks();
                let register = reading.next();
                let content = self.registers.get(register).cloned().ok_or(NOT_FOUND)?;
                area.cursor = Position::new(end, 0);
                let content = super::register::Content {
                    lines: true,
                    block: None,
                    ..content
                };
                self.put_content(area, &content, (true, 1));
                to_line(area, end + content.text.text.matches('\n').count() + 1);
            }
            Name::Move | Name::Copy => {
                reading.blanks();
                let to = match reading.rest.strip_prefix('0') {
                    Some(_) => 0,
                    None => self.address(area, &mut reading)?.map_or(here, |line| line) + 1,
                };
                transfer(area, (first, end), to, name == Name::Move)?;
            }
            Name::Global | Name::GlobalNot => {
                let inverted = reading.take('!') || name == Name::GlobalNot;
                self.global(area, lines, inverted, reading)?;
            }
            Name::Mark => {
                reading.blanks();
                let mark = reading.next().ok_or(NO_MARK)?;
                self.marks.insert(mark, Position::new(end, 0));
            }
            Name::Undo | Name::Redo => self.take_back(area, name == Name::Redo, 1),
            Name::Nothing => {}
        }
        Ok(())
    }

    fn on_lines(
        &mut self,
        area: &mut TextArea,
        name: Name,
        (first, end): (usize, usize),
        given: bool,
    ) {
        let cursor = area.cursor;
        let part = Part {
            start: Position::new(first, 0),
            end: Position::new(end, area.line(end).len()),
            lines: true,
        };
        area.cursor = part.start;
        match name {
            Name::Yank => {
                self.keep(area, part, How::Copied);
                area.cursor = cursor;
            }
            Name::Join => {
                let count = if given { end - first + 1 } else { 2 };
                self.join(area, count.max(2), true);
                to_line(area, first);
            }
            Name::Delete => self.remove(area, part, How::Deleted),
            name => {
                let edit = if name == Name::Indent {
                    Edit::Indent
                } else {
                    Edit::Outdent
                };
                self.apply(area, edit, part, How::Deleted);
                to_line(area, end);
            }
        }
    }

    /// The lines a command line begins with, the first before the last.
    fn lines(
        &mut self,
        area: &mut TextArea,
        reading: &mut Reading<'_>,
    ) -> Result<Option<RangeInclusive<usize>>, Wrong> {
        reading.blanks();
        if reading.take('%') {
            return Ok(Some(0..=area.line_count() - 1));
        }
        let here = area.cursor.line;
        let first = self.address(area, reading)?;
        reading.blanks();
        let moves = reading.rest.starts_with(';');
        if !moves && !reading.rest.starts_with(',') {
            return Ok(first.map(|line| line..=line));
        }
        reading.next();
        let first = first.unwrap_or(here);
        if moves {
            area.cursor = Position::new(first, 0);
        }
        let second = self.address(area, reading)?.unwrap_or(here);
        Ok(Some(first.min(second)..=first.max(second)))
    }

    /// One line: a number, `.`, `$`, a mark, a pattern, with what is added to it.
    fn address(
        &mut self,
        area: &TextArea,
        reading: &mut Reading<'_>,
    ) -> Result<Option<usize>, Wrong> {
        reading.blanks();
        let last = area.line_count() - 1;
        let mut line = match reading.rest.chars().next() {
            Some('0'..='9') => reading.number().map(|number| number.max(1) - 1),
            Some('.') => reading.next().map(|_| area.cursor.line),
            Some('$') => reading.next().map(|_| last),
            Some('\'') => {
                reading.next();
                let name = reading.next().ok_or(NO_MARK)?;
                let mark = self.marks.get(&name).ok_or(NO_MARK)?;
                Some(area.buffer.clamp(*mark).line)
            }
            Some(mark @ ('/' | '?')) => {
                reading.next();
                let text = reading.until(mark);
                self.search.set(&text, mark == '?');
                let from = Position::new(
                    area.cursor.line,
                    if mark == '?' {
                        0
                    } else {
                        area.line(area.cursor.line).len()
                    },
                );
                let hit = self.search.find(area, from, mark == '?');
                Some(hit.ok_or(NOT_FOUND)?.line)
            }
            _ => None,
        };
        loop {
            reading.blanks();
            let adds = match reading.rest.chars().next() {
                Some('+') => true,
                Some('-') => false,
                _ => break,
            };
            reading.next();
            let by = reading.number().unwrap_or(1);
            let from = line.unwrap_or(area.cursor.line);
            line = Some(if adds {
                from.checked_add(by).ok_or(NO_LINE)?
            } else {
                from.checked_sub(by).ok_or(NO_LINE)?
            });
        }
        Ok(line.map(|line| line.min(last)))
    }

    fn read_substitution(&mut self, reading: &mut Reading<'_>) -> Result<(), Wrong> {
        let mark = reading.next().ok_or(NO_PATTERN)?;
        if mark.is_alphanumeric() || mark == '"' || mark == '\\' {
            return Err("a substitution is written `s/what/with/`");
        }
        let text = reading.until(mark);
        let pattern = if text.is_empty() {
            self.search.pattern().ok_or(NO_PATTERN)?
        } else {
            pattern::compile(&text).ok_or(NO_PATTERN)?
        };
        let with = reading.until(mark);
        let before = self.substitution.take().map(|before| before.with);
        self.search.set_pattern(pattern.clone());
        self.substitution = Some(Substitution {
            pattern,
            with: Replacement::read(&with, before.as_ref()),
            all: false,
        });
        Ok(())
    }

    /// What is done in the lines that have a hit, or have none.
    fn global(
        &mut self,
        area: &mut TextArea,
        lines: RangeInclusive<usize>,
        inverted: bool,
        mut reading: Reading<'_>,
    ) -> Result<(), Wrong> {
        let mark = reading.next().ok_or(NO_PATTERN)?;
        let text = reading.until(mark);
        self.search.set(&text, false);
        let pattern = self.search.pattern().ok_or(NO_PATTERN)?;
        let command = reading.rest.trim();
        let hits: Vec<usize> = lines
            .filter(|line| pattern.is_match(area.line(*line)) != inverted)
            .collect();
        if hits.is_empty() {
            return Err(NOT_FOUND);
        }
        if command.starts_with(['g', 'v']) {
            return Err("one `g` in another is not there");
        }
        let before = area.line_count();
        for line in hits {
            // Lines that went or came above move the rest.
            let line = (line + area.line_count()).checked_sub(before);
            let Some(line) = line.filter(|line| *line < area.line_count()) else {
                continue;
            };
            area.cursor = Position::new(line, 0);
            if !command.is_empty() && command != "p" {
                // Lines without a hit of an inner pattern are no fault.
                let _ = self.command(area, command);
            }
        }
        Ok(())
    }
}

/// Moves or copies lines behind the line before `to`.
fn transfer(
    area: &mut TextArea,
    (first, end): (usize, usize),
    to: usize,
    moves: bool,
) -> Result<(), Wrong> {
    if moves && (first + 1..=end).contains(&to) {
        return Err("lines cannot move into themselves");
    }
    let text = area
        .buffer
        .fragment(Position::new(first, 0)..Position::new(end, area.line(end).len()));
    let (above, below) = (Fragment::plain("\n"), to == 0);
    let at = if below {
        Position::default()
    } else {
        Position::new(to - 1, area.line(to - 1).len())
    };
    let mut new = Fragment::default();
    if below {
        new.append(&text);
        new.append(&above);
    } else {
        new.append(&above);
        new.append(&text);
    }
    area.edit(at..at, new, Kind::Other);
    let count = end - first + 1;
    let mut landed = to + count - 1;
    if moves {
        let shift = if to <= first { count } else { 0 };
        let (first, end) = (first + shift, end + shift);
        let gone = if end + 1 < area.line_count() {
            Position::new(first, 0)..Position::new(end + 1, 0)
        } else {
            let above = first.saturating_sub(1);
            Position::new(above, area.line(above).len())..Position::new(end, area.line(end).len())
        };
        area.edit(gone, Fragment::default(), Kind::Other);
        if to > first {
            landed -= count;
        }
    }
    to_line(area, landed);
    Ok(())
}

fn line_start(area: &TextArea, lines: Option<&RangeInclusive<usize>>) -> Position {
    Position::new(lines.map_or(area.cursor.line, |lines| *lines.end()), 0)
}

/// The cursor goes to the first text of a line.
pub(super) fn to_line(area: &mut TextArea, line: usize) {
    let line = line.min(area.line_count() - 1);
    area.cursor = Position::new(line, first_text(area.line(line)));
}
