//! The built-in tools of the agent: `read`, `write`, `edit`, `apply_patch`, `bash`, `grep`, `find`, `ls`, `todo`,
//! `ask_user`, `web_fetch`, `exit_plan_mode`; with a language server also `definition`, `references`, `symbols`, `hover`,
//! `diagnostics` and `rename`, with a terminal `terminal`, in a large project `map`.
//!
//! Start at [`build`], which creates the tools; [`Workspace`], the state that the tools of a session share; and
//! [`BUILT_IN`], the table from which the `--tools` flag, permissions and the interface are derived. Every
//! tool has its own file with its row (`ROW`).
//!
//! Code that tools share, lowest room first; a room imports only lower ones:
//!
//! - `call`: arguments and their spellings, and the [`details`] of results
//! - `files`: which file a call means, what the model knows of it (`ledger`), its lines and [`diff`]s
//! - `commands`: how a command runs, in the foreground or as a job, and where its output goes
//! - `terminal`: programs on a pseudo-terminal
//! - `workspace`: the state of a session, and what a session provides
//!
//! The tools: `read`, `edit` (with `write` and `apply_patch`), `search`, `shell`, `ask` and [`code`]. Above them are
//! [`trained_forms`], the forms of tools that models are trained with, `calls`, the files of a call by its row, and
//! `preview`.
//!
//! Invariants: a tool opens exactly the file that was checked, without symbolic links; nothing overwrites
//! the changes of another program; an edit that is not certain changes nothing.
//!
//! The crate does not know permissions, sessions or the screen.
//!
//! ```
//! use std::sync::Arc;
//!
//! use osier_tools::Workspace;
//!
//! let workspace = Arc::new(Workspace::new("/work"));
//! let names = ["grep".to_owned(), "read".to_owned()];
//! let tools = osier_tools::build(&workspace, Some(&names))?;
//! let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
//! assert_eq!(names, ["read", "grep"]);
//! # Ok::<(), osier_tools::UnknownTool>(())
//! ```
//!
//! # Design
//!
//! - A file is found once: the path of a call is resolved when the call is prepared, the gate judges that path, and
//!   the tool opens exactly that file, without links.
//! - Terminals are islands: a program runs on a pseudo-terminal, an emulator makes a screen of its output, and only
//!   that screen leaves. A line for a shell is judged as a command.
//! - A process with limits (`__pdf`) reads PDF files.

mod ask;
mod built_in;
mod call;
mod calls;
pub mod code;
mod commands;
mod edit;
mod files;
mod read;
mod search;
mod shell;
mod terminal;
#[cfg(any(test, fuzzing))]
mod testing;
pub mod trained_forms;
mod workspace;

use std::sync::Arc;

use thiserror::Error;

use osier_agent::ToolSet;

pub use ask::plan::PLAN_BYTES;
pub use built_in::BuiltIn;
pub use call::{details, spellings};
pub use calls::file_targets;
pub use commands::jobs::JobObserver;
pub use commands::outcome::{ShellEnd, ShellOutcome, ShellRequest};
pub use commands::truncation::Capped;
#[cfg(any(test, fuzzing))]
pub use edit::fuzz;
pub use edit::reformat::{Reformatted, reformat};
pub use files::ledger::ChangedFiles;
pub use files::target::{FileArgument, NamedFile};
pub use files::{diff, editor};
pub use osier_map::{Outline, OutlinedFile, Symbol, SymbolMatch};
pub use osier_web::helper as html_helper;
pub use osier_web::{
    RESULTS, SearchResult, SearchService, ServiceKind, Web, WebAddress, WebOptions,
};
pub use read::{attachment, illustration, image, media, pdf};
pub use search::completion;
pub use shell::bash::control_characters;
pub use shell::terminal_tool::TERMINAL;
pub use terminal::{TerminalChange, TerminalObserver};
pub use workspace::{PlanAnswer, PlanDecision, PlanMode, ReadFilter, ReadFilters, Workspace};

/// The tool that starts a subagent. The session provides it.
pub const SUBAGENT: &str = "task";

/// The tool that finds and loads tools of MCP servers. The session provides it.
pub const TOOL_SEARCH: &str = "tool_search";

/// The tool that searches the web. The session provides it.
pub const WEB_SEARCH: &str = "web_search";

// recipe: a tool, 1: `crates/tools/src/ROOM/NAME.rs`: the tool and its row, `ROW`
// recipe: a tool, 2: its place in `BUILT_IN`
// recipe: a tool, 4: `docs/tools.md`
/// Every tool, in the order that models see.
pub const BUILT_IN: &[BuiltIn] = &[
    read::tool::ROW,
    edit::write::ROW,
    edit::tool::ROW,
    edit::patch::ROW,
    shell::bash::ROW,
    search::grep::ROW,
    search::find::ROW,
    search::ls::ROW,
    ask::todo::ROW,
    ask::ask_user::ROW,
    read::web_fetch::ROW,
    ask::plan::ROW,
];

/// An unknown tool name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown tool `{name}`")]
pub struct UnknownTool {
    pub name: String,
}

impl UnknownTool {
    /// The known tools.
    pub fn hint(&self) -> String {
        let names: Vec<&str> = BUILT_IN.iter().map(|tool| tool.name).collect();
        format!("expected one of {}", names.join(", "))
    }
}

/// The built-in tools, and those that a session offers with a language server, a terminal or a large project.
pub fn all() -> impl Iterator<Item = &'static BuiltIn> {
    const OTHERS: &[BuiltIn] = &[shell::terminal_tool::ROW, search::map::ROW];
    BUILT_IN.iter().chain(code::rows()).chain(OTHERS)
}

/// The tool `name` of [`all`].
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    all().find(|tool| tool.name == name)
}

/// Whether `name` is a tool that only reads, but from the network.
pub fn reads_web(name: &str) -> bool {
    name == WEB_SEARCH || find(name).is_some_and(|known| known.reads_web)
}

/// The tools `names`, or all, working in `workspace`. Always in the order of the table, so that the prompt
/// cache of the provider hits.
pub fn build(workspace: &Arc<Workspace>, names: Option<&[String]>) -> Result<ToolSet, UnknownTool> {
    if let Some(name) = names
        .into_iter()
        .flatten()
        .find(|name| !BUILT_IN.iter().any(|tool| tool.name == **name))
    {
        return Err(UnknownTool { name: name.clone() });
    }
    let is_named = |tool: &str| names.is_none_or(|names| names.iter().any(|name| name == tool));
    // A tool that is another form of other tools comes with them.
    let is_form = |tool: &BuiltIn| tool.is_form && tool.replaces.iter().all(|name| is_named(name));
    let is_wanted = |tool: &&BuiltIn| is_named(tool.name) || is_form(tool);
    let tools = BUILT_IN.iter().filter(is_wanted);
    Ok(tools.map(|tool| tool.make(workspace)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: Option<&[String]>) -> Result<Vec<String>, UnknownTool> {
        let workspace = Arc::new(Workspace::new("/"));
        let tools = build(&workspace, wanted)?;
        Ok(tools.iter().map(|tool| tool.spec().name.clone()).collect())
    }

    #[test]
    fn tools_are_built_by_name_in_table_order() {
        let all: Vec<&str> = BUILT_IN.iter().map(|tool| tool.name).collect();
        assert_eq!(names(None).unwrap(), all);
        let wanted = ["bash".to_owned(), "read".to_owned()];
        assert_eq!(names(Some(&wanted)).unwrap(), ["read", "bash"]);
        let wanted = ["edit".to_owned(), "write".to_owned()];
        assert_eq!(
            names(Some(&wanted)).unwrap(),
            ["write", "edit", "apply_patch"]
        );
        assert_eq!(names(Some(&[])).unwrap(), [""; 0]);
        let error = names(Some(&["rg".to_owned()])).unwrap_err();
        assert_eq!(error.to_string(), "unknown tool `rg`");
        let hint = "expected one of read, write, edit, apply_patch, bash, grep, find, ls, todo, ask_user, web_fetch, exit_plan_mode";
        assert_eq!(error.hint(), hint);
    }

    #[test]
    fn the_schemas_are_valid() {
        let workspace = Arc::new(Workspace::new("/"));
        for tool in build(&workspace, None).unwrap() {
            osier_testing::json_schema::JsonSchema::new(&tool.spec().parameters);
        }
    }
}
