//! The tools of one agent with their compiled argument schemas.
//!
//! A toolbox is immutable. When tools are added or removed, a new toolbox replaces it between two requests, so
//! that a call always finds the tools that its request offered.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use osier_base::sort;
use serde_json::Value;

use super::argument_schema::{ArgumentSchema, Mistakes};
use super::interface::{Tool, ToolSet};
use crate::data::ToolStatus;

/// Tools by name, in the order the model sees them. Schemas compile on first use.
#[derive(Default)]
pub struct Toolbox {
    slots: Vec<Arc<Slot>>,
}

struct Slot {
    tool: Arc<dyn Tool>,
    schema: OnceLock<Result<ArgumentSchema, String>>,
}

impl Toolbox {
    /// Of several tools with the same name, the first is used.
    pub fn new(tools: ToolSet) -> Self {
        Self::default().with(tools)
    }

    /// A toolbox of `tools`. Tools that are also in this one keep their compiled schemas. Names that are in this one keep
    /// their order, and new ones come last: the definitions of the next request continue those of the earlier ones.
    #[must_use]
    pub fn with(&self, tools: ToolSet) -> Self {
        let known: HashMap<*const (), &Arc<Slot>> = self
            .slots
            .iter()
            .map(|slot| (address(&slot.tool), slot))
            .collect();
        let slot_of = |tool: Arc<dyn Tool>| match known.get(&address(&tool)) {
            Some(slot) => Arc::clone(slot),
            None => Arc::new(Slot {
                tool,
                schema: OnceLock::new(),
            }),
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
            .map(|(place, slot)| (slot.tool.spec().name.as_str(), place))
            .collect();
        sort::by_key(&mut slots, |slot| {
            let place = places.get(slot.tool.spec().name.as_str());
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

    /// Checks `arguments` against the schema of the tool `name`, then by the tool itself.
    ///
    /// # Errors
    /// `ToolStatus::InvalidParameters` with the schema path of the first failure and every message.
    pub fn validate(&self, name: &str, arguments: &Value) -> Result<(), ToolStatus> {
        let Some(slot) = self.slots.iter().find(|slot| slot.tool.spec().name == name) else {
            return Err(ToolStatus::ToolNotFound);
        };
        let compile = || ArgumentSchema::new(&slot.tool.spec().parameters);
        let checked = match slot.schema.get_or_init(compile) {
            Ok(schema) => schema.check(arguments),
            Err(error) => Err(Mistakes {
                path: String::new(),
                message: format!("the argument schema of `{name}` is invalid: {error}"),
            }),
        };
        let checked = checked.and_then(|()| {
            let path = String::new();
            let checked = slot.tool.check(arguments);
            checked.map_err(|message| Mistakes { path, message })
        });
        checked
            .map_err(|Mistakes { path, message }| ToolStatus::InvalidParameters { path, message })
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
