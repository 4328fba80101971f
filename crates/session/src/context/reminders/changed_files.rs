//! Files that the model knows and that changed without it: the user or another program has changed them, which an event
//! tells the user, or osier has restored them for the user.

use std::path::PathBuf;
use std::sync::Arc;

use super::message::{clean, message};
use osier_agent::AgentMessage;
use osier_protocol::{CheckpointEvent, Event};
use osier_tools::Workspace;
use serde::{Deserialize, Serialize};

/// Files that one list names.
const NAMED: usize = 20;
const KIND: &str = "changed_files";
const BY_OTHERS: &str = "The user or another program has changed these files since you last saw them. Read what you still need; do not \
     undo these changes.";
const RESTORED: &str = "The user has restored these files to an earlier state since you last saw them. Read what you still need; do not \
     undo that.";

/// The details of a reminder: the files that others changed.
#[derive(Debug, Serialize, Deserialize)]
struct ChangedFiles {
    paths: Vec<String>,
    /// The number of other files.
    more: u64,
}

pub(super) async fn reminder(workspace: &Arc<Workspace>) -> Option<AgentMessage> {
    let known = Arc::clone(workspace);
    let changed = osier_base::task::spawn_blocking(move || known.changed_files());
    let changed = changed.await.unwrap_or_default();
    let names = |paths: &[PathBuf]| -> Vec<String> {
        paths.iter().map(|path| workspace.display(path)).collect()
    };
    let mut paths = names(&changed.by_others);
    let texts = [
        text(BY_OTHERS, &paths),
        text(RESTORED, &names(&changed.restored)),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    if texts.is_empty() {
        return None;
    }
    let more = paths.len().saturating_sub(NAMED) as u64;
    paths.truncate(NAMED);
    let details = serde_json::to_value(ChangedFiles { paths, more }).unwrap_or_default();
    Some(message(KIND, &texts.join("\n\n"), details))
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
    if paths.is_empty() {
        return None;
    }
    let event = CheckpointEvent::FilesChangedOutside { paths, more };
    Some(Event::Checkpoint(event))
}

/// `title` and a list of `paths`; `None` without any.
fn text(title: &str, paths: &[String]) -> Option<String> {
    let (named, others) = paths.split_at(paths.len().min(NAMED));
    let named = named.iter().map(|path| clean(path));
    let mut lines: Vec<String> = named.map(|name| format!("- {name}")).collect();
    if !others.is_empty() {
        lines.push(format!("- and {} more", others.len()));
    }
    (!lines.is_empty()).then(|| format!("{title}\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_counted() {
        assert_eq!(text(BY_OTHERS, &[]), None);
        let names: Vec<String> = (0..22).map(|number| format!("f{number}")).collect();
        let text = text(BY_OTHERS, &names).unwrap();
        assert!(text.ends_with("- f18\n- f19\n- and 2 more"), "{text}");
    }
}
