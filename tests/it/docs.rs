//! The documentation is complete: every page is in the book, and every link has a target.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use osier_protocol::ImportSource;
use osier_testing::pages;

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

/// Without `xml:space`, some viewers join the spaces of a row.
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

/// The first cells of the rows of the first table after `start` in a page, with the others.
fn table(page: &str, start: &str) -> Vec<Vec<String>> {
    let text = read(&root().join(page));
    let (_, text) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("{page}: {start}"));
    let rows = text.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        row.trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

/// The names in backquotes of a cell.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_tool_has_a_row_in_the_documentation_with_its_effect() {
    let mut documented = Vec::new();
    for row in table("docs/tools.md", "# Tools") {
        documented.extend(names(&row[0]).map(|name| (name.to_owned(), row[1].clone())));
    }
    let effect = |tool: &osier_tools::BuiltIn| format!("{:?}", tool.effect).to_lowercase();
    let mut tools: Vec<_> = osier_tools::all()
        .map(|tool| (tool.name.to_owned(), effect(tool)))
        .collect();
    documented.sort();
    tools.sort();
    assert_eq!(documented, tools, "the table of docs/tools.md");
}

#[test]
fn every_name_of_claude_code_is_in_the_documentation_of_hooks() {
    let rows = table("docs/hooks.md", "## Tool names");
    let mut missing = Vec::new();
    for tool in osier_tools::all() {
        let row = rows
            .iter()
            .find(|row| names(&row[0]).any(|name| name == tool.name));
        let documented = row.map(|row| row[1].as_str()).unwrap_or_default();
        let of_claude = tool
            .peers
            .iter()
            .filter(|peer| peer.source == Some(ImportSource::Claude));
        let other = of_claude.filter(|peer| peer.name != tool.name);
        let other = other.filter(|peer| !names(documented).any(|name| name == peer.name));
        missing.extend(other.map(|peer| format!("{}: {}", tool.name, peer.name)));
    }
    assert_eq!(missing, Vec::<String>::new(), "the table of docs/hooks.md");
}

/// The files below a folder whose comments can have steps of recipes.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let end = path.extension().unwrap_or_default();
        if path.is_dir() {
            sources(&path, found);
        } else if ["js", "mjs", "rs", "toml"]
            .iter()
            .any(|known| end == *known)
        {
            found.push(path);
        }
    }
}

/// The list of recipes. A step is a comment where something has to be done, or where the file is known that it names:
/// `recipe: a theme, 2: its row` or ``recipe: a theme, 1: `themes/NAME.toml`: its palette``.
fn recipes() -> String {
    let mut files = Vec::new();
    for folder in ["assets/chat", "crates", "keymaps", "scripts", "src"] {
        sources(&root().join(folder), &mut files);
    }
    let mut recipes: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in files {
        let here = path.strip_prefix(root()).unwrap().display().to_string();
        for line in read(&path).lines().map(str::trim_start) {
            let comment = line.strip_prefix("// ").or(line.strip_prefix("# "));
            let Some(step) = comment.and_then(|text| text.strip_prefix("recipe: ")) else {
                continue;
            };
            let (title, text) = step.split_once(": ").unwrap();
            let (title, number) = title.rsplit_once(", ").unwrap_or((title, "1"));
            let is_file = text.starts_with('`') && text.contains("`: ");
            let text = if is_file || text.starts_with("`docs/") || text.starts_with("`tests/") {
                text.to_owned()
            } else {
                format!("`{here}`: {text}")
            };
            let (article, noun) = title.split_once(' ').unwrap();
            let title = format!("{noun} {}", article.replace('a', "A"));
            let steps = recipes.entry(title).or_default();
            steps.push((number.to_owned(), text));
        }
    }
    let mut list = String::new();
    for (title, mut steps) in recipes {
        let (noun, article) = title.rsplit_once(' ').unwrap();
        let _ = write!(list, "\n**{article} {noun}**\n\n");
        steps.sort();
        let count = steps.len();
        steps.dedup_by(|one, other| one.0 == other.0);
        assert_eq!(steps.len(), count, "{noun}: two steps have one number");
        for (number, text) in steps {
            let _ = writeln!(list, "{number}. {text}");
        }
    }
    list
}

/// The recipes are comments at the places that they name, so that none is forgotten when these move.
#[test]
fn recipes_are_those_of_the_sources() {
    let path = root().join("CONTRIBUTING.md");
    pages::check_part(&path, "recipes", &format!("{}\n", recipes()));
}

/// The keys and screens in the table of common jobs are those that the script measures.
#[test]
fn table_of_jobs_is_measured() {
    if !osier_testing::skip::has(&["python3", "git"], "apt install python3 git") {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "the script is run")]
    let mut check = std::process::Command::new("python3");
    let check = check
        .arg(root().join("scripts/branches-film.py"))
        .args([env!("CARGO_BIN_EXE_osier"), "--check", "docs/branches.md"])
        .current_dir(root())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&check.stdout);
    let problem = String::from_utf8_lossy(&check.stderr);
    assert!(check.status.success(), "{printed}\n{problem}");
}
