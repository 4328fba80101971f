//! `osier sessions rename`: sets or removes the name of a session.

use super::context::{CommandResult, SessionsContext};
use crate::cli::exit::Exit;
use osier_store::rename;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name, id prefix or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Set this name; an empty one removes the name
    #[arg(value_name = "NAME")]
    pub name: String,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let path = context.find(&options.session)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| format!("cannot start the async runtime: {error}"))?;
    runtime.block_on(rename(&path, Some(&options.name)))?;
    Ok(Exit::Success)
}
