//! `ls`: lists the names in a directory, including hidden and ignored ones.

use std::fs::{self, DirEntry};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::listing::Listing;
use super::walk::Root;
use crate::built_in::{
    BuiltIn, Collapsed, Count, GeminiForm, Part, PeerTool, ToolEffect, ToolView, Verbs, peer,
};
use crate::call::arguments;
use crate::call::spellings;
use crate::call::to_value;
use crate::files::target::{FileArgument, reason};
use crate::workspace::Workspace;
use osier_agent::{
    FileUse, OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolContext, ToolOutput,
    UpdateSink, prepare_typed,
};
use osier_base::text::single_line;
use osier_base::without_links;
use osier_llm::ToolSpec;

/// Default number of names.
const DEFAULT_LIMIT: u64 = 500;

const FILE: FileArgument = FileArgument::new("path", FileUse::List);

/// The name of the tool.
pub const LS: &str = "ls";

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude("LS", &[peer::PATH, peer::LIMIT]),
        PeerTool::pi("ls", &[peer::PATH, peer::LIMIT]),
        PeerTool::opencode("list", &[peer::PATH]),
    ],
    gemini: Some(GeminiForm {
        name: "list_directory",
        arguments: &[("path", "dir_path")],
    }),
    view: ToolView {
        counts: &[Count::new("total", "entry", "entries")],
        collapsed: Collapsed::Nothing,
        ..ToolView::new(
            Verbs::new("Listing", "Listed", "list").several("listed", "folder"),
            &[Part::path(FILE.name)],
        )
    },
    does: "lists a directory, including hidden files",
    ..BuiltIn::new(LS, ToolEffect::Looks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("list"),
        OtherName::of("list_dir"),
        OtherName::of("list_directory"),
        OtherName::of("list_files"),
        OtherName::of("dir"),
    ],
    arguments: &[("path", spellings::FOLDER), ("limit", &["max_results"])],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    freeform: None,
    name: LS.to_owned(),
    description: "List a directory, hidden files included.".to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
        },
    }),
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct LsDetails {
    /// Absolute path.
    path: String,
    /// Entries of the directory, including those not shown.
    total: u64,
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<u64>,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |Arguments { path, limit }| {
        let target = workspace.target(FILE, path.as_deref()).await?;
        let root = target.clone();
        let list =
            move |cx: ToolContext| list(&workspace, &Root::find(&workspace, root)?, limit, &cx);
        Ok(PreparedCall::blocking("listing", list).on(vec![target]))
    })
}

fn list(
    workspace: &Workspace,
    root: &Root,
    limit: Option<u64>,
    cx: &ToolContext,
) -> Result<ToolOutput, Refusal> {
    let shown = workspace.display(root.named());
    if root.is_file {
        return Err(Refusal::Failed(format!(
            "`{shown}` is a file; read it, or list its directory"
        )));
    }
    let folder = without_links::open_folder(&root.path);
    let read = folder.as_ref().map(|folder| fs::read_dir(folder.stable()));
    let read =
        read.map_err(|error| Refusal::Failed(format!("cannot list `{shown}`: {}", reason(error))))?;
    let read = read.map_err(|error| Refusal::Failed(format!("cannot list `{shown}`: {error}")))?;
    let mut names: Vec<(String, DirEntry)> = Vec::new();
    for entry in read.flatten() {
        if cx.cancel.is_cancelled() {
            return Err(Refusal::Interrupted("interrupted"));
        }
        names.push((entry.file_name().to_string_lossy().into_owned(), entry));
    }
    names.sort_by_cached_key(|(name, _)| (name.to_lowercase(), name.clone()));
    let limit = usize::try_from(limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(usize::MAX);
    let mut listing = Listing::new(UpdateSink::discard());
    let mut count = 0;
    for (name, entry) in names.iter().take(limit.max(1)) {
        if !listing.push(&format!("{}\n", line(name, entry))) {
            break;
        }
        count += 1;
    }
    let left_out = names.len() - count;
    let mut notices = Vec::new();
    if names.is_empty() {
        notices.push("(empty)".to_owned());
    }
    if left_out > 0 {
        let advice = if listing.is_full() {
            "use find with a pattern"
        } else {
            "raise limit"
        };
        notices.push(format!("[{left_out} more; {advice}]"));
    }
    let details = LsDetails {
        path: root.named().display().to_string(),
        total: names.len() as u64,
        truncated: left_out > 0,
    };
    Ok(ToolOutput::success(
        listing.end(&notices),
        to_value(&details),
    ))
}

/// A directory ends with a slash; a link shows its target.
fn line(name: &str, entry: &DirEntry) -> String {
    let name = single_line(name);
    let kind = entry.file_type().ok();
    if kind.is_some_and(|kind| kind.is_dir()) {
        return format!("{name}/");
    }
    if kind.is_some_and(|kind| kind.is_symlink()) {
        let target: PathBuf = fs::read_link(entry.path()).unwrap_or_default();
        return format!("{name} -> {}", single_line(&target.to_string_lossy()));
    }
    name
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::{Bench, text};

    #[tokio::test]
    async fn everything_is_listed_by_name() {
        let bench = Bench::new();
        for name in ["b", "A", "a", "dir/x", ".hidden", "x.log", "bad\nname"] {
            bench.put(name, "");
        }
        bench.put(".gitignore", "*.log");
        symlink("dir", bench.path("link")).unwrap();
        let output = bench.run("ls", json!({})).await;
        assert_eq!(
            text(&output),
            ".gitignore\n.hidden\nA\na\nb\nbad⏎name\ndir/\nlink -> dir\nx.log\n"
        );
        let expected = LsDetails {
            path: bench.workspace.cwd().display().to_string(),
            total: 9,
            truncated: false,
        };
        assert_eq!(output.details, to_value(&expected));
        let through_link = bench.run("ls", json!({"path": "link"})).await;
        assert_eq!(text(&through_link), "x\n");
        let cut = bench.run("ls", json!({"limit": 2})).await;
        assert_eq!(text(&cut), ".gitignore\n.hidden\n[7 more; raise limit]\n");
    }

    #[tokio::test]
    async fn other_paths_are_errors() {
        let bench = Bench::new();
        bench.put("folder/file", "");
        fs::create_dir(bench.path("none")).unwrap();
        for (path, expected) in [
            ("none", "(empty)\n"),
            (
                "folder/file",
                "`folder/file` is a file; read it, or list its directory",
            ),
            ("fodler", "`fodler` does not exist; did you mean `folder`?"),
            (
                "/dev/null",
                "`/dev/null` is neither a directory nor a regular file",
            ),
        ] {
            assert_eq!(
                text(&bench.run("ls", json!({"path": path})).await),
                expected
            );
        }
    }

    #[tokio::test]
    async fn a_huge_directory_is_cut_with_advice() {
        let bench = Bench::new();
        for number in 0..1500 {
            bench.put(&format!("{}{number}", "name".repeat(20)), "");
        }
        let output = bench.run("ls", json!({"limit": 5000})).await;
        assert!(text(&output).len() < 51 * 1024);
        assert!(text(&output).ends_with(" more; use find with a pattern]\n"));
    }
}
