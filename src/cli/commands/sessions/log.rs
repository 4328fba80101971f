//! `osier log`: prints the log of a session.

use super::context::{CommandResult, SessionsContext};
use crate::cli::commands::table::plain;
use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_session::run_log;
use osier_store::summarize;

#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name, id prefix or file; by default the newest of this directory
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(
    options: &Options,
    folders: &Folders,
    context: &mut SessionsContext<'_>,
) -> CommandResult {
    let id = match &options.session {
        Some(session) => Some(summarize(&context.find(session)?)?.id),
        None => context
            .directory
            .latest(context.cwd)?
            .map(|latest| latest.id),
    };
    let Some(id) = id else {
        return Err(
            "no session is stored for this directory; name one, or see `osier sessions --all`"
                .to_owned()
                .into(),
        );
    };
    for line in run_log::read(&folders.outputs().join(id)) {
        if options.json {
            context.print_json(&line)?;
        } else {
            context.print(&plain(&line.shown()))?;
        }
    }
    Ok(Exit::Success)
}
