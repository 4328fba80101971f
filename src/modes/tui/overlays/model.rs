//! Choosing a model: window, price, abilities, and whether there is a key.

use super::picker::Picker;
use crate::coding::host::{KeyState, ModelInfo, Op, TreeOp};
use crate::llm::Modality;
use crate::modes::tui::action::Action;
use crate::modes::tui::footer::{Footer, tokens};
use crate::term::widgets::select::Item;

pub const ID: &str = "model";
pub const RETRY_ID: &str = "retry_model";

/// The picker over `models`, with the one in use selected.
pub fn picker(models: &[ModelInfo], footer: &Footer) -> Picker {
    let items = models.iter().map(item).collect();
    let take = |reference: &str| {
        vec![Action::Tell(Op::SelectModel {
            reference: reference.to_owned(),
        })]
    };
    let picker = Picker::new("Models", "no model matches", items, Box::new(take));
    match &footer.model {
        Some(model) => picker.with_selected(&model.reference()),
        None => picker,
    }
}

/// The picker whose model answers the last prompt once more.
pub fn retry_picker(models: &[ModelInfo]) -> Picker {
    let items = models.iter().map(item).collect();
    let take = |reference: &str| {
        let model = Some(reference.to_owned());
        vec![Action::Tell(Op::Tree(TreeOp::RetryPrompt { model }))]
    };
    let title = "Send the last prompt to";
    Picker::new(title, "no model matches", items, Box::new(take))
}

fn item(model: &ModelInfo) -> Item {
    let mut label = model.reference();
    if model.in_cycle {
        label.push_str(" ·");
    }
    Item {
        key: model.reference(),
        label,
        detail: detail(model),
        keywords: model.name.clone(),
        dimmed: model.key == KeyState::Absent,
    }
}

fn detail(model: &ModelInfo) -> String {
    let mut parts = Vec::new();
    if model.key == KeyState::Absent {
        parts.push("no key".to_owned());
    }
    if model.thinking_levels.len() > 1 {
        parts.push("thinking".to_owned());
    }
    if model.input.contains(&Modality::Image) {
        parts.push("images".to_owned());
    }
    if model.price.input + model.price.output > 0.0 {
        parts.push(format!("${}/${}", model.price.input, model.price.output));
    }
    parts.push(tokens(model.context_window));
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::usage::Price;

    #[test]
    fn a_model_is_told_by_its_key_abilities_price_and_window() {
        let model = ModelInfo {
            provider: "a".into(),
            id: "m".into(),
            name: "Model".into(),
            context_window: 200_000,
            max_tokens: 8_000,
            thinking_levels: crate::llm::ThinkingLevel::ALL.to_vec(),
            input: vec![Modality::Text, Modality::Image],
            price: Price {
                input: 3.0,
                output: 15.0,
                ..Price::default()
            },
            key: KeyState::Absent,
            in_cycle: true,
        };
        let item = item(&model);
        assert_eq!((item.label.as_str(), item.dimmed), ("a/m ·", true));
        assert_eq!(item.detail, "no key  thinking  images  $3/$15  200k");
    }
}
