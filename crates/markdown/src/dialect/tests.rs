use super::*;
use crate::Markdown;
use osier_term::row::Row;

/// One row of the table that the screen, exported pages and the browser chat share.
struct Case {
    source: String,
    shown: String,
    links: Vec<String>,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("cases.tsv").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    let newlines = |text: &str| text.replace("\\n", "\n");
    let case = |line: &str| {
        let [source, shown, links] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        Case {
            source: newlines(source),
            shown: newlines(if shown == "=" { source } else { shown }),
            links: links.split_whitespace().map(str::to_owned).collect(),
        }
    };
    lines.map(case).collect()
}

fn rows(document: &mut Markdown) -> Vec<Row> {
    let mut rows = Vec::new();
    let height = document.height(200);
    document.rows(200, 0..height, &mut rows);
    rows
}

fn streamed(source: &str, size: usize) -> Vec<Row> {
    let mut document = Markdown::new();
    let mut rest = source;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        document.push(chunk);
        rows(&mut document);
        rest = after;
    }
    document.finish();
    rows(&mut document)
}

#[test]
fn screen_shows_the_text_and_the_links_of_every_case() {
    for Case {
        source,
        shown,
        links,
    } in cases()
    {
        let rows = rows(&mut Markdown::from_text(&source));
        let text: Vec<String> = rows
            .iter()
            .map(|row| row.text().trim().to_owned())
            .collect();
        assert_eq!(text.join("\n"), shown, "{source}");
        let mut found: Vec<String> = Vec::new();
        for span in rows.iter().flat_map(|row| &row.spans) {
            let link = span.link.as_ref().map(ToString::to_string);
            found.extend(link.filter(|link| found.last() != Some(link)));
        }
        assert_eq!(found, links, "{source}");
    }
}

#[test]
fn streamed_text_ends_like_the_complete_one() {
    for Case { source, .. } in cases() {
        let whole = rows(&mut Markdown::from_text(&source));
        for size in [1, 2, 7] {
            assert_eq!(streamed(&source, size), whole, "{size}: {source}");
        }
    }
}

#[test]
fn two_splits_at_every_character_end_like_the_complete_text() {
    let all: Vec<String> = cases().into_iter().map(|case| case.source).collect();
    let all = all.join("\n\n");
    let whole = rows(&mut Markdown::from_text(&all));
    for (at, _) in all.char_indices().step_by(5) {
        let mut document = Markdown::new();
        for part in [&all[..at], &all[at..]] {
            document.push(part);
            document.height(200);
        }
        document.finish();
        assert!(rows(&mut document) == whole, "{at}");
    }
}

#[test]
fn prepared_text_has_the_length_of_the_source() {
    for Case { source, .. } in cases() {
        assert_eq!(Dialect::new(&source).parsed.len(), source.len(), "{source}");
    }
}

/// A search from every start would take minutes.
#[test]
fn long_text_of_delimiters_and_brackets_is_searched_once() {
    for part in [
        "\\( \\[ ",
        "$x ",
        "$$ ",
        "https://a.b/))))",
        "www.",
        "<!-- <br ",
    ] {
        let source = part.repeat(100_000);
        assert!(Dialect::new(&source).events(&|_| None).count() > 0);
    }
}
