//! `find`: finds files and directories by name like `fd --glob`, in a stable order. docs/tools.md lists the
//! differences.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::listing::Listing;
use super::walk::{Problems, Root, entries, names_hidden, with_literal_brackets};
use crate::built_in::{
    BuiltIn, Count, GeminiForm, Part, PeerTool, ToolEffect, ToolView, Verbs, peer,
};
use crate::call::arguments;
use crate::call::spellings;
use crate::call::to_value;
use crate::files::target::FileArgument;
use crate::workspace::Workspace;
use osier_agent::{
    FileUse, OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolContext, ToolOutput,
    ToolStatus, UpdateSink, prepare_typed,
};
use osier_base::text::single_line;
use osier_llm::ToolSpec;

/// Default number of paths.
const DEFAULT_LIMIT: u64 = 500;
/// Entries between two updates of the screen.
const TICK: usize = 1024;

const FILE: FileArgument = FileArgument::new("path", FileUse::List);

/// The name of the tool.
pub const FIND: &str = "find";

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude("Glob", &[peer::PATTERN, peer::PATH, peer::LIMIT]),
        PeerTool::pi("find", &[peer::PATTERN, peer::PATH, peer::LIMIT]),
        PeerTool::opencode("glob", &[peer::PATTERN, peer::PATH]),
    ],
    gemini: Some(GeminiForm {
        name: "glob",
        arguments: &[("path", "dir_path")],
    }),
    view: ToolView {
        counts: &[Count::new("count", "path", "paths")],
        ..ToolView::new(
            Verbs::new("Looking for", "Looked for", "look for").several("looked for files", "time"),
            &[
                Part::text("pattern"),
                Part::path(FILE.name).around(" in ", ""),
            ],
        )
    },
    does: "finds files and directories by name or path",
    ..BuiltIn::new(FIND, ToolEffect::Looks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("glob"),
        OtherName::of("find_files"),
        OtherName::of("file_search"),
        OtherName::of("find_by_name"),
        OtherName::of("glob_file_search"),
        OtherName::of("glob_search"),
    ],
    arguments: &[
        (
            "pattern",
            &["glob", "glob_pattern", "query", "name", "file_pattern"],
        ),
        ("path", spellings::FOLDER),
        ("limit", &["max_results", "head_limit"]),
    ],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    freeform: None,
    name: FIND.to_owned(),
    description:
        "Find files by glob: *.rs by name, src/**/*.rs by path. Skips the same files as grep."
            .to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string"},
            "limit": {"type": "integer"},
        },
        "required": ["pattern"],
    }),
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindDetails {
    pattern: String,
    /// Absolute path.
    path: String,
    /// Number of paths shown.
    count: u64,
    /// There are more paths than shown.
    truncated: bool,
    /// Directories that could not be read.
    unreadable: u64,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<u64>,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let target = workspace.target(FILE, arguments.path.as_deref()).await?;
        let root = target.clone();
        let find = move |cx: ToolContext| {
            let root = Root::find(&workspace, root)?;
            let plan = Plan::new(workspace, root, arguments)?;
            Ok(plan.execute(&cx.cancel, cx.updates))
        };
        Ok(PreparedCall::blocking("finding", find).on(vec![target]))
    })
}

/// The reason why a list of paths ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// More paths match than the limit allows.
    More,
    Interrupted,
}

struct Plan {
    workspace: Arc<Workspace>,
    given: String,
    names: Names,
    root: Root,
    limit: u64,
}

impl Plan {
    fn new(workspace: Arc<Workspace>, root: Root, arguments: Arguments) -> Result<Self, Refusal> {
        if root.is_file {
            let name = workspace.display(root.named());
            return Err(Refusal::Failed(format!("`{name}` is not a directory")));
        }
        Ok(Self {
            workspace,
            names: Names::new(&arguments.pattern, &root)?,
            given: arguments.pattern,
            root,
            limit: arguments.limit.unwrap_or(DEFAULT_LIMIT).max(1),
        })
    }

    fn execute(&self, cancel: &CancellationToken, updates: UpdateSink) -> ToolOutput {
        let problems = Problems::default();
        let mut listing = Listing::new(updates);
        let (count, end) = self.list(&mut listing, &problems, cancel);
        let mut notices = Vec::from_iter(self.end_notice(count, end, listing.is_full()));
        notices.extend(problems.notice());
        let details = FindDetails {
            pattern: self.given.clone(),
            path: self.root.named().display().to_string(),
            count,
            truncated: end != End::Complete,
            unreadable: problems.count() as u64,
        };
        let output = ToolOutput::success(listing.end(&notices), to_value(&details));
        let status = match end {
            End::Interrupted => ToolStatus::Aborted,
            End::Complete | End::More => ToolStatus::Success,
        };
        ToolOutput { status, ..output }
    }

    /// Lists the matching paths. Returns their number and why the list ends.
    fn list(
        &self,
        listing: &mut Listing,
        problems: &Problems,
        cancel: &CancellationToken,
    ) -> (u64, End) {
        let mut count = 0;
        let hidden = names_hidden(&self.given);
        let entries = entries(&self.root.path, None, hidden, problems);
        for (place, entry) in entries.enumerate() {
            if cancel.is_cancelled() {
                return (count, End::Interrupted);
            }
            if place % TICK == 0 {
                listing.show();
            }
            if !self.names.match_path(&entry.path, &self.root.path) {
                continue;
            }
            let slash = if entry.kind.is_dir() { "/" } else { "" };
            let name = self.root.name_of(&entry.path);
            let name = single_line(&self.workspace.display(&name));
            if count == self.limit || !listing.push(&format!("{name}{slash}\n")) {
                return (count, End::More);
            }
            if count == 0 {
                listing.show();
            }
            count += 1;
        }
        let end = if cancel.is_cancelled() {
            End::Interrupted
        } else {
            End::Complete
        };
        (count, end)
    }

    /// The sentence that tells the model why the list is incomplete or empty.
    fn end_notice(&self, count: u64, end: End, is_full: bool) -> Option<String> {
        match end {
            End::Interrupted => Some(format!("[interrupted after {count} paths]")),
            End::More => {
                let raise = if is_full { "" } else { ", or raise limit" };
                Some(format!(
                    "[the first {count} paths; there are more. Narrow pattern or path{raise}]"
                ))
            }
            End::Complete => (count == 0).then(|| self.nothing()),
        }
    }

    fn nothing(&self) -> String {
        let literal = self.root.path.join(&self.names.pattern);
        if literal.symlink_metadata().is_ok() {
            let given = &self.given;
            let folder = Path::new(&self.names.pattern).parent();
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
            let advice = match folder {
                Some(folder) => format!(
                    "; to search there, set path to `{}`",
                    self.workspace.display(&self.root.named().join(folder))
                ),
                None => "; read it by its path".to_owned(),
            };
            return format!("`{given}` exists, but it is ignored or in an ignored folder{advice}");
        }
        let plain = !self.given.contains(['*', '?', '[', '{']);
        if plain {
            let given = &self.given;
            return format!("no file is named `{given}`; to match part of a name, try `*{given}*`");
        }
        "no paths match; ignored and hidden files were skipped".to_owned()
    }
}

/// A glob that is matched against names, or against paths when it contains a slash.
struct Names {
    globs: GlobSet,
    /// Relative to the root.
    pattern: String,
    by_path: bool,
}

impl Names {
    fn new(pattern: &str, root: &Root) -> Result<Self, Refusal> {
        let below = |root: &Path| pattern.strip_prefix(&format!("{}/", root.display()));
        let relative = below(root.named()).or_else(|| below(&root.path));
        let pattern = relative.unwrap_or(pattern);
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let pattern = pattern.trim_start_matches('/');
        if pattern.is_empty() {
            return Err(Refusal::invalid(
                "the pattern is empty; use `*` to find everything",
            ));
        }
        let by_path = pattern.contains('/');
        let whole = if by_path && !pattern.starts_with("**/") {
            &format!("**/{pattern}")
        } else {
            pattern
        };
        // Brackets are also parts of names: `app/[id]/page.tsx`.
        let mut globs = GlobSetBuilder::new();
        let literal = with_literal_brackets(whole);
        let literal = literal.as_deref();
        let add = |globs: &mut GlobSetBuilder, whole: &str| {
            let glob = GlobBuilder::new(whole)
                .literal_separator(true)
                // Smart case as in fd: a pattern with a capital letter is case-sensitive.
                .case_insensitive(!pattern.chars().any(char::is_uppercase))
                .build();
            glob.map(|glob| {
                globs.add(glob);
            })
        };
        let added = add(&mut globs, whole);
        let added = added.and_then(|()| literal.map_or(Ok(()), |literal| add(&mut globs, literal)));
        added.map_err(|error| Refusal::Invalid(error.to_string()))?;
        let globs = globs.build();
        Ok(Self {
            globs: globs.map_err(|error| Refusal::Invalid(error.to_string()))?,
            pattern: pattern.to_owned(),
            by_path,
        })
    }

    fn match_path(&self, path: &Path, root: &Path) -> bool {
        let part = if self.by_path {
            path.strip_prefix(root).unwrap_or(path)
        } else {
            path.file_name().map_or(path, Path::new)
        };
        self.globs.is_match(part)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::{Bench, text};

    fn bench() -> Bench {
        let bench = Bench::new();
        for name in [
            "sources/x",
            "src/main.rs",
            "src/tui/Main.rs",
            "README.md",
            ".env",
            "x.log",
            "a b/ü.rs",
            "app/[id]/page.tsx",
            "app/[id]/[...all].tsx",
            "out/pkg/x.log",
        ] {
            bench.put(name, "");
        }
        bench.put(".gitignore", "*.log\n/out/\n");
        bench
    }

    #[tokio::test]
    async fn names_and_paths_are_matched() {
        let bench = bench();
        for (pattern, expected) in [
            ("*.rs", "a b/ü.rs\nsrc/main.rs\nsrc/tui/Main.rs\n"),
            ("main.rs", "src/main.rs\nsrc/tui/Main.rs\n"),
            ("Main.*", "src/tui/Main.rs\n"),
            ("readme*", "README.md\n"),
            ("tui/*.rs", "src/tui/Main.rs\n"),
            ("./src/**/*.rs", "src/main.rs\nsrc/tui/Main.rs\n"),
            ("src", "src/\n"),
            (".env", ".env\n"),
            ("{README.md,*.log}", "README.md\n"),
            ("app/[id]/page.tsx", "app/[id]/page.tsx\n"),
            ("[...all].tsx", "app/[id]/[...all].tsx\n"),
            (
                "app/[id]/*.tsx",
                "app/[id]/[...all].tsx\napp/[id]/page.tsx\n",
            ),
            ("src/[l-m]*.rs", "src/main.rs\n"),
            (
                "out/pkg/x.log",
                "`out/pkg/x.log` exists, but it is ignored or in an ignored folder; to search there, set path to `out/pkg`\n",
            ),
            (
                "x.log",
                "`x.log` exists, but it is ignored or in an ignored folder; read it by its path\n",
            ),
            (
                "main",
                "no file is named `main`; to match part of a name, try `*main*`\n",
            ),
            (
                "*.zig",
                "no paths match; ignored and hidden files were skipped\n",
            ),
        ] {
            let output = bench.run("find", json!({"pattern": pattern})).await;
            assert_eq!(text(&output), expected, "{pattern}");
        }
        let absolute = format!(
            "{}/src/*.rs",
            bench.path("").display().to_string().trim_end_matches('/')
        );
        let output = bench.run("find", json!({"pattern": absolute})).await;
        assert_eq!(text(&output), "src/main.rs\n");
    }

    #[tokio::test]
    async fn a_limit_reports_more_results() {
        let bench = bench();
        let arguments = json!({"pattern": "*.rs", "limit": 2});
        let output = bench.run("find", arguments).await;
        assert_eq!(
            text(&output),
            "a b/ü.rs\nsrc/main.rs\n[the first 2 paths; there are more. Narrow pattern or path, or raise limit]\n"
        );
        let expected = FindDetails {
            pattern: "*.rs".to_owned(),
            path: bench.workspace.cwd().display().to_string(),
            count: 2,
            truncated: true,
            unreadable: 0,
        };
        assert_eq!(output.details, to_value(&expected));
        let output = bench
            .run("find", json!({"pattern": "*.rs", "limit": 3}))
            .await;
        assert_eq!(output.details["truncated"], false);
    }

    #[tokio::test]
    async fn many_paths_are_cut_with_advice() {
        let bench = Bench::new();
        for number in 0..2000 {
            bench.put(&format!("{}/{number}", "long".repeat(20)), "");
        }
        let output = bench
            .run("find", json!({"pattern": "*", "limit": 5000}))
            .await;
        assert!(text(&output).len() < 51 * 1024);
        assert!(text(&output).ends_with("there are more. Narrow pattern or path]\n"));
    }

    #[tokio::test]
    async fn names_cannot_forge_lines_or_move_the_cursor() {
        let bench = Bench::new();
        bench.put("a\nb\x1b[2J.rs", "");
        let output = bench.run("find", json!({"pattern": "*.rs"})).await;
        assert_eq!(text(&output), "a⏎b.rs\n");
    }

    #[tokio::test]
    async fn invalid_arguments_are_rejected() {
        let bench = bench();
        symlink("nowhere", bench.path("broken")).unwrap();
        for (arguments, expected) in [
            (
                json!({"pattern": ""}),
                "invalid arguments: the pattern is empty; use `*` to find everything",
            ),
            (
                json!({"pattern": "*", "path": "README.md"}),
                "`README.md` is not a directory",
            ),
            (
                json!({"pattern": "*", "path": "souces"}),
                "`souces` does not exist; did you mean `sources`?",
            ),
            (
                json!({"pattern": "*", "path": "broken"}),
                "`broken` does not exist; did you mean `broken`?",
            ),
            (
                json!({"pattern": "[z-a]"}),
                "invalid arguments: error parsing glob '[z-a]': invalid range; 'z' > 'a'",
            ),
        ] {
            let output = bench.run("find", arguments).await;
            assert_eq!(text(&output), expected);
            assert!(!output.status.is_success());
        }
    }

    #[tokio::test]
    async fn an_interrupt_ends_it_immediately() {
        let bench = bench();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let arguments = json!({"pattern": "*"});
        let output = bench
            .run_with("find", arguments, &cancel, UpdateSink::discard())
            .await;
        assert_eq!(output.status, ToolStatus::Aborted);
        assert_eq!(text(&output), "[interrupted after 0 paths]\n");
    }
}
