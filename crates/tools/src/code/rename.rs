//! `rename`: gives a symbol another name in all files. What changes is known before the call is checked: it becomes an
//! argument, so that rules, questions and hooks see the files, and the tool changes exactly that.

use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use osier_agent::{Concurrency, Tool, ToolContext, ToolOutput, ToolStatus};
use osier_llm::ToolSpec;
use osier_lsp::{Capability, FileEdits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::{FILE, NO_SERVER, spot};
use crate::built_in::BuiltIn;
use crate::call::arguments::{self, Refusal};
use crate::call::details::to_value;
use crate::edit::patch::{PlacedEdit, PlacedFile, placed};
use crate::files::target::{FileTarget, FileUse, NamedFile};
use crate::workspace::Workspace;

/// The name of the tool.
pub const RENAME: &str = "rename";
/// The argument with what changes, which models do not write.
const CHANGES: &str = "changes";
const PROBLEM: &str = "problem";

pub(crate) const ROW: BuiltIn = BuiltIn {
    files: Some(named_files),
    // Rules about them are about it.
    replaces: &["write", "edit"],
    ..BuiltIn::new(RENAME, "Rename", "symbol", |workspace| {
        Arc::new(RenameTool::new(workspace))
    })
};

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    freeform: None,
    name: RENAME.to_owned(),
    description: "Rename a symbol that occurs in a file, with all its uses in the project."
        .to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "symbol": {"type": "string"},
            "line": {"type": "integer", "minimum": 1},
            "new_name": {"type": "string"},
        },
        "required": ["file_path", "symbol", "new_name"],
    }),
});

#[derive(Debug)]
pub(super) struct RenameTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Wanted {
    file_path: String,
    symbol: String,
    new_name: String,
    #[serde(default, deserialize_with = "arguments::count")]
    line: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Found {
    #[serde(default)]
    changes: Vec<PlacedFile>,
    #[serde(default)]
    problem: Option<String>,
}

impl RenameTool {
    pub(super) fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

/// The arguments of a call with what it changes, as the language server says, or with the reason why it cannot.
pub async fn with_changes(workspace: &Workspace, arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    let Some(fields) = arguments.as_object_mut() else {
        return arguments;
    };
    fields.shift_remove(CHANGES);
    fields.shift_remove(PROBLEM);
    let wanted = serde_json::from_value(Value::Object(fields.clone()));
    let found = match wanted {
        Ok(wanted) => find(workspace, wanted).await,
        Err(error) => Err(error.to_string()),
    };
    match found {
        Ok(changes) => fields.insert(CHANGES.to_owned(), to_value(&changes)),
        Err(problem) => fields.insert(PROBLEM.to_owned(), json!(problem)),
    };
    arguments
}

async fn find(workspace: &Workspace, wanted: Wanted) -> Result<Vec<PlacedFile>, String> {
    let servers = workspace.code_servers().ok_or(NO_SERVER)?;
    let path = workspace.resolve(&FILE.named(&wanted.file_path)).host;
    let symbol = &wanted.symbol;
    let capability = Capability::Rename;
    let spot = spot(
        workspace,
        servers.as_ref(),
        path,
        symbol,
        wanted.line,
        capability,
    )
    .await?;
    let changes = spot.server.rename(spot.at(), &wanted.new_name).await;
    let changes = changes.map_err(|problem| format!("{}: {problem}", spot.server.name()))?;
    if changes.is_empty() {
        return Err(format!(
            "`{symbol}` cannot be renamed: nothing would change"
        ));
    }
    let edits = |file: FileEdits| PlacedFile {
        file_path: file.path.display().to_string(),
        edits: file
            .edits
            .into_iter()
            .map(|edit| PlacedEdit {
                line: edit.line,
                column: edit.column,
                old: edit.old,
                new: edit.new,
            })
            .collect(),
    };
    Ok(changes.into_iter().map(edits).collect())
}

/// The files of a call, for the permission check.
pub(super) fn named_files(arguments: &Value) -> Vec<NamedFile> {
    let found = arguments.get(CHANGES).cloned();
    let files: Vec<PlacedFile> = found
        .and_then(|found| serde_json::from_value(found).ok())
        .unwrap_or_default();
    files.iter().map(named).collect()
}

fn named(file: &PlacedFile) -> NamedFile {
    NamedFile {
        path: file.file_path.clone(),
        purpose: FileUse::Edit,
        exists: true,
    }
}

/// The changes that a call would make, as a name for them and a diff; `None` when it would fail.
pub(crate) fn preview(
    workspace: &Workspace,
    targets: &[FileTarget],
    arguments: &Value,
) -> Option<(String, String)> {
    let found: Found = serde_json::from_value(arguments.clone()).ok()?;
    let changes = placed(workspace, &found.changes, targets.to_vec()).ok()?;
    Some((changes.title(), changes.diff()))
}

impl Tool for RenameTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self, _: &Value) -> Concurrency {
        Concurrency::Exclusive
    }

    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        let workspace = Arc::clone(&self.workspace);
        let work = move |found: Found| {
            if let Some(problem) = found.problem {
                return Err(Refusal::Failed(problem));
            }
            if cx.cancel.is_cancelled() {
                let text = "interrupted; nothing was changed";
                return Ok(ToolOutput::failed(ToolStatus::Aborted, text));
            }
            let files = found.changes.iter();
            let targets: Result<Vec<FileTarget>, Refusal> = files
                .map(|file| workspace.approved(&cx.call_id, &named(file)))
                .collect();
            let changes = placed(&workspace, &found.changes, targets?).map_err(Refusal::Failed)?;
            let report = changes.carry_out(&workspace).map_err(Refusal::Failed)?;
            Ok(ToolOutput::success(report.text, to_value(&report.details)))
        };
        Box::pin(async move {
            let has_changes = arguments.get(CHANGES).is_some() || arguments.get(PROBLEM).is_some();
            let arguments = if has_changes {
                arguments
            } else {
                // Where nothing checks calls.
                with_changes(&self.workspace, &arguments).await
            };
            arguments::carry_out(arguments, "renaming", work).await
        })
    }
}
