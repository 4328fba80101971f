//! The tools of one agent with their compiled argument schemas.
//!
//! A toolbox is immutable. When tools are added or removed, a new toolbox replaces it between two requests, so
//! that a call always finds the tools that its request offered.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use osier_base::sort;
use osier_llm::ToolCall;

use super::checked::CheckedCall;
use super::interface::{Tool, ToolSet};
use super::output::ToolOutput;
use super::slot::Slot;
use crate::data::ToolStatus;

/// Tools by name, in the order the model sees them. Schemas compile on first use.
#[derive(Default)]
pub struct Toolbox {
    slots: Vec<Arc<Slot>>,
}

impl Toolbox {
    /// Of several tools with the same name, the first is used.
    pub fn new(tools: ToolSet) -> Self {
        Self::default().with(tools)
    }

    /// A toolbox of `tools`. Tools that this toolbox has already keep their compiled schemas and their order; new tools
    /// come last. So the definitions of the next request continue the definitions of earlier requests.
    #[must_use]
    pub fn with(&self, tools: ToolSet) -> Self {
        let known: HashMap<*const (), &Arc<Slot>> = self
            .slots
            .iter()
            .map(|slot| (address(&slot.tool), slot))
            .collect();
        let slot_of = |tool: Arc<dyn Tool>| match known.get(&address(&tool)) {
            Some(slot) => Arc::clone(slot),
            None => Arc::new(Slot::new(tool)),
        };
        let mut names = HashSet::new();
        let mut slots: Vec<Arc<Slot>> = tools
            .into_iter()
            .filter(|tool| names.insert(tool.spec().name.clone()))
            .map(slot_of)
            .collect();
        let places: HashMap<&str, usize> = self
            .slots
            .iter()
            .enumerate()
            .map(|(place, slot)| (slot.name(), place))
            .collect();
        sort::by_key(&mut slots, |slot| {
            let place = places.get(slot.name());
            place.copied().unwrap_or(usize::MAX)
        });
        Self { slots }
    }

    /// Whether both contain the same tools in the same order.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.slots.len() == other.slots.len()
            && self
                .slots
                .iter()
                .zip(&other.slots)
                .all(|(one, other)| Arc::ptr_eq(one, other))
    }

    pub fn names(&self) -> Vec<String> {
        self.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.slots.iter().map(|slot| &slot.tool)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.iter().find(|tool| tool.spec().name == name)
    }

    /// Checks the arguments of a call and has its tool prepare it.
    ///
    /// # Errors
    /// The result of a call that cannot run.
    pub async fn prepare(&self, call: ToolCall) -> Result<CheckedCall, ToolOutput> {
        let Some(slot) = self.slots.iter().find(|slot| slot.name() == call.name) else {
            let text = format!("Unknown tool `{}`.", call.name);
            return Err(ToolOutput::failed(ToolStatus::ToolNotFound, text));
        };
        CheckedCall::new(Arc::clone(slot), call).await
    }
}

fn address(tool: &Arc<dyn Tool>) -> *const () {
    Arc::as_ptr(tool).cast()
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Toolbox")
            .field(&self.names())
            .finish()
    }
}
