//! Tokens and costs of the open session. The part from before it was opened is counted when a client asks for it,
//! because that reads the complete file.

use osier_agent::{AccountingEntry, AgentMessage, ToolUpdate};
use osier_llm::Model;
use osier_protocol::{ContextReport, Event, Review, Spending, TreeEvent};
use osier_store::{ContextLimit, EntryIndex};

use crate::conversation::compaction::{CompactionOptions, message_tokens, report};
use crate::cx::{ActiveSession, when_indexed};
use crate::emitter::{Callback, Emitter};
use crate::models::Models;

/// The last request of the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastRequest {
    /// Tokens of the conversation with its answer.
    pub tokens: u64,
    /// When the answer ended, in milliseconds since 1970.
    pub at: i64,
}

/// The usage of the open session.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    since_open: Spending,
    /// Not set until it is counted.
    before_open: Option<Spending>,
    last: LastRequest,
}

/// The usage of a session before it was opened.
#[derive(Debug)]
pub(crate) struct EarlierUsage {
    session: String,
    spending: Spending,
}

/// The usage of the context window, and the earlier usage if it was not counted before.
#[derive(Debug)]
pub(crate) struct ContextUsage {
    session: String,
    report: Box<ContextReport>,
    earlier: Option<Spending>,
}

impl Usage {
    pub(crate) fn add(&mut self, entry: &AccountingEntry) {
        self.since_open.add(entry);
    }

    /// Adds a review.
    pub(crate) fn reviewed(&mut self, review: &Review) {
        self.since_open.review(review);
    }

    /// Adds a call of `model` outside of the conversation.
    pub(crate) fn outside(&mut self, model: &str, usage: osier_llm::Usage) {
        self.since_open.outside(model, usage);
    }

    /// The last request of the conversation.
    pub(crate) fn last_request(&self) -> LastRequest {
        self.last
    }

    /// Notes a message of the conversation.
    pub(crate) fn saw(&mut self, message: &AgentMessage) {
        if let AgentMessage::Assistant(answer) = message {
            self.last = LastRequest {
                tokens: answer.usage.total_tokens(),
                at: answer.timestamp,
            };
        }
    }

    /// Adds what an event reports. A call of a subagent counts as one of the session, which is published.
    pub(crate) fn on_event(&mut self, event: &Event, emitter: &Emitter) {
        if let Event::Agent(osier_agent::Event::Accounting { entry }) = event {
            self.add(entry);
        }
        if let Event::Agent(osier_agent::Event::MessageEnd { message, .. }) = event {
            self.saw(message);
        }
        if let Some(entry) = subagent_cost(event).cloned() {
            self.add(&entry);
            emitter.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
        }
    }

    /// Answers `GetUsage`: at once, or by `done` when the earlier part is counted.
    pub(crate) fn get(
        &self,
        session: Option<&ActiveSession>,
        models: &Models,
        emitter: &Emitter,
        done: Callback<EarlierUsage>,
    ) {
        let uncounted = session.and_then(|session| Some((session, self.uncounted(session)?)));
        let Some((session, last)) = uncounted else {
            return self.publish(models, emitter);
        };
        // A file that cannot be read any more has nothing to count.
        when_indexed(&session.store, move |store| {
            done.call(EarlierUsage {
                spending: count(store.index(), &last),
                session: store.id().to_owned(),
            });
        });
    }

    /// Adds the counted usage of the earlier part and publishes the sum. `open` is the open session.
    pub(crate) fn counted(
        &mut self,
        earlier: EarlierUsage,
        open: Option<&str>,
        models: &Models,
        emitter: &Emitter,
    ) {
        if open == Some(&earlier.session) {
            self.before_open = Some(earlier.spending);
            self.publish(models, emitter);
        }
    }

    /// Measures for `GetContext` what fills the context window of the agent.
    pub(crate) fn measure_context(
        &self,
        session: &ActiveSession,
        model: &Model,
        options: CompactionOptions,
        done: Callback<ContextUsage>,
    ) {
        let (agent, model) = (session.agent.clone(), model.clone());
        let uncounted = self.uncounted(session);
        when_indexed(&session.store, move |store| {
            let leaf = store.index().leaf();
            let limit = ContextLimit::of(model.context_window, message_tokens);
            let context = store.index().context_within(leaf.as_deref(), limit);
            let (prompt, tools) = (agent.system_prompt(), agent.tool_specs());
            let report = report(&model, &prompt, &tools, &context.entries, &options);
            done.call(ContextUsage {
                session: store.id().to_owned(),
                report: Box::new(report),
                earlier: uncounted.map(|last| count(store.index(), &last)),
            });
        });
    }

    /// Publishes what was measured. `open` is the open session.
    pub(crate) fn context_measured(
        &mut self,
        measured: ContextUsage,
        open: Option<&str>,
        models: &Models,
        emitter: &Emitter,
    ) {
        if open != Some(&measured.session) {
            return;
        }
        if measured.earlier.is_some() {
            self.before_open = measured.earlier;
        }
        emitter.publish(Event::Tree(TreeEvent::ContextReport {
            report: measured.report,
            spending: self.total(models),
        }));
    }

    /// The entry up to which the file is still to be counted.
    fn uncounted(&self, session: &ActiveSession) -> Option<String> {
        let last = session.last_stored.clone();
        last.filter(|_| self.before_open.is_none())
    }

    fn publish(&self, models: &Models, emitter: &Emitter) {
        let spending = self.total(models);
        emitter.publish(Event::Usage { spending });
    }

    /// The sum of what is counted, with the prices that are known.
    fn total(&self, models: &Models) -> Box<Spending> {
        let before = self.before_open.clone().unwrap_or_default();
        let mut spending = before.followed_by(&self.since_open);
        for used in &mut spending.models {
            if let Some(price) = models.price(&used.model) {
                used.price_misses(&price);
            }
        }
        Box::new(spending)
    }
}

/// The cost of a subagent's call.
fn subagent_cost(event: &Event) -> Option<&AccountingEntry> {
    let Event::Agent(osier_agent::Event::ToolExecutionUpdate {
        update: ToolUpdate::Agent { event },
        ..
    }) = event
    else {
        return None;
    };
    match &**event {
        osier_agent::Event::Accounting { entry } => Some(entry),
        _ => None,
    }
}

/// The usage of all branches up to the entry `last`. Blocks.
pub(crate) fn count(index: &EntryIndex, last: &str) -> Spending {
    let mut spending = Spending::default();
    for entry in index.spending_entries(last) {
        spending.count_entry(&entry.kind);
    }
    spending
}
