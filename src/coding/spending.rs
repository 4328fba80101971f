//! What a session has used: tokens, money and time, in all and by model, and how well the providers'
//! prompt caches were hit.
//!
//! A cache that was missed is seen by comparison: what a model read in its last call stands at the front
//! of the next one, so whatever of that was not read from the cache was paid for again.

use serde::{Deserialize, Serialize};

use crate::agent::{AccountingEntry, AgentMessage};
use crate::llm::usage::Price;
use crate::llm::{StopReason, Usage};

/// Differences up to this many tokens are how vendors round, not a miss.
const NOISE: u64 = 1024;

/// Everything a session has used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    pub total: Usage,
    /// By `PROVIDER/ID`, in the order of first use.
    pub models: Vec<ModelSpending>,
    pub tool_calls: u64,
    pub tool_failures: u64,
}

/// What one model has used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSpending {
    /// `PROVIDER/ID`.
    pub model: String,
    pub calls: u64,
    /// Calls that ended in something other than an answer.
    pub failures: u64,
    pub usage: Usage,
    /// Milliseconds in which the model answered.
    pub latency_ms: u64,
    /// Tokens that could have been read from the cache and were not.
    pub missed: u64,
    /// What they cost beyond what reading them from the cache would have, in dollars; 0 where no price is
    /// known, or a subscription pays.
    #[serde(default)]
    pub missed_cost: f64,
    /// Tokens of the newest call, which the next one repeats.
    #[serde(skip)]
    pub prefix: u64,
}

impl Spending {
    /// What stored messages tell; calls whose answers were not kept are not among them.
    pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a AgentMessage>) -> Self {
        let mut spending = Self::default();
        for message in messages {
            spending.count(message);
        }
        spending
    }

    /// Counts what a stored message tells.
    pub fn count(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::Assistant(answer) => {
                let ok = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
                let model = format!("{}/{}", answer.provider, answer.model);
                self.call(&model, answer.usage, answer.duration_ms, ok);
            }
            AgentMessage::ToolResult(result) => {
                self.tool(result.status.is_success());
                // A sub-agent's calls left no messages of their own.
                let nested = result.details.get("spending").cloned();
                if let Some(nested) = nested.and_then(|nested| serde_json::from_value(nested).ok())
                {
                    *self = std::mem::take(self).followed_by(&nested);
                }
            }
            _ => {}
        }
    }

    /// Both together; `later` happened after this.
    #[must_use]
    pub fn followed_by(mut self, later: &Self) -> Self {
        self.total += later.total;
        self.tool_calls += later.tool_calls;
        self.tool_failures += later.tool_failures;
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

    fn tool(&mut self, success: bool) {
        self.tool_calls += 1;
        self.tool_failures += u64::from(!success);
    }

    fn call(&mut self, model: &str, usage: Usage, latency_ms: u64, success: bool) {
        let place = self.models.iter().position(|known| known.model == model);
        let place = place.unwrap_or_else(|| {
            self.models.push(ModelSpending {
                model: model.to_owned(),
                ..ModelSpending::default()
            });
            self.models.len() - 1
        });
        self.total += usage;
        self.models[place].call(usage, latency_ms, success);
    }
}

impl ModelSpending {
    fn follow(&mut self, later: &Self) {
        self.calls += later.calls;
        self.failures += later.failures;
        self.usage += later.usage;
        self.latency_ms += later.latency_ms;
        self.missed += later.missed;
        self.prefix = later.prefix;
    }

    fn call(&mut self, usage: Usage, latency_ms: u64, success: bool) {
        self.calls += 1;
        self.failures += u64::from(!success);
        self.latency_ms += latency_ms;
        self.usage += usage;
        if usage.context_tokens() == 0 {
            return;
        }
        // Only of a provider that has told of its cache can be said that it missed.
        if self.usage.cache_read + self.usage.cache_write > 0 {
            let repeated = self.prefix.min(usage.context_tokens());
            let missed = repeated.saturating_sub(usage.cache_read);
            if missed > NOISE {
                self.missed += missed;
            }
        }
        self.prefix = usage.context_tokens();
    }

    /// Reckons what the missed tokens cost beyond what reading them from the cache would have.
    pub fn price_misses(&mut self, price: &Price) {
        let surplus = (price.input - price.cache_read).max(0.0);
        self.missed_cost = if self.usage.subscription {
            0.0
        } else {
            self.missed as f64 * surplus / 1e6
        };
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
        let price = Price {
            input: 3.0,
            cache_read: 0.3,
            ..Price::default()
        };
        a.price_misses(&price);
        assert!((a.missed_cost - 0.023_085).abs() < 1e-9);
        assert_eq!((spending.tool_calls, spending.tool_failures), (1, 1));
        assert_eq!(spending.total.output, 40);
    }
}
