//! The program and its folders, for bug reports. Choosing a row copies all rows.

use crate::actions::Effect;
use crate::drawing::{MenuItem, Overlays, Picker};
use osier_protocol::About;
use osier_term::{Column, Columns};

const ID: &str = "about";

const COLUMNS: Columns = Columns {
    label: "",
    details: &[Column::words("", 1).at_least(16)],
};

/// Opens the list.
pub(crate) fn open(about: &About, overlays: &mut Overlays) {
    overlays.push(ID, picker(about));
}

fn picker(about: &About) -> Picker<MenuItem> {
    let rows = [
        ("version", &about.version),
        ("platform", &about.platform),
        ("settings", &about.config),
        ("data", &about.data),
        ("directory", &about.cwd),
    ];
    let report = rows
        .map(|(name, value)| format!("{name}: {value}\n"))
        .concat();
    let items = rows
        .map(|(name, value)| MenuItem::new(name, value, Effect::Copy(report.clone(), "report")));
    Picker::menu("About osier", "", items)
        .with_columns(COLUMNS)
        .taking("copy all")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use osier_term::{Component, Cx};

    use super::*;
    use crate::actions::{Action, Command};

    #[test]
    fn taking_a_row_copies_all_of_them() {
        let about = About {
            version: "1.2.3".to_owned(),
            platform: "linux x86_64".to_owned(),
            config: "/c".to_owned(),
            data: "/d".to_owned(),
            cwd: "/w".to_owned(),
        };
        let mut actions = Vec::new();
        let mut cx = Cx {
            actions: &mut actions,
            now: Instant::now(),
        };
        let _ = picker(&about).on_command(Command::Accept, &mut cx);
        let report =
            "version: 1.2.3\nplatform: linux x86_64\nsettings: /c\ndata: /d\ndirectory: /w\n";
        let copy = Effect::Copy(report.to_owned(), "report");
        assert_eq!(actions, [Action::CloseLayer, copy.into()]);
    }
}
