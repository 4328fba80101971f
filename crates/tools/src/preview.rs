//! Previews a call for a permission question: the command, or the change as a diff. Changes nothing.

use serde_json::Value;

use super::workspace::Workspace;
use super::{edit, write};
use osier_base::path;
use osier_protocol::questions::Subject;

/// What the file of a call really is when its path leads through symbolic links: ``the link `a` leads to `/etc/b` ``.
/// Reads directories.
pub fn link_target(workspace: &Workspace, arguments: &Value) -> Option<String> {
    let given = arguments
        .get("file_path")
        .or_else(|| arguments.get("path"))?;
    let cwd = workspace.cwd();
    let path = path::resolve(cwd, given.as_str()?);
    // Links above the working directory are the user's own.
    let plain = match path.strip_prefix(cwd) {
        Ok(inside) => path::canonical_key(cwd).join(inside),
        Err(_) => path.clone(),
    };
    let real = path::canonical_key(&path);
    let shown = workspace.display(&path);
    (real != plain).then(|| format!("`{shown}` → `{}`", real.display()))
}

/// The preview of a call of `tool`; `None` for invalid arguments. Reads files.
pub fn preview(workspace: &Workspace, tool: &str, arguments: &Value) -> Option<Subject> {
    let text = |name: &str| arguments.get(name)?.as_str();
    let diff = match tool {
        "bash" => {
            return Some(Subject::Command {
                command: text("command")?.to_owned(),
                cwd: workspace.cwd().display().to_string(),
            });
        }
        "write" => write::preview(workspace, arguments),
        "edit" => edit::preview(workspace, arguments),
        _ => None,
    };
    match (diff, text("file_path")) {
        (Some(diff), Some(path)) => Some(Subject::Diff {
            path: workspace.display(&path::resolve(workspace.cwd(), path)),
            diff,
        }),
        // For all other tools: the arguments.
        _ => Some(Subject::Text {
            text: serde_json::to_string_pretty(arguments).ok()?,
        }),
    }
}
