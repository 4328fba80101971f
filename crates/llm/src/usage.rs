//! Tokens and money of one call.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Tokens of one call. The four main counts are disjoint: their sum is what the call moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens neither read from nor written to the cache.
    pub input: u64,
    /// Output tokens, thinking included.
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `output` that was thinking, where the provider says so.
    pub reasoning: u64,
    pub cost: Cost,
    /// Whether a subscription paid, so that `cost` is not what the tokens are worth.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub subscription: bool,
}

/// US dollars.
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
    /// What long prompts cost.
    #[serde(skip_serializing_if = "Tiers::is_empty")]
    pub tiers: Tiers,
}

/// The prices of calls whose prompt is longer than a bound: of all of the call, not of the rest alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PriceTier {
    /// Tokens.
    pub input_tokens_above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// Price tiers a model can have.
pub const MOST_TIERS: usize = 3;

/// The tiers of a model, in no certain order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<PriceTier>", into = "Vec<PriceTier>")]
pub struct Tiers([Option<PriceTier>; MOST_TIERS]);

/// More tiers than a model can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{count} price tiers where {MOST_TIERS} are the most")]
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
        if count > MOST_TIERS {
            return Err(TooManyTiers { count });
        }
        for (place, tier) in tiers.0.iter_mut().zip(list) {
            *place = Some(tier);
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
    /// The prices of a call whose prompt has `tokens`: those of the highest bound it is above.
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
    /// Everything the model read: what fills its context window before it answers.
    pub fn context_tokens(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Input and output together: how full the window is after the answer.
    pub fn total_tokens(&self) -> u64 {
        self.context_tokens() + self.output
    }

    /// The part of what the model read that came from the cache, from 0 to 1; `None` when it read
    /// nothing.
    pub fn hit_rate(&self) -> Option<f64> {
        let read = self.context_tokens();
        (read > 0).then(|| self.cache_read as f64 / read as f64)
    }

    /// The same usage with its cost at `price`.
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
    fn a_long_prompt_is_priced_by_its_tier_as_a_whole() {
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
        // What the cache gave counts for the length of the prompt.
        near(total(1_000, 31_001), 4.0 + 0.002 + 0.031_001);
        near(total(300_000, 0), 8.0 + 1.2);
        let four = vec![PriceTier::default(); 4];
        assert_eq!(Tiers::try_from(four), Err(TooManyTiers { count: 4 }));
    }
}
