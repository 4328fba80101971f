//! The LLM proxy of `osier serve`: its users and its models.

use std::io::Write as _;

use super::exit::Exit;
use osier_base::terminal_output;
use osier_base::text::counted;
use osier_proxy::{LlmProxy, Users, UsersError};
use osier_session::SessionSetup;

#[derive(Debug, Clone, clap::Subcommand)]
pub(super) enum UsersCommand {
    /// Add a user and print the token, which is not shown again
    Add {
        /// Name the user
        #[arg(value_name = "NAME")]
        name: String,
        /// Limit the cost per month, in US dollars
        #[arg(long, value_name = "DOLLARS")]
        limit: Option<f64>,
    },
    /// List the users and their usage
    List,
    /// Remove a user and the recorded usage
    Rm {
        /// Remove the user of this name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Opens the proxy that a server runs with `--proxy`.
///
/// # Errors
/// The users or the models cannot be read.
pub(super) fn open(setup: &SessionSetup) -> Result<LlmProxy, String> {
    let users = Users::open(&setup.folders.data).map_err(|error| error.to_string())?;
    LlmProxy::new(setup, users).map_err(|error| error.to_string())
}

/// Runs `osier serve users`.
///
/// # Errors
/// A limit or a user is invalid.
pub(super) fn users(command: &UsersCommand, setup: &SessionSetup) -> Result<Exit, String> {
    let text = |error: UsersError| error.to_string();
    let users = Users::open(&setup.folders.data).map_err(text)?;
    let mut out = terminal_output::stdout();
    // The result does not depend on a closed standard output.
    match command {
        UsersCommand::Add { name, limit } => {
            if limit.is_some_and(|limit| !limit.is_finite() || limit < 0.0) {
                return Err(
                    "invalid `--limit`; expected an amount in dollars, such as `20` or `2.5`"
                        .to_owned(),
                );
            }
            let token = users.add(name, *limit).map_err(text)?;
            let _ = writeln!(out, "{token}");
        }
        UsersCommand::Rm { name } => {
            users.remove(name).map_err(text)?;
            let _ = writeln!(out, "removed `{name}`");
        }
        UsersCommand::List => {
            let rows = users.list().map_err(text)?;
            if rows.is_empty() {
                let _ = writeln!(out, "no users; add one with `osier serve users add NAME`");
            }
            for row in rows {
                let limit = row.limit.map(|limit| format!(" of ${limit:.2}"));
                let _ = writeln!(
                    out,
                    "{}  this month ${:.4}{}, {}, {} tokens; total ${:.4}",
                    row.name,
                    row.month.cost,
                    limit.unwrap_or_default(),
                    counted(row.month.calls, "call", "calls"),
                    row.month.tokens,
                    row.all.cost,
                );
            }
        }
    }
    Ok(Exit::Success)
}
