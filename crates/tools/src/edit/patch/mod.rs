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

use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::change::Changes;
use self::parse::{Action, Patch};
use crate::built_in::{BuiltIn, Collapsed, Part, PartKind, PeerTool, ToolEffect, ToolView, Verbs};
use crate::call::spellings;
use crate::edit::tool::EDIT;
use crate::edit::write::WRITE;
use crate::files::target::NamedFile;
use crate::workspace::Workspace;
use osier_agent::{FileUse, OtherName, Preparing, Refusal, Spellings, prepare_typed};
use osier_llm::{Freeform, ToolSpec};

pub(crate) use self::change::prepared;
pub(crate) use self::command::patch_of_command;
pub(crate) use self::placed::{PlacedEdit, PlacedFile, placed};

/// The name of the tool.
pub const NAME: &str = "apply_patch";
/// The argument with the patch.
const INPUT: &str = "input";
/// The tools that do the same with one file.
pub(crate) const REPLACES: &[&str] = &[WRITE, EDIT];

pub(crate) const ROW: BuiltIn = BuiltIn {
    files: Some(named_files),
    replaces: REPLACES,
    is_form: true,
    spellings: &SPELLINGS,
    adapt: Some(adapt),
    peers: &[PeerTool::claude(NAME, &[(INPUT, INPUT)])],
    view: ToolView {
        question: "Apply this patch?",
        collapsed: Collapsed::Nothing,
        ..ToolView::new(
            Verbs::new("Patching", "Patched", "patch"),
            &[Part::of(INPUT, PartKind::Patch)],
        )
    },
    does: "the same as `write` and `edit`, as a [patch](#patches) of several files",
    ..BuiltIn::new(NAME, ToolEffect::Changes, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("apply_diff"),
        OtherName::of("applypatch"),
        OtherName::of("patch"),
    ],
    arguments: &[(
        "input",
        &["patch", "patch_text", "diff", "content", "command", "cmd"],
    )],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
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

#[derive(Debug, Deserialize)]
struct Arguments {
    input: String,
}

/// Converts a patch that is written as a command.
fn adapt(_: &Workspace, arguments: &mut Map<String, Value>) -> Vec<String> {
    if let Some(Value::String(input)) = arguments.get_mut(INPUT)
        && let Some(patch) = patch_of_command(input)
    {
        *input = patch;
    }
    Vec::new()
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |Arguments { input }| {
        let patch = Patch::parse(&input).map_err(|error| Refusal::invalid(error.to_string()))?;
        let targets = workspace.targets(&named(&patch)).await?;
        paths::check(&workspace, &patch, &targets).map_err(Refusal::Failed)?;
        let files = targets.clone();
        let plan = move |workspace: &Workspace| Changes::plan(workspace, &patch, files.clone());
        Ok(prepared(workspace, "applying the patch", targets, plan))
    })
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
        Action::Add(content) => Some((WRITE, json!({"file_path": path, "content": content}))),
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
            Some((EDIT, arguments))
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

#[cfg(test)]
mod tests;
