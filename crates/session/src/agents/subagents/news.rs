//! The reports of a subagent: events for clients, and news for the actor.

use std::fmt;
use std::sync::Weak;

use osier_agent::AccountingEntry;
use osier_protocol::Event;

use crate::emitter::{Callback, Emitter};

/// News of a subagent in the background for the actor.
#[derive(Debug)]
pub(crate) struct SubagentNews {
    /// The session of the subagent.
    pub session: String,
    pub kind: NewsKind,
}

#[derive(Debug)]
pub(crate) enum NewsKind {
    /// It began, went to the background, or ended.
    JobsChanged,
    /// It made a call.
    Used(AccountingEntry),
    /// It ended: a message for the model, which starts a run.
    Ended { id: String, text: String },
    /// The user stopped it: a message for the model, which starts no run.
    Stopped { id: String, text: String },
}

/// The list of subagents.
pub(super) trait List: fmt::Debug + Send + Sync {
    /// Publishes the list.
    fn publish(&self);
}

/// Reports for the subagents of one session.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    pub(super) session: String,
    pub(super) emitter: Emitter,
    pub(super) news: Callback<SubagentNews>,
    pub(super) list: Weak<dyn List>,
}

impl Reporter {
    pub(super) fn publish(&self, event: Event) {
        self.emitter.publish(event);
    }

    /// Publishes the list of subagents.
    pub(super) fn publish_list(&self) {
        if let Some(list) = self.list.upgrade() {
            list.publish();
        }
    }

    pub(super) fn send(&self, kind: NewsKind) {
        let session = self.session.clone();
        self.news.call(SubagentNews { session, kind });
    }
}
