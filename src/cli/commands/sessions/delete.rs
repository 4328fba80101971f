//! `osier sessions delete`: to the trash, from where it comes back.

use super::{Answer, Desk};
use crate::cli::exit::Exit;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Their names, the starts of their ids, or their files
    #[arg(value_name = "SESSION", required = true)]
    pub sessions: Vec<String>,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    // All of them are found before one goes.
    let paths: Result<Vec<_>, _> = options
        .sessions
        .iter()
        .map(|query| desk.find(query))
        .collect();
    let trash = desk.library.trash();
    for path in paths? {
        let there = trash.delete(&path)?;
        let id = there
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let id = id
            .rsplit_once('_')
            .map_or(id.as_str(), |(_, id)| id)
            .to_owned();
        desk.line(&format!(
            "deleted; `osier sessions restore {id}` brings it back"
        ))?;
    }
    Ok(Exit::Success)
}
