//! A streamed document has the same rows however it is split into deltas, loses no text, and is drawn as readers
//! expect.

use insta::assert_snapshot;
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::*;
use crate::dialect::rules::options;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::Span;

fn all_rows(document: &mut Markdown, width: usize) -> Vec<Row> {
    let height = document.height(width);
    let mut rows = Vec::new();
    document.rows(width, 0..height, &mut rows);
    assert_eq!(rows.len(), height);
    rows
}

fn shown(source: &str, width: usize) -> String {
    let rows = all_rows(&mut Markdown::from_text(source), width);
    let lines: Vec<String> = rows
        .iter()
        .map(|row| row.text().trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Blocks with cached rows.
fn cached(document: &Markdown) -> usize {
    let units = document.units.iter();
    units
        .filter(|unit| matches!(&unit.body, Body::Text(text) if text.rows.is_some()))
        .count()
}

#[test]
fn carriage_returns_and_backspaces_hide_nothing() {
    let text = "first\rsecond\r\n\r\nthird\x08\x08 end\r";
    assert_eq!(shown(text, 40), "first second\n\nthird end");
    let mut streamed = Markdown::new();
    for character in text.chars() {
        streamed.push(character.encode_utf8(&mut [0; 4]));
    }
    streamed.finish();
    assert_eq!(streamed.source(), "first\nsecond\n\nthird end\n");
}

#[test]
fn rows_far_from_the_screen_are_dropped_and_built_again() {
    let paragraph = |number: usize| format!("paragraph {number}\n\n");
    let mut document = Markdown::new();
    let show = |document: &mut Markdown, from: usize| {
        document.height(80);
        let mut rows = Vec::new();
        document.rows(80, from..from + 20, &mut rows);
        rows.iter().map(Row::text).collect::<Vec<_>>()
    };
    for start in (0..4000).step_by(100) {
        for number in start..start + 100 {
            document.push(&paragraph(number));
        }
        let end = document.height(80);
        show(&mut document, end - 20);
        assert!(
            cached(&document) <= 3 * CACHED_BLOCKS,
            "{}",
            cached(&document)
        );
    }
    let top = show(&mut document, 0);
    assert_eq!((&*top[0], &*top[18]), ("paragraph 0", "paragraph 9"));
    for row in (0..6000).step_by(20) {
        let shown = show(&mut document, row);
        assert_eq!(shown[0], format!("paragraph {}", row / 2));
        assert!(
            cached(&document) <= 5 * CACHED_BLOCKS,
            "{}",
            cached(&document)
        );
    }
}

fn spans(source: &str) -> Vec<Span> {
    let rows = all_rows(&mut Markdown::from_text(source), 80);
    rows.into_iter().flat_map(|row| row.spans).collect()
}

#[test]
fn blocks_are_separated_and_lists_hang() {
    let source = "# Title\nSome *text* with `code`\nthat goes on.\n\n- one\n- two is a longer item that wraps\n  1. nested\n  2. more\n- [x] done\n- [ ] open\n\n1. a\n\n   second\n1. b\n\n---\n> quoted\n> words\n\nend";
    assert_snapshot!(shown(source, 24), @r"
    Title

    Some text with code
    that goes on.

    • one
    • two is a longer item
      that wraps
      1. nested
      2. more
    ☑ done
    ☐ open

    1. a

       second
    2. b

    ────────────────────────

    ▌ quoted words

    end
    ");
}

#[test]
fn code_keeps_its_spaces_and_names_its_language() {
    let source = "text\n```rust\nfn main() {\n\n\tlet long = 1 + 2 + 3;\n}\n```\nafter\n\n- item\n  ```\n  inner\n  ```\n\n      indented\n";
    assert_snapshot!(shown(source, 20), @r"
    text

     rust
     fn main() {

         let long = 1 +
     2 + 3;
     }

    after

    • item

       inner

       indented
    ");
}

#[test]
fn rules_are_between_all_rows_of_a_table_or_none() {
    let none = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n";
    assert_snapshot!(shown(none, 20), @r"
    ┌───┬───┐
    │ a │ b │
    ├───┼───┤
    │ 1 │ 2 │
    │ 3 │ 4 │
    └───┴───┘
    ");
    let all = format!("{none}| 5 | x<br>y |\n");
    assert_snapshot!(shown(&all, 20), @r"
    ┌───┬───┐
    │ a │ b │
    ├───┼───┤
    │ 1 │ 2 │
    ├───┼───┤
    │ 3 │ 4 │
    ├───┼───┤
    │ 5 │ x │
    │   │ y │
    └───┴───┘
    ");
}

#[test]
fn tables_are_drawn_wrapped_or_listed() {
    let source = "| Name | Value | Note |\n|:--|--:|:-:|\n| a | 10 | some longer words |\n| 漢字 | 2 | x<br>y |\n";
    assert_snapshot!(shown(source, 60), @r"
    ┌──────┬───────┬───────────────────┐
    │ Name │ Value │       Note        │
    ├──────┼───────┼───────────────────┤
    │ a    │    10 │ some longer words │
    ├──────┼───────┼───────────────────┤
    │ 漢字 │     2 │         x         │
    │      │       │         y         │
    └──────┴───────┴───────────────────┘
    ");
    assert_snapshot!(shown(source, 32), @r"
    Name: a
    Value: 10
    Note: some longer words

    Name: 漢字
    Value: 2
    Note: x y
    ");
    assert_snapshot!(shown(source, 16), @r"
    Name: a
    Value: 10
    Note: some
      longer words

    Name: 漢字
    Value: 2
    Note: x y
    ");
}

#[test]
fn a_table_of_unequal_columns_stays_text() {
    let source = "word |\n|---|--:|\n| a | b |\n";
    assert_snapshot!(shown(source, 60), @"word | |---|--:| | a | b |");
}

#[test]
fn alerts_footnotes_images_and_html() {
    let source = "> [!WARNING]\n> Mind the gap\n\nSee[^1] and ![a cat](cat.png)\n\n[^1]: The note\n    goes on\n\n<div>\nraw\n</div>\n";
    assert_snapshot!(shown(source, 60), @r"
    ▌ Warning
    ▌ Mind the gap

    See[^1] and ▣ a cat (cat.png)

    [^1]: The note goes on

    raw
    ");
}

#[test]
fn links_show_their_destination() {
    let linked = |text: &str, to: &str| Span {
        link: Some(to.into()),
        ..Span::new(
            text,
            Face::from(Token::Link).emphasised(Emphasis::UNDERLINE),
        )
    };
    let muted = Span {
        link: Some("https://a.b/c".into()),
        ..Span::new(" (https://a.b/c)", Token::Muted)
    };
    assert_eq!(
        spans("[docs](https://a.b/c) (https://x.y/z). <https://q.r>"),
        [
            linked("docs", "https://a.b/c"),
            muted,
            Span::new(" (", Token::Text),
            linked("https://x.y/z", "https://x.y/z"),
            Span::new("). ", Token::Text),
            linked("https://q.r", "https://q.r"),
        ]
    );
}

#[test]
fn emphasis_nests() {
    let text = Face::from(Token::Text);
    let bold = text.emphasised(Emphasis::BOLD);
    assert_eq!(
        spans("a **b *c*** ~~d~~ `e`"),
        [
            Span::new("a ", text),
            Span::new("b ", bold),
            Span::new("c", bold.emphasised(Emphasis::ITALIC)),
            Span::new(" ", text),
            Span::new("d", text.emphasised(Emphasis::STRIKE)),
            Span::new(" ", text),
            Span::new("e", Token::Code),
        ]
    );
}

#[test]
fn references_resolve_whenever_they_are_defined() {
    let source = "A [word][ref] here.\n\nMore.\n\n[REF]: https://example.org/x\n";
    let mut document = Markdown::new();
    document.push("A [word][ref] here.\n\nMore.\n");
    let before: String = all_rows(&mut document, 60).iter().map(Row::text).collect();
    assert_eq!(before, "A [word][ref] here.More.");
    assert_snapshot!(shown(source, 60), @r"
    A word (https://example.org/x) here.

    More.
    ");
}

#[test]
fn control_sequences_never_reach_a_row() {
    assert_eq!(shown("a\x1b[31mb\x1b[0m\x07\r\nc\u{202e}d", 40), "ab cd");
    assert_eq!(
        shown("a&#27;[31mb&#x202e;c [d](e&#x202e;f)", 40),
        "a[31mbc d (ef)"
    );
}

#[test]
fn unfinished_constructs_are_held_back() {
    let steps = [
        ("Text", "Text"),
        ("\n", "Text"),
        ("-", "Text"),
        (" item", "Text\n• item"),
        ("\n\n| a | b |", "Text\n• item"),
        ("\n|--", "Text\n• item"),
        ("|--|\n", "Text\n• item\n\n┌───┬───┐\n│ a │ b │\n└───┴───┘"),
        ("| 1 ", "Text\n• item\n\n┌───┬───┐\n│ a │ b │\n└───┴───┘"),
    ];
    let mut document = Markdown::new();
    for (delta, expected) in steps {
        document.push(delta);
        let rows = all_rows(&mut document, 40);
        let lines: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(lines.join("\n"), expected, "after {delta:?}");
    }
}

#[test]
fn an_open_fence_grows_by_lines() {
    let mut document = Markdown::new();
    document.push("```sh\necho a\nec");
    let texts = |document: &mut Markdown| -> Vec<String> {
        all_rows(document, 20).iter().map(Row::text).collect()
    };
    assert_eq!(texts(&mut document), [" sh", " echo a", " ec"]);
    document.push("ho b\n``");
    assert_eq!(texts(&mut document), [" sh", " echo a", " echo b"]);
    document.push("`\n\nafter");
    assert_eq!(
        texts(&mut document),
        [" sh", " echo a", " echo b", "", "after"]
    );
}

#[test]
fn a_block_is_complete_when_the_next_one_begins() {
    let mut document = Markdown::new();
    document.push("a for");
    all_rows(&mut document, 40);
    document.push("m.\n\n# Ti");
    let lines: Vec<String> = all_rows(&mut document, 40).iter().map(Row::text).collect();
    assert_eq!(lines, ["a form.", "", "Ti"]);
}

#[test]
fn any_range_of_rows_can_be_drawn() {
    let source = "# T\n\npara graph\n\n```\none two three four five\nsix\n```\n- a\n- b\n";
    let mut document = Markdown::from_text(source);
    let whole = all_rows(&mut document, 12);
    for start in 0..whole.len() {
        for end in start..=whole.len() {
            let mut part = Vec::new();
            document.rows(12, start..end, &mut part);
            assert_eq!(part, whole[start..end], "{start}..{end}");
        }
    }
    document.release_rows();
    assert_eq!(all_rows(&mut document, 12), whole);
}

/// The parser's events without the ends and starts of lists and of paragraphs in items, which
/// depend on blank lines between items.
fn events(source: &str) -> Vec<String> {
    let list = |event: &Event<'_>| {
        matches!(
            event,
            Event::Start(Tag::List(_) | Tag::Paragraph)
                | Event::End(TagEnd::List(_) | TagEnd::Paragraph)
        )
    };
    Parser::new_ext(source, options())
        .filter(|event| !list(event))
        .map(|event| format!("{event:?}"))
        .collect()
}

fn construct() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "alpha",
        "beta",
        "*em*",
        "**strong**",
        "`code`",
        "漢字",
        "[link](http://x.y)",
        "a_b",
        "1.",
        "-",
        "👨‍👩‍👧",
    ]);
    let line = prop::collection::vec(words, 1..6).prop_map(|words| words.join(" "));
    let text = (line.clone(), line.clone()).prop_map(|(a, b)| format!("{a}\n{b}\n"));
    let marks = vec![
        "", "", "", "\n", "\n", "- ", "* ", "1. ", "2. ", "7) ", "> ", "  ", "   ", "    ", "> - ",
        "- > ", "- - ", "# ", "### ", ">", "- [x] ", "> > ", "      ", "\t", "- \t",
    ];
    let constructs = vec![
        "```rust\n",
        "```\n",
        "~~~~\n",
        "~~~\n",
        "  ```\n",
        "    ```\n",
        "- ```\n",
        "> ```\n",
        "---\n",
        "***\n",
        "===\n",
        "-\n",
        "1.\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "a | b\n--|--\n",
        "<div>\n",
        "</div>\n",
        "<!-- c\n",
        "-->\n",
        "<pre>\n",
        "</pre>\n",
        "<span>\n",
        "\n",
        "\n\n",
        "[^1]: note\n",
        "    more\n",
        "> [!NOTE]\n> alpha\n",
        "| x |\n",
        "  \n",
    ];
    let marked_line =
        (prop::sample::select(marks), line).prop_map(|(prefix, line)| format!("{prefix}{line}\n"));
    prop_oneof![2 => text, 6 => marked_line, 4 => prop::sample::select(constructs).prop_map(String::from)]
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::vec(construct(), 0..12).prop_map(|parts| parts.concat())
}

/// Letters and digits of a text, which no layout may lose.
fn words(text: &str) -> Vec<char> {
    let mut words: Vec<char> = text.chars().filter(|char| char.is_alphabetic()).collect();
    words.sort_unstable();
    words
}

proptest! {
    #[test]
    fn blocks_parse_alone_as_they_parse_together(source in document()) {
        let document = Markdown::from_text(&source);
        let mut blocks: Vec<Range<usize>> = Vec::new();
        for unit in &document.units {
            match blocks.last_mut() {
                Some(block) if unit.part.is_some() => block.end = unit.source.end,
                _ => blocks.push(unit.source.clone()),
            }
        }
        let mut apart = Vec::new();
        for block in blocks {
            apart.extend(events(&document.source[block]));
        }
        prop_assert_eq!(apart, events(&document.source));
    }

    #[test]
    fn rows_do_not_depend_on_the_deltas(
        source in document(),
        cuts in prop::collection::vec((0usize..400, any::<bool>()), 0..12),
        width in 8usize..50,
    ) {
        let whole = all_rows(&mut Markdown::from_text(&source), width);
        let mut cuts: Vec<(usize, bool)> = cuts
            .into_iter()
            .map(|(at, draw)| (source.floor_char_boundary(at.min(source.len())), draw))
            .collect();
        cuts.sort_unstable();
        cuts.push((source.len(), true));
        let mut streamed = Markdown::new();
        let mut from = 0;
        for (to, draw) in cuts {
            streamed.push(&source[from..to]);
            from = to;
            if draw {
                all_rows(&mut streamed, width);
            }
        }
        streamed.finish();
        prop_assert_eq!(all_rows(&mut streamed, width), whole);
    }

    #[test]
    fn no_word_is_lost_and_no_row_is_too_wide(source in document(), width in 30usize..60) {
        // Names of languages and tags of breaks are not words; titles of alerts are in other
        // letters.
        let source = source
            .replace("[!NOTE]", "")
            .replace("[x]", "")
            .replace("[link](http://x.y)", "link");
        let rows = all_rows(&mut Markdown::from_text(&source), width);
        // Tags are omitted, except in code.
        let without_tags = |text: &str| {
            let tags = ["<div>", "</div>", "<pre>", "</pre>", "<span>"];
            tags.iter().fold(text.to_owned(), |text, tag| text.replace(tag, ""))
        };
        let text: String = rows.iter().map(|row| without_tags(&row.text())).collect();
        prop_assert_eq!(words(&text), words(&without_tags(&source)), "{}", text);
        for row in &rows {
            prop_assert!(row.width() <= width, "{:?}", row);
        }
    }

    #[test]
    fn no_text_panics(source in "[ \\-*_`>#|\\[\\]()!:\n\t~<a-c1-3.\\\\漢]{0,80}", width in 0usize..20) {
        let mut document = Markdown::new();
        for (_, cluster) in text::graphemes(&source) {
            document.push(cluster);
            all_rows(&mut document, width);
        }
        document.finish();
        let rows = all_rows(&mut document, width);
        prop_assert_eq!(rows, all_rows(&mut Markdown::from_text(&source), width));
    }
}

#[test]
fn complete_rows_are_those_before_the_open_block() {
    let mut document = Markdown::new();
    document.push("One.\n\nTwo goes on");
    // Until the next line is complete, it could belong to the block above.
    assert_eq!(document.complete_rows(40), 0);
    document.push(" here.\n\n- a\n- b");
    assert_eq!(document.complete_rows(40), 3);
    assert_eq!(document.height(40), 6);
    document.push(" c\n");
    document.finish();
    assert_eq!(document.complete_rows(40), 6);
    // The second paragraph has two rows at this width.
    assert_eq!(document.row_at_width(3, 40, 12), 4);
}
