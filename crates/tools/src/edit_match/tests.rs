use proptest::prelude::*;

use super::*;

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
