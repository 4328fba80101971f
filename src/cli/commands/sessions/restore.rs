//! `osier sessions restore`: lists the trash and restores sessions from it.

use super::context::{CommandResult, SessionsContext};
use crate::cli::commands::table::plain;
use crate::cli::exit::Exit;
use osier_index::Trashed;
use osier_store::SessionError;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Restore the session of this name or id prefix; without it, list the trash, newest first
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let trash = context.library.trash();
    let deleted = trash.list();
    let Some(query) = &options.session else {
        for session in &deleted {
            let directory = plain(&session.summary.cwd);
            context.print(&format!(
                "{}  {directory}  {}",
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
    // Keep the newest copy of a session that was deleted twice.
    found.dedup_by(|one, other| one.id == other.id);
    match found[..] {
        [only] => {
            let path = trash.restore(&only.path)?;
            context.print(&path.display().to_string())?;
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
