//! Previews a call for a permission question: the command, or the change as a diff. Changes nothing.

use std::path::Path;

use serde_json::Value;

use crate::code;
use crate::edit::{patch, tool as edit, write};
use crate::files::target::FileTarget;
use crate::workspace::Workspace;
use osier_protocol::questions::Subject;

/// What the file of a call really is when its path leads through symbolic links below the working directory, whose real
/// path is `root`: `` `a` → `/etc/b` ``.
pub fn link_target(workspace: &Workspace, root: &Path, target: &FileTarget) -> Option<String> {
    // Links above the working directory are the user's own.
    let plain = match target.named.strip_prefix(workspace.cwd()) {
        Ok(inside) => root.join(inside),
        Err(_) => target.named.clone(),
    };
    let shown = workspace.display(&target.named);
    (target.real != plain).then(|| format!("`{shown}` → `{}`", target.real.display()))
}

/// The preview of a call of `tool`; `None` for invalid arguments. Reads files.
pub fn preview(
    workspace: &Workspace,
    tool: &str,
    arguments: &Value,
    targets: &[FileTarget],
) -> Option<Subject> {
    let target = targets.first();
    let text = |name: &str| arguments.get(name)?.as_str();
    let diff = match tool {
        patch::NAME => {
            if let Some((path, diff)) = patch::preview(workspace, targets, arguments) {
                return Some(Subject::Diff { path, diff });
            }
            None
        }
        code::RENAME => {
            if let Some((path, diff)) = code::preview_rename(workspace, targets, arguments) {
                return Some(Subject::Diff { path, diff });
            }
            None
        }
        "bash" => {
            return Some(Subject::Command {
                command: text("command")?.to_owned(),
                cwd: workspace.cwd().display().to_string(),
            });
        }
        "write" => write::preview(workspace, target?, arguments),
        "edit" => edit::preview(workspace, target?, arguments),
        _ => None,
    };
    match (diff, target) {
        // A patch that cannot be applied is shown as it is.
        (None, _) if tool == patch::NAME => Some(Subject::Text {
            text: text("input")?.to_owned(),
        }),
        (Some(diff), Some(target)) => Some(Subject::Diff {
            path: workspace.display(&target.named),
            diff,
        }),
        // For all other tools: the arguments.
        _ => Some(Subject::Text {
            text: serde_json::to_string_pretty(arguments).ok()?,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_names_the_target_of_a_link() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cwd = folder.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        symlink(outside.path(), cwd.join("folder")).unwrap();
        symlink("/etc/passwd", cwd.join("link.txt")).unwrap();
        // A working directory that is itself a link is the user's own choice.
        symlink(&cwd, folder.path().join("alias")).unwrap();
        let real = outside.path().canonicalize().unwrap();
        for cwd in [cwd, folder.path().join("alias")] {
            let workspace = Workspace::new(&cwd);
            let root = cwd.canonicalize().unwrap();
            let target = |path: &str| {
                let target = workspace.file_target("write", &json!({ "file_path": path }));
                link_target(&workspace, &root, &target.unwrap())
            };
            for (path, expected) in [
                ("new.txt", None),
                ("link.txt", Some("`link.txt` → `/etc/passwd`".to_owned())),
                (
                    "folder/new.txt",
                    Some(format!(
                        "`folder/new.txt` → `{}`",
                        real.join("new.txt").display()
                    )),
                ),
            ] {
                assert_eq!(target(path), expected, "{path}");
            }
        }
    }
}
