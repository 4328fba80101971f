//! Edges of an edit that a model writes differently in the old and in the new text. The old text is found exactly, but the
//! new one as written would indent a line twice, or join two lines.

use std::ops::Range;

use super::indentation::indentation;
use super::types::Edit;

/// The new text that fits where `matched` is replaced, and the note for the model; `None` when the text fits as it is.
pub(super) fn corrected(
    original: &str,
    matched: &Range<usize>,
    edit: &Edit,
) -> Option<(String, &'static str)> {
    indented_once(original, matched, edit)
        .map(|new| (new, "the first line was not indented a second time"))
        .or_else(|| {
            break_before(original, matched, edit)
                .map(|new| (new, "the line break before the text was kept"))
        })
        .or_else(|| {
            break_after(original, matched, edit)
                .map(|new| (new, "the line break after the text was kept"))
        })
}

/// The old text starts after the indentation of its first line, and the new text contains it. The lines that both have
/// show that the text is not meant to be indented.
fn indented_once(original: &str, matched: &Range<usize>, edit: &Edit) -> Option<String> {
    let line_start = original[..matched.start].rfind('\n').map_or(0, |at| at + 1);
    let before = &original[line_start..matched.start];
    let first = edit.new.lines().next()?;
    let is_repeated = !before.is_empty()
        && indentation(before) == before
        && indentation(&edit.old).is_empty()
        && indentation(first) == before;
    let is_same =
        |line: &str| !indentation(line).is_empty() && edit.new.lines().any(|new| new == line);
    let has_same = edit.old.lines().skip(1).any(is_same);
    (is_repeated && has_same).then(|| edit.new[before.len()..].to_owned())
}

/// The old text starts with the end of the line before, the new one with the same line as the old one.
fn break_before(original: &str, matched: &Range<usize>, edit: &Edit) -> Option<String> {
    let content = |text: &str| {
        text.lines()
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    };
    let is_in_line = matched.start > 0 && !original[..matched.start].ends_with('\n');
    let first = content(&edit.new).filter(|line| !indentation(line).is_empty());
    let joins = is_in_line
        && edit.old.starts_with(['\n', '\r'])
        && !edit.new.starts_with(['\n', '\r'])
        && first.is_some()
        && first == content(&edit.old);
    joins.then(|| format!("\n{}", edit.new))
}

/// The old text ends with a line break; the new text does not, and it is more than the old text without that line break.
fn break_after(original: &str, matched: &Range<usize>, edit: &Edit) -> Option<String> {
    let joins = edit.old.ends_with('\n')
        && !edit.new.is_empty()
        && !edit.new.ends_with('\n')
        && original[..matched.end].ends_with('\n')
        && !edit.old.trim_end_matches(['\r', '\n']).eq(&edit.new)
        && matched.end < original.len();
    joins.then(|| format!("{}\n", edit.new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_neither_indented_twice_nor_joined() {
        for (original, old, new, expected) in [
            (
                "  a {\n    b\n  }\n",
                "a {\n    b\n",
                "  c {\n    b\n",
                Some("c {\n    b\n"),
            ),
            ("x\n  a\ny\n", "\n  a\n", "  a\n  b\n", Some("\n  a\n  b\n")),
            ("a\nb\n", "a\n", "c", Some("c\n")),
            // Literally what is meant.
            ("  a\n", "a", "  a", None),
            (
                "  a {\n    b\n  }\n",
                "a {\n    b\n",
                "  c {\n      b\n",
                None,
            ),
            ("x\n  a\n", "\n  a", " a", None),
            ("f(\n  a)\n", "f(\n", "f(", None),
            ("a\nb\n", "a\n", "", None),
            ("a\n", "a\n", "b", None),
        ] {
            let edit = Edit {
                old: old.to_owned(),
                new: new.to_owned(),
                replace_all: false,
            };
            let start = original.find(old).unwrap();
            let found = corrected(original, &(start..start + old.len()), &edit);
            let found = found.map(|(new, _)| new);
            assert_eq!(found.as_deref(), expected, "{original:?} {old:?}");
        }
    }
}
