//! Compares an edit with a file line by line, ignoring whitespace. Lines that the edit repeats keep their bytes; other
//! lines get the indentation of the file.

use std::ops::Range;

use osier_base::diff::{DiffTag, compare};

use super::indentation::{Indentation, indentation};
use super::splice::{Place, Splice, with_local_ending};
use super::types::Edit;
use crate::edit::view::View;

/// Minimum number of letters and digits of a text that is compared this way.
const MIN_CONTENT: usize = 3;

/// How lines are compared.
#[derive(Debug)]
pub(super) struct Rule {
    /// The note for the model.
    pub(super) note: &'static str,
    /// Lines with the same key are the same.
    key: fn(&str) -> String,
    /// Whether blank lines count.
    blank_lines: bool,
}

/// Strictest first.
pub(super) const RULES: [Rule; 3] = [
    Rule {
        note: "the indentation was adapted to the file",
        key: trimmed,
        blank_lines: true,
    },
    Rule {
        note: "blank lines were not compared",
        key: trimmed,
        blank_lines: false,
    },
    Rule {
        note: "spaces inside lines were not compared",
        key: squeezed,
        blank_lines: false,
    },
];

/// The lines of a file, compared by one rule.
pub(super) struct Lines<'a> {
    original: &'a str,
    rule: &'static Rule,
    all: Vec<Line<'a>>,
    /// Indexes of the lines that are not blank, with their keys.
    content: Vec<(usize, String)>,
}

struct Line<'a> {
    start: usize,
    /// The offset after the line ending.
    end: usize,
    text: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(original: &'a str, rule: &'static Rule) -> Self {
        let mut start = 0;
        let all: Vec<Line<'_>> = original
            .split_inclusive('\n')
            .map(|line| {
                let this = start;
                start += line.len();
                Line {
                    start: this,
                    end: start,
                    text: line.trim_end_matches(['\r', '\n']),
                }
            })
            .collect();
        let content = keys(all.iter().map(|line| line.text), rule);
        Self {
            original,
            rule,
            all,
            content,
        }
    }

    /// The places where `edit` fits, up to `limit`.
    pub(super) fn places(&self, edit: &Edit, limit: usize) -> Vec<Place> {
        let old: Vec<&str> = edit.old.lines().collect();
        let wanted = keys(old.iter().copied(), self.rule);
        let content = wanted.iter().flat_map(|(_, key)| key.chars());
        if content.filter(|char| char.is_alphanumeric()).count() < MIN_CONTENT {
            return Vec::new();
        }
        let windows = self.content.windows(wanted.len());
        let fits = windows
            .filter(|window| {
                window
                    .iter()
                    .zip(&wanted)
                    .all(|(line, wanted)| line.1 == wanted.1)
            })
            .filter_map(|window| self.aligned(window, &wanted, &old))
            .take(limit);
        let fits: Vec<Vec<Option<usize>>> = fits.collect();
        let place = |aligned| {
            let splices = self.splices(edit, &old, aligned);
            // A place where the new lines have no known indentation makes the text ambiguous all the same.
            let counts = fits.len() > 1 && !edit.replace_all;
            let splices = splices.or_else(|| counts.then(Vec::new))?;
            Some(Place {
                matched: self.matched(aligned)?,
                splices,
            })
        };
        let places: Option<Vec<Place>> = fits.iter().map(|aligned| place(aligned)).collect();
        places.unwrap_or_default()
    }

    /// From the start of the first to the end of the last line.
    fn matched(&self, aligned: &[Option<usize>]) -> Option<Range<usize>> {
        let mut lines = aligned.iter().flatten().map(|line| &self.all[*line]);
        let first = lines.next()?;
        Some(first.start..lines.next_back().unwrap_or(first).end)
    }

    /// The line of the file for each line of `old`; `None` when the blank lines have to be the same and are not.
    fn aligned(
        &self,
        window: &[(usize, String)],
        wanted: &[(usize, String)],
        old: &[&str],
    ) -> Option<Vec<Option<usize>>> {
        let mut aligned = vec![None; old.len()];
        for ((line, _), (index, _)) in window.iter().zip(wanted) {
            aligned[*index] = Some(*line);
        }
        let is_blank = |line: usize| {
            self.all
                .get(line)
                .is_some_and(|line| line.text.trim().is_empty())
        };
        for index in 1..old.len() {
            let next = aligned[index - 1].map(|line: usize| line + 1);
            if aligned[index].is_none() {
                aligned[index] = next.filter(|line| is_blank(*line));
            }
        }
        // Blank lines before the first one with content.
        for index in (1..old.len()).rev() {
            let previous = aligned[index].and_then(|line: usize| line.checked_sub(1));
            if aligned[index - 1].is_none() {
                aligned[index - 1] =
                    previous.filter(|line| is_blank(*line) && !aligned.contains(&Some(*line)));
            }
        }
        let consecutive = |pair: &[Option<usize>]| pair[0].map(|line| line + 1) == pair[1];
        let same = aligned.iter().all(Option::is_some) && aligned.windows(2).all(consecutive);
        (same || !self.rule.blank_lines).then_some(aligned)
    }

    /// The changes of `edit` at the lines that `aligned` names; `None` when a new line has no known indentation.
    fn splices(&self, edit: &Edit, old: &[&str], aligned: &[Option<usize>]) -> Option<Vec<Splice>> {
        let new: Vec<&str> = edit.new.lines().collect();
        // A line that is moved or indented has the spaces of the file too.
        let moved = |line: &str| {
            let mut lines = old
                .iter()
                .zip(aligned)
                .filter(|(old, _)| old.trim() == line.trim());
            let text = lines.find_map(|(_, aligned)| Some(self.all[(*aligned)?].text.trim()));
            match text {
                Some(text) => format!("{}{text}", indentation(line)),
                None => line.to_owned(),
            }
        };
        if self.is_as_in_file(old, &new, aligned) {
            // The lines of the file in place of the old lines.
            let in_file = old.iter().zip(aligned);
            let in_file: Vec<&str> = in_file
                .map(|(line, aligned)| aligned.map_or(*line, |line| self.all[line].text))
                .collect();
            let as_written = |(_, line): (usize, &&str)| Some(moved(line));
            return self.spliced(&in_file, &new, aligned, as_written);
        }
        let written: Vec<&str> = old.iter().chain(&new).copied().collect();
        let same_lines = || {
            let lines = old
                .iter()
                .zip(aligned)
                .filter(|(line, _)| !line.trim().is_empty());
            lines.filter_map(|(line, aligned)| {
                Some((indentation(line), indentation(self.all[(*aligned)?].text)))
            })
        };
        let whole = Indentation::learn(same_lines(), &written, self.original);
        // Some models leave out the indentation of the first line.
        let first = same_lines()
            .next()
            .filter(|pair| pair.0.is_empty() && !pair.1.is_empty());
        let rest = || Indentation::learn(same_lines().skip(1), &written, self.original);
        let (found, first) = match (whole, first) {
            (Some(whole), _) => (whole, None),
            (None, Some(first)) => (rest()?, Some(first.1)),
            (None, None) => return None,
        };
        let map = |(index, line): (usize, &&str)| match first {
            Some(first) if index == 0 && indentation(line).is_empty() => {
                Some(format!("{first}{line}"))
            }
            _ => found.map(line),
        };
        let map = |(index, line): (usize, &&str)| map((index, &moved(line).as_str()));
        self.spliced(old, &new, aligned, map)
    }

    /// Whether the new text has the indentation of the file where the old one has not: lines that both have are indented as
    /// in the file, none of them as in the old text, and no line less than the lines that are replaced.
    fn is_as_in_file(&self, old: &[&str], new: &[&str], aligned: &[Option<usize>]) -> bool {
        let in_file = |index: usize| aligned[index].map(|line| indentation(self.all[line].text));
        let mut differs = false;
        let old_content: Vec<&str> = old.iter().map(|line| line.trim()).collect();
        let new_content: Vec<&str> = new.iter().map(|line| line.trim()).collect();
        for operation in compare(&old_content, &new_content, None) {
            if operation.tag() != DiffTag::Equal {
                continue;
            }
            for (index, other) in operation.old_range().zip(operation.new_range()) {
                if old_content[index].is_empty() {
                    continue;
                }
                let (file, then, now) = (
                    in_file(index),
                    indentation(old[index]),
                    indentation(new[other]),
                );
                if then == now && file != Some(now) {
                    return false;
                }
                differs |= then != now && file == Some(now);
            }
        }
        let own = aligned.iter().flatten().map(|line| self.all[*line].text);
        let own = own.filter(|line| !line.trim().is_empty()).map(indentation);
        let least = own.min_by_key(|text| text.len()).unwrap_or_default();
        let mut content = new.iter().filter(|line| !line.trim().is_empty());
        differs && content.all(|line| line.starts_with(least))
    }

    /// The changes from `old` to `new`, whose lines `map` brings to the form of the file.
    fn spliced(
        &self,
        old: &[&str],
        new: &[&str],
        aligned: &[Option<usize>],
        map: impl Fn((usize, &&str)) -> Option<String>,
    ) -> Option<Vec<Splice>> {
        let mut splices = Vec::new();
        for operation in compare(old, new, None) {
            if operation.tag() == DiffTag::Equal {
                continue;
            }
            let lines = operation.new_range();
            let text: Option<Vec<String>> = new
                .iter()
                .enumerate()
                .skip(lines.start)
                .take(lines.len())
                .map(&map)
                .collect();
            splices.push(self.splice(operation.old_range(), aligned, &text?));
        }
        Some(splices)
    }

    /// `text` in place of the lines that `old` aligns to.
    fn splice(&self, old: Range<usize>, aligned: &[Option<usize>], text: &[String]) -> Splice {
        let at = |line: &usize| &self.all[*line];
        let range = self.matched(&aligned[old.clone()]).unwrap_or_else(|| {
            let before = aligned[..old.start].iter().flatten().next_back();
            let after = aligned[old.end..].iter().flatten().next();
            let position = before.map(|line| at(line).end);
            let position = position
                .or(after.map(|line| at(line).start))
                .unwrap_or_default();
            position..position
        });
        let mut new = text
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<Vec<_>>()
            .concat();
        // The last line of a file may have no line ending.
        if range.end == self.original.len() && !self.original.ends_with('\n') {
            new.truncate(new.trim_end_matches('\n').len());
            if range.is_empty() {
                new.insert(0, '\n');
            }
        }
        let text = with_local_ending(self.original, range.start, &new);
        Splice { range, text }
    }
}

fn keys<'a>(lines: impl Iterator<Item = &'a str>, rule: &Rule) -> Vec<(usize, String)> {
    let content = lines
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    content
        .map(|(index, line)| (index, (rule.key)(line)))
        .collect()
}

fn trimmed(line: &str) -> String {
    View::normalized(line).text.trim().to_owned()
}

/// Without spaces, except between words and in quotes.
fn squeezed(line: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut key = String::new();
    let mut quote = None;
    let mut space = false;
    let mut escaped = false;
    for char in trimmed(line).chars() {
        if quote.is_none() && char.is_whitespace() {
            space = true;
            continue;
        }
        if space && key.ends_with(is_word) && is_word(char) {
            key.push(' ');
        }
        space = false;
        key.push(char);
        quote = match quote {
            Some(open) if open == char && !escaped => None,
            None if matches!(char, '"' | '\'' | '`') => Some(char),
            quote => quote,
        };
        escaped = char == '\\' && !escaped;
    }
    key
}
