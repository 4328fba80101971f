//! `osier sessions restore`: what is in the trash, and back with it.

use super::table::plain;
use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_index::Trashed;
use osier_store::SessionError;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Its name or the start of its id; without one, lists the trash, the last deleted first
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let trash = desk.library.trash();
    let deleted = trash.list();
    let Some(query) = &options.session else {
        for session in &deleted {
            let place = plain(&session.summary.cwd);
            desk.line(&format!(
                "{}  {place}  {}",
                session.id,
                plain(title(session))
            ))?;
        }
        return Ok(Exit::Success);
    };
    let matching = |session: &&Trashed| {
        session.id.starts_with(query.as_str()) || session.summary.name.as_deref() == Some(query)
    };
    let mut found: Vec<&Trashed> = deleted.iter().filter(matching).collect();
    // Of one that was deleted twice, the last.
    found.dedup_by(|one, other| one.id == other.id);
    match found[..] {
        [only] => {
            let path = trash.restore(&only.path)?;
            desk.line(&path.display().to_string())?;
            Ok(Exit::Success)
        }
        [] => Err(format!(
            "no deleted session matches `{query}`; `osier sessions restore` lists the trash"
        )
        .into()),
        _ => Err(SessionError::Ambiguous {
            query: query.clone(),
            candidates: found.iter().map(|session| session.id.clone()).collect(),
        }
        .into()),
    }
}

fn title(session: &Trashed) -> &str {
    let summary = &session.summary;
    let named = summary.name.as_deref().or(summary.first_prompt.as_deref());
    named.unwrap_or("(empty)")
}
