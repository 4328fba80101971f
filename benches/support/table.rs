//! The printed table: one line per value, one column per program.

use super::figure::{Figures, Unit};

/// A row of the table.
pub(crate) struct Row {
    /// Key in `Figures`.
    figure: &'static str,
    label: &'static str,
    unit: Unit,
    /// The limit for osier; `None` if the value is only reported.
    bar: Option<f64>,
}

/// A row without a limit.
pub(crate) const fn row(figure: &'static str, label: &'static str, unit: Unit) -> Row {
    Row {
        figure,
        label,
        unit,
        bar: None,
    }
}

/// A row with a limit for osier.
pub(crate) const fn bar(figure: &'static str, label: &'static str, unit: Unit, most: f64) -> Row {
    Row {
        figure,
        label,
        unit,
        bar: Some(most),
    }
}

/// The result of a program in a scenario.
pub(crate) enum Outcome {
    Measured(Figures),
    Failed,
    /// The program does not support the scenario.
    Left,
}

/// The format of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub(crate) markdown: bool,
}

impl Table {
    pub(crate) fn head(self, names: &[&str]) {
        let mut cells = vec!["work".to_owned(), "bar".to_owned()];
        cells.extend(names.iter().map(|name| (*name).to_owned()));
        self.line(&cells);
        if self.markdown {
            println!("|{}", "---|".repeat(cells.len()));
        }
    }

    /// The rows of one scenario.
    pub(crate) fn rows(self, about: &str, rows: &[Row], outcomes: &[Outcome]) {
        if !self.markdown {
            println!("{about}");
        }
        for row in rows {
            let label = if self.markdown {
                format!("{about}: {}", row.label)
            } else {
                format!("  {}", row.label)
            };
            let mut cells = vec![
                label,
                row.bar.map_or_else(String::new, |bar| row.unit.show(bar)),
            ];
            cells.extend(outcomes.iter().map(|outcome| row.cell(outcome)));
            self.line(&cells);
        }
    }

    fn line(self, cells: &[String]) {
        if self.markdown {
            println!("| {} |", cells.join(" | "));
            return;
        }
        let (label, values) = cells.split_first().unwrap();
        print!("{label:<44}");
        for value in values {
            print!("{value:>13}");
        }
        println!();
    }
}

impl Row {
    fn cell(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Measured(figures) => {
                let value = figures.get(self.figure);
                value.map_or_else(|| "-".to_owned(), |value| self.unit.show(value))
            }
            Outcome::Failed => "failed".to_owned(),
            Outcome::Left => "-".to_owned(),
        }
    }
}
