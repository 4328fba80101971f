//! Files that the model knows and that the user or another program has changed since. An event names them to the user.

use std::sync::Arc;

use osier_agent::AgentMessage;
use osier_protocol::{CheckpointEvent, Event};
use osier_tools::Workspace;
use serde::{Deserialize, Serialize};

/// Files that one reminder names.
const NAMED: usize = 20;
const KIND: &str = "changed_files";

/// The details of a reminder.
#[derive(Debug, Serialize, Deserialize)]
struct ChangedFiles {
    paths: Vec<String>,
    /// The number of other files.
    more: u64,
}

pub(super) async fn reminder(workspace: &Arc<Workspace>) -> Option<AgentMessage> {
    let known = Arc::clone(workspace);
    let changed = osier_base::task::spawn_blocking(move || known.changed_by_others());
    let changed = changed.await.unwrap_or_default();
    let paths = changed.iter().map(|path| workspace.display(path));
    let mut paths: Vec<String> = paths.collect();
    let names: Vec<String> = paths.iter().map(|path| super::clean(path)).collect();
    let text = text(&names)?;
    let more = paths.len().saturating_sub(NAMED) as u64;
    paths.truncate(NAMED);
    let details = serde_json::to_value(ChangedFiles { paths, more }).unwrap_or_default();
    Some(super::message(KIND, &text, details))
}

/// The event for the user, if `message` is such a reminder.
pub(super) fn event(message: &AgentMessage) -> Option<Event> {
    let AgentMessage::Custom(custom) = message else {
        return None;
    };
    if custom.kind != KIND {
        return None;
    }
    let ChangedFiles { paths, more } = ChangedFiles::deserialize(&custom.details).ok()?;
    let event = CheckpointEvent::FilesChangedOutside { paths, more };
    Some(Event::Checkpoint(event))
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
