//! The LLM proxy of `osier serve`: its users and its models.

use std::io::Write as _;

use super::exit::Exit;
use osier_base::terminal_output;
use osier_base::text::counted;
use osier_proxy::{LlmProxy, UserRules, UserStore as _, Users, UsersError, dollars};
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
        /// Limit the number of calls at the same time [default: 32]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        calls: Option<u32>,
        /// Allow only this model, `PROVIDER/ID` or `PROVIDER/*`; repeatable
        #[arg(long, value_name = "MODEL")]
        model: Vec<String>,
    },
    /// Replace the token of a user and print the new one; the usage stays
    Token {
        /// Replace the token of this user
        #[arg(value_name = "NAME")]
        name: String,
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
    let settled = users.settle_interrupted();
    settled.map_err(|error| error.to_string())?;
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
        UsersCommand::Add {
            name,
            limit,
            calls,
            model,
        } => {
            if limit.is_some_and(|limit| !limit.is_finite() || limit < 0.0) {
                return Err(
                    "invalid `--limit`; expected an amount in dollars, such as `20` or `2.5`"
                        .to_owned(),
                );
            }
            if let Some(wrong) = model.iter().find(|model| !model.contains('/')) {
                return Err(format!(
                    "invalid model `{wrong}`; expected `PROVIDER/ID` or `PROVIDER/*`"
                ));
            }
            let rules = UserRules {
                limit: *limit,
                calls: *calls,
                models: model.clone(),
            };
            let token = users.add(name, &rules).map_err(text)?;
            let _ = writeln!(out, "{token}");
        }
        UsersCommand::Token { name } => {
            let token = users.replace_token(name).map_err(text)?;
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
                let limit = row
                    .rules
                    .limit
                    .map(|limit| format!(" of {}", dollars(limit)));
                let _ = writeln!(
                    out,
                    "{}  this month {}{}, {}, {} tokens; total {}",
                    row.name,
                    dollars(row.month.cost),
                    limit.unwrap_or_default(),
                    counted(row.month.calls, "call", "calls"),
                    row.month.tokens,
                    dollars(row.all.cost),
                );
            }
        }
    }
    Ok(Exit::Success)
}
