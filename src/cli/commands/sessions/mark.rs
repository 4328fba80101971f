//! `osier sessions pin` and `osier sessions archive`: mark a session.

use super::context::{CommandError, CommandResult, SessionsContext};
use crate::cli::exit::Exit;
use osier_protocol::Mark;
use osier_session::session_index::flags::SessionFlags;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name, id prefix or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Unpin or unarchive the session
    #[arg(long)]
    pub off: bool,
}

pub(super) fn run(
    options: &Options,
    mark: Mark,
    context: &mut SessionsContext<'_>,
) -> CommandResult {
    let path = context.find(&options.session)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let id = stem.as_deref().and_then(|stem| stem.rsplit_once('_'));
    let id = id.map_or_else(|| stem.clone().unwrap_or_default(), |(_, id)| id.into());
    SessionFlags::set(&context.marks, &id, mark, !options.off)
        .map_err(|error| CommandError::Message(error.to_string()))?;
    Ok(Exit::Success)
}
