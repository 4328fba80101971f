//! Files that the model knows and that the user or another program has changed since.

use std::path::PathBuf;
use std::sync::Arc;

use osier_agent::AgentMessage;
use osier_tools::Workspace;
use serde_json::Value;

/// Files that one reminder names.
const NAMED: usize = 20;

pub(super) async fn reminder(workspace: &Arc<Workspace>) -> Option<AgentMessage> {
    let known = Arc::clone(workspace);
    let changed = osier_base::task::spawn_blocking(move || known.changed_by_others());
    let changed = changed.await.unwrap_or_default();
    let name = |path: &PathBuf| super::clean(&workspace.display(path));
    let text = text(&changed.iter().map(name).collect::<Vec<_>>())?;
    Some(super::message("changed_files", &text, Value::Null))
}

fn text(names: &[String]) -> Option<String> {
    let (named, others) = names.split_at(names.len().min(NAMED));
    let mut lines: Vec<String> = named.iter().map(|name| format!("- {name}")).collect();
    if !others.is_empty() {
        lines.push(format!("- and {} more", others.len()));
    }
    (!lines.is_empty()).then(|| {
        format!(
            "The user or another program has changed these files since you last saw them. Read what you still need; do not \
             undo these changes.\n{}",
            lines.join("\n")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_counted() {
        assert_eq!(text(&[]), None);
        let names: Vec<String> = (0..22).map(|number| format!("f{number}")).collect();
        let text = text(&names).unwrap();
        assert!(text.ends_with("- f18\n- f19\n- and 2 more"), "{text}");
    }
}
