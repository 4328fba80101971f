//! Maps of real folders: ranks, budgets, changes, and hostile projects.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_base::atomic_file;
use tempfile::TempDir;

use crate::index::FileState;
use crate::{Outline, ProjectMap, Request, storage};

struct Project {
    folder: TempDir,
    store: TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
            store: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            project.put(path, text);
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        atomic_file::write(&path, text.as_bytes()).unwrap();
    }

    /// A map that knows the files as they are now.
    fn map(&self) -> Arc<ProjectMap> {
        let map = ProjectMap::of(&self.root(), Some(self.store.path()));
        map.complete();
        map
    }

    fn outline(&self, request: &Request) -> String {
        self.map().outline(request, &|_| true).text()
    }

    fn stored(&self) -> PathBuf {
        storage::file(self.store.path(), &self.root())
    }
}

fn request() -> Request {
    Request {
        tokens: 2000,
        ..Request::default()
    }
}

/// `core.rs` is used by two files, `late.rs` by none.
fn shop() -> Project {
    Project::new(&[
        ("src/app.rs", "fn main() { cart_total(parse_price()); }\n"),
        (
            "src/core.rs",
            "pub fn unused_helper() {}\npub fn cart_total(x: u8) {}\npub struct CartItem {}\n",
        ),
        (
            "src/late.rs",
            "pub fn late_night() { cart_total(1); CartItem {}; }\n",
        ),
        (
            "src/price.rs",
            "/// Reads a price.\npub fn parse_price() -> u8 {\n    7\n}\n",
        ),
        ("README.md", "# cart_total\n"),
    ])
}

#[test]
fn files_that_others_use_come_first() {
    let project = shop();
    let expected = "\
src/core.rs
  1 pub fn unused_helper() {}
  2 pub fn cart_total(x: u8) {}
  3 pub struct CartItem {}
src/price.rs
  2 pub fn parse_price() -> u8
src/app.rs
  1 fn main() { cart_total(parse_price()); }
src/late.rs
  1 pub fn late_night() { cart_total(1); CartItem {}; }
";
    assert_eq!(project.outline(&request()), expected);
}

#[test]
fn the_conversation_moves_its_files_and_what_they_use_forward() {
    let project = shop();
    let order = |focus: &[&str]| -> Vec<String> {
        let focus = focus.iter().map(|path| (*path).to_owned()).collect();
        let request = Request { focus, ..request() };
        let outline = project.map().outline(&request, &|_| true);
        outline.files.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(
        order(&["src/price.rs"]),
        ["src/price.rs", "src/core.rs", "src/app.rs", "src/late.rs"]
    );
    assert_eq!(
        order(&["src/late.rs", "gone.rs"]),
        ["src/core.rs", "src/late.rs", "src/price.rs", "src/app.rs"]
    );
}

#[test]
fn a_budget_cuts_symbols_and_files_and_says_so() {
    let project = shop();
    for (tokens, expected) in [
        (0, "[4 more files; narrow path or query]\n"),
        (
            20,
            "src/core.rs\n  2 pub fn cart_total(x: u8) {}\n  +2\n[3 more files; narrow path or query]\n",
        ),
    ] {
        let text = project.outline(&Request {
            tokens,
            ..request()
        });
        assert_eq!(text, expected, "{tokens}");
    }
}

#[test]
fn a_path_and_words_narrow_the_outline() {
    let project = shop();
    project.put("lib/other.py", "def cart_total(): pass\ndef run(): pass\n");
    let with = |path: &str, words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        project.outline(&Request {
            path: path.to_owned(),
            words,
            ..request()
        })
    };
    let other = "lib/other.py\n  1 def cart_total(): pass\n  2 def run(): pass\n";
    assert_eq!(with("lib", &[]), other);
    assert_eq!(with("lib/other.py", &[]), other);
    assert_eq!(with("", &["OTHER"]), other);
    assert_eq!(with("", &["readme"]), "README.md\n");
    let price = "src/price.rs\n  2 pub fn parse_price() -> u8\n";
    assert_eq!(with("src", &["parse_price"]), price);
    assert_eq!(with("nowhere", &[]), "");
}

#[test]
fn changes_deletions_and_renames_are_seen() {
    let project = shop();
    let paths = |outline: Outline| -> Vec<String> {
        let symbols = |file: &crate::OutlinedFile| {
            let names = file.symbols.iter().map(|symbol| symbol.name.as_str());
            format!("{}: {}", file.path, names.collect::<Vec<_>>().join(" "))
        };
        outline.files.iter().map(symbols).collect()
    };
    let now = || paths(project.map().outline(&request(), &|_| true));
    now();
    project.put("src/price.rs", "pub fn parse_amount() {}\n");
    fs::remove_file(project.root().join("src/late.rs")).unwrap();
    fs::rename(
        project.root().join("src/app.rs"),
        project.root().join("src/main.rs"),
    )
    .unwrap();
    project.put("src/new.rs", "fn fresh() { parse_amount() }\n");
    assert_eq!(
        now(),
        [
            "src/core.rs: unused_helper cart_total CartItem",
            "src/price.rs: parse_amount",
            "src/main.rs: main",
            "src/new.rs: fresh",
        ]
    );
}

#[test]
fn what_is_shown_is_current_even_if_the_index_is_not() {
    let project = shop();
    let map = project.map();
    map.outline(&request(), &|_| true);
    project.put("src/core.rs", "\n\npub fn cart_total() {}\n");
    fs::remove_file(project.root().join("src/price.rs")).unwrap();
    let text = map.outline(&request(), &|_| true).text();
    assert!(
        text.contains("src/core.rs\n  3 pub fn cart_total() {}\n"),
        "{text}"
    );
    assert!(!text.contains("price.rs"), "{text}");
}

#[test]
fn a_stored_index_is_used_and_a_damaged_one_is_rebuilt() {
    let project = shop();
    let expected = project.outline(&request());
    // The definitions of the outline are stored too, when their thread ends.
    project.map();
    let stored = wait_for(&project.stored());
    assert!(stored.count(FileState::Parsed) > 0 || stored.count(FileState::Scanned) > 0);
    for damage in [&b""[..], b"osiermap", &[0xff; 4000]] {
        atomic_file::write(&project.stored(), damage).unwrap();
        assert_eq!(project.outline(&request()), expected);
    }
}

/// The index, once it is stored.
fn wait_for(file: &Path) -> crate::index::Index {
    loop {
        if let Some(index) = storage::load(file) {
            return index;
        }
        osier_testing::poll::pause();
    }
}

#[test]
fn hostile_names_and_texts_are_harmless() {
    let project = Project::new(&[
        (
            "a\n\u{1b}[2Jb.rs",
            "fn \u{1b}]0;x\u{7}evil() { /* \u{202e} */ }\n",
        ),
        ("bin.rs", "fn binary() {}\0"),
        ("one_line.js", &"x".repeat(50_000)),
        (
            "long.rs",
            &format!("fn long_name({}) {{}}\n", "a: u8, ".repeat(500)),
        ),
    ]);
    project.put("huge.rs", &"fn huge() {}\n".repeat(100_000));
    let outside = tempfile::tempdir().unwrap();
    atomic_file::write(&outside.path().join("secret.rs"), b"fn secret() {}").unwrap();
    symlink(outside.path(), project.root().join("out")).unwrap();
    symlink(
        outside.path().join("secret.rs"),
        project.root().join("link.rs"),
    )
    .unwrap();
    symlink("/dev/zero", project.root().join("zero.rs")).unwrap();
    let text = project.outline(&request());
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    assert!(
        !text.contains("secret") && !text.contains("huge()"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.iter().all(|line| line.chars().count() < 160),
        "{text}"
    );
    assert!(text.contains("a⏎^[[2Jb.rs\n"), "{text}");
    assert!(text.contains("  1 fn long_name(a: u8"), "{text}");
}

#[test]
fn ignored_hidden_and_refused_files_are_not_shown() {
    let project = shop();
    project.put(".gitignore", "price.rs\n");
    project.put(".hidden.rs", "fn hidden() {}\n");
    let map = project.map();
    let may_show = |path: &Path| !path.ends_with("core.rs");
    let outline = map.outline(&request(), &may_show);
    let paths: Vec<&str> = outline
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(paths, ["src/app.rs", "src/late.rs"]);
    let found = |query: &str| map.symbols(query, 5, &may_show).len();
    assert_eq!(found("cart_total"), 0);
    assert_eq!(found("main"), 1);
}

#[test]
fn symbols_are_found_by_a_part_of_their_name() {
    let project = shop();
    let map = project.map();
    let found = |query: &str| -> Vec<String> {
        let found = map.symbols(query, 3, &|_| true);
        let shown = found.iter().map(|found| {
            format!(
                "{} {} {}:{}",
                found.kind.name(),
                found.name,
                found.path,
                found.line
            )
        });
        shown.collect()
    };
    assert_eq!(
        found("cart"),
        [
            "struct CartItem src/core.rs:3",
            "function cart_total src/core.rs:2"
        ]
    );
    assert_eq!(found("prsprc"), ["function parse_price src/price.rs:2"]);
    assert_eq!(found(""), [""; 0]);
}

#[test]
fn sessions_of_one_project_share_its_map() {
    let project = shop();
    let map = project.map();
    assert!(Arc::ptr_eq(&map, &project.map()));
    assert!(!Arc::ptr_eq(&map, &ProjectMap::of(&project.root(), None)));
}
