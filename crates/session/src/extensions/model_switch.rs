//! A switch of the model, as hooks see it, and their decision about it.

use std::time::Duration;

use crate::conversation::usage::LastRequest;
use osier_base::clock;
use osier_extensions::hooks::{ModelSwitch, SwitchDecision};
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
    let is_long = retention == CacheRetention::Long;
    let kept = if is_long { LONG } else { SHORT };
    let age = u64::try_from(clock::now_ms() - last.at).unwrap_or_default();
    let price = match to.price.cache_write {
        0.0 => to.price.input,
        write => write,
    };
    ModelSwitch {
        from: from.reference(),
        to: to.reference(),
        requested,
        is_automatic,
        tokens: last.tokens,
        is_cached: last.tokens > 0 && Duration::from_millis(age) < kept,
        is_long,
        cost: (price > 0.0).then(|| price * last.tokens as f64 / 1e6),
    }
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
        title: format!("Switch from {} to {}?", switch.from, switch.to),
        subject: None,
        kind: QuestionKind::Confirm,
    };
    match questions.ask(question, &CancellationToken::new()).await {
        Answer::Yes => None,
        _ => Some(reason),
    }
}
