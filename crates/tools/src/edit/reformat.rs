//! Writes a file as its formatter wants it, after the model changed it. The model receives the changes, so that it still
//! knows the file.

use super::file::{load, record, shown_hunks, store};
use crate::files::diff::unified;
use crate::files::ledger::Freshness;
use crate::workspace::Workspace;
use osier_agent::FileTarget;

/// The changes of a formatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reformatted {
    pub name: String,
    pub added: u64,
    pub removed: u64,
    /// The changes, for the model; not all of them if there are many.
    pub hunks: String,
}

/// Replaces the text `old` of a file by `new`. Blocks.
///
/// # Errors
/// Why nothing was written: the file has another text now, for example.
pub fn reformat(
    workspace: &Workspace,
    target: FileTarget,
    old: &str,
    new: &str,
) -> Result<Reformatted, String> {
    let original = load(workspace, target).map_err(|error| error.to_string())?;
    let name = original.name.clone();
    if original.text != old {
        return Err(format!("`{name}` has changed meanwhile"));
    }
    store(workspace, &original, new).map_err(|error| error.to_string())?;
    let diff = unified(&name, Some(old), new);
    let (hunks, is_complete) = shown_hunks(&diff);
    match original.freshness {
        Freshness::Fresh | Freshness::ByCommand if is_complete => {
            record(workspace, &original, new, false);
        }
        // The model does not see all changes, as after a command.
        Freshness::Fresh | Freshness::ByCommand => {
            let path = original.target.host.clone();
            workspace.ledger.record_command(vec![path], &[]);
        }
        _ => {}
    }
    Ok(Reformatted {
        name,
        added: diff.added,
        removed: diff.removed,
        hunks,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Bench, text};

    #[tokio::test]
    async fn the_model_knows_a_formatted_file() {
        let bench = Bench::new();
        let write = |content: &str| json!({"file_path": "a", "content": content});
        bench.run("write", write("one\n two\n")).await;
        let target = bench.target("a");
        let done = reformat(
            &bench.workspace,
            target.clone(),
            "one\n two\n",
            "one\ntwo\n",
        );
        let expected = Reformatted {
            name: "a".to_owned(),
            added: 1,
            removed: 1,
            hunks: "@@ -1,2 +1,2 @@\n one\n- two\n+two".to_owned(),
        };
        assert_eq!(done, Ok(expected));
        // Neither an edit nor a write is refused.
        let edit = json!({"file_path": "a", "old_string": "two", "new_string": "three"});
        let output = bench.run("edit", edit).await;
        assert_eq!(text(&output), "Changed 1 place in `a` (+1 -1 lines)\n");
        assert!(bench.run("write", write("new\n")).await.status.is_success());
        let refused = reformat(&bench.workspace, target, "other", "x");
        assert_eq!(refused, Err("`a` has changed meanwhile".to_owned()));
        assert_eq!(bench.get("a"), "new\n");
    }

    #[tokio::test]
    async fn a_file_with_many_changes_must_be_read_before_it_is_overwritten() {
        let bench = Bench::new();
        let (old, new) = (" x\n".repeat(500), "x\n".repeat(500));
        bench
            .run("write", json!({"file_path": "a", "content": old}))
            .await;
        let done = reformat(&bench.workspace, bench.target("a"), &old, &new).unwrap();
        assert!(
            done.hunks.ends_with("[…]\nRead the file for the rest"),
            "{}",
            done.hunks
        );
        let write = json!({"file_path": "a", "content": "y"});
        assert!(!bench.run("write", write).await.status.is_success());
    }
}
