//! A picker over a fixed menu.

use super::{Choice, Picker};
use crate::actions::Action;
use osier_term::{Columns, Item};

/// A line of a menu.
pub(crate) struct MenuItem {
    label: String,
    meaning: String,
    /// The action of the item; without an action, the menu only closes.
    action: Option<Action>,
    dimmed: bool,
}

impl MenuItem {
    pub(crate) fn new(
        label: impl Into<String>,
        meaning: impl Into<String>,
        action: impl Into<Action>,
    ) -> Self {
        Self {
            action: Some(action.into()),
            ..Self::without_action(label, meaning)
        }
    }

    pub(crate) fn without_action(label: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            meaning: meaning.into(),
            action: None,
            dimmed: false,
        }
    }

    /// A line that is a fact rather than something to do.
    #[must_use]
    pub(crate) fn dimmed(self) -> Self {
        Self {
            dimmed: true,
            ..self
        }
    }

    pub(crate) fn action(&self) -> Option<&Action> {
        self.action.as_ref()
    }
}

impl Choice for MenuItem {
    fn row(&self) -> Item {
        Item {
            label: self.label.clone(),
            details: vec![self.meaning.as_str().into()],
            keywords: self.meaning.clone(),
            dimmed: self.dimmed,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.label == other.label && self.meaning == other.meaning
    }
}

impl Picker<MenuItem> {
    /// The picker of a menu.
    pub(crate) fn menu(
        title: impl Into<String>,
        empty: &'static str,
        items: impl IntoIterator<Item = MenuItem>,
    ) -> Self {
        Self::new(title, empty, items, |item| item.action().cloned())
            .with_columns(Columns::SENTENCE)
    }
}
