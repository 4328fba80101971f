//! Plots of `usage.tsv` as SVG: one chart for each column, one line for each process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 90.0;
const COLOURS: [&str; 6] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
];
/// The column, its name, and the divisor of its numbers.
const CHARTS: [(usize, &str, f64); 6] = [
    (4, "memory (MB)", 1000.0),
    (5, "descriptors", 1.0),
    (6, "threads", 1.0),
    (7, "data (MB)", 1_000_000.0),
    (8, "temporary files", 1.0),
    (9, "prompts", 1.0),
];

type Series = BTreeMap<String, Vec<(f64, f64)>>;

/// Writes `usage.svg` next to the table and returns its path.
pub(crate) fn run(table: &Path) -> io::Result<PathBuf> {
    let text = std::fs::read_to_string(table)?;
    let path = table.with_extension("svg");
    std::fs::write(&path, draw(&text))?;
    Ok(path)
}

fn draw(table: &str) -> String {
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect())
        .collect();
    let last = rows.iter().map(|row| cell(row, 0)).fold(1.0, f64::max);
    let height = CHARTS.len() as f64 * (HEIGHT + 50.0) + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 160.0
    );
    for (place, (column, name, divisor)) in CHARTS.into_iter().enumerate() {
        let mut series = Series::new();
        for row in &rows {
            let label = format!("{} {}", text(row, 1), text(row, 2));
            let point = (cell(row, 0), cell(row, column) / divisor);
            series.entry(label).or_default().push(point);
        }
        chart(
            &mut svg,
            30.0 + place as f64 * (HEIGHT + 50.0),
            name,
            &series,
            last,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn text<'a>(row: &[&'a str], column: usize) -> &'a str {
    row.get(column).copied().unwrap_or_default()
}

fn cell(row: &[&str], column: usize) -> f64 {
    text(row, column).parse().unwrap_or(0.0)
}

/// One chart below `top`. Writing to a string does not fail.
fn chart(svg: &mut String, top: f64, name: &str, series: &Series, last: f64) {
    let values = series.values().flatten().map(|(_, value)| *value);
    let most = values.fold(1.0, f64::max);
    let bottom = top + HEIGHT;
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{name}</text>",
        top - 6.0
    );
    for step in 0..=4 {
        let part = f64::from(step) / 4.0;
        let y = bottom - part * HEIGHT;
        let x = LEFT + part * WIDTH;
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.1}</text>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{:.2} h</text>",
            LEFT + WIDTH,
            LEFT - 6.0,
            y + 4.0,
            part * most,
            bottom + 16.0,
            part * last / 3600.0
        );
    }
    for (place, (label, points)) in series.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let mut line = String::new();
        for (time, value) in points {
            let x = LEFT + time / last * WIDTH;
            let y = bottom - value / most * HEIGHT;
            let _ = write!(line, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(
            svg,
            "<polyline points=\"{line}\" fill=\"none\" stroke=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{label}</text>",
            LEFT + WIDTH + 10.0,
            top + 14.0 * (place as f64 + 1.0)
        );
    }
}
