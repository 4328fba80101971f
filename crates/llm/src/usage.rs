//! The tokens and cost of calls.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The tokens of a call. The four main counts are disjoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens neither read from nor written to the cache.
    pub input: u64,
    /// Output tokens, including thinking.
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The thinking tokens in `output`, if the provider reports them.
    pub reasoning: u64,
    pub cost: Cost,
    /// Whether a subscription paid for the call, so that `cost` is not the value of the tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub subscription: bool,
}

/// The cost in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub total: f64,
}

/// Prices of a model in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// The prices of long prompts.
    #[serde(skip_serializing_if = "Tiers::is_empty")]
    pub tiers: Tiers,
}

impl Price {
    /// These prices with `factor` times the price of writing the cache.
    #[must_use]
    pub fn with_cache_writes(mut self, factor: f64) -> Self {
        self.cache_write *= factor;
        for tier in self.tiers.0.iter_mut().flatten() {
            tier.cache_write *= factor;
        }
        self
    }
}

/// The prices of calls with a prompt above a threshold. They apply to the complete call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PriceTier {
    /// The threshold in tokens.
    pub input_tokens_above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// Maximum number of price tiers of a model.
pub(crate) const MAX_TIERS: usize = 3;

/// The tiers of a model, in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<PriceTier>", into = "Vec<PriceTier>")]
pub struct Tiers([Option<PriceTier>; MAX_TIERS]);

/// More tiers than a model can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{count} price tiers; the maximum is {MAX_TIERS}")]
pub struct TooManyTiers {
    pub count: usize,
}

impl Tiers {
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub fn iter(&self) -> impl Iterator<Item = &PriceTier> {
        self.0.iter().flatten()
    }
}

impl TryFrom<Vec<PriceTier>> for Tiers {
    type Error = TooManyTiers;

    fn try_from(list: Vec<PriceTier>) -> Result<Self, TooManyTiers> {
        let mut tiers = Self::default();
        let count = list.len();
        if count > MAX_TIERS {
            return Err(TooManyTiers { count });
        }
        for (slot, tier) in tiers.0.iter_mut().zip(list) {
            *slot = Some(tier);
        }
        Ok(tiers)
    }
}

impl From<Tiers> for Vec<PriceTier> {
    fn from(tiers: Tiers) -> Self {
        tiers.iter().copied().collect()
    }
}

impl Price {
    /// The prices of a call with a prompt of `tokens`: those of the highest tier that the prompt
    /// exceeds.
    pub fn of_prompt(&self, tokens: u64) -> PriceTier {
        let above = self
            .tiers
            .iter()
            .filter(|tier| tokens > tier.input_tokens_above);
        let highest = above.max_by_key(|tier| tier.input_tokens_above);
        highest.copied().unwrap_or(PriceTier {
            input_tokens_above: 0,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        })
    }
}

impl Usage {
    /// All input tokens: the part of the context window used before the answer.
    pub fn context_tokens(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Input and output tokens: the part of the context window used after the answer.
    pub fn total_tokens(&self) -> u64 {
        self.context_tokens() + self.output
    }

    /// The share of the input that was read from the cache, from 0 to 1; `None` without input.
    pub fn hit_rate(&self) -> Option<f64> {
        let read = self.context_tokens();
        (read > 0).then(|| self.cache_read as f64 / read as f64)
    }

    /// The usage with its cost at `price`.
    #[must_use]
    pub fn priced(mut self, price: &Price) -> Self {
        let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        let price = price.of_prompt(self.context_tokens());
        let mut cost = Cost {
            input: dollars(self.input, price.input),
            output: dollars(self.output, price.output),
            cache_read: dollars(self.cache_read, price.cache_read),
            cache_write: dollars(self.cache_write, price.cache_write),
            total: 0.0,
        };
        cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
        self.cost = cost;
        self
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
        self.subscription |= other.subscription;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_sum_of_its_parts() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
            ..Price::default()
        };
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            ..Usage::default()
        };
        let cost = usage.priced(&price).cost;
        assert_eq!(
            cost,
            Cost {
                input: 3.0,
                output: 1.5,
                cache_read: 0.6,
                cache_write: 0.0,
                total: 5.1
            }
        );
    }

    #[test]
    fn long_prompts_are_priced_by_their_tier() {
        let price: Price = serde_json::from_value(serde_json::json!({
            "input": 1.0, "output": 2.0, "cacheRead": 0.5,
            "tiers": [
                {"inputTokensAbove": 256_000, "input": 4.0, "output": 8.0, "cacheRead": 2.0},
                {"inputTokensAbove": 32_000, "input": 2.0, "output": 4.0, "cacheRead": 1.0},
            ],
        }))
        .unwrap();
        let total = |input, cache_read| {
            let usage = Usage {
                input,
                cache_read,
                output: 1_000_000,
                ..Usage::default()
            };
            usage.priced(&price).cost.total
        };
        let near = |cost: f64, expected: f64| assert!((cost - expected).abs() < 1e-9, "{cost}");
        near(total(32_000, 0), 2.032);
        // Cached tokens count as part of the prompt.
        near(total(1_000, 31_001), 4.0 + 0.002 + 0.031_001);
        near(total(300_000, 0), 8.0 + 1.2);
        let four = vec![PriceTier::default(); 4];
        assert_eq!(Tiers::try_from(four), Err(TooManyTiers { count: 4 }));
    }
}
