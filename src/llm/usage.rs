//! Tokens and money of one call.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of one call. The four main counts are disjoint: their sum is what the call moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
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
}
