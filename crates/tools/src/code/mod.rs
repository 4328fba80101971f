//! Tools that ask language servers: `definition`, `references`, `symbols`, `hover`, `diagnostics` and `rename`. A session
//! offers them while it has a server; [`CodeServers`] is how they reach it.

mod locate;
mod query;
mod rename;
pub mod report;
mod show;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use osier_agent::ToolSet;
use osier_lsp::{Capability, Change, Server};

pub(super) use self::rename::preview as preview_rename;
pub use self::rename::{RENAME, with_changes};
use crate::built_in::BuiltIn;
use crate::files::target::{FileArgument, FileUse};
use crate::workspace::Workspace;

/// A server that knows the text of a file.
pub type Opened = (Arc<Server>, Change);

/// The language servers of a session.
pub trait CodeServers: fmt::Debug + Send + Sync {
    /// The servers of a file, which know its text as it is now.
    ///
    /// # Errors
    /// Why none runs, for the model.
    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<Opened>, String>>;

    /// The servers that run.
    fn running(&self) -> Vec<Arc<Server>>;

    /// How long the tool `diagnostics` waits for them.
    fn patience(&self) -> Duration {
        Duration::from_secs(15)
    }
}

const FILE: FileArgument = FileArgument {
    name: "file_path",
    purpose: FileUse::Read,
    exists: true,
    optional: false,
};

/// A tool that only asks.
const fn asking(
    name: &'static str,
    label: &'static str,
    make: fn(Arc<Workspace>) -> Arc<dyn osier_agent::Tool>,
) -> BuiltIn {
    BuiltIn {
        name,
        label,
        read_only: true,
        reads_web: false,
        asks_user: false,
        main_argument: "symbol",
        file: Some(FILE),
        files: None,
        replaces: &[],
        make,
    }
}

/// The tools, in the order that models see.
pub(super) const TOOLS: [BuiltIn; 6] = [
    asking("definition", "Definition", |workspace| {
        Arc::new(query::QueryTool::new(workspace, query::Query::Definition))
    }),
    asking("references", "References", |workspace| {
        Arc::new(query::QueryTool::new(workspace, query::Query::References))
    }),
    asking("symbols", "Symbols", |workspace| {
        Arc::new(query::QueryTool::new(workspace, query::Query::Symbols))
    }),
    asking("hover", "Hover", |workspace| {
        Arc::new(query::QueryTool::new(workspace, query::Query::Hover))
    }),
    asking("diagnostics", "Diagnostics", |workspace| {
        Arc::new(query::QueryTool::new(workspace, query::Query::Diagnostics))
    }),
    BuiltIn {
        name: RENAME,
        label: "Rename",
        read_only: false,
        reads_web: false,
        asks_user: false,
        main_argument: "symbol",
        file: None,
        files: Some(rename::named_files),
        // Rules about them are about it.
        replaces: &["write", "edit"],
        make: |workspace| Arc::new(rename::RenameTool::new(workspace)),
    },
];

/// The tools for a session whose servers can do this.
pub fn code_tools(workspace: &Arc<Workspace>, can: &dyn Fn(Capability) -> bool) -> ToolSet {
    let is_useful = |tool: &&BuiltIn| match tool.name {
        "definition" => can(Capability::Definition),
        "references" => can(Capability::References),
        "symbols" => can(Capability::DocumentSymbols) || can(Capability::WorkspaceSymbols),
        "hover" => can(Capability::Hover),
        RENAME => can(Capability::Rename),
        _ => true,
    };
    let tools = TOOLS.iter().filter(is_useful);
    tools
        .map(|tool| (tool.make)(Arc::clone(workspace)))
        .collect()
}

/// The message without a server.
const NO_SERVER: &str = "no language server runs here; use grep and read";
