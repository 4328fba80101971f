//! Tools: their interface, the preparation of calls, and the tools of one agent.

mod argument_schema;
mod checked;
mod files;
mod interface;
mod output;
mod prepared;
mod repair;
mod schema_cost;
mod selection;
mod slot;
mod spellings;
mod toolbox;

pub use argument_schema::{check_schema, check_value};
pub use checked::CheckedCall;
pub use files::{FileTarget, FileUse};
pub use interface::{Tool, ToolSet, ToolSource};
pub use output::{Refusal, ToolContext, ToolOutput, UpdateSink};
pub use prepared::{Concurrency, PreparedCall, Preparing, Preview, ShellInput, prepare_typed};
pub(crate) use repair::{repair_calls, repair_name};
pub(crate) use selection::ToolSelection;
pub use spellings::{Adapt, OtherName, Spellings};
pub use toolbox::Toolbox;
