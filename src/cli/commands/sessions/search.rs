//! `osier sessions search`.

use std::io::IsTerminal as _;

use tokio_util::sync::CancellationToken;

use super::filter::FilterArgs;
use super::table::{age, directory, plain, short_id};
use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_base::{clock, text};
use osier_index::{Depth, Hit, HitText};

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Words that stand close together, "several words" as one; a word without capitals finds them too
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only in this directory
    #[arg(long, conflicts_with_all = ["all", "directory"])]
    pub here: bool,

    /// At most so many sessions
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,

    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let query = options.query.join(" ");
    let filter = options.filter.filter(desk, !options.here);
    let index = desk.index(Depth::Words)?;
    let found = index.search(&query, &filter, options.limit, &CancellationToken::new())?;
    if options.json {
        for hit in &found.hits {
            desk.json(hit)?;
        }
    } else {
        let now = clock::now_ms();
        let colour = desk.width.is_some() && std::io::stdout().is_terminal();
        let width = desk.width.unwrap_or(usize::MAX >> 1);
        for hit in &found.hits {
            for line in described(hit, now, width, colour) {
                desk.line(&line)?;
            }
        }
        if found.cut && desk.width.is_some() {
            desk.line("… there may be more: say more words, or a higher `--limit`")?;
        }
    }
    if found.hits.is_empty() {
        if desk.width.is_some() && !options.json {
            desk.line(&format!("nothing was found for `{}`", plain(&query)))?;
        }
        // As with grep.
        return Ok(Exit::Failure);
    }
    Ok(Exit::Success)
}

fn described(hit: &Hit, now: i64, width: usize, colour: bool) -> [String; 2] {
    let session = &hit.session;
    let id = if width < 1000 {
        short_id(&session.id)
    } else {
        &session.id
    };
    let head = format!(
        "{id}  {}  {}  {}",
        age(session.active, now),
        directory(&session.cwd),
        plain(session.title())
    );
    let head = text::truncate(&head, width).into_owned();
    let label = format!("    {}: ", hit.source.word());
    let room = width.saturating_sub(text::width(&label));
    [head, format!("{label}{}", marked(&hit.text, room, colour))]
}

/// The text, as much as fits, with its matches in bold.
fn marked(found: &HitText, room: usize, colour: bool) -> String {
    let shown = text::take_width(&found.text, room);
    if !colour {
        return shown.to_owned();
    }
    let mut line = String::new();
    let mut at = 0;
    for (start, end) in found.marks.iter().filter(|(_, end)| *end <= shown.len()) {
        line.push_str(&shown[at..*start]);
        line.push_str("\x1b[1m");
        line.push_str(&shown[*start..*end]);
        line.push_str("\x1b[22m");
        at = *end;
    }
    line.push_str(&shown[at..]);
    line
}
