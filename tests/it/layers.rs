//! What the compiler cannot check about the sources: which crates may use heavy dependencies, what the program and
//! its modes may import, where code is unsafe, and how long a file may be.

use std::fs;
use std::path::{Path, PathBuf};

/// Dependencies that only some crates may have.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("agent-client-protocol-schema", &["acp"]),
    ("anyhow", &["osier", "tui"]),
    ("axum", &["serve"]),
    ("clap", &["osier"]),
    ("crossterm", &["term", "tui"]),
    ("jsonschema", &["agent"]),
    ("mlua", &["extensions"]),
    ("ratatui", &["term", "tui"]),
    ("reqwest", &["llm", "mcp", "rpc"]),
    ("rmcp", &["mcp"]),
    ("rusqlite", &["index", "proxy"]),
    ("syntect", &["term"]),
];

/// Clients of a session never depend on one another, and the toolkit depends on nothing but the foundation.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("acp", &["serve", "tui"]),
    ("serve", &["acp", "tui"]),
    ("tui", &["acp", "serve"]),
    (
        "term",
        &["agent", "llm", "markdown", "protocol", "session", "store"],
    ),
];

/// The modules of the crate `agent`, lowest layer first.
const AGENT_LAYERS: &[&str] = &[
    "mailbox",
    "data",
    "retry",
    "transport",
    "tool",
    "interceptor",
    "history",
    "change",
    "config",
    "state",
    "core",
    "run",
    "agent",
];

/// Lines of a file, its tests included.
const LINE_LIMIT: usize = 600;

#[test]
fn heavy_dependencies_stay_in_their_crates() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for (dependency, allowed) in DEPENDENCIES {
            if depends_on(&manifest, dependency) && !allowed.contains(&name.as_str()) {
                faults.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn clients_do_not_depend_on_one_another() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        let forbidden = FORBIDDEN.iter().find(|(of, _)| *of == name);
        for other in forbidden.map_or(&[][..], |(_, others)| others) {
            if depends_on(&manifest, &format!("osier-{other}")) {
                faults.push(format!("{name} depends on {other}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn unsafe_code_is_in_one_file() {
    let found: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.code.contains("unsafe_code"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert_eq!(found, ["crates/base/src/allocator.rs"]);
}

#[test]
fn files_stay_small() {
    let faults: Vec<String> = sources()
        .iter()
        .map(|source| (source.code.lines().count(), source.path.display()))
        .filter(|(lines, _)| *lines > LINE_LIMIT)
        .map(|(lines, path)| format!("{path}: {lines} lines, the limit is {LINE_LIMIT}"))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn agent_modules_import_only_lower_layers() {
    let root = Path::new("crates/agent/src");
    let layer = |name: &str| AGENT_LAYERS.iter().position(|layer| *layer == name);
    let mut checked = 0;
    let mut faults = Vec::new();
    for source in sources() {
        let Ok(path) = source.path.strip_prefix(root) else {
            continue;
        };
        let first = path.iter().next().and_then(|name| name.to_str()).unwrap();
        let Some(own) = layer(first.trim_end_matches(".rs")) else {
            assert_eq!(first, "lib.rs", "the module has no layer");
            continue;
        };
        for import in source.code.split("crate::").skip(1) {
            let module = import.split(|char: char| !char.is_alphanumeric()).next();
            checked += 1;
            if module.and_then(layer).is_none_or(|other| other >= own) {
                faults.push(format!("{} imports {module:?}", path.display()));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    assert!(checked > 50, "the imports were not found");
}

/// Whether the `[dependencies]` of a manifest name a crate.
fn depends_on(manifest: &str, name: &str) -> bool {
    let tables = manifest.split("\n[");
    tables
        .filter(|table| table.starts_with("dependencies]") || table.starts_with("target."))
        .flat_map(str::lines)
        .any(|line| {
            let key = line.split(['.', ' ', '=']).next();
            key == Some(name)
        })
}

/// The name of each crate and its manifest; the program is `osier`.
fn manifests() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let mut found = vec![("osier".to_owned(), read(root.join("Cargo.toml")))];
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.push((name, read(path.join("Cargo.toml"))));
    }
    assert!(found.len() > 20, "the crates were not found");
    found
}

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) code: String,
}

pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["src", "crates"] {
        collect(Path::new(folder), &mut found);
    }
    assert!(found.len() > 500, "the sources were not found");
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = fs::read_to_string(&path).unwrap();
            found.push(Source { path, code });
        }
    }
}
