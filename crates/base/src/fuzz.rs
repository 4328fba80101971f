//! Invariants of text handling that hold for every input, for fuzzing.

use std::io::Write as _;

use crate::terminal_output::TerminalOutput;
use crate::visible::{marked, one_line, visible};
use crate::{ansi, text};

/// Text of models, tools and files that is shown in a terminal.
pub fn sanitizer(data: &[u8]) {
    let raw = String::from_utf8_lossy(data);
    sanitized(&raw);
    shown(&raw);
    for size in [1, 2, 3, 7] {
        assert_eq!(written(data, size), written(data, data.len().max(1)));
    }
    assert_harmless(&written(data, 5));
}

/// `text::sanitize` and what is built on it.
fn sanitized(raw: &str) {
    let clean = text::sanitize(raw);
    assert_harmless(&clean);
    assert_eq!(text::sanitize(&clean), clean, "sanitizing again");
    let line = text::single_line(raw);
    assert_harmless(&line);
    assert!(!line.contains(['\n', '\t']), "{line:?}");

    let (styled, runs) = ansi::styled(raw, &mut ansi::Style::default());
    assert_eq!(styled, clean, "the text with styles");
    let mut end = 0;
    for run in runs {
        assert!(end <= run.start && run.start < run.end, "{run:?}");
        end = run.end;
        assert!(styled.is_char_boundary(run.start as usize));
        assert!(styled.is_char_boundary(run.end as usize));
    }
}

/// The notation of questions.
fn shown(raw: &str) {
    let shown = visible(raw);
    assert_harmless(&shown);
    assert_eq!(visible(&shown), shown, "showing again");
    let marked = marked(raw);
    assert_eq!(marked.text, *shown);
    assert!(marked.marks.iter().all(|mark| !mark.is_empty()));
    // The parts of the shown text between notations occur in `raw`, in the same order.
    let starts = [0]
        .into_iter()
        .chain(marked.marks.iter().map(|mark| mark.end));
    let ends = marked.marks.iter().map(|mark| mark.start);
    let mut rest = raw;
    for (start, end) in starts.zip(ends.chain([shown.len()])) {
        for line in shown[start..end].lines() {
            let found = rest.split_once(line);
            assert!(found.is_some(), "{line:?} is not in {rest:?}");
            rest = found.map_or("", |(_, after)| after);
        }
    }
    for columns in [0, 12, 30, 80] {
        let line = one_line(raw, columns);
        assert_harmless(&line);
        assert!(!line.contains(['\n', '\t']), "{line:?}");
        // The count of what is left out is never cut.
        assert!(text::width(&line) <= columns.max(30), "{line:?}");
    }
}

/// The bytes that reach a terminal when `data` is written in chunks of `size` bytes.
fn written(data: &[u8], size: usize) -> String {
    let mut bytes = Vec::new();
    let mut out = TerminalOutput::new(&mut bytes, true);
    for chunk in data.chunks(size) {
        assert!(out.write_all(chunk).is_ok());
    }
    drop(out);
    let Ok(text) = String::from_utf8(bytes) else {
        unreachable!("a terminal gets UTF-8");
    };
    text
}

/// No character controls the terminal or hides text.
fn assert_harmless(text: &str) {
    let is_harmful = |char: char| {
        (char.is_control() && !matches!(char, '\n' | '\t')) || text::is_invisible(char)
    };
    let harmful: Vec<char> = text.chars().filter(|char| is_harmful(*char)).collect();
    assert_eq!(harmful, [' '; 0], "{text:?}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_texts_are_harmless() {
        osier_testing::fuzz::run_cases("sanitizer", super::sanitizer);
    }
}
