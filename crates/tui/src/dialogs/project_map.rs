//! The map of the project: its files with their most used symbols. Taking one puts a reference to it into the prompt.

use crate::actions::{Action, Outbox};
use crate::drawing::{Overlays, Picker, overlays};
use crate::input::prompt::candidates::reference;
use osier_base::text;
use osier_protocol::{MappedFile, Op, ProjectMap};
use osier_term::widgets::columns::{Column, Columns};
use osier_term::widgets::select::Item;

const ID: &str = "map";

const COLUMNS: Columns = Columns {
    label: "file or symbol",
    details: &[Column::words("line", 0)],
};

/// Opens the map, which is read meanwhile.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(
        ID,
        picker(&[], "reading the project…", "Map of the project"),
    );
    outbox.send(Op::GetMap {
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

fn picker(files: &[MappedFile], empty: &'static str, title: &str) -> Picker {
    let items = files.iter().flat_map(items).collect();
    let take = |key: &str| {
        let text = format!("{key} ");
        vec![Action::InsertText { text }]
    };
    Picker::new(title, empty, items, Box::new(take))
        .with_columns(COLUMNS)
        .taking("insert")
}

/// A file and its symbols.
fn items(file: &MappedFile) -> Vec<Item> {
    let path = reference(&file.path);
    let more = match file.more {
        0 => String::new(),
        more => format!("+{more}"),
    };
    let mut items = vec![Item {
        key: path.clone(),
        label: text::single_line(&file.path),
        details: vec![more.into()],
        ..Item::default()
    }];
    items.extend(file.symbols.iter().map(|symbol| Item {
        key: format!("{path}:{}", symbol.line),
        label: format!("  {}", text::single_line(&symbol.code)),
        details: vec![symbol.line.to_string().into()],
        keywords: format!("{} {} {}", symbol.name, symbol.kind, file.path),
        dimmed: false,
    }));
    items
}
