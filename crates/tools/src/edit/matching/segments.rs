//! Edits whose texts leave out code behind a line such as `// ... existing code ...`.

use super::search::{Found, Search};
use super::splice::Place;
use super::types::Edit;

/// The note for the model.
const NOTE: &str = "the parts around the omitted code were matched one by one";

/// Words of a line that stands for code that is left out.
const WORDS: [&str; 9] = [
    "existing",
    "unchanged",
    "rest of",
    "remaining",
    "same as before",
    "omitted",
    "other code",
    "previous code",
    "keep",
];

/// The place of `edit` if it leaves out code.
pub(super) fn find(original: &str, edit: &Edit) -> Option<Found> {
    Some(Found {
        edit: Edit::default(),
        places: vec![place(original, edit)?],
        exact: false,
        notes: vec![NOTE],
    })
}

/// The place of `edit`, whose old and new text leave out the same code: every part must occur once after the one before.
fn place(original: &str, edit: &Edit) -> Option<Place> {
    let (old, new) = (parts(&edit.old), parts(&edit.new));
    if old.len() < 2 || old.len() != new.len() || edit.replace_all {
        return None;
    }
    let mut splices = Vec::new();
    let mut matched: Option<std::ops::Range<usize>> = None;
    for (old, new) in old.into_iter().zip(new) {
        if old.trim().is_empty() {
            if new.trim().is_empty() {
                continue;
            }
            return None;
        }
        let from = matched.as_ref().map_or(0, |matched| matched.end);
        let part = Edit {
            old,
            new,
            replace_all: false,
        };
        let found = Search::new(&original[from..], None).whole(&part, 0)?;
        let [place] = <[Place; 1]>::try_from(found.places).ok()?;
        let start = matched.map_or(place.matched.start, |matched| matched.start);
        matched = Some(start..from + place.matched.end);
        splices.extend(place.splices.into_iter().map(|mut splice| {
            splice.range = from + splice.range.start..from + splice.range.end;
            splice
        }));
    }
    (!splices.is_empty()).then_some(Place {
        matched: matched?,
        splices,
    })
}

/// A line of the new text that stands for code, when neither the old text nor the file has such a line: written to the
/// file, it would replace that code.
pub(super) fn placeholder(original: &str, edit: &Edit) -> Option<String> {
    let lines = edit.new.lines().map(str::trim);
    let mut found =
        lines.filter(|line| is_omission(line) && WORDS.iter().any(|word| has(line, word)));
    found
        .find(|line| !edit.old.contains(line) && !original.contains(line))
        .map(str::to_owned)
}

/// The text between the lines that stand for code.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.split_inclusive('\n') {
        match parts.last_mut() {
            Some(part) if !is_omission(line.trim()) => part.push_str(line),
            _ => parts.push(String::new()),
        }
    }
    parts
}

/// Whether a line is a comment of dots, with or without words such as `existing code`.
fn is_omission(line: &str) -> bool {
    let ends = [
        "//", "/*", "*/", "<!--", "-->", "{/*", "*/}", "#", "--", ";", "%",
    ];
    let mut inner = line;
    for end in ends {
        inner = inner.strip_prefix(end).unwrap_or(inner).trim_start();
        inner = inner.strip_suffix(end).unwrap_or(inner).trim_end();
    }
    let dots = |text: &str| text.starts_with("...") || text.starts_with('\u{2026}');
    let ends_in_dots = inner.ends_with("...") || inner.ends_with('\u{2026}');
    let words = inner.trim_matches(['.', '\u{2026}', ' ']);
    (dots(inner) || (ends_in_dots && inner.len() < line.len()))
        && (words.is_empty() || WORDS.iter().any(|word| has(words, word)))
}

fn has(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(word)
}
