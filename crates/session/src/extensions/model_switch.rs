//! A switch of the model, as hooks see it, and their decision about it.

use std::time::Duration;

use crate::conversation::usage::LastRequest;
use osier_base::clock;
use osier_extensions::hooks::{ModelSwitch, Resumed, SwitchDecision};
use osier_llm::{CacheRetention, Model};
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions};
use tokio_util::sync::CancellationToken;

/// How long providers keep a cache.
const SHORT: Duration = Duration::from_mins(5);
const LONG: Duration = Duration::from_hours(1);

/// The switch between two models.
pub(crate) fn described(
    (from, to): (&Model, &Model),
    requested: Option<String>,
    is_automatic: bool,
    last: LastRequest,
    retention: CacheRetention,
) -> ModelSwitch {
    let (_, is_cached) = cache_of(last, retention);
    ModelSwitch {
        from: from.reference(),
        to: to.reference(),
        requested,
        is_automatic,
        tokens: last.tokens,
        is_cached: last.tokens > 0 && is_cached,
        is_long: retention == CacheRetention::Long,
        cost: cost_of_writing(to, last.tokens),
    }
}

/// The facts about the last request of a conversation that a session continues with `model`.
pub(crate) fn resumed(model: &Model, last: LastRequest, retention: CacheRetention) -> Resumed {
    let (age, is_cached) = cache_of(last, retention);
    Resumed {
        tokens: last.tokens,
        age: age.as_secs(),
        is_cold: !is_cached,
        cost: cost_of_writing(model, last.tokens).unwrap_or_default(),
    }
}

/// The time since the last request, and whether the provider probably still has it in its cache.
fn cache_of(last: LastRequest, retention: CacheRetention) -> (Duration, bool) {
    let kept = match retention {
        CacheRetention::Long => LONG,
        CacheRetention::Short => SHORT,
    };
    let age = u64::try_from(clock::now_ms() - last.at).unwrap_or_default();
    let age = Duration::from_millis(age);
    (age, age < kept)
}

/// The price in US dollars of writing the tokens to the model's cache; `None` if the model has no price.
fn cost_of_writing(model: &Model, tokens: u64) -> Option<f64> {
    let price = match model.price.cache_write {
        0.0 => model.price.input,
        write => write,
    };
    (price > 0.0).then(|| price * tokens as f64 / 1e6)
}

/// Why the hooks, or the user whom they ask, refuse a switch.
pub(crate) async fn refusal(
    decision: SwitchDecision,
    switch: &ModelSwitch,
    questions: Option<Questions>,
) -> Option<String> {
    let reason = match decision {
        SwitchDecision::Proceed => return None,
        SwitchDecision::Deny(reason) => return Some(reason),
        SwitchDecision::Ask(reason) => reason,
    };
    let Some(questions) = questions else {
        return Some(format!("{reason}, and nobody can answer"));
    };
    let question = Question {
        id: String::new(),
        origin: reason.clone(),
        subagent: None,
        title: format!("Switch from {} to {}?", switch.from, switch.to),
        subject: None,
        kind: QuestionKind::Confirm,
    };
    match questions.ask(question, &CancellationToken::new()).await {
        Answer::Yes => None,
        _ => Some(reason),
    }
}
