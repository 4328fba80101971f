//! `apply_patch`: creates, changes, moves and deletes files with one patch, in the format that GPT models are trained with.
//! It is another form of `write` and `edit`: models get it instead of these tools. Everything is checked before anything
//! is written.

mod change;
mod command;
mod hunks;
mod parse;
mod paths;
mod placed;
mod undo;

use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::change::Changes;
use self::parse::{Action, Patch};
use crate::built_in::BuiltIn;
use crate::call::arguments::{self, Refusal};
use crate::call::details::to_value;
use crate::call::spellings;
use crate::files::target::{FileTarget, FileUse, NamedFile};
use crate::workspace::Workspace;
use osier_agent::{Concurrency, Spellings, Tool, ToolContext, ToolOutput, ToolStatus};
use osier_llm::{Freeform, ToolSpec};

pub(crate) use self::command::patch_of_command;
pub(crate) use self::placed::{PlacedEdit, PlacedFile, placed};

/// The name of the tool.
pub(crate) const NAME: &str = "apply_patch";
/// The argument with the patch.
const INPUT: &str = "input";
/// The tools that do the same with one file.
pub(crate) const REPLACES: &[&str] = &["write", "edit"];

pub(crate) const ROW: BuiltIn = BuiltIn {
    files: Some(named_files),
    replaces: REPLACES,
    ..BuiltIn::new(NAME, "Patch", INPUT, |workspace| {
        Arc::new(PatchTool::new(workspace))
    })
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        freeform: Some(Freeform {
        argument: INPUT.to_owned(),
        grammar: include_str!("grammar.lark").to_owned(),
    }),
    name: NAME.to_owned(),
    description: "Change files with a patch: `*** Begin Patch`, sections `*** Add File: PATH` (lines with +), `*** Update File: PATH` (`*** Move to: PATH` to rename; hunks begin with `@@`, optionally `@@ class or function`, and have 3 lines of context with a space around lines with - and +), `*** Delete File: PATH`, then `*** End Patch`. Paths are relative.".to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
    }),
}
});

#[derive(Debug)]
pub(crate) struct PatchTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    input: String,
}

impl PatchTool {
    fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

impl Tool for PatchTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn spellings(&self) -> &'static Spellings {
        &spellings::PATCH
    }

    fn replaces(&self) -> &'static [&'static str] {
        REPLACES
    }

    fn adapt(&self, arguments: &mut Map<String, Value>) -> Vec<String> {
        if let Some(Value::String(input)) = arguments.get_mut(INPUT)
            && let Some(patch) = patch_of_command(input)
        {
            *input = patch;
        }
        Vec::new()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        let input = arguments.get(INPUT).and_then(Value::as_str);
        let patch = Patch::parse(input.unwrap_or_default()).map_err(|error| error.to_string())?;
        let targets = named_files(arguments)
            .iter()
            .map(|named| self.workspace.resolve(named))
            .collect::<Vec<_>>();
        paths::check(&self.workspace, &patch, &targets)
    }

    fn concurrency(&self, _: &Value) -> Concurrency {
        Concurrency::Exclusive
    }

    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        let workspace = Arc::clone(&self.workspace);
        let work = move |arguments: Arguments| {
            let patch = Patch::parse(&arguments.input)
                .map_err(|error| Refusal::Invalid(error.to_string()))?;
            if cx.cancel.is_cancelled() {
                let text = "interrupted; nothing was changed";
                return Ok(ToolOutput::failed(ToolStatus::Aborted, text));
            }
            let named = named(&patch);
            let targets: Result<Vec<FileTarget>, Refusal> = named
                .iter()
                .map(|named| workspace.approved(&cx.call_id, named))
                .collect();
            let targets = targets?;
            paths::check(&workspace, &patch, &targets).map_err(Refusal::Failed)?;
            let changes = Changes::plan(&workspace, &patch, targets).map_err(Refusal::Failed)?;
            let report = changes.carry_out(&workspace).map_err(Refusal::Failed)?;
            Ok(ToolOutput::success(report.text, to_value(&report.details)))
        };
        Box::pin(arguments::carry_out(arguments, "applying the patch", work))
    }
}

/// The definition.
pub(crate) fn spec() -> &'static ToolSpec {
    &SPEC
}

/// A patch that changes or creates one file as a call of `edit` or `write`.
pub(crate) fn as_edit(input: &str) -> Option<(&'static str, Value)> {
    let patch = Patch::parse(input).ok()?;
    let [section] = &patch.sections[..] else {
        return None;
    };
    let path = &section.path;
    match &section.action {
        Action::Add(content) => Some(("write", json!({"file_path": path, "content": content}))),
        Action::Update {
            moved_to: None,
            hunks,
        } => {
            let edit = |hunk: &parse::Hunk| {
                let (old, new) = (hunks::joined(&hunk.old), hunks::joined(&hunk.new));
                json!({"old_string": old, "new_string": new})
            };
            let mut edits: Vec<Value> = hunks.iter().map(edit).collect();
            let arguments = match &mut edits[..] {
                [only] => {
                    let mut arguments = json!({"file_path": path});
                    arguments["old_string"] = only["old_string"].take();
                    arguments["new_string"] = only["new_string"].take();
                    arguments
                }
                _ => json!({"file_path": path, "edits": edits}),
            };
            Some(("edit", arguments))
        }
        _ => None,
    }
}

/// The files of a call, for the permission check. None if its patch cannot be parsed: then it does not run.
pub(crate) fn named_files(arguments: &Value) -> Vec<NamedFile> {
    let input = arguments.get(INPUT).and_then(Value::as_str);
    let patch = Patch::parse(input.unwrap_or_default());
    patch.map_or_else(|_| Vec::new(), |patch| named(&patch))
}

fn named(patch: &Patch) -> Vec<NamedFile> {
    let files = patch.sections.iter().flat_map(|section| {
        let purpose = match section.action {
            Action::Update { .. } => FileUse::Edit,
            Action::Add(_) | Action::Delete => FileUse::Write,
        };
        let file = NamedFile {
            path: section.path.clone(),
            purpose,
            exists: !matches!(section.action, Action::Add(_)),
        };
        let moved = section.moved_to().map(|path| NamedFile {
            path: path.to_owned(),
            purpose: FileUse::Write,
            exists: false,
        });
        [file].into_iter().chain(moved)
    });
    files.collect()
}

/// The changes that a call would make, as a name for them and a diff; `None` when it would fail.
pub(crate) fn preview(
    workspace: &Workspace,
    targets: &[FileTarget],
    arguments: &Value,
) -> Option<(String, String)> {
    let patch = Patch::parse(arguments.get(INPUT)?.as_str()?).ok()?;
    let changes = Changes::plan(workspace, &patch, targets.to_vec()).ok()?;
    Some((changes.title(), changes.diff()))
}

#[cfg(test)]
mod tests;
