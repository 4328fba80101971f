//! `osier sessions list`: lists sessions as a table, as text or as JSON.

use serde::Serialize;
use std::path::Path;

use super::context::{CommandResult, SessionsContext};
use super::filter::{FilterArgs, Order};
use crate::cli::commands::table::{age, directory, money, plain, render, short_id, time};
use crate::cli::exit::Exit;
use osier_base::{clock, text};
use osier_index::{Depth, SessionFilter};
use osier_protocol::{Mark, SessionRow};
use osier_session::session_index::flags::SessionFlags;

/// The default number of rows on a terminal.
const DEFAULT_ROWS: usize = 50;

/// Marks the title of a pinned session.
const PIN: &str = "▲ ";

#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Sort the sessions
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    pub sort: Order,

    /// Limit the number of sessions; 50 by default on a terminal
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// List only the archived sessions, which are otherwise hidden
    #[arg(long)]
    pub archived: bool,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let marks = SessionFlags::read(&context.marks);
    let filter = SessionFilter {
        sort: options.sort.into(),
        first: marks.pinned.iter().cloned().collect(),
        apart: marks.archived.iter().cloned().collect(),
        only_apart: options.archived,
        ..options.filter.filter(context, false)
    };
    let default = if context.width.is_some() && !options.json {
        DEFAULT_ROWS
    } else {
        usize::MAX >> 1
    };
    let limit = options.limit.unwrap_or(default);
    let listing = context.query(Depth::Rows, |index| index.list(&filter, 0, limit))?;
    if options.json {
        for row in &listing.rows {
            context.print_json(&SessionJson {
                session: row,
                pinned: marks.has(Mark::Pinned, &row.id),
                archived: marks.has(Mark::Archived, &row.id),
                missing: is_missing(row),
            })?;
        }
        return Ok(Exit::Success);
    }
    let Some(width) = context.width else {
        for row in &listing.rows {
            let title = plain(&row.list_title());
            let title = text::truncate(&title, 80);
            let when = time(row.active);
            let (cwd, missing) = (plain(&row.cwd), missing_mark(row));
            context.print(&format!("{}  {when}  {cwd}{missing}  {title}", row.id))?;
        }
        return Ok(Exit::Success);
    };
    if listing.rows.is_empty() {
        context.print(empty_text(&filter, !marks.archived.is_empty()))?;
        return Ok(Exit::Success);
    }
    let is_elsewhere = |row: &SessionRow| Some(&row.cwd) != filter.cwd.as_ref() && is_missing(row);
    let with_directory = filter.cwd.is_none() || listing.rows.iter().any(is_elsewhere);
    for line in table(&listing.rows, &marks, with_directory, width) {
        context.print(&line)?;
    }
    let more = listing.total - listing.rows.len();
    if more > 0 {
        context.print(&format!(
            "… {more} more; show all with `--limit {}`",
            listing.total
        ))?;
    }
    Ok(Exit::Success)
}

/// A session in the JSON output.
#[derive(Serialize)]
struct SessionJson<'a> {
    #[serde(flatten)]
    session: &'a SessionRow,
    pinned: bool,
    archived: bool,
    /// Its directory does not exist here.
    missing: bool,
}

fn is_missing(session: &SessionRow) -> bool {
    !session.cwd.is_empty() && !Path::new(&session.cwd).is_dir()
}

/// The mark of a directory that does not exist here.
fn missing_mark(session: &SessionRow) -> &'static str {
    if is_missing(session) {
        " (missing)"
    } else {
        ""
    }
}

/// The text of an empty list.
fn empty_text(filter: &SessionFilter, some_archived: bool) -> &'static str {
    if filter.only_apart {
        return "no archived sessions";
    }
    let plain = SessionFilter {
        cwd: filter.cwd.clone(),
        sort: filter.sort,
        first: filter.first.clone(),
        apart: filter.apart.clone(),
        ..SessionFilter::default()
    };
    match (&filter.cwd, *filter == plain) {
        (Some(_), true) => "no sessions in this directory; list all with `--all`",
        (None, true) if some_archived => "all sessions are archived; list them with `--archived`",
        (None, true) => "no sessions yet",
        (_, false) => "no matching sessions",
    }
}

/// The rows of the table, with a column for the directory if `with_directory` is set.
fn table(
    sessions: &[SessionRow],
    marks: &SessionFlags,
    with_directory: bool,
    width: usize,
) -> Vec<String> {
    let now = clock::now_ms();
    let mut headers = vec!["ID", "USED", "PROMPTS", "COST"];
    if with_directory {
        headers.push("DIRECTORY");
    }
    headers.push("SESSION");
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| {
            let prompts = if session.whole {
                session.prompts.to_string()
            } else {
                "…".to_owned()
            };
            let mut row = vec![
                short_id(&session.id).to_owned(),
                age(session.active, now),
                prompts,
                money(session.cost),
            ];
            if with_directory {
                let directory = directory(&session.cwd) + missing_mark(session);
                row.push(text::truncate_start(&directory, width / 4).into_owned());
            }
            let pinned = marks.has(Mark::Pinned, &session.id);
            let pin = if pinned { PIN } else { "" };
            row.push(format!("{pin}{}", plain(&session.list_title())));
            row
        })
        .collect();
    render(&headers, &[1, 2, 3], &rows, width)
}
