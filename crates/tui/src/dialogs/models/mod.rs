//! Model lists: switch the model, or retry the last prompt with another one.

mod levels;
mod order;
mod picker;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::actions::Outbox;
use crate::drawing::{Overlays, Picker, overlays};
use crate::input::Editor;
use crate::status::Footer;
use levels::Levels;
use order::Order;
use osier_base::{clock, sort};
use osier_protocol::{KeyState, ModelInfo, Op};
use picker::Lane;

/// The models that the host reported last.
#[derive(Debug, Default)]
pub(crate) struct Models {
    known: Vec<ModelInfo>,
    /// The list shows models without a key too.
    shows_all: Rc<Cell<bool>>,
    order: Rc<Cell<Order>>,
    levels: Rc<Levels>,
    /// The models that are marked to run side by side.
    marked: Rc<RefCell<Vec<String>>>,
}

/// The costs and losses of the conversation so far with `model`, for a notice.
pub(crate) fn switch_costs(model: &ModelInfo, now: &Footer) -> String {
    let costs = picker::costs(model, now, clock::now_ms());
    let texts: Vec<String> = costs.into_iter().map(|(text, _)| text).collect();
    texts.join("; ")
}

/// Favourites, then models with a key, then models that need no key, then scripted models, then the others.
fn usability(model: &ModelInfo) -> u8 {
    match model.key {
        KeyState::NotNeeded if model.provider == "demo" => 3,
        _ if model.favourite => 0,
        KeyState::Present => 1,
        KeyState::NotNeeded => 2,
        KeyState::Absent => 4,
    }
}

impl Models {
    /// Lists the models to switch to.
    pub(crate) fn open(&self, footer: &Footer, overlays: &mut Overlays, outbox: &mut Outbox) {
        self.shows_all.set(false);
        self.levels.clear();
        overlays.push(picker::ID, self.picker(footer));
        outbox.push(Op::ListModels);
    }

    /// Lists the models to retry the last prompt with.
    pub(crate) fn open_retry(&self, footer: &Footer, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(picker::RETRY_ID, picker::retry_picker(&self.known, footer));
        outbox.push(Op::ListModels);
    }

    /// Lists the models to run side by side.
    pub(crate) fn open_fan(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        self.marked.borrow_mut().clear();
        overlays.push(picker::FAN_ID, self.fan_picker());
        outbox.push(Op::ListModels);
    }

    /// Stores the models and updates the open lists and the completion.
    pub(crate) fn set(
        &mut self,
        models: &[ModelInfo],
        footer: &Footer,
        editor: &mut Editor,
        overlays: &mut Overlays,
    ) {
        self.known = models.to_vec();
        sort::by_key(&mut self.known, usability);
        let models = &self.known;
        let named = |model: &ModelInfo| (model.reference(), model.thinking_levels.clone());
        editor.set_models(models.iter().map(named).collect());
        overlays::refresh(
            overlays,
            picker::RETRY_ID,
            picker::retry_picker(models, footer),
        );
        overlays::refresh(overlays, picker::ID, self.picker(footer));
        overlays::refresh(overlays, picker::FAN_ID, self.fan_picker());
    }

    fn fan_picker(&self) -> Picker<Lane> {
        picker::fan_picker(&self.known, &self.marked)
    }

    fn picker(&self, footer: &Footer) -> Picker<ModelInfo> {
        let mut models = self.known.clone();
        self.order.get().sort(&mut models);
        let shared = (Rc::clone(&self.shows_all), Rc::clone(&self.order));
        picker::picker(&models, footer, shared, &self.levels)
    }
}
