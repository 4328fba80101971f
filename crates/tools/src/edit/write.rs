//! `write`: creates a file with its parent directories, or replaces it atomically.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::file::{
    Current, changed_on_disk, existing, explain, other_names, record_written, replace,
};
use crate::built_in::{
    BuiltIn, Collapsed, Count, GeminiForm, Part, PeerTool, ToolEffect, ToolView, Verbs, peer,
};
use crate::call::spellings;
use crate::call::to_value;
use crate::files::diff::{FileDiff, unified};
use crate::files::encoding::{TextEncoding, decode};
use crate::files::ledger::Freshness;
use crate::files::target::{FileArgument, reason};
use crate::workspace::Workspace;
use osier_agent::{
    FileTarget, FileUse, OtherName, PreparedCall, Preparing, Preview, Refusal, Spellings,
    ToolContext, ToolOutput, prepare_typed,
};
use osier_base::atomic_file::{Replaced, WriteError};
use osier_llm::ToolSpec;

const FILE: FileArgument = FileArgument::new("file_path", FileUse::Write);

/// The name of the tool.
pub const WRITE: &str = "write";

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude("Write", &[peer::FILE, peer::CONTENT]),
        PeerTool::pi("write", &[("path", "file_path"), peer::FILE, peer::CONTENT]),
        PeerTool::opencode("write", &[("filePath", "file_path"), peer::CONTENT]),
    ],
    gemini: Some(GeminiForm {
        name: "write_file",
        arguments: &[],
    }),
    view: ToolView {
        question: "Write this file?",
        collapsed: Collapsed::Nothing,
        counts: &[Count::new("size", "byte", "bytes")],
        ..ToolView::new(
            Verbs::new("Writing", "Wrote", "write"),
            &[Part::path(FILE.name)],
        )
    },
    does: "creates a file with its parent directories, or replaces it",
    ..BuiltIn::new(WRITE, ToolEffect::Changes, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("write_file"),
        OtherName::of("file_write"),
        OtherName::of("create_file"),
        OtherName::of("write_to_file"),
        OtherName::of("save_file"),
        OtherName::of("fs_write"),
        OtherName::with_command("str_replace_based_edit_tool", "create"),
        OtherName::with_command("str_replace_editor", "create"),
        OtherName::with_command("text_editor", "create"),
    ],
    arguments: &[
        ("file_path", spellings::FILE),
        (
            "content",
            &[
                "contents",
                "file_text",
                "text",
                "file_content",
                "file_contents",
                "data",
                "body",
            ],
        ),
    ],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    freeform: None,
    name: WRITE.to_owned(),
    description: "Create or overwrite a file; creates parent directories.".to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "content": {"type": "string"},
        },
        "required": ["file_path", "content"],
    }),
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteDetails {
    /// Absolute path.
    file_path: String,
    /// In bytes.
    size: u64,
    is_new: bool,
    /// Unified diff; long ones are cut, see `diff::unified`.
    diff: String,
    lines_added: u64,
    lines_removed: u64,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    file_path: String,
    content: String,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let target = workspace.target(FILE, Some(&arguments.file_path)).await?;
        let write = Arc::new(Write {
            workspace,
            target: target.clone(),
            content: arguments.content,
        });
        let shown = Arc::clone(&write);
        let run = move |cx: ToolContext| {
            if cx.cancel.is_cancelled() {
                return Err(Refusal::Interrupted("interrupted; nothing was written"));
            }
            write.run().map_err(Refusal::Failed)
        };
        Ok(PreparedCall::blocking("writing", run)
            .alone_on(target)
            .shown_by(move || shown.preview().map_err(Refusal::Failed)))
    })
}

/// The file before it is written.
struct Old<'a> {
    name: String,
    /// The contents that are replaced.
    file: Option<Current>,
    encoding: TextEncoding,
    /// The new contents, in this encoding.
    content: Cow<'a, [u8]>,
}

impl Old<'_> {
    /// The new text as it is in the file: with its byte order mark.
    fn text(&self) -> Cow<'_, str> {
        decode(&self.content).map_or_else(
            || String::from_utf8_lossy(&self.content),
            |decoded| decoded.text,
        )
    }
}

/// A call.
struct Write {
    workspace: Arc<Workspace>,
    target: FileTarget,
    content: String,
}

impl Write {
    /// The name of the file, and what is replaced.
    fn old(&self) -> Result<Old<'_>, String> {
        let (workspace, target) = (&*self.workspace, &self.target);
        let name = workspace.display(&target.named);
        let old = existing(workspace, target)
            .map_err(|error| format!("cannot read `{name}`: {}", reason(&error)))?;
        if let Some(old) = &old
            && let Some(why) = refusal(workspace, target, old)
        {
            return Err(why(&name));
        }
        let decoded = old.as_ref().and_then(Current::decoded);
        let damaged = decoded.as_ref().filter(|decoded| !decoded.is_exact);
        if let Some(damaged) = damaged {
            return Err(format!(
                "`{name}` is {} text with invalid bytes; nothing was written. Convert it first with bash: `iconv`",
                damaged.encoding
            ));
        }
        let encoding = decoded.map_or(TextEncoding::PLAIN, |decoded| decoded.encoding);
        let content = encoding.encode(&self.content);
        let content =
            content.map_err(|missing| format!("`{name}`: {missing}; nothing was written"))?;
        Ok(Old {
            name,
            file: old,
            encoding,
            content,
        })
    }

    /// The change as a diff.
    fn preview(&self) -> Result<Preview, String> {
        let old = self.old()?;
        let diff = difference(&old.name, old.file.as_ref(), &old.text()).text;
        let path = old.name;
        Ok(Preview::Diff { path, diff })
    }

    fn run(&self) -> Result<ToolOutput, String> {
        let (workspace, target) = (&*self.workspace, &self.target);
        let before = self.old()?;
        let (name, old, encoding) = (&before.name, &before.file, before.encoding);
        let (content, new) = (&*before.content, before.text());
        let unchanged = old
            .as_ref()
            .is_some_and(|old| old.bytes.as_deref() == Some(content));
        let mut replaced = Replaced::Atomically;
        if !unchanged {
            replaced = match workspace.write_in_editor(target, &self.content) {
                Some(written) => written.map(|()| Replaced::Atomically)?,
                None => {
                    replace(&target.host, old.as_ref(), content).map_err(|error| match error {
                        WriteError::Changed { .. } => changed_on_disk(name),
                        error => explain(&error),
                    })?
                }
            };
        }
        record_written(workspace, target, &new, content);
        let diff = difference(name, old.as_ref(), &new);
        let size = content.len();
        let text = match (old, unchanged) {
            (None, _) => format!("Created `{name}`, {size} bytes"),
            (_, true) => format!("`{name}` already has this content"),
            (Some(old), _) => format!(
                "Overwrote `{name}`, {size} bytes (+{} -{} lines){}{}",
                diff.added,
                diff.removed,
                match &*encoding.note() {
                    "" => String::new(),
                    note => format!("\n{}", note.trim_end()),
                },
                match replaced {
                    Replaced::Atomically => other_names(old.links),
                    in_place => format!("\n{}", in_place.note()),
                }
            ),
        };
        let details = WriteDetails {
            file_path: target.named.display().to_string(),
            size: size as u64,
            is_new: old.is_none(),
            diff: diff.text,
            lines_added: diff.added,
            lines_removed: diff.removed,
        };
        Ok(ToolOutput::success(text, to_value(&details)))
    }
}

/// Why a file must not be overwritten, as a message for its name.
fn refusal(
    workspace: &Workspace,
    target: &FileTarget,
    old: &Current,
) -> Option<fn(&str) -> String> {
    match workspace.ledger.freshness(target, &old.stamp) {
        Freshness::Fresh => None,
        Freshness::Unread if old.stamp.is_empty() => None,
        Freshness::Unread => Some(|name| {
            format!(
                "`{name}` exists and was not read in this session; nothing was written. Read it first, or change parts of it with edit"
            )
        }),
        Freshness::ByCommand => Some(|name| {
            format!(
                "a command changed `{name}` since it was last read; nothing was written. Read it again first, or change parts of it with edit"
            )
        }),
        Freshness::Changed | Freshness::OtherFile => Some(changed_on_disk),
    }
}

fn difference(name: &str, old: Option<&Current>, new: &str) -> FileDiff {
    let Some(old) = old else {
        return unified(name, None, new);
    };
    match old.decoded() {
        Some(decoded) => unified(name, Some(&decoded.text), new),
        None => FileDiff::note("[the file was binary or too large to compare]\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::testing::{Bench, text};

    #[tokio::test]
    async fn a_new_file_is_created_with_its_parents() {
        let bench = Bench::new();
        let arguments = json!({"file_path": "a/b/c.txt", "content": "one\n"});
        let output = bench.run("write", arguments).await;
        assert_eq!(text(&output), "Created `a/b/c.txt`, 4 bytes");
        let expected = json!({
            "filePath": bench.path("a/b/c.txt").to_str(),
            "size": 4,
            "isNew": true,
            "diff": "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1 @@\n+one\n",
            "linesAdded": 1,
            "linesRemoved": 0,
        });
        assert_eq!(output.details, expected);
        assert_eq!(bench.get("a/b/c.txt"), "one\n");
    }

    #[tokio::test]
    async fn an_existing_file_keeps_mode_and_link() {
        let bench = Bench::new();
        bench.put("real.sh", "old\n");
        fs::set_permissions(bench.path("real.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("real.sh", bench.path("link")).unwrap();
        bench.run("read", json!({"file_path": "link"})).await;
        let output = bench
            .run("write", json!({"file_path": "link", "content": "new\n"}))
            .await;
        assert_eq!(text(&output), "Overwrote `link`, 4 bytes (+1 -1 lines)");
        assert_eq!(bench.get("real.sh"), "new\n");
        let mode = fs::metadata(bench.path("real.sh"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        assert!(bench.path("link").is_symlink());
    }

    #[tokio::test]
    async fn an_externally_changed_file_is_rejected_until_read_again() {
        let bench = Bench::new();
        bench.put("a", "mine\n");
        bench.run("read", json!({"file_path": "a"})).await;
        bench.put("a", "theirs\n");
        let write = json!({"file_path": "a", "content": "new\n"});
        let refused = bench.run("write", write.clone()).await;
        assert_eq!(text(&refused), changed_on_disk("a"));
        assert_eq!(bench.get("a"), "theirs\n");
        bench.run("read", json!({"file_path": "a"})).await;
        assert!(bench.run("write", write).await.status.is_success());
        // The session's own writes are not external changes.
        let again = json!({"file_path": "a", "content": "newer\n"});
        assert!(bench.run("write", again.clone()).await.status.is_success());
        assert_eq!(
            text(&bench.run("write", again).await),
            "`a` already has this content"
        );
    }

    #[tokio::test]
    async fn an_unread_file_is_not_overwritten_unless_it_is_empty() {
        let bench = Bench::new();
        bench.put("unread", "x");
        bench.put("empty", "");
        let write = |path: &str| json!({"file_path": path, "content": "y"});
        assert_eq!(
            text(&bench.run("write", write("unread")).await),
            "`unread` exists and was not read in this session; nothing was written. Read it first, or change parts of it with edit"
        );
        assert_eq!(bench.get("unread"), "x");
        assert!(bench.run("write", write("empty")).await.status.is_success());
        bench.run("read", json!({"file_path": "unread"})).await;
        assert!(
            bench
                .run("write", write("unread"))
                .await
                .status
                .is_success()
        );
    }

    #[tokio::test]
    async fn an_obstacle_is_named() {
        let bench = Bench::new();
        bench.put("file", "");
        bench.put("dir/x", "");
        for (path, expected) in [
            (
                "file/below",
                "a parent of `PATH` is not a directory; choose another path",
            ),
            ("dir", "`PATH` is a directory; choose another path"),
        ] {
            let output = bench
                .run("write", json!({"file_path": path, "content": "x"}))
                .await;
            let path = bench.path(path);
            assert_eq!(
                text(&output),
                expected.replace("PATH", path.to_str().unwrap())
            );
        }
    }

    /// Not even root can create files there.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn an_unwritable_directory_is_an_error_with_advice() {
        let bench = Bench::new();
        let arguments = json!({"file_path": "/sys/osier-test", "content": "x"});
        let output = bench.run("write", arguments).await;
        let expected = [
            "no permission to write `/sys/osier-test`; change the permissions of the file and its directory, or write elsewhere",
            "`/sys/osier-test` is on a read-only file system; write elsewhere, or remount the file system",
        ];
        assert!(
            expected.contains(&text(&output).as_str()),
            "{}",
            text(&output)
        );
    }
}
