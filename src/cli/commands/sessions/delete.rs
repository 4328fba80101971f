//! `osier sessions delete`: moves sessions to the trash.

use super::context::{CommandResult, SessionsContext};
use crate::cli::exit::Exit;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the sessions by name, id prefix or file
    #[arg(value_name = "SESSION", required = true)]
    pub sessions: Vec<String>,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    // Find all of them before the first is deleted.
    let paths: Result<Vec<_>, _> = options
        .sessions
        .iter()
        .map(|query| context.find(query))
        .collect();
    let trash = context.library.trash();
    for path in paths? {
        let deleted = trash.delete(&path)?;
        let id = deleted
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let id = id
            .rsplit_once('_')
            .map_or(id.as_str(), |(_, id)| id)
            .to_owned();
        context.print(&format!(
            "deleted; restore it with `osier sessions restore {id}`"
        ))?;
    }
    Ok(Exit::Success)
}
