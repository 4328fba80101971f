//! `osier sessions path`: where things are, for scripts.

use super::{Answer, Desk};
use crate::cli::exit::Exit;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Its name, the start of its id; without one, the directory of all sessions
    #[arg(value_name = "SESSION", conflicts_with_all = ["index", "trash"])]
    pub session: Option<String>,

    /// The index instead
    #[arg(long)]
    pub index: bool,

    /// The trash instead
    #[arg(long, conflicts_with = "index")]
    pub trash: bool,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let path = match &options.session {
        Some(query) => desk.find(query)?,
        None if options.index => desk.library.index_file(),
        None if options.trash => desk.library.trash().root().to_owned(),
        None => desk.directory.root().to_owned(),
    };
    desk.line(&path.display().to_string())?;
    Ok(Exit::Success)
}
