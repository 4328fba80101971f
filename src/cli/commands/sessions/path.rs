//! `osier sessions path`: prints paths for scripts.

use super::context::{CommandResult, SessionsContext};
use crate::cli::exit::Exit;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name or id prefix; by default the directory of all sessions
    #[arg(value_name = "SESSION", conflicts_with_all = ["index", "trash"])]
    pub session: Option<String>,

    /// Print the path of the index
    #[arg(long)]
    pub index: bool,

    /// Print the path of the trash
    #[arg(long, conflicts_with = "index")]
    pub trash: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let path = match &options.session {
        Some(query) => context.find(query)?,
        None if options.index => context.library.index_file(),
        None if options.trash => context.library.trash().root().to_owned(),
        None => context.directory.root().to_owned(),
    };
    context.print(&path.display().to_string())?;
    Ok(Exit::Success)
}
