mod corpus;
mod unseen;

use proptest::prelude::*;

use super::*;
use crate::edit::view::View;

fn edit(old: &str, new: &str) -> Edit {
    Edit {
        old: old.to_owned(),
        new: new.to_owned(),
        replace_all: false,
    }
}

fn all(old: &str, new: &str) -> Edit {
    Edit {
        replace_all: true,
        ..edit(old, new)
    }
}

fn applied(original: &str, edits: &[Edit]) -> String {
    apply(original, edits, true).unwrap().text
}

#[test]
fn edits_apply_to_the_original_in_any_order() {
    let swap = [edit("b", "a"), edit("a", "b")];
    assert_eq!(applied("a b", &swap), "b a");
    assert_eq!(applied("x x x", &[all("x", "yy")]), "yy yy yy");
    assert_eq!(applied("aaaa", &[all("aa", "b")]), "bb");
}

#[test]
fn edits_of_adjacent_lines_apply_in_any_order() {
    for (first, second, expected) in [
        (edit("b", "c"), edit("a\n", "a\nx\n"), "a\nx\nc"),
        (edit("b", "y\nb"), edit("a\n", "a\nx\n"), "a\nx\ny\nb"),
    ] {
        let (one, other) = ([first.clone(), second.clone()], [second, first]);
        assert_eq!(applied("a\nb", &one), expected);
        assert_eq!(applied("a\nb", &other), expected);
    }
}

#[test]
fn line_endings_are_preserved() {
    for (original, old, new, expected) in [
        (
            "a\r\nb\r\nc\r\n",
            "a\nb\n",
            "a\nx\ny\n",
            "a\r\nx\r\ny\r\nc\r\n",
        ),
        ("a\nb\r\nc\n", "a\nb\nc\n", "a\nb\nd\n", "a\nb\r\nd\n"),
        ("a\r\nb\n", "a", "x\ny", "x\r\ny\r\nb\n"),
        ("a\r\nb", "\nb", "\nc", "a\r\nc"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "a\r\nc", "a\r\nc\r\n"),
        ("a\n", "a", "a\r\nb", "a\r\nb\n"),
    ] {
        assert_eq!(
            applied(original, &[edit(old, new)]),
            expected,
            "{original:?} {old:?}"
        );
    }
}

#[test]
fn byte_order_mark_and_missing_newline_stay() {
    assert_eq!(
        applied("\u{feff}a\nb", &[edit("a\nb", "a\nc")]),
        "\u{feff}a\nc"
    );
    assert_eq!(applied("\u{feff}a", &[edit("a", "b")]), "\u{feff}b");
}

#[test]
fn normalised_text_matches_and_other_lines_stay() {
    let original = "// don\u{2019}t  \nlet a = \u{201c}x\u{201d};\t\nend\n";
    let edits = [edit(
        "// don't\nlet a = \"x\";\n",
        "// don't\nlet a = \"y\";\n",
    )];
    let applied = apply(original, &edits, true).unwrap();
    assert_eq!(applied.text, "// don\u{2019}t  \nlet a = \"y\";\nend\n");
    let actual = "// don\u{2019}t  \nlet a = \u{201c}x\u{201d};\t\n";
    assert_eq!(applied.matches[0].actual.as_deref(), Some(actual));
    assert_eq!(
        apply(original, &edits, false),
        Err(MatchError::NotExact { index: 0 })
    );
}

#[test]
fn trailing_whitespace_does_not_match_inside_a_line() {
    let trailing = [edit("foo ", "bar")];
    assert_eq!(
        apply("foobar\n", &trailing, true),
        Err(MatchError::NotFound { index: 0 })
    );
    assert_eq!(applied("x foo\n", &trailing), "x bar\n");
}

#[test]
fn match_errors_are_distinguished() {
    for (original, edits, expected) in [
        ("a", vec![edit("", "b")], MatchError::EmptyOld { index: 0 }),
        ("a", vec![edit("a", "a")], MatchError::NoChange { index: 0 }),
        (
            "a",
            vec![edit("a", "b"), edit("x", "y")],
            MatchError::NotFound { index: 1 },
        ),
        (
            "a",
            vec![edit(" \n ", "y")],
            MatchError::NotFound { index: 0 },
        ),
        (
            "a\nb\na\n",
            vec![edit("a", "x")],
            MatchError::Ambiguous {
                index: 0,
                lines: vec![1, 3],
                more: false,
            },
        ),
        (
            "aaa",
            vec![edit("aa", "x")],
            MatchError::Ambiguous {
                index: 0,
                lines: vec![1, 1],
                more: false,
            },
        ),
        (
            "abc",
            vec![edit("bc", "x"), edit("ab", "y")],
            MatchError::Overlap {
                first: 0,
                second: 1,
            },
        ),
    ] {
        assert_eq!(apply(original, &edits, true), Err(expected));
    }
}

/// The text and the notes of one edit, or the error.
fn noted(original: &str, old: &str, new: &str) -> Result<(String, Vec<&'static str>), MatchError> {
    let mut applied = apply(original, &[edit(old, new)], true)?;
    Ok((applied.text, applied.matches.remove(0).notes))
}

#[test]
fn whitespace_that_a_model_gets_wrong_is_taken_from_the_file() {
    const INDENTATION: &str = "the indentation was adapted to the file";
    const BLANK_LINES: &str = "blank lines were not compared";
    const SPACES: &str = "spaces inside lines were not compared";
    let go = "func f() {\n\tif ok {\n\t\treturn 1\n\t}\n}\n";
    let python = "def f():\n    if ok:\n        return 1\n\n    return  2";
    for (original, old, new, expected, note) in [
        // Spaces for tabs, with a new level.
        (
            go,
            "    if ok {\n        return 1\n    }",
            "    if ok {\n        for {\n            return 2\n        }\n    }",
            "func f() {\n\tif ok {\n\t\tfor {\n\t\t\treturn 2\n\t\t}\n\t}\n}\n",
            INDENTATION,
        ),
        // Two columns for four, without the outer level.
        (
            python,
            "if ok:\n  return 1\n",
            "if ok:\n  if fine:\n    return 3\n",
            "def f():\n    if ok:\n        if fine:\n            return 3\n\n    return  2",
            INDENTATION,
        ),
        // The first line without its indentation.
        (
            python,
            "if ok:\n         return 1",
            "if ok:\n         return 1\nelse:\n    pass",
            "def f():\n    if ok:\n        return 1\n    else:\n    pass\n\n    return  2",
            "",
        ),
        // A blank line is missing: the one of the file stays.
        (
            python,
            "        return 1\n    return  2",
            "        return 1\n    return  3",
            "def f():\n    if ok:\n        return 1\n\n    return  3",
            BLANK_LINES,
        ),
        // Blank lines too many, also at the edges.
        (
            go,
            "\n\tif ok {\n\n\t\treturn 1\n",
            "\n\tif ok {\n\n\t\treturn 4\n",
            "func f() {\n\tif ok {\n\t\treturn 4\n\t}\n}\n",
            BLANK_LINES,
        ),
        // Spaces inside a line.
        (
            "f( a,b )\ng()\n",
            "f(a, b)\ng()\n",
            "f(a, b)\nh()\n",
            "f( a,b )\nh()\n",
            SPACES,
        ),
    ] {
        let expected = if note.is_empty() {
            Err(MatchError::NotFound { index: 0 })
        } else {
            Ok((expected.to_owned(), vec![note]))
        };
        assert_eq!(noted(original, old, new), expected, "{old}");
    }
}

#[test]
fn other_text_is_not_taken_for_the_one_meant() {
    let original = "fn a() {\n    total(1);\n}\nmod b {\n    fn a() {\n        total(1);\n    }\n}\nlet s = \"x  y\";\n";
    for (old, expected) in [
        // Two places, with different indentation.
        (
            "  fn a() {\n      total(1);\n",
            MatchError::Ambiguous {
                index: 0,
                lines: vec![1, 5],
                more: false,
            },
        ),
        // Another word, another structure, spaces in quotes, nothing but a bracket.
        (
            "fn a() {\n    totals(1);\n}",
            MatchError::NotFound { index: 0 },
        ),
        (
            "fn a() {\ntotal(1);\n}\nmod c {",
            MatchError::NotFound { index: 0 },
        ),
        ("let s=\"x y\";", MatchError::NotFound { index: 0 }),
        ("  }\n  }", MatchError::NotFound { index: 0 }),
    ] {
        assert_eq!(noted(original, old, "new"), Err(expected), "{old}");
    }
}

#[test]
fn omitted_code_stays() {
    const NOTE: &str = "the parts around the omitted code were matched one by one";
    let original = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    let old = "fn a() {\n    one();\n    // ... existing code ...\n    three();\n}\n";
    let new = "fn a() {\n    uno();\n    // ... existing code ...\n    tres();\n}\n";
    let expected = "fn a() {\n    uno();\n    two();\n    tres();\n}\n";
    assert_eq!(
        noted(original, old, new),
        Ok((expected.to_owned(), vec![NOTE]))
    );
    let line = "// ... rest of the function unchanged".to_owned();
    let new = format!("fn a() {{\n    uno();\n    {line}\n}}\n");
    assert_eq!(
        noted(original, original, &new),
        Err(MatchError::Placeholder { index: 0, line })
    );
    // A part that occurs twice.
    let twice = format!("{original}{original}");
    assert_eq!(
        noted(&twice, old, &new),
        Err(MatchError::NotFound { index: 0 })
    );
}

#[test]
fn edits_that_depend_on_each_other_apply_in_order() {
    for (edits, expected) in [
        // The second changes what the first wrote.
        (vec![edit("a", "x\ny"), edit("y", "z")], Some("x\nz b c")),
        // The same edit twice, and one that another contains.
        (vec![edit("a", "a a"), edit("a", "a a")], Some("a a b c")),
        (vec![edit("b", "d"), edit("a b", "a d")], Some("a d c")),
        (vec![edit("a b", "a d"), edit("b", "d")], Some("a d c")),
        (vec![edit("a b", "x b"), edit("b c", "b y")], Some("x b y")),
        (vec![edit("a b", "x"), edit("b c", "y")], None),
    ] {
        let applied = apply("a b c", &edits, true).ok();
        assert_eq!(
            applied.map(|applied| applied.text).as_deref(),
            expected,
            "{edits:?}"
        );
    }
}

proptest! {
    /// The bytes before and after the match are unchanged.
    #[test]
    fn an_edit_changes_only_its_match(
        before in "[ab“’é \t\r\n]{0,30}",
        new in "[ab’é \t\n]{0,12}",
        after in "[ab“’é \t\r\n]{0,30}",
    ) {
        // The old text is unique.
        let old = "<old>";
        let original = format!("{before}{old}{after}");
        let text = applied(&original, &[edit(old, &new)]);
        let inside = text
            .strip_prefix(&before)
            .and_then(|rest| rest.strip_suffix(&after))
            .expect("the surroundings changed");
        prop_assert_eq!(inside.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    }

    /// Lines that an edit repeats keep their bytes, even if they matched only after normalisation.
    #[test]
    fn unchanged_lines_keep_their_bytes(
        lines in proptest::collection::vec("[ab“’é]{1,5}( |\t)?\r?", 1..6),
        changed in 0_usize..6,
    ) {
        let changed = changed % lines.len();
        let mut parts = lines.clone();
        parts[changed] = "<target>".to_owned();
        let original = parts.join("\n");
        let seen = View::normalized(&original).text.into_owned();
        let new = seen.replace("<target>", "<changed>");
        prop_assert_eq!(
            applied(&original, &[edit(&seen, &new)]),
            original.replace("<target>", "<changed>")
        );
    }

    /// No text and no edit panics.
    #[test]
    fn nothing_panics(original in "\\PC{0,40}", old in "\\PC{0,6}", new in "\\PC{0,6}", replace_all: bool) {
        let _ = apply(&original, &[Edit { old, new, replace_all }], true);
    }
}

#[test]
fn a_line_break_in_quotes_is_the_escape_of_the_file() {
    let file = "fn main() {\n    print(\"a\\nb\\n\");\n    print(\"c\");\n}\n";
    let edit = Edit {
        old: "    print(\"a\nb\n\");\n    print(\"c\");".to_owned(),
        new: "    print(\"a\nx\n\");\n    print(\"d\");".to_owned(),
        replace_all: false,
    };
    let applied = apply(file, &[edit], true).unwrap();
    assert_eq!(
        applied.text,
        "fn main() {\n    print(\"a\\nx\\n\");\n    print(\"d\");\n}\n"
    );
    assert_eq!(
        applied.matches[0].notes,
        ["the line breaks in quotes were escaped"]
    );
}

#[test]
fn a_wrong_word_in_a_comment_costs_nothing_where_the_rest_fits_once() {
    let file =
        "fn f() {\n    // Counts all open files.\n    let count = read();\n    show(count);\n}\n";
    let edit = |comment: &str, old: &str, new: &str| Edit {
        old: format!("    // {comment}\n    let count = {old};\n    show(count);"),
        new: format!("    // {comment}\n    let count = {new};\n    show(count);"),
        replace_all: false,
    };
    let applied = apply(
        file,
        &[edit("Counts all open handles.", "read()", "1")],
        true,
    )
    .unwrap();
    assert_eq!(applied.text, file.replace("read()", "1"));
    assert_eq!(
        applied.matches[0].notes,
        ["a comment differs from the file; everything else fits at one place only"]
    );
    // Another comment, other code, or two places.
    let twice = [file, file].concat();
    for (text, edit) in [
        (file, edit("Closes the socket.", "read()", "1")),
        (file, edit("Counts all open handles.", "write()", "1")),
        (&*twice, edit("Counts all open handles.", "read()", "1")),
    ] {
        let error = apply(text, std::slice::from_ref(&edit), true).unwrap_err();
        assert_eq!(error, MatchError::NotFound { index: 0 }, "{edit:?}");
    }
}
