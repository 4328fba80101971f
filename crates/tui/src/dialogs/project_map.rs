//! The map of the project: its files with their most used symbols. Choosing an entry inserts a reference to it into the
//! prompt.

use crate::actions::{Action, Outbox};
use crate::drawing::{Choice, Overlays, Picker, overlays};
use crate::input::prompt::candidates::reference;
use osier_base::text;
use osier_protocol::{MappedFile, Op, ProjectMap};
use osier_term::{Column, Columns, Item};

const ID: &str = "map";

const COLUMNS: Columns = Columns {
    label: "file or symbol",
    details: &[Column::words("line", 0)],
};

/// Opens the map before it is read.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(
        ID,
        picker(&[], "reading the project…", "Map of the project"),
    );
    outbox.push(Op::GetMap {
        request: 0,
        query: String::new(),
        tokens: None,
    });
}

/// Updates the open map.
pub(crate) fn refresh(map: &ProjectMap, overlays: &mut Overlays) {
    let notices = map.notices.join("; ");
    let title = match notices.as_str() {
        "" => "Map of the project".to_owned(),
        notices => format!("Map of the project: {}", text::single_line(notices)),
    };
    let picker = picker(
        &map.files,
        "no source files: hidden and ignored files are skipped",
        &title,
    );
    overlays::refresh(overlays, ID, picker);
}

/// A file, or a symbol in it.
struct Entry {
    row: Item,
    /// The reference that is inserted for the entry.
    reference: String,
}

impl Choice for Entry {
    fn row(&self) -> Item {
        self.row.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.reference == other.reference
    }
}

fn picker(files: &[MappedFile], empty: &'static str, title: &str) -> Picker<Entry> {
    let entries = files.iter().flat_map(entries);
    Picker::new(title, empty, entries, |entry| {
        let text = format!("{} ", entry.reference);
        [Action::InsertText { text }]
    })
    .with_columns(COLUMNS)
    .taking("insert")
}

/// A file and its symbols.
fn entries(file: &MappedFile) -> Vec<Entry> {
    let path = reference(&file.path);
    let more = match file.more {
        0 => String::new(),
        more => format!("+{more}"),
    };
    let row = Item {
        label: text::single_line(&file.path),
        details: vec![more.into()],
        ..Item::default()
    };
    let symbols = file.symbols.iter().map(|symbol| Entry {
        row: Item {
            label: format!("  {}", text::single_line(&symbol.code)),
            details: vec![symbol.line.to_string().into()],
            keywords: format!("{} {} {}", symbol.name, symbol.kind, file.path),
            ..Item::default()
        },
        reference: format!("{path}:{}", symbol.line),
    });
    let symbols: Vec<Entry> = symbols.collect();
    let file = Entry {
        row,
        reference: path,
    };
    std::iter::once(file).chain(symbols).collect()
}
