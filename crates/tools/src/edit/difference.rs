//! Names how the closest lines of a file differ from a text that was not found.

use osier_base::diff::{ChangeTag, compare_words};
use osier_base::text::head_bytes;

/// Differences that are named.
const NAMED: usize = 4;
/// Bytes of a part of a line that is quoted, and parts of one line.
const QUOTED: usize = 60;
const PARTS: usize = 3;

/// The differences of the aligned lines, in their order.
pub(crate) fn describe(old: &[&str], file: &[&str], alignment: &[(usize, usize)]) -> Vec<String> {
    let mut found = Differences::default();
    let Some(first) = alignment.first() else {
        return Vec::new();
    };
    for line in &old[..first.0] {
        found.missing_in_file(line, first.1.checked_sub(1));
    }
    let mut next = *first;
    for &(row, line) in alignment {
        for old in &old[next.0..row] {
            found.missing_in_file(old, line.checked_sub(1).filter(|_| next.1 > 0));
        }
        for (index, text) in file.iter().enumerate().take(line).skip(next.1) {
            found.missing_in_old(text, index);
        }
        found.pair(old[row], file[line], line);
        next = (row + 1, line + 1);
    }
    for line in &old[next.0..] {
        found.missing_in_file(line, Some(next.1 - 1));
    }
    found.list()
}

#[derive(Default)]
struct Differences {
    list: Vec<String>,
    /// The indentation was named.
    indentation: bool,
}

impl Differences {
    fn add(&mut self, text: String) {
        if !self.list.contains(&text) {
            self.list.push(text);
        }
    }

    fn list(mut self) -> Vec<String> {
        if let Some(more @ 1..) = self.list.len().checked_sub(NAMED) {
            self.list.truncate(NAMED);
            self.list.push(format!("{more} more"));
        }
        self.list
    }

    /// A line of the old text that the file lacks after its line `after`, an index.
    fn missing_in_file(&mut self, line: &str, after: Option<usize>) {
        let place = match after {
            Some(after) => format!("after line {}", after + 1),
            None => "at its start".to_owned(),
        };
        self.add(if line.trim().is_empty() {
            format!("old_string has a blank line {place} that the file does not have")
        } else {
            format!("the file does not have {} {place}", quoted(line))
        });
    }

    fn missing_in_old(&mut self, line: &str, index: usize) {
        let number = index + 1;
        self.add(if line.trim().is_empty() {
            format!("old_string lacks the blank line {number}")
        } else {
            format!("old_string lacks line {number}")
        });
    }

    fn pair(&mut self, old: &str, file: &str, index: usize) {
        let number = index + 1;
        let (old, file) = (old.trim_end(), file.trim_end());
        if old.trim() != file.trim() {
            let text = describe_difference(old.trim(), file.trim(), number);
            self.add(text);
        }
        let (written, own) = (indentation(old), indentation(file));
        if written == own || self.indentation || file.is_empty() {
            return;
        }
        self.indentation = true;
        let only = |text: &str, char| !text.is_empty() && text.chars().all(|other| other == char);
        self.add(if only(own, '\t') && only(written, ' ') {
            "the file indents with tabs, old_string with spaces".to_owned()
        } else if only(own, ' ') && only(written, '\t') {
            "the file indents with spaces, old_string with tabs".to_owned()
        } else {
            format!("the indentation differs from line {number} on")
        });
    }
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// How two lines differ.
fn describe_difference(old: &str, file: &str, number: usize) -> String {
    let without_spaces = |line: &str| -> String { line.split_whitespace().collect() };
    if without_spaces(old) == without_spaces(file) {
        return format!("the spaces in line {number} differ");
    }
    let compared = compare_words(file, old);
    // Neighbouring words that differ are one part.
    let mut parts: Vec<(String, String)> = Vec::new();
    let mut is_open = false;
    for (tag, word) in compared.words {
        if tag == ChangeTag::Equal {
            is_open = false;
            continue;
        }
        if !is_open {
            parts.push((String::new(), String::new()));
            is_open = true;
        }
        if let Some((own, written)) = parts.last_mut() {
            let side = if tag == ChangeTag::Delete {
                own
            } else {
                written
            };
            side.push_str(word);
        }
    }
    if parts.len() > PARTS {
        return format!("line {number} differs in {} parts", parts.len());
    }
    let named = parts
        .iter()
        .map(|(own, written)| match (own.trim(), written.trim()) {
            ("", written) => format!("lacks {} of old_string", quoted(written)),
            (own, "") => format!("has {}, which old_string lacks", quoted(own)),
            (own, written) => format!(
                "has {} where old_string has {}",
                quoted(own),
                quoted(written)
            ),
        });
    format!("line {number} {}", named.collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    let text = text.trim();
    let head = head_bytes(text, QUOTED);
    let more = if head.len() < text.len() { "…" } else { "" };
    format!("`{head}{more}`")
}
