//! The outline next to the text: the session, and links to its prompts and branches.

use std::collections::HashMap;
use std::io::{self, Write};

use super::escape::{anchor, clean, escape};
use crate::plan::Plan;
use osier_base::{clock, text};
use osier_store::Reading;

/// Maximum characters of an outline item.
const WIDTH: usize = 90;
/// Bytes of a message that are searched for its first line.
const LOOKED_AT: usize = 8 * 1024;
/// Depths that the style supports; deeper branches are shown at the deepest.
const DEEPEST: usize = 9;

/// The content of the outline, collected while the entries are written.
#[derive(Debug)]
pub(super) struct Outline {
    rows: HashMap<u32, Row>,
    /// Models with the number of their answers, in order of first use.
    models: Vec<(String, usize)>,
    prompts: usize,
    tools: usize,
}

#[derive(Debug)]
struct Row {
    id: String,
    mark: &'static str,
    text: String,
    label: Option<String>,
}

impl Outline {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            rows: HashMap::with_capacity(plan.shown.len() / 4),
            models: Vec::new(),
            prompts: 0,
            tools: 0,
        }
    }

    pub(super) fn add(
        &mut self,
        number: u32,
        id: &str,
        mark: &'static str,
        said: &str,
        label: Option<&str>,
    ) {
        // Clean before cutting: a cut key would not be recognised.
        let said = clean(text::head_bytes(said.trim_start(), LOOKED_AT));
        let line = text::single_line(said.lines().next().unwrap_or_default());
        let row = Row {
            id: id.to_owned(),
            mark,
            text: text::truncate(&line, WIDTH).into_owned(),
            label: label.map(str::to_owned),
        };
        self.rows.insert(number, row);
    }

    pub(super) fn prompt(&mut self) {
        self.prompts += 1;
    }

    pub(super) fn tool(&mut self) {
        self.tools += 1;
    }

    pub(super) fn model(&mut self, name: String) {
        match self.models.iter_mut().find(|(known, _)| *known == name) {
            Some((_, answers)) => *answers += 1,
            None => self.models.push((name, 1)),
        }
    }

    pub(super) fn write(
        &self,
        reading: &Reading,
        plan: &Plan,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        write!(out, "<aside class=side><div class=inner>")?;
        self.facts(reading, plan, out)?;
        write!(
            out,
            "<nav class=tree aria-label=\"Prompts and branches\"><h2>Conversation</h2>"
        )?;
        for (number, depth) in plan.in_tree_order() {
            let Some(row) = self.rows.get(&number) else {
                continue;
            };
            let on = if plan.is_on_path(number) { " on" } else { "" };
            let label = row.label.as_deref().map_or(String::new(), |label| {
                format!("<em>{}</em> ", escape(label))
            });
            let branch = plan.siblings(number).map_or(String::new(), |siblings| {
                format!("<small>{}/{}</small>", siblings.place, siblings.count)
            });
            writeln!(
                out,
                "<a class=\"d{}{on}\" href=\"#{}\"><i>{}</i><span>{label}{}</span>{branch}</a>",
                depth.min(DEEPEST),
                anchor(&row.id, number),
                row.mark,
                escape(&row.text)
            )?;
        }
        write!(out, "</nav></div></aside>")
    }

    fn facts(&self, reading: &Reading, plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
        let header = reading.header();
        let usage = reading.usage();
        let models: Vec<String> = self
            .models
            .iter()
            .map(|(name, answers)| format!("{name} ({answers})"))
            .collect();
        let mut facts = vec![
            ("began", clock::minute_with_zone(&header.timestamp)),
            ("in", header.cwd.clone()),
            ("models", models.join(", ")),
            ("prompts", self.prompts.to_string()),
            ("tool calls", self.tools.to_string()),
        ];
        let branches = plan.chains().len();
        if branches > 1 {
            facts.push(("branches", branches.to_string()));
        }
        if usage.total_tokens() > 0 {
            let tokens = format!(
                "{} in · {} out · {} cached",
                grouped(usage.input + usage.cache_write),
                grouped(usage.output),
                grouped(usage.cache_read)
            );
            facts.push(("tokens", tokens));
        }
        if usage.cost.total > 0.0 {
            facts.push(("cost", format!("${:.4}", usage.cost.total)));
        }
        facts.push(("session", header.id.clone()));
        write!(out, "<dl class=facts>")?;
        for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
            write!(out, "<dt>{name}<dd>{}", escape(value))?;
        }
        write!(out, "</dl>")
    }
}

/// `12 345`: groups of three digits, separated by narrow spaces.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
