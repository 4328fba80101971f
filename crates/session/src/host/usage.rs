//! What the session has used. The part from before it was opened is counted when it is first asked for:
//! it takes a pass over the file.

use super::event::Event;
use super::host::{Job, Task};
use super::tree::TreeJob;
use super::tree_op::TreeEvent;
use crate::compaction::{ContextReport, report};
use crate::spending::Spending;
use osier_store::{PageAt, SessionIndex};

/// What fills the window, and the count of the earlier part where it was missing.
#[derive(Debug)]
pub(super) struct ContextFound {
    session: String,
    report: Box<ContextReport>,
    before: Option<Spending>,
}

impl Task {
    /// The entry up to which the session's usage is still to be counted.
    fn uncounted(&self) -> Option<String> {
        let open = self.session.as_ref()?;
        let last = open.last_stored.clone();
        last.filter(|_| self.spent_before.is_none())
    }

    /// Answers `GetUsage`, at once or when the earlier part is counted.
    pub(super) fn tell_usage(&mut self) {
        let (Some(session), Some(last)) = (&self.session, self.uncounted()) else {
            return self.publish_usage();
        };
        let (store, jobs) = (session.store.clone(), self.jobs.clone());
        tokio::spawn(async move {
            // A file that cannot be read any more has nothing to count.
            let _ = store.findings().await;
            tokio::task::spawn_blocking(move || {
                let spending = count(store.index(), &last);
                let _ = jobs.send(Job::Counted(store.id().to_owned(), Box::new(spending)));
            });
        });
    }

    /// Takes the count of the earlier part.
    pub(super) fn counted(&mut self, id: &str, spending: Spending) {
        let still_open = self
            .session
            .as_ref()
            .is_some_and(|open| open.store.id() == id);
        if still_open {
            self.spent_before = Some(spending);
            self.publish_usage();
        }
    }

    /// Answers `GetContext`.
    pub(super) fn tell_context(&self) {
        let Some(session) = &self.session else { return };
        let (store, jobs) = (session.store.clone(), self.jobs.clone());
        let (agent, model) = (session.agent.clone(), self.models.chosen());
        let automatic = session.tree.compactor.is_automatic();
        let uncounted = self.uncounted();
        tokio::spawn(async move {
            let _ = store.findings().await;
            tokio::task::spawn_blocking(move || {
                let leaf = store.index().leaf();
                let entries = store.index().context_entries(leaf.as_deref());
                let (prompt, tools) = (agent.system_prompt(), agent.tool_specs());
                let report = report(&model, &prompt, &tools, &entries, automatic);
                let found = ContextFound {
                    session: store.id().to_owned(),
                    report: Box::new(report),
                    before: uncounted.map(|last| count(store.index(), &last)),
                };
                let _ = jobs.send(Job::Tree(TreeJob::Context(Box::new(found))));
            });
        });
    }

    pub(super) fn context_found(&mut self, found: ContextFound) {
        let is_open = |id: &str| {
            self.session
                .as_ref()
                .is_some_and(|open| open.store.id() == id)
        };
        if !is_open(&found.session) {
            return;
        }
        if let Some(before) = found.before {
            self.spent_before = Some(before);
        }
        self.publish(Event::Tree(TreeEvent::Context {
            report: found.report,
            spending: self.spent(),
        }));
    }

    fn publish_usage(&self) {
        let spending = self.spent();
        self.publish(Event::Usage { spending });
    }

    /// What is counted by now, at the prices that are known.
    fn spent(&self) -> Box<Spending> {
        let before = self.spent_before.clone().unwrap_or_default();
        let mut spending = before.followed_by(&self.spending);
        for used in &mut spending.models {
            if let Some(price) = self.models.price(&used.model) {
                used.price_misses(&price);
            }
        }
        Box::new(spending)
    }
}

/// What the messages up to the entry `last` tell, page by page. Blocks.
fn count(index: &SessionIndex, last: &str) -> Spending {
    let mut spending = Spending::default();
    let mut at = PageAt::Start;
    while let Some(page) = index.page(&at) {
        for stored in &page.messages {
            spending.count(&stored.message);
            if stored.entry_id == last {
                return spending;
            }
        }
        match page.messages.last() {
            Some(stored) if !page.at_end => {
                at = PageAt::After {
                    entry_id: stored.entry_id.clone(),
                };
            }
            _ => break,
        }
    }
    spending
}
