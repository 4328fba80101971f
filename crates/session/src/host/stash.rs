//! Prompts that are put aside. The file is small and a change of it must not overtake another, so the host
//! waits for each.

use super::event::Event;
use super::host::{Job, Task};
use super::op::Op;
use crate::stash;
use osier_agent::Severity;

impl Task {
    /// Does what is asked of them and tells what there is then.
    pub(super) async fn apply_stash(&self, op: Op) {
        let (file, jobs) = (self.setup.folders.stash(), self.jobs.clone());
        let cwd = self.setup.cwd.to_string_lossy().into_owned();
        let puts_aside = matches!(op, Op::StashPrompt { .. });
        let changed = tokio::task::spawn_blocking(move || {
            let changed = match op {
                Op::StashPrompt { text, parts } => stash::add(&file, (&text, &parts), &cwd),
                Op::DropStashed { stashed } => stash::forget(&file, &stashed),
                _ => Ok(stash::list(&file)),
            };
            changed.map(|prompts| {
                let event = Event::Stash { prompts };
                let _ = jobs.send(Job::Publish(Box::new(event)));
            })
        });
        match changed.await {
            Ok(Ok(())) if puts_aside => self.put_unsent_away(),
            Ok(Err(error)) => {
                let text = format!("what was put aside is as it was: {error}");
                self.notice(Severity::Error, text);
            }
            _ => {}
        }
    }
}
