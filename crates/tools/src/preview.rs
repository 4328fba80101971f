//! Previews a call for a permission question: the command, or the change as a diff. Changes nothing.

use std::path::Path;

use serde_json::Value;

use super::file_access::FileTarget;
use super::workspace::Workspace;
use super::{edit, write};
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
    target: Option<&FileTarget>,
) -> Option<Subject> {
    let text = |name: &str| arguments.get(name)?.as_str();
    let diff = match tool {
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
