use proptest::prelude::*;

use super::*;
use crate::render::render;
use osier_term::row::Row;

const WIDTH: usize = 80;

fn rows(document: &mut Markdown, width: usize) -> Vec<Row> {
    let height = document.height(width);
    let mut rows = Vec::new();
    document.rows(width, 0..height, &mut rows);
    rows
}

/// The document, split at every possible place.
fn split_everywhere(source: &str) -> Markdown {
    let mut document = Markdown {
        splits_all: true,
        ..Markdown::new()
    };
    document.push(source);
    document.finish();
    document
}

/// The text and the rows of each top-level block, laid out as one.
fn whole(source: &str, width: usize) -> Vec<(String, Vec<Row>)> {
    let document = split_everywhere(source);
    let mut groups: Vec<Unit> = Vec::new();
    for unit in &document.units {
        match groups.last_mut() {
            Some(last) if unit.part.is_some() => last.source.end = unit.source.end,
            _ => groups.push(unit.clone()),
        }
    }
    let block = |unit: &Unit| {
        let text = &document.source[unit.source.clone()];
        let (rows, _) = render(
            text,
            Unit {
                part: None,
                ..unit.clone()
            }
            .block(width, &[]),
            &|label| document.definitions.get(&normalise(label)).cloned(),
        );
        (text.to_owned(), rows)
    };
    groups.iter().map(block).collect()
}

/// The rows of each top-level block.
fn groups(document: &mut Markdown, width: usize) -> Vec<Vec<Row>> {
    let all = rows(document, width);
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for index in 0..document.units.len() {
        let start = index.checked_sub(1).map_or(0, |above| document.ends[above]);
        let mut start = start.min(all.len());
        if document.units[index].part.is_none() {
            start += usize::from(document.has_gap(index) && document.ends[index] > start);
            groups.push(Vec::new());
        }
        groups
            .last_mut()
            .unwrap()
            .extend_from_slice(&all[start..document.ends[index]]);
    }
    groups
}

fn nested() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "alpha beta gamma",
        "漢字 and more words",
        "",
        "",
        "- one",
        "- two",
        "* other",
        "1. first",
        "1. second",
        "7) x",
        "> quoted",
        ">",
        "# Title",
        "```rust",
        "```",
        "let a = 1;",
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
        "word |",
        "    deep",
        "  - in",
        "    - far in",
        "   text",
        "---",
        "[ref] here",
        "[ref]: /there",
        "- [x] done",
        "> [!NOTE]",
        "*em",
        "ph*",
        "hard  ",
        "> - item",
        "  ```",
        "===",
        "   ===",
        ":--|--",
        "a | b",
    ]);
    let lines = prop::collection::vec(line, 1..24);
    let outer = prop::sample::select(vec![
        "", "> ", "- ", "> > ", "> - ", "- > ", "1. ", "[^n]: ", "- - ",
    ]);
    (outer, lines).prop_map(|(outer, lines)| {
        let rest: String = outer
            .chars()
            .map(|mark| if mark == '>' { '>' } else { ' ' })
            .collect();
        let rest = if outer.starts_with('[') {
            "    ".to_owned()
        } else {
            rest
        };
        let mut source = String::new();
        for (index, line) in lines.iter().enumerate() {
            source.push_str(if index == 0 { outer } else { &rest });
            source.push_str(line);
            source.push('\n');
        }
        source
    })
}

fn assert_parts_give_the_whole(source: &str, width: usize) {
    let whole = whole(source, width);
    let mut document = split_everywhere(source);
    let groups = groups(&mut document, width);
    for ((text, whole), parts) in whole.iter().zip(&groups) {
        let show = |rows: &[Row]| rows.iter().map(Row::text).collect::<Vec<_>>().join("\n");
        assert!(
            whole == parts,
            "{text}\n--- whole\n{}\n--- parts\n{}",
            show(whole),
            show(parts)
        );
    }
}

#[test]
fn lazy_lines_stay_text() {
    for source in [
        "-    text\n  > [!NOTE]\n  > - item\n  | a | b |\n  |---|---|\n",
        "-    text\n      - far in\n    ```\n    more\n",
        "> text\n>\n> | a | b |\n|---|---|\n",
        "> text\n>\n> a | b\n:--|--\n",
        "> - text\n>\n>   more\n===\n",
        "> word |\n> |---|---|\n> ===\n> [ref]: /there\n> 7) x\n",
    ] {
        assert_parts_give_the_whole(source, 20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn parts_give_the_rows_of_the_whole(source in nested(), width in 20usize..60) {
        assert_parts_give_the_whole(&source, width);
    }
}

/// Streams `lines` in deltas of half a line and draws each. Returns the maximum number of bytes
/// that a delta parses, and the sum.
fn parsed_bytes(
    document: &mut Markdown,
    lines: std::ops::Range<usize>,
    line: impl Fn(usize) -> String,
) -> (usize, usize) {
    document.height(WIDTH);
    let start = document.parsed.get();
    let mut most = 0;
    let mut out = Vec::new();
    for line in lines.map(line) {
        let half = line.floor_char_boundary(line.len() / 2);
        for delta in [&line[..half], &line[half..]] {
            let before = document.parsed.get();
            document.push(delta);
            let height = document.height(WIDTH);
            out.clear();
            document.rows(WIDTH, height.saturating_sub(40)..height, &mut out);
            most = most.max(document.parsed.get() - before);
        }
    }
    (most, document.parsed.get() - start)
}

#[test]
fn a_delta_costs_the_same_early_and_late() {
    type Line = fn(usize) -> String;
    let kinds: [(&str, usize, Line); 9] = [
        ("quote", 50_000, |n| {
            format!("> line {n} of *what* was said\n")
        }),
        ("quote of paragraphs", 50_000, |n| {
            if n % 5 == 4 {
                ">\n".into()
            } else {
                format!("> line {n}\n")
            }
        }),
        ("item in a quote", 50_000, |n| match n {
            0 => "> - first\n".into(),
            n if n % 7 == 6 => ">\n".into(),
            n => format!(">   more of it, line {n}\n"),
        }),
        ("list in an item", 20_000, |n| {
            if n == 0 {
                "- a\n".into()
            } else {
                format!("  - inner {n}\n")
            }
        }),
        ("numbers in a quote", 20_000, |n| {
            format!("> {}. item\n", n + 1)
        }),
        ("list", 20_000, |n| format!("- item {n} with `code`\n")),
        ("code in an item", 50_000, |n| {
            if n == 0 {
                "1. a\n\n   ```rust\n".into()
            } else {
                format!("   let a = {n};\n")
            }
        }),
        ("table", 20_000, |n| {
            if n == 0 {
                "| a | b |\n|---|---|\n".into()
            } else {
                format!("| row {n} | {} |\n", n * n)
            }
        }),
        ("table in a quote", 20_000, |n| {
            if n == 0 {
                "> intro\n>\n> | a | b |\n> |---|---|\n".into()
            } else {
                format!("> | row {n} | {} |\n", n * n)
            }
        }),
    ];
    for (name, count, line) in kinds {
        let mut document = Markdown::new();
        (0..1000).for_each(|n| document.push(&line(n)));
        let early = parsed_bytes(&mut document, 1000..1100, line);
        (1100..count).for_each(|n| document.push(&line(n)));
        let late = parsed_bytes(&mut document, count..count + 100, line);
        println!("{name}: {early:?} bytes early, {late:?} late");
        assert!(
            early.0.max(late.0) <= 64 * 1024,
            "{name}: {early:?}, late {late:?}"
        );
        // Each line has two deltas.
        let mean = early.1.max(late.1) / 200;
        assert!(mean <= 8 * 1024, "{name}: {mean}");
    }
}
