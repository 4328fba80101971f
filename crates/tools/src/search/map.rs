//! `map`: outlines the project in a budget of tokens. Files of the conversation and files that other files use come
//! first, with their most used symbols.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use osier_agent::{
    FileTarget, FileUse, OtherName, PreparedCall, Preparing, Spellings, Tool, ToolContext,
    ToolOutput, prepare_typed,
};
use osier_llm::ToolSpec;
use osier_map::{Outline, ProjectMap, Request, SymbolMatch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::walk::Root;
use crate::built_in::{BuiltIn, Part, ToolEffect, ToolView, Verbs};
use crate::call::arguments;
use crate::call::spellings;
use crate::call::to_value;
use crate::files::target::{FileArgument, NamedFile};
use crate::workspace::Workspace;

/// The name of the tool.
pub const NAME: &str = "map";
/// Tokens of an outline, by default and at most.
const TOKENS: u64 = 2000;
const MOST_TOKENS: u64 = 8000;
/// Files of the conversation that count.
const FOCUS: usize = 32;

/// A project with fewer source files needs no map.
const SOURCES: usize = 30;

const FILE: FileArgument = FileArgument::new("path", FileUse::Search);

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    view: ToolView::new(
        Verbs::new("Mapping", "Mapped", "map").several("mapped the project", "time"),
        &[
            Part::path(FILE.name),
            Part::text("query").around(" for ", ""),
        ],
    ),
    does: "outlines the most used files and symbols in a budget of tokens; offered only in [projects](map.md) with 30 source files or more",
    ..BuiltIn::new(NAME, ToolEffect::Looks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("repo_map"),
        OtherName::of("repomap"),
        OtherName::of("project_map"),
        OtherName::of("code_map"),
    ],
    arguments: &[
        ("path", spellings::FOLDER),
        ("query", &["symbol", "words", "search", "pattern"]),
        ("tokens", &["max_tokens", "token_budget", "budget", "limit"]),
    ],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    freeform: None,
    name: NAME.to_owned(),
    description: "Outline the most used files and symbols, in a budget of tokens.".to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "query": {"type": "string"},
            "tokens": {"type": "integer", "minimum": 1},
        },
    }),
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MapDetails {
    /// Absolute path.
    path: String,
    /// Files shown.
    files: u64,
    /// Symbols shown.
    symbols: u64,
    /// There are more files than shown.
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    query: Option<String>,
    #[serde(default, deserialize_with = "arguments::count")]
    tokens: Option<u64>,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let target = workspace.target(FILE, arguments.path.as_deref()).await?;
        let root = target.clone();
        let answer = move |_: ToolContext| {
            let root = Root::find(&workspace, root)?;
            let query = arguments.query.unwrap_or_default();
            let tokens = arguments.tokens.unwrap_or(TOKENS);
            Ok(answer(&workspace, &root, &query, tokens))
        };
        Ok(PreparedCall::blocking("mapping", answer).on(vec![target]))
    })
}

fn answer(workspace: &Workspace, root: &Root, query: &str, tokens: u64) -> ToolOutput {
    let outline = workspace.outline_at(&root.path, root.is_file, query, tokens);
    let mut text = outline.text();
    if outline.files.is_empty() {
        let missing = match query {
            "" => "no source files; hidden and ignored files were skipped\n".to_owned(),
            query => format!("nothing matches `{query}`; try grep\n"),
        };
        text.insert_str(0, &missing);
    }
    let symbols = outline.files.iter();
    let details = MapDetails {
        path: root.named().display().to_string(),
        files: outline.files.len() as u64,
        symbols: symbols.map(|file| file.symbols.len() as u64).sum(),
        truncated: outline.more > 0,
    };
    ToolOutput::success(text, to_value(&details))
}

impl Workspace {
    /// The tool for maps, if the working directory has enough source files. Blocks.
    pub fn map_tool(self: &Arc<Self>) -> Option<Arc<dyn Tool>> {
        let is_large = osier_map::has_sources(&self.map_root().host, SOURCES);
        ROW.make(self).filter(|_| is_large)
    }

    /// Records the files that a message of the user mentions: they come first in maps.
    pub fn note_mentions(&self, message: &str) {
        let mut mentioned = self.maps.mentioned();
        let words =
            message.split(|char: char| char.is_whitespace() || "\"'`()[]<>,;".contains(char));
        let words = words.map(|word| {
            word.trim_start_matches('@')
                .trim_end_matches(['.', ':', '?', '!'])
        });
        for word in words.filter(|word| word.contains(['.', '/'])).take(FOCUS) {
            // `src/a.rs:12` mentions `src/a.rs`.
            let path = word.split_once(':').map_or(word, |(path, _)| path);
            mentioned.retain(|known| known != path);
            mentioned.insert(0, path.trim_start_matches("./").to_owned());
        }
        mentioned.truncate(FOCUS);
    }

    /// The outline of the working directory for the user. Blocks.
    pub fn outline(&self, query: &str, tokens: Option<u64>) -> Outline {
        let root = self.map_root();
        let tokens = tokens.unwrap_or(MOST_TOKENS);
        self.outline_at(&root.host, false, query, tokens)
    }

    /// The symbols of the working directory whose names match `query`. Blocks.
    pub fn find_symbols(&self, query: &str, limit: usize) -> Vec<SymbolMatch> {
        let root = self.map_root();
        let map = self.map_of(&root.host, &root.host);
        let may_show = self.map_filter(&root);
        map.symbols(query, limit, &may_show)
    }

    /// The working directory as searches find it.
    fn map_root(&self) -> FileTarget {
        self.resolve(&NamedFile::new(".", FileUse::Search))
    }

    fn map_of(&self, folder: &Path, own: &Path) -> Arc<ProjectMap> {
        let store = self.maps.folder.as_deref();
        if folder != own {
            return ProjectMap::of(folder, store);
        }
        let map = self.maps.own.get_or_init(|| ProjectMap::of(folder, store));
        Arc::clone(map)
    }

    /// Which files may be shown, by their paths in the map of `root`.
    fn map_filter(&self, root: &FileTarget) -> impl Fn(&Path) -> bool + use<> {
        let (filter, root) = (self.read_filter(), root.clone());
        move |path: &Path| match path.strip_prefix(&root.host) {
            Ok(rest) => filter(&root.real.join(rest)),
            Err(_) => filter(path),
        }
    }

    /// The outline of the file or folder `path`, a real path. What is outside of the working directory, or ignored in it, has a
    /// map of its own.
    fn outline_at(&self, path: &Path, is_file: bool, query: &str, tokens: u64) -> Outline {
        let root = self.map_root();
        let own = root.host.as_path();
        let may_show = self.map_filter(&root);
        let words = query
            .split([' ', ',', '\n'])
            .filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let outline_in = |folder: &Path| {
            let below = |path: &Path| {
                let rest = path.strip_prefix(folder).ok()?;
                rest.to_str().map(str::to_owned)
            };
            let mentioned = self.maps.mentioned().clone();
            let recent = self.ledger.recent(FOCUS);
            let recent = recent.iter().filter_map(|path| below(path));
            let request = Request {
                tokens: usize::try_from(tokens.min(MOST_TOKENS)).unwrap_or_default(),
                path: below(path).unwrap_or_default(),
                words: words.clone(),
                focus: mentioned.into_iter().chain(recent).collect(),
            };
            let mut outline = self.map_of(folder, own).outline(&request, &may_show);
            if folder != own {
                for file in &mut outline.files {
                    file.path = self.display(&folder.join(&file.path));
                }
            }
            outline
        };
        let mut outline = Outline::default();
        let is_inside = path.starts_with(own);
        if is_inside {
            outline = outline_in(own);
        }
        let is_missing = outline.files.is_empty() && path != own && words.is_empty();
        if !is_inside || is_missing {
            let folder = if is_file { path.parent() } else { Some(path) };
            outline = folder.map(outline_in).unwrap_or_default();
        }
        outline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, run_tool, text};

    async fn call(bench: &Bench, arguments: Value) -> ToolOutput {
        let tool = ROW.make(&bench.workspace).unwrap();
        let cx = ToolContext {
            call_id: "call".to_owned(),
            cancel: tokio_util::sync::CancellationToken::new(),
            updates: osier_agent::UpdateSink::discard(),
        };
        run_tool(&tool, arguments, cx).await
    }

    fn bench() -> Bench {
        let bench = Bench::new();
        for (path, text) in [
            (
                "src/cart.rs",
                "pub struct Cart;\npub fn cart_total() -> u32 {\n    7\n}\n",
            ),
            ("src/main.rs", "fn main() { cart_total(); }\n"),
            ("tests/it.py", "def test_it():\n    cart_total()\n"),
            ("notes.md", "cart_total\n"),
            ("ignored/x.rs", "fn ignored_one() {}\n"),
        ] {
            bench.put(path, text);
        }
        bench.put(".gitignore", "ignored\n");
        bench
    }

    const CART: &str = "src/cart.rs\n  1 pub struct Cart;\n  2 pub fn cart_total() -> u32\n";
    const MAIN: &str = "src/main.rs\n  1 fn main() { cart_total(); }\n";
    const TEST: &str = "tests/it.py\n  1 def test_it():\n";

    #[tokio::test]
    async fn the_most_used_files_come_first() {
        let bench = bench();
        let output = call(&bench, json!({})).await;
        assert_eq!(text(&output), format!("{CART}{MAIN}{TEST}"));
        let expected = MapDetails {
            path: bench.workspace.cwd().display().to_string(),
            files: 3,
            symbols: 4,
            truncated: false,
        };
        assert_eq!(output.details, to_value(&expected));
    }

    #[tokio::test]
    async fn arguments_narrow_the_outline() {
        let bench = bench();
        for (arguments, expected) in [
            (json!({"path": "src"}), format!("{CART}{MAIN}")),
            (json!({"path": "src/main.rs"}), MAIN.to_owned()),
            (json!({"query": "test_it"}), TEST.to_owned()),
            (json!({"query": "notes"}), "notes.md\n".to_owned()),
            (
                json!({"query": "zzz"}),
                "nothing matches `zzz`; try grep\n".to_owned(),
            ),
            (
                json!({"path": "ignored"}),
                "ignored/x.rs\n  1 fn ignored_one() {}\n".to_owned(),
            ),
            (
                json!({"tokens": 30}),
                format!("{CART}[2 more files; narrow path or query]\n"),
            ),
            (
                json!({"path": "srk"}),
                "`srk` does not exist; did you mean `src`?".to_owned(),
            ),
        ] {
            let output = call(&bench, arguments.clone()).await;
            assert_eq!(text(&output), expected, "{arguments}");
        }
    }

    #[tokio::test]
    async fn files_that_were_read_and_what_they_use_come_first() {
        let bench = bench();
        bench.run("read", json!({"file_path": "tests/it.py"})).await;
        bench.run("read", json!({"file_path": "src/main.rs"})).await;
        let output = call(&bench, json!({})).await;
        assert_eq!(text(&output), format!("{CART}{MAIN}{TEST}"));
    }

    #[tokio::test]
    async fn files_that_the_user_mentions_come_first() {
        let bench = bench();
        bench.put("lonely.py", "def lonely():\n    pass\n");
        let first = async || {
            let output = call(&bench, json!({"tokens": 60})).await;
            text(&output).lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(first().await, "src/cart.rs");
        bench
            .workspace
            .note_mentions("Why does `./lonely.py:3` fail?");
        assert_eq!(first().await, "lonely.py");
    }

    #[test]
    fn only_a_project_with_many_source_files_gets_the_tool() {
        let bench = bench();
        assert!(bench.workspace.map_tool().is_none());
        for number in 0..SOURCES {
            bench.put(&format!("src/part_{number}.rs"), "");
        }
        let tool = bench.workspace.map_tool().unwrap();
        assert_eq!(tool.spec().name, "map");
    }

    #[tokio::test]
    async fn an_empty_folder_has_no_map() {
        let bench = Bench::new();
        let output = call(&bench, json!({})).await;
        let expected = "no source files; hidden and ignored files were skipped\n";
        assert_eq!(text(&output), expected);
    }
}
