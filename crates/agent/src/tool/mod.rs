//! Tools: their interface, and the tools of one agent.

mod argument_schema;
mod interface;
mod schema_cost;
mod selection;
mod toolbox;

pub use interface::{Concurrency, Tool, ToolContext, ToolOutput, ToolSet, ToolSource, UpdateSink};
pub(crate) use selection::ToolSelection;
pub use toolbox::Toolbox;
