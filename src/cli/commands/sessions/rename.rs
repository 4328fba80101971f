//! `osier sessions rename`.

use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_store::rename;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Its name, the start of its id, or its file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// The new name; an empty one takes the name away
    #[arg(value_name = "NAME")]
    pub name: String,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let path = desk.find(&options.session)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| format!("the runtime cannot start: {error}"))?;
    runtime.block_on(rename(&path, Some(&options.name)))?;
    Ok(Exit::Success)
}
