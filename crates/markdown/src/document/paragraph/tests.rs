use super::*;

const WIDTH: usize = 80;

/// Streams `text` in deltas of `step` bytes, and lays out every state. Returns the most bytes that
/// a delta parses after the first hundred, and the document.
fn streamed(text: &str, step: usize) -> (usize, Markdown) {
    let mut document = Markdown::new();
    let mut most = 0;
    let mut rest = text;
    let mut count = 0;
    while !rest.is_empty() {
        let (delta, behind) = rest.split_at(rest.floor_char_boundary(step.min(rest.len())));
        rest = behind;
        document.push(delta);
        let before = document.parsed.get();
        document.height(WIDTH);
        count += 1;
        if count > 100 {
            most = most.max(document.parsed.get() - before);
        }
    }
    (most, document)
}

fn rows(document: &mut Markdown) -> Vec<Row> {
    let height = document.height(WIDTH);
    let mut rows = Vec::new();
    document.rows(WIDTH, 0..height, &mut rows);
    rows
}

fn words(count: usize, between: &str) -> String {
    let words = ["osier", "willow", "branches", "cut", "woven", "basket"];
    let text: Vec<&str> = (0..count).map(|word| words[word * 7 % 6]).collect();
    text.join(between)
}

#[test]
fn a_delta_of_an_endless_paragraph_costs_what_one_of_a_short_one_does() {
    let bold = "some **bold words** and `code` in every row of it, *all along* ".repeat(800);
    for (name, text) in [
        ("one line", words(12_000, " ")),
        ("many lines", words(12_000, "\n")),
        ("an item", format!("- {}", words(12_000, " "))),
        (
            "an item of lines",
            format!("12. {}", words(12_000, "\n    ")),
        ),
        ("no space", words(12_000, "")),
        ("wide", "漢字仮名".repeat(5000)),
        ("markup", bold),
        (
            "html",
            format!("<div>\n{}", words(12_000, "\n<p> *not* emphasis ")),
        ),
        ("a comment", format!("<!-- {}", words(12_000, "\n"))),
        (
            "indented code",
            format!("    first\n    {}", words(12_000, "\n      ")),
        ),
        (
            "after others",
            format!("# Title\n\ntext\n{}", words(12_000, " ")),
        ),
    ] {
        let (most, mut document) = streamed(&text, 97);
        assert!(most < 8 * LONG, "{name}: {most} bytes for a delta");
        assert!(document.units.len() + document.view.len() > 1, "{name}");
        document.finish();
        assert!(
            rows(&mut document) == rows(&mut Markdown::from_text(&text)),
            "{name}"
        );
        // A block other than a paragraph ends the paragraph as well.
        let (_, mut document) = streamed(&text, 4099);
        document.push("\n\nThe end\n");
        let whole = format!("{text}\n\nThe end\n");
        let shown: Vec<String> = rows(&mut document).iter().map(Row::text).collect();
        let expected = rows(&mut Markdown::from_text(&whole));
        let expected: Vec<String> = expected.iter().map(Row::text).collect();
        assert_eq!(shown.len(), expected.len(), "{name}");
        document.push("\n");
        document.finish();
        // This line is in the comment, which has no end.
        let whole = format!("{whole}\n");
        assert!(
            rows(&mut document) == rows(&mut Markdown::from_text(&whole)),
            "{name}"
        );
    }
}

#[test]
fn parts_of_plain_text_have_the_rows_of_the_paragraph() {
    for text in [
        words(6000, " "),
        words(6000, "\n"),
        format!("- {}", words(6000, " ")),
        "漢字仮名".repeat(4000),
    ] {
        let (_, mut document) = streamed(&text, 511);
        assert!(document.view.len() > 3);
        let shown = rows(&mut document);
        let whole = rows(&mut Markdown::from_text(&text));
        assert_eq!(shown.len(), whole.len());
        for (shown, whole) in shown.iter().zip(&whole) {
            assert_eq!(
                (shown.text(), shown.continues, shown.decoration),
                (whole.text(), whole.continues, whole.decoration)
            );
        }
    }
}

#[test]
fn a_delta_of_an_endless_line_of_code_costs_its_last_row() {
    for line in [words(6000, " "), words(6000, ""), "漢字".repeat(9000)] {
        let text = format!("```\nfirst\n{line}");
        let mut document = Markdown::new();
        let read = |document: &Markdown| match &document.units[0].body {
            Body::Code(code) => code.long.values().map(|line| line.read).sum::<usize>(),
            _ => 0,
        };
        let mut before = 0;
        for delta in text.split_inclusive([' ', 'b', '字']) {
            document.push(delta);
            document.height(WIDTH);
            let now = read(&document);
            assert!(now - before <= 2 * crate::long_line::LONG);
            assert!(before == 0 || now - before < 1000, "{}", now - before);
            before = now;
        }
        let whole = rows(&mut Markdown::from_text(&format!("{text}\n```")));
        let open: Vec<String> = rows(&mut document).iter().map(Row::text).collect();
        let expected: Vec<String> = whole.iter().map(Row::text).collect();
        assert_eq!(open, expected);
        document.push("\n```\n");
        assert!(rows(&mut document) == whole);
        let mut part = Vec::new();
        document.rows(WIDTH, 37..52, &mut part);
        assert!(part == whole[37..52]);
    }
}

#[test]
fn paragraph_is_split_again_for_another_width() {
    let text = words(6000, " ");
    let (_, mut document) = streamed(&text, 511);
    let mut whole = Markdown::from_text(&text);
    for width in [33, 120, WIDTH] {
        assert_eq!(document.height(width), whole.height(width));
    }
}
