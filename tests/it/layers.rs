//! Holds the shape of the sources: imports point down, heavy crates stay where they belong, files stay
//! small. Reads text only, so it runs in milliseconds.

use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules of `src/`, and what each may name after `crate::`.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("llm", &["base"]),
    ("agent", &["base", "llm"]),
    ("coding", &["base", "llm", "agent"]),
    ("rpc", &["base", "llm", "agent", "coding"]),
    ("term", &["base"]),
    ("modes", &["base", "llm", "agent", "coding", "rpc", "term"]),
    (
        "cli",
        &["base", "llm", "agent", "coding", "rpc", "term", "modes"],
    ),
    ("lib", &["cli"]),
    ("main", &[]),
];

/// Crates that only some folders may name.
const CRATES: &[(&str, &[&str])] = &[
    ("ratatui", &["src/term/", "src/modes/tui/"]),
    ("crossterm", &["src/term/", "src/modes/tui/"]),
    // The transport of `rmcp` is generic over a client, which has to be made and named.
    (
        "reqwest",
        &["src/llm/", "src/coding/mcp/", "src/rpc/remote/"],
    ),
    ("rmcp", &["src/coding/mcp/"]),
    ("syntect", &["src/term/"]),
    ("jsonschema", &["src/agent/"]),
    ("anyhow", &["src/cli/", "src/modes/"]),
    ("axum", &["src/modes/serve/"]),
    ("clap", &["src/cli/"]),
    ("rusqlite", &["src/coding/library/", "src/coding/relay/"]),
];

/// Modes never name one another.
const MODES: &[&str] = &["tui", "print", "json", "rpc", "acp", "serve"];

/// Lines of a file, its trailing test module not counted.
const LINE_LIMIT: usize = 600;

#[test]
fn imports_point_down() {
    let mut faults = Vec::new();
    for source in sources() {
        let layer = source.layer();
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            faults.push(format!(
                "{}: layer `{layer}` is not in the table",
                source.path.display()
            ));
            continue;
        };
        for (line, target) in source.names_after("crate::") {
            let known = LAYERS.iter().any(|(name, _)| *name == target);
            if known && target != layer && !allowed.contains(&target.as_str()) {
                faults.push(format!(
                    "{}:{line}: {layer} names {target}",
                    source.path.display()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn heavy_crates_stay_in_their_folders() {
    let mut faults = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy().into_owned();
        for (name, folders) in CRATES {
            if folders.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            for (number, line) in source.code.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                if code.contains(&format!("{name}::")) {
                    faults.push(format!("{path}:{}: names `{name}`", number + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn modes_do_not_know_one_another() {
    let mut faults = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy().into_owned();
        let Some(rest) = path.strip_prefix("src/modes/") else {
            continue;
        };
        let own = rest.split(['/', '.']).next().unwrap_or_default();
        if !MODES.contains(&own) {
            continue;
        }
        for (line, target) in source.names_after("modes::") {
            if target != own && MODES.contains(&target.as_str()) {
                faults.push(format!("{path}:{line}: {own} names {target}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The lint names each place, and this names them all.
#[test]
fn one_file_alone_is_unsafe() {
    let may = |source: &Source| source.code.contains("unsafe_code");
    let sources = sources();
    let found = sources.iter().filter(|source| may(source));
    let found: Vec<String> = found
        .map(|source| source.path.display().to_string())
        .collect();
    assert_eq!(found, ["src/base/allocator.rs"]);
}

#[test]
fn files_stay_small() {
    let faults: Vec<String> = sources()
        .iter()
        .map(|source| (source.code.lines().count(), source.path.display()))
        .filter(|(lines, _)| *lines > LINE_LIMIT)
        .map(|(lines, path)| format!("{path}: {lines} lines, the limit is {LINE_LIMIT}"))
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

struct Source {
    path: PathBuf,
    /// Without the trailing test module.
    code: String,
}

impl Source {
    fn layer(&self) -> String {
        let first = self.path.components().nth(1).unwrap();
        first
            .as_os_str()
            .to_string_lossy()
            .trim_end_matches(".rs")
            .to_owned()
    }

    /// Line numbers and names that follow `prefix`.
    fn names_after(&self, prefix: &str) -> Vec<(usize, String)> {
        let name = |rest: &str| {
            rest.chars()
                .take_while(|char| char.is_alphanumeric() || *char == '_')
                .collect::<String>()
        };
        let lines = self.code.lines().enumerate();
        lines
            .flat_map(|(number, line)| {
                line.split(prefix)
                    .skip(1)
                    .map(move |rest| (number + 1, name(rest)))
            })
            .collect()
    }
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(Path::new("src"), &mut found);
    assert!(found.len() > 50, "the sources were not found");
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text
                .split("#[cfg(test)]\nmod ")
                .next()
                .unwrap_or_default()
                .to_owned();
            found.push(Source { path, code });
        }
    }
}
