//! Auto review: in the permission mode `auto`, another model judges the calls that the mode `ask` would ask about.
//!
//! The model sees only what the user typed, the working directory, the sandbox and the call. It sees no output of
//! tools, no file and no text of the session's model, because these could steer it. Without a valid answer the user is
//! asked.

mod answer;
mod request;

use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{AccountingEntry, Severity, Transport};
use osier_base::text;
use osier_llm::{ThinkingLevel, Usage};
use osier_permissions::{Permissions, ReviewRequest, Reviewer};
use osier_protocol::{Effect, Event, Review};
use osier_store::writer::Writer;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::conversation::budget::SessionBudget;
use crate::conversation::usage::Usage as SessionUsage;
use crate::emitter::{Callback, Emitter};
use crate::models::side_call;
use crate::models::{Choice, Models};
use crate::setup::SessionSetup;
use answer::Judgement;
use request::Input;

/// Denials in a row, and in all, after which the user is asked instead.
const DENIALS_IN_A_ROW: u32 = 3;
const DENIALS: u32 = 20;
/// Allowed calls that are remembered.
const REMEMBERED: usize = 32;
/// Characters of a reason.
const REASON_LIMIT: usize = 300;

/// A message of a reviewer to the session.
#[derive(Debug)]
pub(crate) enum ReviewNews {
    /// The model that judges.
    Model(oneshot::Sender<Result<ReviewModel, String>>),
    Judged(Box<CallReview>),
    /// There were too many denials: the mode is `ask` now.
    Stopped(String),
}

/// The model that judges, and how to call it.
#[derive(Debug)]
pub(crate) struct ReviewModel {
    choice: Choice,
    transport: Arc<dyn Transport>,
}

/// A judgement and its call.
#[derive(Debug)]
pub(crate) struct CallReview {
    call_id: String,
    tool_name: String,
    review: Review,
    /// Of the model call, if there was one.
    accounting: Option<AccountingEntry>,
}

/// The reviewer of the calls on one branch.
#[derive(Debug, Clone)]
pub(crate) struct SessionReviewer {
    shared: Arc<Shared>,
    /// The branch with the messages of the user.
    branch: Writer,
}

/// The state that the reviewers of a session share.
#[derive(Debug)]
struct Shared {
    permissions: Arc<Permissions>,
    news: Callback<ReviewNews>,
    emitter: Emitter,
    timeout: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    denials_in_a_row: u32,
    denials: u32,
    /// Calls that were allowed, with their complete input.
    allowed: VecDeque<(Input, Review)>,
    /// The last reason that no model could judge.
    complaint: Option<String>,
}

/// The result of the model call.
struct Answer {
    judgement: Result<Judgement, String>,
    usage: Usage,
    accounting: AccountingEntry,
}

impl SessionReviewer {
    pub(crate) fn new(
        permissions: Arc<Permissions>,
        branch: Writer,
        news: Callback<ReviewNews>,
        emitter: &Emitter,
        timeout: Duration,
    ) -> Self {
        let shared = Shared {
            permissions,
            news,
            emitter: emitter.detached(),
            timeout,
            state: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            branch,
        }
    }

    /// This reviewer for another branch of the session.
    pub(crate) fn on_branch(&self, branch: Writer) -> Self {
        let shared = Arc::clone(&self.shared);
        Self { shared, branch }
    }

    async fn judge(&self, request: ReviewRequest<'_>) -> Option<Review> {
        let (reply, model) = oneshot::channel();
        self.shared.news.call(ReviewNews::Model(reply));
        let ReviewModel { choice, transport } = match model.await.ok()? {
            Ok(model) => model,
            Err(problem) => {
                self.shared.complain(problem);
                return None;
            }
        };
        let reference = choice.0.reference();
        let input = Input::new(request, &self.branch, &reference).await;
        let (call_id, tool_name) = {
            let call = &request.call.call;
            (call.id.clone(), call.name.clone())
        };
        let known = self.shared.known(&input);
        let is_known = known.is_some();
        let (review, accounting) = match (known, input.problem()) {
            (Some(review), _) => (review, None),
            (None, Some(problem)) => (asked(&reference, &problem), None),
            (None, None) => {
                let answer = self.shared.call(&choice, &*transport, &input).await;
                let review = answer.review(&reference);
                self.store(&choice, &review).await;
                (review, Some(answer.accounting))
            }
        };
        let stopped = self.shared.count(&review, (!is_known).then_some(input));
        self.shared
            .news
            .call(ReviewNews::Judged(Box::new(CallReview {
                call_id,
                tool_name,
                review: review.clone(),
                accounting,
            })));
        if let Some(text) = stopped {
            self.shared.news.call(ReviewNews::Stopped(text));
        }
        Some(review)
    }

    /// Stores the usage of the model call on the branch.
    async fn store(&self, (model, _): &Choice, review: &Review) {
        let kind = side_call::usage_entry(osier_protocol::REVIEW_USAGE, model, review.usage);
        // If the session cannot be written, the next message stops the run.
        let _ = self.branch.append(kind).await;
    }
}

#[async_trait]
impl Reviewer for SessionReviewer {
    async fn review(
        &self,
        request: ReviewRequest<'_>,
        cancel: &CancellationToken,
    ) -> Option<Review> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            review = self.judge(request) => review,
        }
    }
}

impl Shared {
    /// Reports once why no model can judge.
    fn complain(&self, problem: String) {
        let mut state = self.state.lock();
        if state.complaint.as_ref() == Some(&problem) {
            return;
        }
        let text = format!("auto review cannot judge calls, so osier asks about each: {problem}");
        state.complaint = Some(problem);
        self.emitter.post_notice(Severity::Warning, text);
    }

    /// An earlier permission for the same input.
    fn known(&self, input: &Input) -> Option<Review> {
        let state = self.state.lock();
        let (_, review) = state.allowed.iter().find(|(known, _)| known == input)?;
        Some(Review {
            usage: Usage::default(),
            repeated: true,
            ..review.clone()
        })
    }

    /// Counts denials and remembers permissions. After too many denials, leaves the mode and says so.
    fn count(&self, review: &Review, input: Option<Input>) -> Option<String> {
        let mut state = self.state.lock();
        if review.decision != Effect::Deny {
            state.denials_in_a_row = 0;
            if let Some(input) = input.filter(|_| review.decision == Effect::Allow) {
                state.allowed.truncate(REMEMBERED - 1);
                state.allowed.push_front((input, review.clone()));
            }
            return None;
        }
        state.denials_in_a_row += 1;
        state.denials += 1;
        let denied = match (state.denials_in_a_row, state.denials) {
            (DENIALS_IN_A_ROW, _) => format!("{DENIALS_IN_A_ROW} calls in a row"),
            (_, DENIALS) => format!("{DENIALS} calls in this session"),
            _ => return None,
        };
        (state.denials_in_a_row, state.denials) = (0, 0);
        self.permissions.stop_reviewing().then(|| {
            format!(
                "auto review denied {denied}: the permission mode is `ask` now; `/permissions auto` selects auto review again"
            )
        })
    }

    async fn call(&self, choice: &Choice, transport: &dyn Transport, input: &Input) -> Answer {
        let (model, level) = choice;
        let request = input.request(model, level.unwrap_or(ThinkingLevel::Off));
        let answered = side_call::call(transport, request, Some(self.timeout)).await;
        let judgement = if answered.status.is_success() {
            answer::read(&answered.message)
        } else {
            Err(answered.status.message().to_owned())
        };
        Answer {
            judgement,
            usage: answered.message.usage,
            accounting: answered.accounting,
        }
    }
}

impl Answer {
    fn review(&self, model: &str) -> Review {
        let review = match &self.judgement {
            Ok(judgement) => Review {
                decision: judgement.decision,
                reason: reason(&judgement.reason),
                ..asked(model, "")
            },
            Err(problem) => asked(model, &format!("the review failed: {problem}")),
        };
        Review {
            usage: self.usage,
            ..review
        }
    }
}

fn asked(model: &str, why: &str) -> Review {
    Review {
        model: model.to_owned(),
        decision: Effect::Ask,
        reason: reason(why),
        usage: Usage::default(),
        repeated: false,
    }
}

/// A reason on one line. The text of a model can contain anything.
fn reason(text: &str) -> String {
    let line = text::single_line(text);
    let words: Vec<&str> = line.split_whitespace().collect();
    text::truncate(&words.join(" "), REASON_LIMIT).into_owned()
}

/// Sends the current model to a reviewer.
pub(crate) fn send_model(
    models: &Models,
    budget: Option<&SessionBudget>,
    setup: &SessionSetup,
    reply: oneshot::Sender<Result<ReviewModel, String>>,
) {
    let model = models.reviewer(setup).map(|choice| ReviewModel {
        choice,
        transport: match budget {
            Some(budget) => budget.transport(models.transport()),
            None => models.transport(),
        },
    });
    // The call was interrupted if nobody waits for it.
    let _ = reply.send(model);
}

impl CallReview {
    /// Counts and publishes the review.
    pub(crate) fn publish(self, usage: &mut SessionUsage, emitter: &Emitter) {
        usage.reviewed(&self.review);
        emitter.publish(Event::CallReviewed {
            call_id: self.call_id,
            tool_name: self.tool_name,
            review: Box::new(self.review),
        });
        if let Some(entry) = self.accounting {
            emitter.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
        }
    }
}
