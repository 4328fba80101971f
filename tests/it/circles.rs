//! Circles of files: files of one crate that import each other, directly or through others. A file of a circle can only be
//! understood together with the others. The imports are read as text: `use` lines, and paths that begin with `crate`, `self`,
//! `super` or a module of the file. A name that a module re-exports counts as a name of the file that declares it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::layers::sources;

/// Circles in all crates together, and files in the largest one, at most.
const CIRCLES: usize = 5;
const LARGEST: usize = 2;

type Module = Vec<String>;

/// The code of a crate by module; the root of the crate is the empty path.
type Crate = BTreeMap<Module, String>;

#[test]
fn few_files_import_each_other() {
    let mut found: Vec<String> = Vec::new();
    let mut largest = 0;
    for (name, modules) in crates() {
        for circle in circles(&imports(&modules)) {
            largest = largest.max(circle.len());
            let files: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{name}: {}", files.join(", ")));
        }
    }
    let list = found.join("\n");
    assert!(found.len() <= CIRCLES && largest <= LARGEST, "{list}");
}

#[test]
fn circles_are_found() {
    let circle = vec![split("a"), split("b")];
    assert_eq!(
        found(&[("", "mod a;"), ("a", "use super::b::B;"), ("b", "")]),
        Vec::<Vec<Module>>::new()
    );
    assert_eq!(
        found(&[
            ("a", "use crate::b::{B, C};"),
            ("b", "fn f(a: super::a::A) {}")
        ]),
        std::slice::from_ref(&circle)
    );
    // The circle goes through a re-export at the root of the crate.
    let face = ("", "pub use b::B;");
    assert_eq!(
        found(&[face, ("a", "use crate::B;"), ("b", "use crate::a;")]),
        [circle]
    );
    // A parent and its child.
    let parent = ("a", "mod b;\nuse b::B;\nstruct A;");
    assert_eq!(
        found(&[parent, ("a::b", "use super::A;")]),
        [vec![split("a"), split("a::b")]]
    );
}

fn found(files: &[(&str, &str)]) -> Vec<Vec<Module>> {
    let modules = files
        .iter()
        .map(|(path, code)| (split(path), (*code).to_owned()));
    let modules: Crate = modules.collect();
    circles(&imports(&modules))
}

/// The production code of each crate by module.
fn crates() -> BTreeMap<String, Crate> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for source in sources() {
        let path = source.path.strip_prefix("crates").unwrap_or(&source.path);
        let Some((name, file)) = crate_of(path) else {
            continue;
        };
        if is_test(file) {
            continue;
        }
        let modules = crates.entry(name).or_default();
        modules.insert(module_of(file), production(&source.code));
    }
    assert!(crates.len() > 25, "the crates were not found");
    crates
}

/// The crate of a source file, and the file below its `src`.
fn crate_of(path: &Path) -> Option<(String, &Path)> {
    if let Ok(file) = path.strip_prefix("src") {
        return Some(("osier".to_owned(), file));
    }
    let name = path.iter().next()?.to_str()?;
    let file = path.strip_prefix(Path::new(name).join("src")).ok()?;
    Some((name.to_owned(), file))
}

fn is_test(file: &Path) -> bool {
    let name = file
        .file_stem()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_named = |part: &str| {
        part == "tests" || part == "test" || part.ends_with("_tests") || part.ends_with("_test")
    };
    is_named(name) || file.iter().any(|part| part.to_str().is_some_and(is_named))
}

fn module_of(file: &Path) -> Module {
    let file = file.with_extension("");
    let mut module: Module = file
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if matches!(
        module.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        module.pop();
    }
    module
}

/// Code without comments and without the tests at the end of the file.
fn production(code: &str) -> String {
    let code = code
        .split("\n#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules that each module imports.
fn imports(modules: &Crate) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let faces = faces(modules);
    let mut found = BTreeMap::new();
    for (module, code) in modules {
        let mut imported = BTreeSet::new();
        for path in paths(code) {
            let target = absolute(modules, module, &path)
                .and_then(|path| declaring(modules, &faces, &path, 0));
            imported.extend(target.filter(|target| *target != module));
        }
        found.insert(module, imported);
    }
    found
}

/// The names that each module re-exports, with their paths.
fn faces(modules: &Crate) -> BTreeMap<&Module, BTreeMap<String, Module>> {
    static EXPORT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bpub(?:\([^)]*\))?\s+use\s+([^;]+);").unwrap());
    let mut faces: BTreeMap<&Module, BTreeMap<String, Module>> = BTreeMap::new();
    for (module, code) in modules {
        let trees = EXPORT
            .captures_iter(code)
            .flat_map(|export| expand(&export[1], &[]));
        for path in trees.filter_map(|path| absolute(modules, module, &path)) {
            let name = path.last().cloned().unwrap_or_default();
            faces.entry(module).or_default().insert(name, path);
        }
    }
    faces
}

/// The paths that code names: those of private `use` lines, and those within expressions and types.
fn paths(code: &str) -> Vec<Module> {
    static USE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);").unwrap());
    static PATH: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b[a-z_][a-z_0-9]*(?:::\w+)+").unwrap());
    let private = USE
        .captures_iter(code)
        .filter(|import| import.get(1).is_none());
    let mut found: Vec<Module> = private.flat_map(|import| expand(&import[2], &[])).collect();
    let rest = USE.replace_all(code, "");
    found.extend(PATH.find_iter(&rest).map(|path| split(path.as_str())));
    found
}

/// The paths of the tree behind `use`.
fn expand(tree: &str, prefix: &[String]) -> Vec<Module> {
    let tree = tree.trim();
    let Some((head, list)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![[prefix, &split(path.trim())].concat()];
    };
    let prefix = [prefix, &split(head)].concat();
    let list = list.strip_suffix('}').unwrap_or(list);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (index, char) in list.char_indices().chain([(list.len(), ',')]) {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = &list[start..index];
                start = index + 1;
                if !part.trim().is_empty() {
                    found.extend(expand(part, &prefix));
                }
            }
            _ => {}
        }
    }
    found
}

fn split(path: &str) -> Module {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// A path from the root of the crate; `None` for a path of another crate.
fn absolute(modules: &Crate, module: &Module, path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let parents = path.iter().take_while(|part| *part == "super").count();
            let base = &module[..module.len().saturating_sub(parents)];
            Some([base, &path[parents..]].concat())
        }
        _ => {
            let child = [module, std::slice::from_ref(first)].concat();
            modules
                .contains_key(&child)
                .then(|| [module, path].concat())
        }
    }
}

/// The module that declares what a path names.
fn declaring<'a>(
    modules: &'a Crate,
    faces: &BTreeMap<&Module, BTreeMap<String, Module>>,
    path: &[String],
    depth: usize,
) -> Option<&'a Module> {
    let length = (0..=path.len())
        .rev()
        .find(|length| modules.contains_key(&path[..*length]))?;
    let (module, _) = modules.get_key_value(&path[..length])?;
    let exported = path
        .get(length)
        .and_then(|name| faces.get(module)?.get(name));
    match exported {
        Some(target) if depth < 8 => declaring(
            modules,
            faces,
            &[target, &path[length + 1..]].concat(),
            depth + 1,
        ),
        _ => Some(module),
    }
}

/// The circles of a graph: its strongly connected components of several modules (Tarjan's algorithm).
fn circles(graph: &BTreeMap<&Module, BTreeSet<&Module>>) -> Vec<Vec<Module>> {
    let mut search = Search::default();
    for module in graph.keys() {
        if !search.index.contains_key(*module) {
            search.visit(graph, module);
        }
    }
    search.circles
}

#[derive(Default)]
struct Search<'a> {
    index: BTreeMap<&'a Module, usize>,
    lowest: BTreeMap<&'a Module, usize>,
    open: Vec<&'a Module>,
    circles: Vec<Vec<Module>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, graph: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, module: &'a Module) {
        let own = self.index.len();
        self.index.insert(module, own);
        self.lowest.insert(module, own);
        self.open.push(module);
        for next in &graph[module] {
            let reached = if !self.index.contains_key(*next) {
                self.visit(graph, next);
                self.lowest[*next]
            } else if self.open.contains(next) {
                self.index[*next]
            } else {
                continue;
            };
            let lowest = self.lowest[module].min(reached);
            self.lowest.insert(module, lowest);
        }
        if self.lowest[module] == own {
            let start = self
                .open
                .iter()
                .position(|open| *open == module)
                .unwrap_or_default();
            let mut circle: Vec<Module> = self.open.drain(start..).cloned().collect();
            circle.sort();
            if circle.len() > 1 {
                self.circles.push(circle);
            }
        }
    }
}
