//! The budget of a session. Every model call goes through its transport, which counts what the call used: answers,
//! subagents, lanes, summaries and reviews. The guard of each agent stops a run before a call that the budget does not
//! allow, and tells the model when little is left.

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use osier_agent::{Interceptor, Severity, StopRun, ToolOutput, Transport, UserMessage};
use osier_llm::{
    ContentBlock, Context, EventStream, Model, Request, StreamEvent, ToolCall, TurnStatus, Usage,
};
use osier_protocol::budget::WARNING_SHARE;
use osier_protocol::{Budget, BudgetState, BudgetUse, Event, Spending};
use osier_store::SessionStore;
use tokio::sync::OnceCell;

use crate::conversation::usage;
use crate::emitter::Emitter;

/// The budget of one session. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SessionBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    emitter: Emitter,
    /// Whether a user can raise the budget while the session is open.
    interactive: bool,
    /// The session file and its last message from before the session was opened.
    stored: Option<(SessionStore, String)>,
    /// Set when that part is counted: only a session with a budget reads it.
    is_stored_counted: OnceCell<()>,
}

#[derive(Debug, Default)]
struct State {
    budget: BudgetState,
    /// The user was warned.
    is_warned: bool,
}

impl SessionBudget {
    /// `stored` is the session file and its last message, if the session is resumed.
    pub(crate) fn new(
        limits: Budget,
        stored: Option<(SessionStore, String)>,
        interactive: bool,
        emitter: &Emitter,
    ) -> Self {
        let used = BudgetUse::default();
        let state = State {
            budget: BudgetState { limits, used },
            is_warned: false,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            emitter: emitter.detached(),
            interactive,
            stored,
            is_stored_counted: OnceCell::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    fn current(&self) -> BudgetState {
        self.state().budget
    }

    /// Counts the calls through `inner`, and refuses those beyond the budget.
    pub(crate) fn transport(&self, inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
        Arc::new(CountedTransport {
            inner,
            budget: self.clone(),
        })
    }

    /// The guard of an agent.
    pub(crate) fn guard(&self) -> Arc<dyn Interceptor> {
        Arc::new(BudgetGuard {
            budget: self.clone(),
            is_told: Mutex::default(),
        })
    }

    /// Changes the limits that `change` has, and publishes the budget.
    pub(crate) fn change(&self, change: &Budget, emitter: Emitter) {
        {
            let mut state = self.state();
            state.budget.limits = state.budget.limits.changed(change);
            state.is_warned = state.budget.is_nearly_used_up();
        }
        self.publish(emitter);
    }

    /// Publishes the budget, after the stored part of the session is counted.
    pub(crate) fn publish(&self, emitter: Emitter) {
        let budget = self.clone();
        osier_base::task::spawn(async move {
            budget.count_stored().await;
            // At once and under the lock: no older state may follow a newer one.
            let state = budget.state();
            let budget = state.budget;
            emitter.publish(Event::Budget { budget });
        });
    }

    /// Publishes the budget of a session that opens with one.
    pub(crate) fn announce(&self) {
        if !self.current().limits.is_empty() {
            self.publish(self.0.emitter.clone());
        }
    }

    async fn count_stored(&self) {
        let Some((store, last)) = &self.0.stored else {
            return;
        };
        let count = async {
            // A file that cannot be read any more has nothing to count.
            let _ = store.findings().await;
            let (index, last) = (store.index().clone(), last.clone());
            let count = move || usage::count(&index, &last);
            let counted = osier_base::task::spawn_blocking(count).await;
            self.state()
                .budget
                .add(&spent(&counted.unwrap_or_default()));
        };
        self.0.is_stored_counted.get_or_init(|| count).await;
    }

    /// Counts a call, and warns the user when little is left.
    fn add(&self, usage: &Usage) {
        let (budget, warns) = {
            let mut state = self.state();
            state.budget.add(&BudgetUse {
                cost: usage.cost.total,
                tokens: usage.total_tokens(),
                turns: 1,
            });
            let budget = state.budget;
            if budget.limits.is_empty() {
                return;
            }
            let warns = budget.is_nearly_used_up() && !state.is_warned;
            state.is_warned |= warns;
            self.0.emitter.publish(Event::Budget { budget });
            (budget, warns)
        };
        if warns && !budget.is_used_up() {
            let text = format!(
                "{} of the budget of this session is used: {}",
                percent(&budget),
                budget.summary_above(WARNING_SHARE)
            );
            self.0.emitter.notice(Severity::Warning, text);
        }
    }

    /// Why no further call is made.
    async fn refusal(&self) -> Option<String> {
        if self.current().limits.is_empty() {
            return None;
        }
        self.count_stored().await;
        let budget = self.current();
        budget.is_used_up().then(|| {
            let words = budget.summary_above(1.0);
            let remedy = self.remedy(&budget);
            format!("the budget of this session is used up ({words}); raise it with {remedy}")
        })
    }

    /// How to double the first limit that is reached.
    fn remedy(&self, budget: &BudgetState) -> String {
        let BudgetState { limits, used } = budget;
        let (value, option, unit) = match (limits.cost, limits.tokens, limits.turns) {
            (Some(cost), ..) if used.cost >= cost => (format!("{}", cost * 2.0), "--max-cost", ""),
            (_, Some(tokens), _) if used.tokens >= tokens => {
                ((tokens * 2).to_string(), "--max-tokens", " tokens")
            }
            (.., turns) => (
                turns.unwrap_or(1).saturating_mul(2).to_string(),
                "--max-session-turns",
                " turns",
            ),
        };
        if self.0.interactive {
            format!("`/budget {value}{unit}`")
        } else {
            format!("`{option} {value}`")
        }
    }
}

/// A transport that counts what calls use.
#[derive(Debug)]
struct CountedTransport {
    inner: Arc<dyn Transport>,
    budget: SessionBudget,
}

#[async_trait]
impl Transport for CountedTransport {
    async fn stream(&self, request: Request) -> Result<EventStream, TurnStatus> {
        // Only for calls outside of a run: a run is stopped before.
        if let Some(message) = self.budget.refusal().await {
            return Err(TurnStatus::ModelError {
                message,
                retryable: false,
            });
        }
        let model = Arc::clone(&request.model);
        let call = CountedCall {
            events: self.inner.stream(request).await?,
            model,
            usage: None,
            is_final: false,
            budget: self.budget.clone(),
        };
        let events = stream::unfold(call, |mut call| async move {
            let event = call.events.next().await?;
            call.on_event(&event);
            Some((event, call))
        });
        Ok(events.boxed())
    }
}

/// A call in progress. It is counted when it ends or is dropped.
struct CountedCall {
    events: EventStream,
    model: Arc<Model>,
    /// Set once the provider has answered.
    usage: Option<Usage>,
    /// Whether `usage` has its cost.
    is_final: bool,
    budget: SessionBudget,
}

impl CountedCall {
    fn on_event(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Start { .. } => {
                self.usage.get_or_insert_default();
            }
            StreamEvent::Usage(usage) => self.usage = Some(*usage),
            StreamEvent::Done { usage, .. } => {
                self.usage = Some(*usage);
                self.is_final = true;
            }
            StreamEvent::Failed { usage, .. } if usage.total_tokens() > 0 => {
                self.usage = Some(*usage);
                self.is_final = true;
            }
            _ => {}
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        let Some(usage) = self.usage else { return };
        let usage = if self.is_final || usage.subscription {
            usage
        } else {
            usage.priced(&self.model.price)
        };
        self.budget.add(&usage);
    }
}

/// Stops the runs of one agent when the budget is used up.
#[derive(Debug)]
struct BudgetGuard {
    budget: SessionBudget,
    /// The limits that a reminder has warned the model about.
    is_told: Mutex<Option<Budget>>,
}

impl BudgetGuard {
    /// A reminder for the model, once for each budget.
    fn reminder(&self) -> Option<String> {
        let budget = self.budget.current();
        if !budget.is_nearly_used_up() {
            return None;
        }
        let mut told = self.is_told.lock();
        if told.replace(budget.limits) == Some(budget.limits) {
            return None;
        }
        Some(format!(
            "[{} of the budget of this session is used: {}. Finish the most important part, and say what is left.]",
            percent(&budget),
            budget.summary_above(WARNING_SHARE)
        ))
    }
}

#[async_trait]
impl Interceptor for BudgetGuard {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        if let Some(reminder) = self.reminder() {
            message.text = format!("{}\n\n{reminder}", message.text);
        }
        Ok(())
    }

    fn on_result(&self, _call: &ToolCall, output: &mut ToolOutput) {
        if let Some(reminder) = self.reminder() {
            output.content.push(ContentBlock::text(reminder));
        }
    }

    async fn before_request(&self, _context: &mut Context) -> Result<(), StopRun> {
        match self.budget.refusal().await {
            Some(message) => Err(StopRun { message }),
            None => Ok(()),
        }
    }
}

/// The usage of a stored part of a session.
fn spent(spending: &Spending) -> BudgetUse {
    BudgetUse {
        cost: spending.total.cost.total,
        tokens: spending.total.total_tokens(),
        turns: spending.models.iter().map(|model| model.calls).sum(),
    }
}

fn percent(budget: &BudgetState) -> String {
    format!("{}%", (budget.share() * 100.0).floor())
}
