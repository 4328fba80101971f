//! `osier sessions tree`: prints the tree of a session with the ids of its entries, which `osier rewind` accepts.

use super::context::{CommandResult, SessionsContext};
use crate::cli::exit::Exit;
use osier_base::text;
use osier_protocol::Tag;
use osier_store::Reading;
use serde::Serialize;

/// Bytes of the text of an entry.
const TEXT: usize = 2_000;
/// Columns of the first line of an entry.
const LINE: usize = 100;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Print the tree of the session with this id, id prefix, name or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Print one JSON object per entry
    #[arg(long)]
    pub json: bool,
}

/// An entry of the tree.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    /// The nearest listed entry above it.
    parent_id: Option<String>,
    kind: Tag,
    by: String,
    timestamp: String,
    text: String,
    label: Option<String>,
    /// The number of branches around the entry.
    level: usize,
    /// Whether the entry is on the branch of the conversation.
    on_branch: bool,
    /// Whether the conversation continues at the entry.
    current: bool,
    hidden: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let reading = Reading::open(&context.find(&options.session)?)?;
    for row in rows(&reading) {
        if options.json {
            context.print_json(&row)?;
        } else {
            context.print(&line(&row))?;
        }
    }
    Ok(Exit::Success)
}

/// The rows in the order of the session tree: the branch of the conversation first.
fn rows(reading: &Reading) -> Vec<Row> {
    let count = reading.count();
    let is_shown = |number: u32| {
        let tag = reading.tag(number);
        tag.is_shown() && tag != Tag::Reminder
    };
    let path = reading.path(reading.leaf());
    let current = path.iter().rev().copied().find(|number| is_shown(*number));
    let on_branch = |number: &u32| path.binary_search(number).is_ok();
    // The nearest shown ancestor, itself included.
    let mut nearest: Vec<Option<u32>> = Vec::new();
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
    let mut roots = Vec::new();
    let mut hidden: Vec<bool> = Vec::new();
    for number in 0..count {
        let parent = reading
            .parent(number)
            .filter(|_| reading.tag(number) != Tag::Leaf);
        let above = parent.and_then(|parent| nearest[parent as usize]);
        let is_below = parent.is_some_and(|parent| hidden[parent as usize]);
        hidden.push(is_below || reading.is_hidden(number));
        if is_shown(number) {
            match above {
                Some(above) => children[above as usize].push(number),
                None => roots.push(number),
            }
            nearest.push(Some(number));
        } else {
            nearest.push(above);
        }
    }
    let mut rows = Vec::new();
    let mut waiting: Vec<(u32, Option<u32>, usize)> = Vec::new();
    let wait = |waiting: &mut Vec<(u32, Option<u32>, usize)>,
                mut siblings: Vec<u32>,
                parent: Option<u32>,
                level: usize| {
        let level = level + usize::from(siblings.len() > 1);
        siblings.sort_by_key(|number| !on_branch(number));
        let next = siblings.into_iter().rev();
        waiting.extend(next.map(|number| (number, parent, level)));
    };
    wait(&mut waiting, roots, None, 0);
    while let Some((number, parent, level)) = waiting.pop() {
        let id = reading.id(number);
        let glimpse = reading.glimpse(number, TEXT).unwrap_or_default();
        rows.push(Row {
            parent_id: parent.map(|parent| reading.id(parent)),
            kind: reading.tag(number),
            by: glimpse.by,
            timestamp: glimpse.timestamp,
            text: glimpse.text,
            label: reading.label(&id).map(str::to_owned),
            level,
            on_branch: on_branch(&number),
            current: current == Some(number),
            hidden: hidden[number as usize],
            id,
        });
        let below = std::mem::take(&mut children[number as usize]);
        wait(&mut waiting, below, Some(number), level);
    }
    rows
}

fn line(row: &Row) -> String {
    let mark = if row.on_branch { "*" } else { " " };
    let indent = "  ".repeat(row.level);
    let by: &str = match row.kind {
        Tag::User => "you",
        Tag::Compaction | Tag::BranchSummary => "summary",
        _ if row.by.is_empty() => "note",
        _ => &row.by,
    };
    let label = row.label.as_ref();
    let label = label.map_or_else(String::new, |label| format!("[{label}] "));
    let first = row.text.lines().find(|line| !line.trim().is_empty());
    let first = text::single_line(&text::sanitize(first.unwrap_or_default().trim()));
    let first = text::truncate(&first, LINE);
    let end = match (row.current, row.hidden) {
        (true, _) => " (current)",
        (_, true) => " (hidden)",
        _ => "",
    };
    format!("{}  {indent}{mark} {by}: {label}{first}{end}", row.id)
}
