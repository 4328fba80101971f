//! Usage of a session: tokens, cost and time, in total and by model, and misses of the providers' prompt
//! caches.
//!
//! Cache misses are computed from consecutive calls. The tokens of a model's last call are the prefix of its
//! next call; those that were not read from the cache were paid for again. A call with fewer tokens than the one
//! before is not compared, because a compaction or a move in the tree has shortened the conversation.

use crate::{EntryKind, Review, ReviewSpending};
use osier_agent::{AccountingEntry, AgentMessage};
use osier_llm::{Price, StopReason, Usage};
use serde::{Deserialize, Serialize};

/// Differences up to this many tokens are rounding by vendors, not a miss.
const NOISE: u64 = 1024;

/// The kind of the usage entries of auto review. The results of the calls have their usage, too.
pub const REVIEW_USAGE: &str = "review";

/// The usage of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    pub total: Usage,
    /// By `PROVIDER/ID`, in the order of first use.
    pub models: Vec<ModelSpending>,
    pub tool_calls: u64,
    pub tool_failures: u64,
    /// The newest call with input tokens.
    #[serde(default)]
    pub last: Option<Usage>,
    /// The calls of auto review.
    #[serde(default, skip_serializing_if = "ReviewSpending::is_empty")]
    pub reviews: ReviewSpending,
}

/// The usage of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelSpending {
    /// `PROVIDER/ID`.
    pub model: String,
    pub calls: u64,
    /// Calls that failed or were aborted.
    pub failures: u64,
    pub usage: Usage,
    /// Total duration of the calls, in milliseconds.
    pub latency_ms: u64,
    /// Tokens that could have been read from the cache and were not.
    pub missed: u64,
    /// The additional cost of the missed tokens, compared with reading them from the cache, in US dollars. 0
    /// without a known price, or when a subscription pays.
    #[serde(default)]
    pub missed_cost: f64,
    /// The oldest call with input tokens, to be compared with calls before it.
    #[serde(skip)]
    pub first: Option<Usage>,
    /// Tokens of the newest call, which the next call repeats.
    #[serde(skip)]
    pub prefix: u64,
    #[serde(skip)]
    pub misses: Vec<Miss>,
}

/// A call that missed the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Miss {
    /// Tokens that could have been read from the cache.
    pub tokens: u64,
    /// Usage of the complete call.
    pub usage: Usage,
}

impl Spending {
    /// Counts the usage recorded in a stored message.
    pub fn count(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::Assistant(answer) => {
                let ok = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
                let model = format!("{}/{}", answer.provider, answer.model);
                self.call(&model, answer.usage, answer.duration_ms, ok);
            }
            AgentMessage::ToolResult(result) => {
                self.tool(result.status.is_success());
                if let Some(review) = Review::of(&result.details) {
                    self.review(&review);
                }
                // The messages of a subagent are not stored.
                let nested = result.details.get("spending").cloned();
                if let Some(nested) = nested.and_then(|nested| serde_json::from_value(nested).ok())
                {
                    *self = std::mem::take(self).followed_by(&nested);
                }
            }
            _ => {}
        }
    }

    /// Counts the usage recorded in an entry.
    pub fn count_entry(&mut self, kind: &EntryKind) {
        match kind {
            EntryKind::Message { message } => self.count(message),
            EntryKind::Usage {
                kind,
                provider,
                model,
                usage,
            } if kind != REVIEW_USAGE => {
                self.outside(&format!("{provider}/{model}"), *usage);
            }
            EntryKind::Deleted {
                provider,
                model,
                usage: Some(usage),
            } => self.outside(&format!("{provider}/{model}"), *usage),
            _ => {}
        }
    }

    /// The sum of both; `later` comes after `self`.
    #[must_use]
    pub fn followed_by(mut self, later: &Self) -> Self {
        self.total += later.total;
        self.tool_calls += later.tool_calls;
        self.tool_failures += later.tool_failures;
        self.last = later.last.or(self.last);
        self.reviews.follow(&later.reviews);
        for more in &later.models {
            match self
                .models
                .iter_mut()
                .find(|known| known.model == more.model)
            {
                Some(known) => known.follow(more),
                None => self.models.push(more.clone()),
            }
        }
        self
    }

    /// Counts one model call or tool call.
    pub fn add(&mut self, entry: &AccountingEntry) {
        match entry {
            AccountingEntry::Llm {
                provider,
                model,
                usage,
                latency_ms,
                status,
                ..
            } => {
                let model = format!("{provider}/{model}");
                self.call(&model, *usage, *latency_ms, status == "success");
            }
            AccountingEntry::Tool { status, .. } => self.tool(status == "success"),
        }
    }

    /// Counts a review.
    pub fn review(&mut self, review: &Review) {
        if review.repeated {
            return;
        }
        self.total += review.usage;
        self.reviews.add(review);
        self.add_outside(&review.model, review.usage);
    }

    /// Counts a call of `model` outside of the conversation.
    pub fn outside(&mut self, model: &str, usage: Usage) {
        self.total += usage;
        self.add_outside(model, usage);
    }

    /// The call is not compared with calls of the conversation, because its prompt is another one.
    fn add_outside(&mut self, model: &str, usage: Usage) {
        let model = self.model(model);
        model.calls += 1;
        model.usage += usage;
    }

    fn tool(&mut self, success: bool) {
        self.tool_calls += 1;
        self.tool_failures += u64::from(!success);
    }

    fn call(&mut self, model: &str, usage: Usage, latency_ms: u64, success: bool) {
        self.total += usage;
        self.last = (usage.context_tokens() > 0).then_some(usage).or(self.last);
        self.model(model).call(usage, latency_ms, success);
    }

    fn model(&mut self, model: &str) -> &mut ModelSpending {
        let place = self.models.iter().position(|known| known.model == model);
        let place = place.unwrap_or_else(|| {
            self.models.push(ModelSpending {
                model: model.to_owned(),
                ..ModelSpending::default()
            });
            self.models.len() - 1
        });
        &mut self.models[place]
    }

    /// Tokens that were not read from a cache although they could have been, and their additional cost in US
    /// dollars.
    pub fn missed(&self) -> (u64, f64) {
        let sum = |(tokens, cost): (u64, f64), model: &ModelSpending| {
            (tokens + model.missed, cost + model.missed_cost)
        };
        self.models.iter().fold((0, 0.0), sum)
    }
}

impl ModelSpending {
    fn follow(&mut self, later: &Self) {
        self.calls += later.calls;
        self.failures += later.failures;
        self.latency_ms += later.latency_ms;
        if let Some(first) = later.first {
            let reported = self.reports_cache() || first.cache_read + first.cache_write > 0;
            self.compare(first, reported);
            self.prefix = later.prefix;
        }
        self.usage += later.usage;
        self.missed += later.missed;
        self.misses.extend(&later.misses);
    }

    fn call(&mut self, usage: Usage, latency_ms: u64, success: bool) {
        self.calls += 1;
        self.failures += u64::from(!success);
        self.latency_ms += latency_ms;
        self.usage += usage;
        if usage.context_tokens() == 0 {
            return;
        }
        self.first.get_or_insert(usage);
        self.compare(usage, self.reports_cache());
        self.prefix = usage.context_tokens();
    }

    /// Whether the provider has reported cache use. Misses are counted only then.
    fn reports_cache(&self) -> bool {
        self.usage.cache_read + self.usage.cache_write > 0
    }

    /// Compares a call with the one before it.
    fn compare(&mut self, usage: Usage, cache_reported: bool) {
        let tokens = self.prefix.saturating_sub(usage.cache_read);
        if cache_reported && usage.context_tokens() >= self.prefix && tokens > NOISE {
            self.missed += tokens;
            self.misses.push(Miss { tokens, usage });
        }
    }

    /// Computes `missed_cost`, each call with the prices for its prompt length.
    pub fn price_misses(&mut self, price: &Price) {
        self.missed_cost = self.misses.iter().map(|miss| miss.cost(price)).sum();
    }
}

impl Miss {
    /// In US dollars; 0 when a subscription paid.
    fn cost(&self, price: &Price) -> f64 {
        if self.usage.subscription {
            return 0.0;
        }
        let price = price.of_prompt(self.usage.context_tokens());
        // The missed tokens are the start of the prompt, which is written to the cache first.
        let written = self.tokens.min(self.usage.cache_write);
        let paid =
            written as f64 * price.cache_write + (self.tokens - written) as f64 * price.input;
        let cached = self.tokens as f64 * price.cache_read;
        (paid - cached).max(0.0) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(model: &str, read: u64, write: u64, input: u64) -> AccountingEntry {
        AccountingEntry::Llm {
            timestamp: 0,
            provider: "p".to_owned(),
            model: model.to_owned(),
            usage: Usage {
                input,
                output: 10,
                cache_read: read,
                cache_write: write,
                ..Usage::default()
            },
            latency_ms: 100,
            status: "success".to_owned(),
        }
    }

    #[test]
    fn calls_are_summed_by_model_and_missed_tokens_seen() {
        let mut spending = Spending::default();
        spending.add(&entry("a", 0, 10_000, 50));
        spending.add(&entry("a", 10_000, 500, 50));
        spending.add(&entry("b", 0, 0, 10_600));
        // The other model's turn was longer than the cache lives.
        spending.add(&entry("a", 2_000, 9_000, 50));
        spending.add(&AccountingEntry::Tool {
            timestamp: 0,
            tool: "bash".to_owned(),
            latency_ms: 5,
            status: "execution_error".to_owned(),
            characters: 3,
        });
        let [a, b] = &mut spending.models[..] else {
            panic!("{spending:?}");
        };
        assert_eq!((a.model.as_str(), a.calls, a.latency_ms), ("p/a", 3, 300));
        assert_eq!((a.missed, b.missed), (8_550, 0));
        assert_eq!(
            a.usage.hit_rate(),
            Some(12_000.0 / (12_000.0 + 19_500.0 + 150.0))
        );
        assert_eq!(b.usage.hit_rate(), Some(0.0));
        assert_eq!(Usage::default().hit_rate(), None);
        a.price_misses(&price());
        // The prompt was written again, which costs 3.75 instead of 0.3 for reading.
        assert_eq!(micros(a.missed_cost), 29_498);
        assert_eq!((spending.tool_calls, spending.tool_failures), (1, 1));
        assert_eq!(spending.total.output, 40);
        let last = spending
            .last
            .map(|usage| (usage.cache_read, usage.context_tokens()));
        assert_eq!(last, Some((2_000, 11_050)));
        let (missed, cost) = spending.missed();
        assert_eq!((missed, micros(cost)), (8_550, 29_498));
    }

    fn price() -> Price {
        serde_json::from_value(serde_json::json!({
            "input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75,
            "tiers": [{"inputTokensAbove": 200_000, "input": 6.0, "output": 22.5, "cacheRead": 0.6, "cacheWrite": 7.5}],
        }))
        .unwrap()
    }

    fn micros(dollars: f64) -> u64 {
        (dollars * 1e6).round() as u64
    }

    /// The tokens that one model read again after cache misses, and their cost in millionths of a dollar.
    fn missed(calls: &[(u64, u64, u64)]) -> (u64, u64) {
        let mut spending = Spending::default();
        for (read, write, input) in calls {
            spending.add(&entry("a", *read, *write, *input));
        }
        spending.models[0].price_misses(&price());
        let (tokens, cost) = spending.missed();
        (tokens, micros(cost))
    }

    #[test]
    fn a_miss_costs_what_its_own_call_was_charged() {
        // Within one tier, paid as input where nothing was written, and in part each.
        assert_eq!(missed(&[(0, 9_000, 0), (9_000, 500, 0)]), (0, 0));
        assert_eq!(missed(&[(0, 9_000, 0), (0, 0, 10_000)]), (9_000, 24_300));
        assert_eq!(
            missed(&[(0, 9_000, 0), (0, 4_000, 6_000)]),
            (9_000, 4_000 * 345 / 100 + 5_000 * 27 / 10)
        );
        // A prompt above the bound is charged by the tier as a whole.
        assert_eq!(
            missed(&[(0, 199_000, 0), (0, 201_000, 0)]),
            (199_000, 199_000 * 69 / 10)
        );
    }

    #[test]
    fn a_conversation_that_was_cut_is_no_miss() {
        assert_eq!(missed(&[(0, 90_000, 0), (3_000, 9_000, 0)]), (0, 0));
        // The next call is compared again.
        let (tokens, _) = missed(&[(0, 90_000, 0), (3_000, 9_000, 0), (0, 13_000, 0)]);
        assert_eq!(tokens, 12_000);
    }

    #[test]
    fn a_subscription_pays_for_what_was_missed() {
        let mut spending = Spending::default();
        for _ in 0..2 {
            let mut entry = entry("a", 0, 9_000, 0);
            if let AccountingEntry::Llm { usage, .. } = &mut entry {
                usage.subscription = true;
            }
            spending.add(&entry);
        }
        spending.models[0].price_misses(&price());
        assert_eq!(spending.missed(), (9_000, 0.0));
    }

    #[test]
    fn the_first_call_after_a_break_is_held_against_what_was_stored() {
        let of = |calls: &[(u64, u64, u64)]| {
            let mut spending = Spending::default();
            for (read, write, input) in calls {
                spending.add(&entry("a", *read, *write, *input));
            }
            spending
        };
        let calls = [
            (0, 9_000, 0),
            (9_000, 1_000, 0),
            (0, 11_000, 0),
            (11_000, 500, 0),
            (0, 12_000, 0),
        ];
        let whole = of(&calls);
        assert_eq!(whole.missed().0, 10_000 + 11_500);
        for place in 0..=calls.len() {
            let (before, after) = calls.split_at(place);
            let mut both = of(before).followed_by(&of(after));
            // The first call of all is not needed any more.
            if let (Some(both), Some(whole)) = (both.models.first_mut(), whole.models.first()) {
                both.first = whole.first;
            }
            assert_eq!(both, whole, "{place}");
        }
    }
}
