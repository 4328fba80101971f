//! The budget of a session: limits for cost, tokens and model calls, and the usage.

use serde::{Deserialize, Serialize};

/// The share at which the user and the model are warned.
pub const WARNING_SHARE: f64 = 0.8;

/// The limits of a session. A limit that is not set does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Input and output tokens of all model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// The usage of all model calls of a session: answers, subagents, lanes, summaries and reviews.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BudgetUse {
    pub cost: f64,
    pub tokens: u64,
    pub turns: u64,
}

/// A budget and its used part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BudgetState {
    pub limits: Budget,
    pub used: BudgetUse,
}

impl Budget {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This budget with every limit that `change` has; 0 removes a limit.
    #[must_use]
    pub fn changed(&self, change: &Self) -> Self {
        Self {
            cost: change.cost.or(self.cost).filter(|cost| *cost > 0.0),
            tokens: change.tokens.or(self.tokens).filter(|tokens| *tokens > 0),
            turns: change.turns.or(self.turns).filter(|turns| *turns > 0),
        }
    }

    /// The lower limits of both.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        fn lower<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) if other < one => Some(other),
                (one, other) => one.or(other),
            }
        }
        Self {
            cost: lower(self.cost, other.cost),
            tokens: lower(self.tokens, other.tokens),
            turns: lower(self.turns, other.turns),
        }
    }
}

/// A limit and its used part, in words.
struct Limited {
    share: f64,
    summary: String,
}

impl BudgetState {
    /// Adds usage.
    pub fn add(&mut self, used: &BudgetUse) {
        self.used.cost += used.cost;
        self.used.tokens += used.tokens;
        self.used.turns += used.turns;
    }

    fn limited(&self) -> impl Iterator<Item = Limited> {
        let Self { limits, used } = self;
        let cost = limits.cost.map(|limit| Limited {
            share: used.cost / limit,
            summary: format!("{} of {}", dollars(used.cost), dollars(limit)),
        });
        let tokens = limits.tokens.map(|limit| Limited {
            share: used.tokens as f64 / limit as f64,
            summary: format!("{} of {} tokens", count(used.tokens), count(limit)),
        });
        let turns = limits.turns.map(|limit| Limited {
            share: used.turns as f64 / limit as f64,
            summary: format!("{} of {} model calls", used.turns, limit),
        });
        [cost, tokens, turns].into_iter().flatten()
    }

    /// The share of the limit that is closest, from 0.
    pub fn share(&self) -> f64 {
        let shares = self.limited().map(|limit| limit.share);
        shares.fold(0.0, f64::max)
    }

    pub fn is_used_up(&self) -> bool {
        self.share() >= 1.0
    }

    pub fn is_nearly_used_up(&self) -> bool {
        self.share() >= WARNING_SHARE
    }

    /// All limits, each with its used part; empty without a limit.
    pub fn summary(&self) -> String {
        let summary: Vec<String> = self.limited().map(|limit| limit.summary).collect();
        summary.join(", ")
    }

    /// The budget for people, or how to set one.
    pub fn line(&self) -> String {
        match self.summary() {
            summary if summary.is_empty() => {
                "this session has no budget: `/budget 5` sets 5 US dollars, \
                 `/budget 500000 tokens` or `/budget 100 turns` another limit"
                    .to_owned()
            }
            summary => format!("budget used: {summary}; `/budget` with a number changes a limit"),
        }
    }

    /// The limits that have at least `share` of them used.
    pub fn summary_above(&self, share: f64) -> String {
        let above = self.limited().filter(|limit| limit.share >= share);
        let summary: Vec<String> = above.map(|limit| limit.summary).collect();
        summary.join(", ")
    }
}

/// `$4.02`; small amounts with more digits.
fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.1 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

/// A number with separators: `34,500`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(limits: Budget) -> BudgetState {
        let used = BudgetUse {
            cost: 4.019,
            tokens: 1_034_500,
            turns: 3,
        };
        BudgetState { limits, used }
    }

    #[test]
    fn closest_limit_decides() {
        let cost = Some(5.0);
        let budget = state(Budget {
            cost,
            tokens: Some(100_000_000),
            turns: Some(10),
        });
        assert!(budget.is_nearly_used_up());
        assert!(!budget.is_used_up());
        let summary = "$4.02 of $5.00, 1,034,500 of 100,000,000 tokens, 3 of 10 model calls";
        assert_eq!(budget.summary(), summary);
        assert_eq!(budget.summary_above(WARNING_SHARE), "$4.02 of $5.00");
        let turns = state(Budget {
            turns: Some(3),
            ..Budget::default()
        });
        assert!(turns.is_used_up());
        assert!(BudgetState::default().share() <= 0.0);
    }

    #[test]
    fn zero_removes_a_limit_and_the_lower_one_is_stricter() {
        let one = Budget {
            cost: Some(5.0),
            tokens: Some(100),
            turns: None,
        };
        let change = Budget {
            cost: Some(0.0),
            tokens: None,
            turns: Some(7),
        };
        let changed = Budget {
            cost: None,
            tokens: Some(100),
            turns: Some(7),
        };
        assert_eq!(one.changed(&change), changed);
        let other = Budget {
            cost: Some(1.0),
            tokens: Some(200),
            turns: Some(9),
        };
        let stricter = Budget {
            cost: Some(1.0),
            tokens: Some(100),
            turns: Some(9),
        };
        assert_eq!(one.stricter(&other), stricter);
    }
}
