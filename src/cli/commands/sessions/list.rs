//! `osier sessions list`.

use serde::Serialize;

use super::filter::{FilterArgs, Order};
use super::table::{age, directory, money, plain, render, short_id, time};
use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_base::{clock, text};
use osier_index::{Depth, SessionFilter, SessionRow};
use osier_session::marks::{Mark, Marks};

/// Rows on a terminal when no other number is given.
const USUAL: usize = 50;

/// Stands before the title of a session that is pinned.
const PIN: &str = "▲ ";

#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// In this order
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    pub sort: Order,

    /// At most so many; on a terminal 50 when not given
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Those that are archived, and no others; else they are left out
    #[arg(long)]
    pub archived: bool,

    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let marks = Marks::read(&desk.marks);
    let filter = SessionFilter {
        sort: options.sort.into(),
        first: marks.pinned.iter().cloned().collect(),
        apart: marks.archived.iter().cloned().collect(),
        only_apart: options.archived,
        ..options.filter.filter(desk, false)
    };
    let usual = if desk.width.is_some() && !options.json {
        USUAL
    } else {
        usize::MAX >> 1
    };
    let limit = options.limit.unwrap_or(usual);
    let listing = desk.index(Depth::Rows)?.list(&filter, 0, limit)?;
    if options.json {
        for row in &listing.rows {
            desk.json(&Listed {
                session: row,
                pinned: marks.has(Mark::Pinned, &row.id),
                archived: marks.has(Mark::Archived, &row.id),
            })?;
        }
        return Ok(Exit::Success);
    }
    let Some(width) = desk.width else {
        for row in &listing.rows {
            let title = plain(row.title());
            let title = text::truncate(&title, 80);
            let when = time(row.active);
            desk.line(&format!("{}  {when}  {}  {title}", row.id, plain(&row.cwd)))?;
        }
        return Ok(Exit::Success);
    };
    if listing.rows.is_empty() {
        desk.line(nothing(&filter, !marks.archived.is_empty()))?;
        return Ok(Exit::Success);
    }
    for line in on_terminal(&listing.rows, &marks, filter.cwd.is_none(), width) {
        desk.line(&line)?;
    }
    let more = listing.total - listing.rows.len();
    if more > 0 {
        desk.line(&format!(
            "… and {more} more: `--limit {}` shows all",
            listing.total
        ))?;
    }
    Ok(Exit::Success)
}

/// A session as a line of JSON.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    session: &'a SessionRow,
    pinned: bool,
    archived: bool,
}

/// What is said instead of an empty list.
fn nothing(filter: &SessionFilter, some_archived: bool) -> &'static str {
    if filter.only_apart {
        return "nothing is archived here";
    }
    let plain = SessionFilter {
        cwd: filter.cwd.clone(),
        sort: filter.sort,
        first: filter.first.clone(),
        apart: filter.apart.clone(),
        ..SessionFilter::default()
    };
    match (&filter.cwd, *filter == plain) {
        (Some(_), true) => {
            "no session ran in this directory; `--all` lists those of every directory"
        }
        (None, true) if some_archived => "every session is archived; `--archived` lists them",
        (None, true) => "no session is stored yet",
        (_, false) => "no session matches",
    }
}

/// The rows as a table, with their directories when they are of several.
fn on_terminal(
    sessions: &[SessionRow],
    marks: &Marks,
    with_directory: bool,
    width: usize,
) -> Vec<String> {
    let now = clock::now_ms();
    let mut heads = vec!["ID", "USED", "PROMPTS", "COST"];
    if with_directory {
        heads.push("DIRECTORY");
    }
    heads.push("SESSION");
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
                let place = directory(&session.cwd);
                row.push(text::truncate_start(&place, width / 4).into_owned());
            }
            let pinned = marks.has(Mark::Pinned, &session.id);
            let pin = if pinned { PIN } else { "" };
            row.push(format!("{pin}{}", plain(session.title())));
            row
        })
        .collect();
    render(&heads, &[1, 2, 3], &rows, width)
}
