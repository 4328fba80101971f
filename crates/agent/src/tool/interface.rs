//! The interface of a tool for the loop: its schema, and the preparation of its calls.
//!
//! A tool limits its own output, stops when its token is cancelled, and leaves no processes running unless that was
//! requested. It never panics on arguments; they were validated against the tool's schema before `prepare`.

use std::fmt;
use std::sync::Arc;

use osier_llm::ToolSpec;
use serde_json::{Map, Value};

use super::prepared::Preparing;
use super::spellings::Spellings;
use crate::data::{ToolHints, ToolOrigin, ToolResultMessage};

/// Something a model can call.
pub trait Tool: Send + Sync + fmt::Debug {
    /// Name, description and argument schema, as the model sees them.
    fn spec(&self) -> &ToolSpec;

    /// The origin of the tool.
    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Program
    }

    /// The name of the tool for people, if its source gives one.
    fn title(&self) -> Option<String> {
        None
    }

    /// The tool's hints.
    fn hints(&self) -> ToolHints {
        ToolHints::default()
    }

    /// How models write calls of the tool. Only for tools of the program.
    fn spellings(&self) -> &'static Spellings {
        &Spellings::NONE
    }

    /// Converts arguments as `Spellings::adapt` does, with additional knowledge of the tool.
    fn adapt(&self, arguments: &mut Map<String, Value>) -> Vec<String> {
        (self.spellings().adapt)(arguments)
    }

    /// The tools that this tool can replace. If the agent has those tools, a model is offered
    /// either them or this tool.
    fn replaces(&self) -> &'static [&'static str] {
        &[]
    }

    /// The call that a call of this tool stands for: the name of the tool and its arguments. Only for tools of the
    /// program.
    fn redirect(
        &self,
        _arguments: &Map<String, Value>,
    ) -> Option<(&'static str, Map<String, Value>)> {
        None
    }

    /// Whether the run ends with this result of the tool: the model is not called again.
    fn ends_run(&self, _result: &ToolResultMessage) -> bool {
        false
    }

    /// Makes a prepared call of valid arguments, which are parsed only here: hooks, permissions,
    /// questions and the scheduler see the prepared call before it runs. Changes nothing. A call
    /// with changed arguments is prepared again.
    ///
    /// The future is dropped when the user interrupts. It fails with the reason why the call cannot run, for the model.
    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing;
}

/// The tools of an agent, in the order the model sees them.
pub type ToolSet = Vec<Arc<dyn Tool>>;

/// A source of tools that change while an agent lives: servers and plugins.
pub trait ToolSource: Send + Sync + fmt::Debug {
    /// The current tools, in a stable order. Called before every request: it must return immediately, with
    /// the same `Arc`s as long as nothing changed.
    fn tools(&self) -> ToolSet;

    /// A tool that `tools` does not have yet, but that a call names. From then on `tools` has it.
    fn unlisted(&self, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }
}
