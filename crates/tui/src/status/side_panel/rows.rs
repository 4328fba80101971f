//! The rows of the side panel: changed files by folder, what runs, and the to-do list. What does not fit is counted.

use std::collections::HashMap;
use std::path::Path;

use crate::status::TodoView;
use osier_base::{text, visible};
use osier_protocol::{
    ChangeKind, ChangedLines, CodeServerInfo, DiagnosticCounts, JobInfo, TerminalInfo,
};
use osier_term::{Face, Row, Span, Token};

/// The target of a click on a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// The changes of a file.
    Changes(String),
    Jobs,
    Terminals,
}

/// The data of other features that the panel shows.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) todo: &'a TodoView,
    pub(crate) servers: &'a [CodeServerInfo],
    /// The working directory.
    pub(crate) cwd: &'a str,
}

/// A row and what a click on it opens.
pub(super) type PanelRow = (Row, Option<Target>);

/// The contents of the panel.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    pub(super) files: &'a [ChangedLines],
    /// Changed files that are not in the list.
    pub(super) more: u64,
    pub(super) jobs: &'a [JobInfo],
    pub(super) terminals: &'a [TerminalInfo],
    pub(super) shared: &'a Shared<'a>,
}

/// A part of the panel: a title and rows.
struct Section {
    title: PanelRow,
    rows: Vec<PanelRow>,
    /// Items that have no row.
    more: u64,
}

impl Contents<'_> {
    /// All rows of a panel of this size, each with the rule at its left.
    pub(super) fn rows(&self, (width, height): (u16, u16)) -> Vec<PanelRow> {
        let (height, inner) = (usize::from(height), usize::from(width).saturating_sub(3));
        let mut below = Vec::new();
        if let Some(section) = self.running(inner) {
            below.extend(gap(section.limited_to((height / 4).max(3), inner)));
        }
        if let Some(section) = self.todo(inner, (height / 3).max(2)) {
            below.extend(gap(section.limited_to(usize::MAX, inner)));
        }
        let room = height.saturating_sub(below.len());
        let mut rows = self.changed_files(inner).limited_to(room, inner);
        rows.extend(below);
        rows.resize_with(height, PanelRow::default);
        for (row, _) in &mut rows {
            row.spans.insert(0, Span::new("│ ", Token::Border));
        }
        rows
    }

    /// The changed files: first the files of the working directory, then each folder with its files.
    fn changed_files(&self, width: usize) -> Section {
        let mut files: Vec<(&str, &str, &ChangedLines)> = self
            .files
            .iter()
            .map(|file| {
                let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
                (folder, name, file)
            })
            .collect();
        files.sort_unstable_by_key(|(folder, name, _)| (*folder, *name));
        let diagnostics = self.diagnostics();
        let mut rows = Vec::new();
        let mut before = "";
        for (folder, name, file) in files {
            if folder != before {
                let shown = text::truncate_start(&clean(folder), width - 1).into_owned();
                rows.push((Row::plain(format!("{shown}/"), Token::Muted), None));
                before = folder;
            }
            let indent = if folder.is_empty() { 0 } else { 2 };
            let path = Path::new(self.shared.cwd).join(&file.path);
            let found = path.to_str().and_then(|path| diagnostics.get(path));
            let row = file_row(name, indent, file, found.copied(), width);
            rows.push((row, Some(Target::Changes(file.path.clone()))));
        }
        if rows.is_empty() {
            rows.push((Row::plain("none", Token::Muted), None));
        }
        let (added, removed) = self.files.iter().fold((0, 0), |(added, removed), file| {
            (added + file.added, removed + file.removed)
        });
        let mut sums = counts(added, removed);
        if self.more > 0 {
            // The sums of the listed files.
            sums.push(Span::new("…", Token::Muted));
        }
        Section {
            title: (titled("Changed files", sums, width), None),
            rows,
            more: self.more,
        }
    }

    /// The diagnostics of the language servers, by absolute path.
    fn diagnostics(&self) -> HashMap<&str, DiagnosticCounts> {
        let mut found: HashMap<&str, DiagnosticCounts> = HashMap::new();
        for file in self.shared.servers.iter().flat_map(|server| &server.files) {
            let counts = found.entry(&file.file_path).or_default();
            counts.errors += file.diagnostics.errors;
            counts.warnings += file.diagnostics.warnings;
        }
        found
    }

    /// Jobs and terminals that run.
    fn running(&self, width: usize) -> Option<Section> {
        let jobs = self
            .jobs
            .iter()
            .map(|job| (&job.id, &job.command, Target::Jobs));
        let terminals = self.terminals.iter().map(|terminal| {
            let TerminalInfo { id, command, .. } = terminal;
            (id, command, Target::Terminals)
        });
        let rows: Vec<PanelRow> = jobs
            .chain(terminals)
            .map(|(id, command, target)| {
                let mut row = Row::plain(format!("{id:<6} "), Token::Working);
                let command = clean(command);
                let room = width.saturating_sub(row.width());
                row.push(text::truncate(&command, room), Token::Text);
                (row, Some(target))
            })
            .collect();
        (!rows.is_empty()).then(|| Section {
            title: (titled("Running", Vec::new(), width), None),
            rows,
            more: 0,
        })
    }

    /// The to-do list in at most `limit` rows.
    fn todo(&self, width: usize, limit: usize) -> Option<Section> {
        let todo = self.shared.todo;
        let (done, all) = todo.progress()?;
        let progress = vec![Span::new(format!("{done}/{all}"), Token::Muted)];
        let rows = todo.rows_up_to(width, limit.saturating_sub(1));
        Some(Section {
            title: (titled("To-do", progress, width), None),
            rows: rows.into_iter().map(|row| (row, None)).collect(),
            more: 0,
        })
    }
}

impl Section {
    /// The title and the rows in at most `limit` rows. The last one counts the items that have none.
    fn limited_to(self, limit: usize, width: usize) -> Vec<PanelRow> {
        let Self {
            title,
            mut rows,
            mut more,
        } = self;
        let room = limit.saturating_sub(1);
        if rows.len() + usize::from(more > 0) > room {
            let cut = rows.split_off(room.saturating_sub(1));
            more += cut.iter().filter(|(_, target)| target.is_some()).count() as u64;
            // A folder whose files are all cut is removed, too.
            if rows.len() > 1 && rows.last().is_some_and(|(_, target)| target.is_none()) {
                rows.pop();
            }
        }
        if more > 0 && limit > 1 {
            let text = text::truncate(&format!("… {more} more"), width).into_owned();
            rows.push((Row::plain(text, Token::Muted), None));
        }
        rows.insert(0, title);
        rows.truncate(limit);
        rows
    }
}

/// A row between two sections.
fn gap(rows: Vec<PanelRow>) -> impl Iterator<Item = PanelRow> {
    std::iter::once(PanelRow::default()).chain(rows)
}

/// A file: its name, its errors and warnings, and its changed lines at the right.
fn file_row(
    name: &str,
    indent: usize,
    file: &ChangedLines,
    diagnostics: Option<DiagnosticCounts>,
    width: usize,
) -> Row {
    let mut right = Vec::new();
    let DiagnosticCounts { errors, warnings } = diagnostics.unwrap_or_default();
    for (count, letter, token) in [(errors, 'E', Token::Error), (warnings, 'W', Token::Warning)] {
        if count > 0 {
            right.push(Span::new(format!("{count}{letter} "), token));
        }
    }
    match (file.added, file.removed, file.kind) {
        (0, 0, ChangeKind::Create) => right.push(Span::new("new", Token::Muted)),
        (0, 0, ChangeKind::Modify) => right.push(Span::new("changed", Token::Muted)),
        (0, 0, ChangeKind::Mode) => right.push(Span::new("mode", Token::Muted)),
        (_, removed, ChangeKind::Remove) => {
            right.push(Span::new("deleted", Token::Muted));
            right.extend(one_count('-', removed));
        }
        (added, removed, _) => right.extend(counts(added, removed)),
    }
    let face = match file.kind {
        ChangeKind::Remove => Token::Muted,
        _ => Token::Text,
    };
    let room = width.saturating_sub(indent + columns(&right) + 1);
    let name = text::truncate(&clean(name), room).into_owned();
    let left = vec![
        Span::new(" ".repeat(indent), Token::Text),
        Span::new(name, face),
    ];
    aligned(left, right, width)
}

/// ` +12 -3` without what is zero.
fn counts(added: u64, removed: u64) -> Vec<Span> {
    let spans = one_count('+', added).chain(one_count('-', removed));
    spans.collect()
}

fn one_count(sign: char, count: u64) -> impl Iterator<Item = Span> {
    let token = match sign {
        '+' => Token::Success,
        _ => Token::Error,
    };
    (count > 0)
        .then(|| Span::new(format!(" {sign}{count}"), token))
        .into_iter()
}

fn titled(title: &str, right: Vec<Span>, width: usize) -> Row {
    aligned(
        vec![Span::new(title, Face::bold(Token::Title))],
        right,
        width,
    )
}

/// `left` at the left, `right` at the right.
fn aligned(left: Vec<Span>, right: Vec<Span>, width: usize) -> Row {
    let gap = width.saturating_sub(columns(&left) + columns(&right));
    let mut row = Row::new(left);
    row.push(" ".repeat(gap), Token::Text);
    row.spans.extend(right);
    row
}

fn columns(spans: &[Span]) -> usize {
    spans.iter().map(|span| text::width(&span.text)).sum()
}

/// A name or command, which can contain anything, on one line.
fn clean(name: &str) -> String {
    text::single_line(&visible::visible(name))
}
