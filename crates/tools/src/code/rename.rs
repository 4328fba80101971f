//! `rename`: gives a symbol another name in all files. The language server says what changes when the call is prepared, so
//! that rules, questions and hooks see the files, and the tool changes exactly that.

use std::sync::{Arc, LazyLock};

use osier_agent::{FileUse, Preparing, Refusal, prepare_typed};
use osier_llm::ToolSpec;
use osier_lsp::{Capability, FileEdits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::{FILE, NO_SERVER, spot};
use crate::built_in::{BuiltIn, Collapsed, Part, ToolEffect, ToolView, Verbs};
use crate::call::arguments;
use crate::edit::patch::{PlacedEdit, PlacedFile, placed, prepared};
use crate::edit::tool::EDIT;
use crate::edit::write::WRITE;
use crate::files::target::NamedFile;
use crate::workspace::Workspace;

/// The name of the tool.
pub const RENAME: &str = "rename";

pub(crate) const ROW: BuiltIn = BuiltIn {
    files: Some(named_files),
    // Rules and hooks for `write` and `edit` apply to `rename`, too.
    replaces: &[WRITE, EDIT],
    view: ToolView {
        question: "Rename this symbol?",
        collapsed: Collapsed::Nothing,
        ..ToolView::new(
            Verbs::new("Renaming", "Renamed", "rename"),
            &[
                Part::text("symbol"),
                Part::text("new_name").around(" → ", ""),
            ],
        )
    },
    does: "renames a symbol in all files, with a [language server](code-intelligence.md#tools)",
    ..BuiltIn::new(RENAME, ToolEffect::Changes, || &SPEC, prepare)
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

#[derive(Debug, Deserialize)]
struct Wanted {
    file_path: String,
    symbol: String,
    new_name: String,
    #[serde(default, deserialize_with = "arguments::count")]
    line: Option<u64>,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |wanted: Wanted| {
        let changes = find(&workspace, wanted).await.map_err(Refusal::Failed)?;
        let named = changes.iter();
        let named = named.map(|file| NamedFile::new(&file.file_path, FileUse::Edit));
        let targets = workspace.targets(&named.collect::<Vec<_>>()).await?;
        let files = targets.clone();
        let plan = move |workspace: &Workspace| placed(workspace, &changes, files.clone());
        Ok(prepared(workspace, "renaming", targets, plan))
    })
}

async fn find(workspace: &Workspace, wanted: Wanted) -> Result<Vec<PlacedFile>, String> {
    let servers = workspace.code_servers().ok_or(NO_SERVER)?;
    let named = NamedFile::new(&wanted.file_path, FileUse::Read);
    let path = workspace.found(&named).await.host;
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

/// The file that a call names. The call changes other files, too, but only the language server knows which.
fn named_files(arguments: &Value) -> Vec<NamedFile> {
    let given = arguments.get(FILE.name).and_then(Value::as_str);
    let named = given.map(|given| NamedFile::new(given, FileUse::Edit));
    named.into_iter().collect()
}
