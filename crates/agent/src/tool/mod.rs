//! Tools: their interface, and the tools of one agent.

mod argument_schema;
mod interface;
mod repair;
mod schema_cost;
mod selection;
mod spellings;
mod toolbox;

pub use argument_schema::{check_schema, check_value};
pub use interface::{Concurrency, Tool, ToolContext, ToolOutput, ToolSet, ToolSource, UpdateSink};
pub(crate) use repair::{repair_calls, repair_name};
pub(crate) use selection::ToolSelection;
pub use spellings::{Adapt, OtherName, Spellings};
pub use toolbox::Toolbox;
