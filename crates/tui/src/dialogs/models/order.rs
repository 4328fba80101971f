//! The orders of the model list.

use std::cmp::Reverse;

use osier_base::sort;
use osier_protocol::{KeyState, ModelInfo};

/// The orders of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// Favourites and models that can be used first.
    #[default]
    Usual,
    Price,
    Window,
    Speed,
    Name,
}

impl Order {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Usual => Self::Price,
            Self::Price => Self::Window,
            Self::Window => Self::Speed,
            Self::Speed => Self::Name,
            Self::Name => Self::Usual,
        }
    }

    /// The title of the list in this order.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Usual => "Models",
            Self::Price => "Models, cheapest first",
            Self::Window => "Models, largest context first",
            Self::Speed => "Models, fastest first",
            Self::Name => "Models by name",
        }
    }

    /// Sorts a list that is in the usual order. Models without a price are last among prices.
    pub(super) fn sort(self, models: &mut [ModelInfo]) {
        match self {
            Self::Usual => {}
            Self::Price => models.sort_by(|one, other| {
                let price = |model: &ModelInfo| match model.price.input + model.price.output {
                    price if price > 0.0 || model.key == KeyState::NotNeeded => price,
                    _ => f64::INFINITY,
                };
                price(one).total_cmp(&price(other))
            }),
            Self::Window => sort::by_key(models, |model| Reverse(model.context_window)),
            Self::Speed => sort::by_key(models, |model| Reverse(model.speed)),
            Self::Name => models.sort_by_key(|model| model.name.to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::Price;

    #[test]
    fn list_is_ordered_by_price_window_and_name() {
        let model = |id: &str, input: f64, context_window: u64, key| ModelInfo {
            provider: "a".to_owned(),
            id: id.to_owned(),
            name: id.to_owned(),
            context_window,
            max_tokens: 1_000,
            thinking_levels: Vec::new(),
            input: Vec::new(),
            price: Price {
                input,
                ..Price::default()
            },
            key,
            cache_seconds: None,
            in_cycle: false,
            favourite: false,
            speed: (id == "cheap").then_some(50),
        };
        let models = [
            model("large", 3.0, 1_000_000, KeyState::Present),
            model("unpriced", 0.0, 8_000, KeyState::Present),
            model("cheap", 0.1, 128_000, KeyState::Absent),
            model("local", 0.0, 32_000, KeyState::NotNeeded),
        ];
        let mut order = Order::default();
        let ordered = std::iter::repeat_with(|| {
            order = order.next();
            let mut models = models.to_vec();
            order.sort(&mut models);
            models.into_iter().map(|model| model.id).collect::<Vec<_>>()
        });
        let ordered: Vec<Vec<String>> = ordered.take(5).collect();
        assert_eq!(ordered[0], ["local", "cheap", "large", "unpriced"]);
        assert_eq!(ordered[1], ["large", "cheap", "local", "unpriced"]);
        assert_eq!(ordered[2], ["cheap", "large", "unpriced", "local"]);
        assert_eq!(ordered[3], ["cheap", "large", "local", "unpriced"]);
        assert_eq!(ordered[4], ["large", "unpriced", "cheap", "local"]);
    }
}
