//! `osier sessions pin` and `osier sessions archive`.

use super::{Answer, Desk, Failed};
use crate::cli::exit::Exit;
use osier_session::marks::{Mark, Marks};

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Its name, the start of its id, or its file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// No longer
    #[arg(long)]
    pub off: bool,
}

pub(super) fn run(options: &Options, mark: Mark, desk: &mut Desk<'_>) -> Answer {
    let path = desk.find(&options.session)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let id = stem.as_deref().and_then(|stem| stem.rsplit_once('_'));
    let id = id.map_or_else(|| stem.clone().unwrap_or_default(), |(_, id)| id.into());
    Marks::set(&desk.marks, &id, mark, !options.off)
        .map_err(|error| Failed::Told(error.to_string()))?;
    Ok(Exit::Success)
}
