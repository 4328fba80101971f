//! Places as text for the model, with their lines as far as the model may read them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use osier_base::text::{head_bytes, sanitize};
use osier_base::{real_path, regular_file};
use osier_lsp::{Lines, Place, Symbol};

use crate::workspace::{ReadFilter, Workspace};

/// Bytes of a file from which lines are shown.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;
/// Bytes of a shown line.
const LINE_BYTES: usize = 200;
/// Lines from the start of a definition.
const DEFINITION_LINES: u32 = 10;

/// Reads lines of files.
struct Sources<'w> {
    workspace: &'w Workspace,
    filter: ReadFilter,
    texts: HashMap<PathBuf, Option<String>>,
}

impl<'w> Sources<'w> {
    fn new(workspace: &'w Workspace) -> Self {
        Self {
            workspace,
            filter: workspace.read_filter(),
            texts: HashMap::new(),
        }
    }

    /// The lines of a file from `first`, from 1.
    fn lines(&mut self, path: &Path, first: u32, count: u32) -> Vec<String> {
        let filter = &self.filter;
        let text = self.texts.entry(path.to_owned()).or_insert_with(|| {
            let real = real_path::resolve(path).real;
            let text = filter(&real).then(|| regular_file::read(&real, FILE_LIMIT).ok());
            String::from_utf8(text.flatten()?).ok()
        });
        let Some(text) = text else { return Vec::new() };
        let lines = Lines::new(text);
        let first = first.saturating_sub(1) as usize;
        let shown = (first..first.saturating_add(count as usize)).map_while(|line| {
            let line = lines.line(line)?;
            Some(head_bytes(&sanitize(line), LINE_BYTES).to_owned())
        });
        shown.collect()
    }

    fn name(&self, path: &Path) -> String {
        self.workspace.display(path)
    }
}

/// Definitions, each with its first lines. Blocks.
pub(super) fn definitions(workspace: &Workspace, places: &[Place]) -> String {
    let mut sources = Sources::new(workspace);
    let mut text = String::new();
    for place in places {
        let (name, line) = (sources.name(&place.path), place.line);
        let _ = writeln!(text, "{name}:{line}");
        let lines = sources.lines(&place.path, line, DEFINITION_LINES);
        for (number, source) in (line..).zip(lines) {
            let _ = writeln!(text, "{number:>6}\t{source}");
        }
    }
    text
}

/// Uses by file, each with its line. Blocks.
pub(super) fn references(workspace: &Workspace, places: &[Place], count: usize) -> String {
    let mut sources = Sources::new(workspace);
    let mut sorted = places.to_vec();
    osier_base::sort::by_key(&mut sorted, Clone::clone);
    let mut text = String::new();
    let mut file: Option<&Path> = None;
    for place in &sorted {
        if file != Some(&place.path) {
            file = Some(&place.path);
            let _ = writeln!(text, "{}", sources.name(&place.path));
        }
        let source = sources.lines(&place.path, place.line, 1).pop();
        let source = source.unwrap_or_default();
        let _ = writeln!(text, "{:>6}\t{}", place.line, source.trim());
    }
    more(&mut text, count, places.len());
    text
}

/// The outline of a file, or the results of a search.
pub(super) fn symbols(workspace: &Workspace, symbols: &[Symbol], count: usize) -> String {
    let mut text = String::new();
    for symbol in symbols {
        let Symbol {
            name, kind, line, ..
        } = symbol;
        // Writing to a string cannot fail.
        let _ = if let Some(path) = &symbol.path {
            let container = match symbol.container.as_str() {
                "" => String::new(),
                container => format!(" in {container}"),
            };
            let path = workspace.display(path);
            writeln!(text, "{kind} {name}{container} {path}:{line}")
        } else {
            let indent = "  ".repeat(symbol.depth);
            writeln!(text, "{indent}{kind} {name} {line}-{}", symbol.end)
        };
    }
    more(&mut text, count, symbols.len());
    text
}

fn more(text: &mut String, count: usize, shown: usize) {
    if let Some(more @ 1..) = count.checked_sub(shown) {
        let _ = writeln!(text, "[{more} more are not shown]");
    }
}
