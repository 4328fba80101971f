//! The documentation is complete: every page is in the book, and every link has a target.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Targets of the local links and images of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.starts_with("    ") && !line.trim_start().starts_with("- ") {
            continue;
        }
        let targets = line.split("](").skip(1);
        found.extend(targets.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    found.retain(|target| !target.contains("://") && !target.starts_with("mailto:"));
    found
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|char| match char {
        ' ' => Some('-'),
        '-' | '_' => Some(char),
        char if char.is_alphanumeric() => Some(char.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

#[test]
fn every_page_is_in_the_book_once() {
    let listed = links(&read(&root().join("docs/SUMMARY.md")));
    let unique: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "{listed:?}");
    let pages = fs::read_dir(root().join("docs")).unwrap();
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let is_page = |name: &String| Path::new(name).extension().is_some_and(|end| end == "md");
    let pages: BTreeSet<String> = names
        .filter(|name| is_page(name) && name != "SUMMARY.md")
        .collect();
    assert_eq!(unique.into_iter().cloned().collect::<BTreeSet<_>>(), pages);
}

#[test]
fn every_link_has_a_target() {
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|page| page.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    let mut broken = Vec::new();
    for page in &pages {
        for link in links(&read(page)) {
            let (path, place) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            let found = target.exists()
                && (place.is_empty()
                    || read(&target)
                        .lines()
                        .filter_map(|line| line.strip_prefix('#'))
                        .any(|line| anchor(line.trim_start_matches('#').trim()) == place));
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Without it, some viewers join the spaces of a row.
#[test]
fn pictures_preserve_spaces() {
    let pictures = fs::read_dir(root().join("docs/pictures")).unwrap();
    let paths = pictures.map(|picture| picture.unwrap().path());
    let drawn: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "svg"))
        .collect();
    assert!(drawn.len() > 100, "the pictures were not found");
    let faults: Vec<&PathBuf> = drawn
        .iter()
        .filter(|path| !read(path).contains(r#" xml:space="preserve""#))
        .collect();
    assert_eq!(faults, Vec::<&PathBuf>::new());
}

const GUIDES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];

#[test]
fn every_crate_is_in_the_table_of_crates() {
    let guide = read(&root().join("CONTRIBUTING.md"));
    let (_, table) = guide.split_once("| crate | contents |").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let name = |row: &str| row.split('`').nth(1).map(str::to_owned);
    let mut listed: Vec<String> = rows.filter_map(name).collect();
    listed.sort();
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let names = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(listed, names);
}

/// The words in backticks that are paths of the sources.
#[test]
fn every_path_in_the_guides_exists() {
    const FOLDERS: [&str; 12] = [
        ".ci/",
        "assets/",
        "benches/",
        "crates/",
        "docs/",
        "evals/",
        "examples/",
        "fuzz/",
        "keymaps/",
        "scripts/",
        "src/",
        "tests/",
    ];
    let mut checked = 0;
    let mut missing = Vec::new();
    for guide in GUIDES {
        let text = read(&root().join(guide));
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|folder| word.starts_with(folder));
            let is_pattern = word.contains([' ', '*', '<', '{'])
                || word.chars().any(|char| char.is_ascii_uppercase());
            if !is_path || is_pattern {
                continue;
            }
            checked += 1;
            if !root().join(word).exists() {
                missing.push(format!("{guide}: {word}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(checked > 20, "the paths were not found");
}

/// The first lines of the crate name its tools.
#[test]
fn every_tool_is_named_on_the_front_page_of_the_tools() {
    let page = read(&root().join("crates/tools/src/lib.rs"));
    let lines: Vec<&str> = page
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .collect();
    let first = lines.join(" ");
    let names = osier_tools::all().map(|tool| tool.name);
    let missing: Vec<&str> = names
        .filter(|name| !first.contains(&format!("`{name}`")))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
