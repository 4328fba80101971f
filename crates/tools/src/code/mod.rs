//! Tools that ask language servers: `definition`, `references`, `symbols`, `hover`, `diagnostics` and `rename`. A
//! session offers these tools while it has a server; they reach the servers through [`CodeServers`].

mod locate;
mod query;
mod rename;
pub mod report;
mod show;

use std::sync::Arc;

use osier_agent::ToolSet;
use osier_lsp::Capability;

pub use self::rename::RENAME;
use crate::built_in::BuiltIn;
use crate::workspace::Workspace;
pub use crate::workspace::{CodeServers, Opened};

/// The rows, in the order that models see.
pub(crate) fn rows() -> impl Iterator<Item = &'static BuiltIn> {
    query::ROWS.iter().chain(std::iter::once(&rename::ROW))
}

/// The tools for a session whose servers have the capabilities for which `can` is true.
pub fn code_tools(workspace: &Arc<Workspace>, can: &dyn Fn(Capability) -> bool) -> ToolSet {
    let is_useful = |tool: &&BuiltIn| match tool.name {
        "definition" => can(Capability::Definition),
        "references" => can(Capability::References),
        "symbols" => can(Capability::DocumentSymbols) || can(Capability::WorkspaceSymbols),
        "hover" => can(Capability::Hover),
        RENAME => can(Capability::Rename),
        _ => true,
    };
    let tools = rows().filter(is_useful);
    tools.filter_map(|tool| tool.make(workspace)).collect()
}
