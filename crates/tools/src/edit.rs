//! `edit`: replaces text in a file. What is matched and what is rewritten is decided in `edit_match`;
//! here the file is guarded against changes of others and the outcome is told.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::arguments::{self, Refusal};
use super::details::{EditDetails, SingleEdit, to_value};
use super::diff::{FileDiff, unified};
use super::edit_closest::closest;
use super::edit_match::{Applied, Edit, MatchError, apply};
use super::ledger::{Freshness, MAX_HASHED, Stamp};
use super::read::{is_missing, suggestion};
use super::workspace::Workspace;
use super::write::{changed_on_disk, explain, other_names};
use osier_agent::{Concurrency, Tool, ToolContext, ToolOutput, ToolStatus};
use osier_base::atomic_file;
use osier_base::atomic_file::{Options, WriteError};
use osier_base::path::resolve_existing;
use osier_base::text::head_bytes;
use osier_llm::ToolSpec;

/// Lines and bytes of the diff that the model is shown.
const SNIPPET_LINES: usize = 40;
const SNIPPET_BYTES: usize = 4 * 1024;
/// Bytes of the text that matched only normalised.
const ACTUAL_BYTES: usize = 1024;

/// One for all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        name: "edit".to_owned(),
        description: "Replace text in a file. old_string must occur once unless replace_all. For several places give edits; all refer to the original file.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"},
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old_string": {"type": "string"},
                            "new_string": {"type": "string"},
                            "replace_all": {"type": "boolean"},
                        },
                        "required": ["old_string", "new_string"],
                    },
                },
            },
            "required": ["file_path"],
        }),
    }
});

#[derive(Debug)]
pub(super) struct EditTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    file_path: String,
    #[serde(default)]
    old_string: Option<String>,
    #[serde(default)]
    new_string: Option<String>,
    #[serde(default)]
    replace_all: Option<bool>,
    #[serde(default)]
    edits: Option<Vec<EditArguments>>,
}

#[derive(Debug, Deserialize)]
struct EditArguments {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// Why nothing was changed. The text is what the model gets.
#[derive(Debug, Error)]
enum EditError {
    #[error("`{path}` does not exist{suggestion}")]
    Missing { path: String, suggestion: String },
    #[error("`{path}` is not a regular file")]
    NotRegular { path: String },
    #[error("`{path}` is too large to be edited ({size} bytes); use bash: `sed -i`")]
    TooLarge { path: String, size: u64 },
    #[error("`{path}` is not UTF-8 text (first bad byte at {offset}); use bash to change it")]
    NotText { path: String, offset: usize },
    #[error("{}", changed_on_disk(path))]
    Changed { path: String },
    #[error("{0}")]
    Match(String),
    #[error("{0}")]
    Write(String),
    #[error("cannot read `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

impl EditTool {
    pub(super) fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self, arguments: &Value) -> Concurrency {
        match arguments["file_path"].as_str() {
            Some(path) => Concurrency::Serial(self.workspace.lock_key(path)),
            None => Concurrency::Exclusive,
        }
    }

    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let parsed = arguments::parse(arguments).and_then(|arguments: Arguments| {
                let edits = edits(&arguments).map_err(Refusal::invalid)?;
                Ok((arguments.file_path, edits))
            });
            let (file_path, edits) = match parsed {
                Ok(parsed) => parsed,
                Err(refusal) => return refusal.into(),
            };
            if cx.cancel.is_cancelled() {
                return ToolOutput::failed(ToolStatus::Aborted, "interrupted; nothing was changed");
            }
            let workspace = Arc::clone(&self.workspace);
            let work = move || edit(&workspace, &file_path, &edits);
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(output)) => output,
                Ok(Err(error)) => ToolOutput::error(error.to_string()),
                Err(error) => ToolOutput::error(format!("editing failed: {error}")),
            }
        })
    }
}

/// The edits of a call: its own strings, then those of `edits`.
fn edits(arguments: &Arguments) -> Result<Vec<Edit>, &'static str> {
    let single = match (&arguments.old_string, &arguments.new_string) {
        (Some(old), Some(new)) => Some(Edit {
            old: old.clone(),
            new: new.clone(),
            replace_all: arguments.replace_all.unwrap_or(false),
        }),
        (None, None) => None,
        _ => return Err("old_string and new_string go together"),
    };
    let several = arguments.edits.iter().flatten().map(|edit| Edit {
        old: edit.old_string.clone(),
        new: edit.new_string.clone(),
        replace_all: edit.replace_all.or(arguments.replace_all).unwrap_or(false),
    });
    // Some models send both forms with empty strings in the one they do not mean.
    let unmeant = |edit: &Edit| edit.old.is_empty() && edit.new.is_empty();
    let mut edits: Vec<Edit> = several.collect();
    if let Some(single) = single
        && (edits.is_empty() || !unmeant(&single))
    {
        edits.insert(0, single);
    }
    if edits.is_empty() {
        return Err("give old_string and new_string, or edits");
    }
    Ok(edits)
}

/// A file as it was found.
struct Original {
    path: PathBuf,
    /// As messages name it.
    name: String,
    text: String,
    freshness: Freshness,
    stamp: Stamp,
    /// Names of the file.
    links: u64,
}

fn edit(workspace: &Workspace, given: &str, edits: &[Edit]) -> Result<ToolOutput, EditError> {
    let original = load(workspace, given)?;
    if original.freshness == Freshness::Changed {
        return Err(EditError::Changed {
            path: original.name,
        });
    }
    let known = original.freshness == Freshness::Fresh;
    let applied = apply(&original.text, edits, known).map_err(|error| {
        let message = explain_match(&error, edits, &original);
        EditError::Match(message)
    })?;
    store(workspace, &original, &applied.text)?;
    let diff = unified(&original.name, Some(&original.text), &applied.text);
    let mut text = report(&original.name, &applied, &diff);
    text.push_str(&other_names(original.links));
    let details = details(&original.path, edits, &applied, diff);
    Ok(ToolOutput::success(text, to_value(&details)))
}

/// The change that a call would make, as a diff; nothing when it would fail.
pub(super) fn preview(workspace: &Workspace, arguments: &Value) -> Option<String> {
    let arguments: Arguments = serde_json::from_value(arguments.clone()).ok()?;
    let edits = edits(&arguments).ok()?;
    let original = load(workspace, &arguments.file_path).ok()?;
    let known = original.freshness == Freshness::Fresh;
    let applied = apply(&original.text, &edits, known).ok()?;
    Some(unified(&original.name, Some(&original.text), &applied.text).text)
}

fn load(workspace: &Workspace, given: &str) -> Result<Original, EditError> {
    let target = resolve_existing(workspace.cwd(), given);
    let name = workspace.display(&target);
    let failed = |source: io::Error| {
        let path = name.clone();
        if is_missing(&source) {
            let suggestion = suggestion(workspace, &target);
            EditError::Missing { path, suggestion }
        } else {
            EditError::Io { path, source }
        }
    };
    let metadata = fs::metadata(&target).map_err(failed)?;
    if !metadata.is_file() {
        return Err(EditError::NotRegular { path: name });
    }
    if metadata.len() > MAX_HASHED {
        return Err(EditError::TooLarge {
            path: name,
            size: metadata.len(),
        });
    }
    let bytes = match workspace.text_in_editor(&target, &metadata) {
        Some(text) => text.into_bytes(),
        None => fs::read(&target).map_err(failed)?,
    };
    let stamp = Stamp::of(&metadata, &bytes);
    let text = String::from_utf8(bytes).map_err(|error| EditError::NotText {
        path: name.clone(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    Ok(Original {
        freshness: workspace.ledger.freshness(&target, &stamp),
        path: target,
        name,
        text,
        stamp,
        links: metadata.nlink(),
    })
}

fn store(workspace: &Workspace, original: &Original, text: &str) -> Result<(), EditError> {
    match workspace.write_in_editor(&original.path, text) {
        Some(written) => written.map_err(EditError::Write)?,
        None => store_on_disk(original, text)?,
    }
    // A file that was never read stays unread: the model saw only what it changed.
    if original.freshness == Freshness::Fresh
        && let Ok(metadata) = fs::metadata(&original.path)
    {
        let stamp = Stamp::of(&metadata, text.as_bytes());
        workspace.ledger.record(&original.path, stamp);
    }
    Ok(())
}

fn store_on_disk(original: &Original, text: &str) -> Result<(), EditError> {
    // Matching and writing take their time; somebody may be faster.
    let is_same = |path: &Path| original.stamp.holds(path, Some(original.text.as_bytes()));
    let options = Options::default();
    let written = atomic_file::write_if(&original.path, text.as_bytes(), options, &is_same);
    written.map_err(|error| match error {
        WriteError::Changed { .. } => EditError::Changed {
            path: original.name.clone(),
        },
        error => EditError::Write(explain(&error)),
    })
}

/// What was done, for the model.
fn report(name: &str, applied: &Applied, diff: &FileDiff) -> String {
    let count: usize = applied.matches.iter().map(|found| found.count).sum();
    let places = if count == 1 {
        "1 place"
    } else {
        &format!("{count} places")
    };
    let mut text = format!(
        "Changed {places} in `{name}` (+{} -{} lines)\n",
        diff.added, diff.removed
    );
    for found in &applied.matches {
        if let Some(actual) = &found.actual {
            let actual = head_bytes(actual, ACTUAL_BYTES);
            let _ = writeln!(
                text,
                "The text matched only with white space, quotes and dashes normalised; the file had:\n{actual}"
            );
        }
    }
    let hunks = diff.text.split_once("\n@@").map_or("", |(_, hunks)| hunks);
    if !hunks.is_empty() {
        text.push_str("@@");
        text.push_str(&snippet(hunks));
    }
    text
}

fn snippet(hunks: &str) -> String {
    let short = head_bytes(hunks, SNIPPET_BYTES);
    let lines: Vec<&str> = short.lines().take(SNIPPET_LINES).collect();
    let mut snippet = lines.join("\n");
    if snippet.len() + 1 < hunks.len() {
        snippet.push_str("\n[…]");
    }
    snippet
}

fn details(path: &Path, edits: &[Edit], applied: &Applied, diff: FileDiff) -> EditDetails {
    let singles = edits
        .iter()
        .zip(&applied.matches)
        .map(|(edit, found)| SingleEdit {
            old_string: edit.old.clone(),
            new_string: edit.new.clone(),
            match_count: found.count as u64,
        });
    let mut singles: Vec<SingleEdit> = singles.collect();
    let first = singles.first().cloned().unwrap_or_default();
    let match_count = singles.iter().map(|edit| edit.match_count).sum();
    if singles.len() == 1 {
        singles.clear();
    }
    EditDetails {
        file_path: path.display().to_string(),
        old_string: first.old_string,
        new_string: first.new_string,
        match_count,
        lines_changed: diff.changed,
        diff: diff.text,
        lines_added: diff.added,
        lines_removed: diff.removed,
        first_changed_line: diff.first_changed_line,
        fuzzy: applied.matches.iter().any(|found| found.actual.is_some()),
        edits: singles,
    }
}

/// What went wrong and what to do next. `edit 2: ` comes first when there are several.
fn explain_match(error: &MatchError, edits: &[Edit], original: &Original) -> String {
    let name = &original.name;
    let (index, message) = match error {
        MatchError::EmptyOld { index } => (
            index,
            "old_string is empty; use write to replace the whole file, or give the text before which to insert".to_owned(),
        ),
        MatchError::NoChange { index } => {
            (index, "old_string and new_string are the same; nothing to change".to_owned())
        }
        MatchError::NotFound { index } => (index, not_found(original, &edits[*index].old)),
        MatchError::NotExact { index } => (
            index,
            format!("old_string does not occur exactly so in `{name}`, which was not read in this session; read it first"),
        ),
        MatchError::Ambiguous { index, lines, more } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *more { " and more" } else { "" };
            let lines = lines.join(", ");
            (
                index,
                format!("old_string occurs in `{name}` in lines {lines}{more}; add surrounding lines to make it unique, or set replace_all"),
            )
        }
        MatchError::Overlap { first, second } => {
            let (first, second) = (first + 1, second + 1);
            return format!("edits {first} and {second} overlap in `{name}`; make them one. Nothing was changed");
        }
    };
    let which = if edits.len() > 1 {
        format!("edit {}: ", index + 1)
    } else {
        String::new()
    };
    let tail = if edits.len() > 1 {
        "\nNothing was changed"
    } else {
        ""
    };
    format!("{which}{message}{tail}")
}

fn not_found(original: &Original, old: &str) -> String {
    let places = closest(&original.text, old);
    let name = &original.name;
    if places.is_empty() {
        return format!(
            "old_string was not found in `{name}`, nor anything like it; read the file again"
        );
    }
    format!(
        "old_string was not found in `{name}`. The closest places:\n{}Copy the text exactly as the file has it",
        places.join("   ...\n")
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use proptest::prelude::*;

    use super::super::testing::{Bench, patched, text};
    use super::*;

    /// A bench with the file `f`, which the model has read.
    async fn known(contents: &str) -> Bench {
        let bench = Bench::new();
        bench.put("f", contents);
        bench.run("read", json!({"file_path": "f"})).await;
        bench
    }

    async fn edit_text(bench: &Bench, arguments: Value) -> String {
        text(&bench.run("edit", arguments).await)
    }

    #[tokio::test]
    async fn the_outcome_is_told_to_model_and_interface() {
        let bench = known("\u{feff}a\r\nb\r\nc").await;
        let arguments = json!({"file_path": "f", "old_string": "b\nc", "new_string": "x\ny\nc"});
        let output = bench.run("edit", arguments).await;
        assert_eq!(bench.get("f"), "\u{feff}a\r\nx\r\ny\r\nc");
        assert!(
            text(&output).starts_with("Changed 1 place in `f` (+2 -1 lines)\n@@ -1,3 +1,4 @@\n")
        );
        let details: EditDetails = serde_json::from_value(output.details).unwrap();
        let expected = EditDetails {
            file_path: bench.path("f").display().to_string(),
            old_string: "b\nc".to_owned(),
            new_string: "x\ny\nc".to_owned(),
            match_count: 1,
            lines_changed: 2,
            lines_added: 2,
            lines_removed: 1,
            first_changed_line: Some(2),
            diff: details.diff.clone(),
            ..EditDetails::default()
        };
        assert_eq!(details, expected);
    }

    #[tokio::test]
    async fn several_edits_are_made_at_once_or_not_at_all() {
        let bench = known("one\ntwo\nthree\n").await;
        let edits = json!({"file_path": "f", "edits": [
            {"old_string": "one", "new_string": "two"},
            {"old_string": "two", "new_string": "one"},
        ]});
        let output = bench.run("edit", edits).await;
        assert_eq!(bench.get("f"), "two\none\nthree\n");
        assert_eq!(output.details["matchCount"], 2);
        assert_eq!(output.details["edits"][1]["oldString"], "two");
        let failing = json!({"file_path": "f", "edits": [
            {"old_string": "three", "new_string": "3"},
            {"old_string": "four", "new_string": "4"},
        ]});
        let message = edit_text(&bench, failing).await;
        assert!(
            message.starts_with("edit 2: old_string was not found in `f`"),
            "{message}"
        );
        assert!(message.ends_with("\nNothing was changed"), "{message}");
        assert_eq!(bench.get("f"), "two\none\nthree\n");
    }

    #[tokio::test]
    async fn failures_show_where_to_look() {
        let bench = known("fn main() {\n\tlet total = 1;\n}\nlet a;\nlet a;\n").await;
        for (old, expected) in [
            (
                "    let totals = 1;",
                "old_string was not found in `f`. The closest places:\n     2\t\tlet total = 1;\nCopy the text exactly as the file has it",
            ),
            (
                "zzzqqq",
                "old_string was not found in `f`, nor anything like it; read the file again",
            ),
            (
                "let a;",
                "old_string occurs in `f` in lines 4, 5; add surrounding lines to make it unique, or set replace_all",
            ),
        ] {
            let arguments = json!({"file_path": "f", "old_string": old, "new_string": "new"});
            assert_eq!(edit_text(&bench, arguments).await, expected);
        }
    }

    #[tokio::test]
    async fn a_normalised_match_is_reported_and_needs_the_file_read() {
        let bench = Bench::new();
        bench.put("f", "say \u{201c}hi\u{201d}\n");
        let arguments = json!({"file_path": "f", "old_string": "say \"hi\"", "new_string": "x"});
        let message = edit_text(&bench, arguments.clone()).await;
        assert!(message.ends_with("which was not read in this session; read it first"));
        bench.run("read", json!({"file_path": "f"})).await;
        let output = bench.run("edit", arguments).await;
        assert!(text(&output).contains("the file had:\nsay \u{201c}hi\u{201d}\n"));
        assert_eq!(output.details["fuzzy"], true);
        assert_eq!(bench.get("f"), "x\n");
    }

    #[tokio::test]
    async fn an_unread_file_may_be_edited_exactly() {
        let bench = Bench::new();
        bench.put("f", "a\n");
        for (old, new) in [("a", "b"), ("b", "c")] {
            let arguments = json!({"file_path": "f", "old_string": old, "new_string": new});
            assert!(bench.run("edit", arguments).await.status.is_success());
        }
        assert_eq!(bench.get("f"), "c\n");
    }

    #[tokio::test]
    async fn a_file_changed_by_others_is_refused_until_read_again() {
        let bench = known("a\nb\n").await;
        bench.put("f", "a\nother\n");
        let arguments = json!({"file_path": "f", "old_string": "a", "new_string": "x"});
        assert_eq!(
            edit_text(&bench, arguments.clone()).await,
            changed_on_disk("f")
        );
        assert_eq!(bench.get("f"), "a\nother\n");
        bench.run("read", json!({"file_path": "f"})).await;
        assert!(bench.run("edit", arguments).await.status.is_success());
        // One's own edit is no change of others.
        let again = json!({"file_path": "f", "old_string": "x", "new_string": "y"});
        assert!(bench.run("edit", again).await.status.is_success());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Through the tool, on a file: what it says it changed is what changed, whatever stands around.
        #[test]
        fn the_file_changes_as_the_call_and_its_diff_say(
            mark in "\u{feff}?",
            before in "([ab“é]{0,4}\r?\n){0,8}[ab \t]{0,3}",
            new in "[abé \n]{0,12}",
            after in "[ab \t]{0,3}(\r?\n[ab“é]{0,4}){0,8}",
        ) {
            let old = format!("{mark}{before}<old>{after}");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (text, output) = runtime.block_on(async {
                let bench = known(&old).await;
                let arguments = json!({"file_path": "f", "old_string": "<old>", "new_string": new});
                let output = bench.run("edit", arguments).await;
                (bench.get("f"), output)
            });
            let details: EditDetails = serde_json::from_value(output.details).unwrap();
            prop_assert_eq!(patched(&old, &details.diff), text.as_str());
            let inside = text
                .strip_prefix(&format!("{mark}{before}"))
                .and_then(|rest| rest.strip_suffix(after.as_str()))
                .expect("the surroundings changed");
            prop_assert_eq!(inside.replace("\r\n", "\n"), new);
        }
    }

    #[tokio::test]
    async fn a_file_that_became_a_link_is_refused() {
        let bench = known("a\n").await;
        bench.put("elsewhere/g", "a\n");
        fs::remove_file(bench.path("f")).unwrap();
        symlink("elsewhere/g", bench.path("f")).unwrap();
        let edit = json!({"file_path": "f", "old_string": "a", "new_string": "b"});
        assert_eq!(edit_text(&bench, edit.clone()).await, changed_on_disk("f"));
        let write = json!({"file_path": "f", "content": "b"});
        let output = bench.run("write", write).await;
        assert_eq!(text(&output), changed_on_disk("f"));
        assert_eq!(bench.get("elsewhere/g"), "a\n");
        // Who has read it knows what it is now.
        bench.run("read", json!({"file_path": "f"})).await;
        assert!(bench.run("edit", edit).await.status.is_success());
        assert_eq!(bench.get("elsewhere/g"), "b\n");
        assert!(bench.path("f").is_symlink());
    }

    #[tokio::test]
    async fn a_directory_that_became_a_link_is_refused_and_a_removed_one_is_said() {
        let bench = Bench::new();
        bench.put("dir/f", "a\n");
        bench.put("other/f", "a\n");
        bench.run("read", json!({"file_path": "dir/f"})).await;
        fs::remove_dir_all(bench.path("dir")).unwrap();
        let edit = json!({"file_path": "dir/f", "old_string": "a", "new_string": "b"});
        assert_eq!(
            edit_text(&bench, edit.clone()).await,
            "`dir/f` does not exist"
        );
        symlink("other", bench.path("dir")).unwrap();
        assert_eq!(edit_text(&bench, edit).await, changed_on_disk("dir/f"));
        assert_eq!(bench.get("other/f"), "a\n");
    }

    #[tokio::test]
    async fn mode_and_owner_stay_and_other_names_are_told_of() {
        let bench = known("a\n").await;
        let path = bench.path("f");
        let root = rustix::process::geteuid().is_root();
        if root {
            chown(&path, Some(1234), Some(2345)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o741)).unwrap();
        fs::hard_link(&path, bench.path("twin")).unwrap();
        let edit = json!({"file_path": "f", "old_string": "a", "new_string": "b"});
        let told = edit_text(&bench, edit).await;
        let note = "[it had another name, a hard link, which keeps the old contents]";
        assert!(told.ends_with(note), "{told}");
        assert_eq!(
            (bench.get("f").as_str(), bench.get("twin").as_str()),
            ("b\n", "a\n")
        );
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o741);
        if root {
            assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
        }
    }

    #[tokio::test]
    async fn one_letter_is_one_however_it_is_composed() {
        let bench = Bench::new();
        // A name and a text that are decomposed on disk and composed in the call.
        bench.put("cafe\u{301}.txt", "un cafe\u{301}\ndeux\n");
        bench
            .run("read", json!({"file_path": "caf\u{e9}.txt"}))
            .await;
        let edit = json!({"file_path": "caf\u{e9}.txt", "old_string": "un caf\u{e9}", "new_string": "un th\u{e9}"});
        let output = bench.run("edit", edit).await;
        assert_eq!(output.details["fuzzy"], true, "{}", text(&output));
        assert_eq!(bench.get("cafe\u{301}.txt"), "un th\u{e9}\ndeux\n");
        assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_file_of_a_hundred_megabytes_is_guarded_without_being_held() {
        let bench = Bench::new();
        let path = bench.path("big");
        let file = fs::File::create(&path).unwrap();
        file.set_len(100 * 1024 * 1024).unwrap();
        let edit = json!({"file_path": "big", "old_string": "a", "new_string": "b"});
        assert_eq!(
            edit_text(&bench, edit).await,
            "`big` is too large to be edited (104857600 bytes); use bash: `sed -i`"
        );
        // Known by size, times and place.
        let stamp = Stamp::large(&fs::metadata(&path).unwrap());
        bench.workspace.ledger.record(&path, stamp);
        let write = json!({"file_path": "big", "content": "small\n"});
        std::io::Write::write_all(&mut &file, b"theirs").unwrap();
        let output = bench.run("write", write.clone()).await;
        assert_eq!(text(&output), changed_on_disk("big"));
        let stamp = Stamp::large(&fs::metadata(&path).unwrap());
        bench.workspace.ledger.record(&path, stamp);
        assert!(bench.run("write", write).await.status.is_success());
        assert_eq!(bench.get("big"), "small\n");
    }

    #[tokio::test]
    async fn what_cannot_be_edited_says_what_to_do() {
        let bench = Bench::new();
        bench.put("main.rs", "x");
        bench.put("latin", b"caf\xe9");
        let strings = json!({"old_string": "x", "new_string": "y"});
        for (path, more, expected) in [
            (
                "mian.rs",
                strings.clone(),
                "`mian.rs` does not exist; did you mean `main.rs`?",
            ),
            (
                "latin",
                strings.clone(),
                "`latin` is not UTF-8 text (first bad byte at 3); use bash to change it",
            ),
            ("/", strings, "`/` is not a regular file"),
            (
                "main.rs",
                json!({}),
                "invalid arguments: give old_string and new_string, or edits",
            ),
            (
                "main.rs",
                json!({"old_string": "x"}),
                "invalid arguments: old_string and new_string go together",
            ),
            (
                "main.rs",
                json!({"old_string": "x", "new_string": "x"}),
                "old_string and new_string are the same; nothing to change",
            ),
        ] {
            let mut arguments = more;
            arguments["file_path"] = json!(path);
            assert_eq!(edit_text(&bench, arguments).await, expected);
        }
    }
}
