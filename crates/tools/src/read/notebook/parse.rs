//! Finds the cells of a notebook and their places in the file.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Bytes of a notebook at most: images make them large.
pub(crate) const LIMIT: u64 = 64 * 1024 * 1024;

/// A notebook as it is in its file.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    pub(crate) text: &'a str,
    pub(crate) cells: Vec<Cell<'a>>,
    /// The place of the list of cells in the file, with its brackets.
    pub(crate) list: Range<usize>,
    pub(crate) has_ids: bool,
}

/// A cell and its places in the file.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) id: String,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) source: String,
    pub(super) outputs: Option<&'a RawValue>,
    pub(crate) whole: Range<usize>,
    pub(crate) source_place: Range<usize>,
}

#[derive(Deserialize)]
struct RawNotebook<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

#[derive(Deserialize)]
struct RawCell<'a> {
    #[serde(borrow)]
    cell_type: Cow<'a, str>,
    #[serde(borrow)]
    source: &'a RawValue,
    id: Option<String>,
    #[serde(borrow, default)]
    outputs: Option<&'a RawValue>,
}

/// A text in a notebook: whole, or in lines.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum MultilineText {
    Whole(String),
    Lines(Vec<String>),
}

impl MultilineText {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// Whether `path` is the name of a notebook.
pub(crate) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "ipynb")
}

impl<'a> Notebook<'a> {
    /// Parses the text of a file; `None` if it is no notebook of the format 4.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let raw: RawNotebook<'a> = serde_json::from_str(text).ok()?;
        if raw.nbformat != 4 {
            return None;
        }
        let list: Vec<&'a RawValue> = serde_json::from_str(raw.cells.get()).ok()?;
        let mut cells = Vec::with_capacity(list.len());
        for (index, whole) in list.into_iter().enumerate() {
            let cell: RawCell<'a> = serde_json::from_str(whole.get()).ok()?;
            let source: MultilineText = serde_json::from_str(cell.source.get()).ok()?;
            cells.push(Cell {
                id: cell.id.unwrap_or_else(|| format!("cell-{index}")),
                kind: cell.cell_type,
                source: source.into_text(),
                outputs: cell.outputs,
                whole: place(text, whole),
                source_place: place(text, cell.source),
            });
        }
        Some(Self {
            text,
            cells,
            list: place(text, raw.cells),
            has_ids: raw.nbformat_minor >= 5,
        })
    }
}

impl Notebook<'_> {
    /// The sources of all cells.
    pub(crate) fn sources(&self) -> String {
        let sources: Vec<&str> = self.cells.iter().map(|cell| cell.source.as_str()).collect();
        sources.join("\n")
    }
}

/// The place of a value in the text that it was parsed from.
fn place(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}
