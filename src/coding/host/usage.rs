//! What the session has used. The part from before it was opened is counted when it is first asked for:
//! it takes a pass over the file.

use super::event::Event;
use super::host::{Job, Task};
use crate::coding::session::{PageAt, SessionIndex};
use crate::coding::spending::Spending;

impl Task {
    /// Answers `GetUsage`, at once or when the earlier part is counted.
    pub(super) fn tell_usage(&mut self) {
        let earlier = self
            .session
            .as_ref()
            .and_then(|open| open.last_stored.clone());
        let (Some(session), Some(last), None) = (&self.session, earlier, &self.spent_before) else {
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

    fn publish_usage(&self) {
        let before = self.spent_before.clone().unwrap_or_default();
        let mut spending = before.followed_by(&self.spending);
        for used in &mut spending.models {
            if let Some(price) = self.models.price(&used.model) {
                used.price_misses(&price);
            }
        }
        let spending = Box::new(spending);
        self.publish(Event::Usage { spending });
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
