//! `osier sessions search`: searches the text of all sessions.

use std::io;

use tokio_util::sync::CancellationToken;

use super::context::{CommandResult, SessionsContext};
use super::filter::FilterArgs;
use crate::cli::commands::table::{age, directory, plain, short_id};
use crate::cli::exit::Exit;
use osier_base::terminal_output::StyledWrite;
use osier_base::{clock, text};
use osier_index::{Depth, Hit};
use osier_protocol::HitText;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Find these words close to one another; quote a phrase; lower case also matches upper case
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Search only the sessions of this directory
    #[arg(long, conflicts_with_all = ["all", "directory"])]
    pub here: bool,

    /// Limit the number of sessions
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let query = options.query.join(" ");
    let filter = options.filter.filter(context, !options.here);
    let cancel = CancellationToken::new();
    let found = context.query(Depth::Soon, |index| {
        index.search(&query, &filter, options.limit, &cancel)
    })?;
    if options.json {
        for hit in &found.hits {
            context.print_json(hit)?;
        }
    } else {
        let now = clock::now_ms();
        let width = context.width.unwrap_or(usize::MAX >> 1);
        for hit in &found.hits {
            let (header, label) = described(hit, now, width);
            context.print(&header)?;
            let available = width.saturating_sub(text::width(&label));
            print_highlighted(context.out, &label, &hit.text, available)?;
        }
        if found.cut && context.width.is_some() {
            context.print("… there may be more; add words or raise `--limit`")?;
        }
    }
    if found.hits.is_empty() {
        if context.width.is_some() && !options.json {
            context.print(&format!("no matches for `{}`", plain(&query)))?;
        }
        // The exit code of grep.
        return Ok(Exit::Failure);
    }
    Ok(Exit::Success)
}

/// The line about the session, and what precedes the text.
fn described(hit: &Hit, now: i64, width: usize) -> (String, String) {
    let session = &hit.session;
    let id = if width < 1000 {
        short_id(&session.id)
    } else {
        &session.id
    };
    let header = format!(
        "{id}  {}  {}  {}",
        age(session.active, now),
        directory(&session.cwd),
        plain(&session.list_title())
    );
    let header = text::truncate(&header, width).into_owned();
    (header, format!("    {}: ", hit.source.word()))
}

/// Prints the start of the text that fits into `width`, with its matches in bold.
fn print_highlighted(
    out: &mut dyn StyledWrite,
    label: &str,
    found: &HitText,
    width: usize,
) -> io::Result<()> {
    let shown = text::prefix_of_width(&found.text, width);
    write!(out, "{label}")?;
    let mut at = 0;
    for (start, end) in found.marks.iter().filter(|(_, end)| *end <= shown.len()) {
        write!(out, "{}", &shown[at..*start])?;
        out.styled("\x1b[1m", &shown[*start..*end], "\x1b[22m")?;
        at = *end;
    }
    writeln!(out, "{}", &shown[at..])
}
