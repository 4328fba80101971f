//! Thinking levels that the user chooses in the model list before switching to the model.

use std::cell::RefCell;
use std::collections::BTreeMap;

use osier_llm::ThinkingLevel;
use osier_protocol::ModelInfo;

/// The chosen level of each model, by the model's reference.
#[derive(Debug, Default)]
pub(super) struct Levels(RefCell<BTreeMap<String, ThinkingLevel>>);

impl Levels {
    /// Forgets the chosen levels when the list opens again.
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    pub(super) fn of(&self, model: &ModelInfo) -> Option<ThinkingLevel> {
        self.0.borrow().get(&model.reference()).copied()
    }

    /// Chooses the level that follows the chosen one, or the current level of the session.
    pub(super) fn choose_next(&self, model: &ModelInfo, now: ThinkingLevel) {
        let levels = &model.thinking_levels;
        let before = self.of(model).unwrap_or(now);
        let place = levels.iter().position(|level| *level == before);
        let next = place.map_or(0, |place| (place + 1) % levels.len().max(1));
        if let Some(level) = levels.get(next) {
            self.0.borrow_mut().insert(model.reference(), *level);
        }
    }

    /// The reference of the model, followed by the chosen level if there is one.
    pub(super) fn reference(&self, model: &ModelInfo) -> String {
        let reference = model.reference();
        match self.of(model) {
            Some(level) => format!("{reference}:{}", level.name()),
            None => reference,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::Price;
    use osier_protocol::KeyState;

    #[test]
    fn levels_of_a_model_are_chosen_in_turn() {
        use ThinkingLevel::{High, Low, Off};
        let model = |levels: &[ThinkingLevel]| ModelInfo {
            provider: "a".to_owned(),
            id: "m".to_owned(),
            name: "M".to_owned(),
            context_window: 100,
            max_tokens: 10,
            thinking_levels: levels.to_vec(),
            input: Vec::new(),
            price: Price::default(),
            key: KeyState::Present,
            cache_seconds: None,
            in_cycle: false,
            favourite: false,
            speed: None,
        };
        let (levels, thinking) = (Levels::default(), model(&[Off, Low, High]));
        assert_eq!(levels.reference(&thinking), "a/m");
        let mut seen = Vec::new();
        for _ in 0..3 {
            levels.choose_next(&thinking, Low);
            seen.push(levels.reference(&thinking));
        }
        assert_eq!(seen, ["a/m:high", "a/m:off", "a/m:low"]);
        levels.clear();
        assert_eq!(levels.of(&thinking), None);
        // If the model lacks the current level, its first level is chosen.
        levels.choose_next(&model(&[Low, High]), Off);
        assert_eq!(levels.reference(&thinking), "a/m:low");
    }
}
