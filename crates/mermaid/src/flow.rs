//! A flowchart as a tree: each node is below the first node with an edge to it. A node that is drawn already is
//! shown as a reference.

use std::collections::HashMap;

use super::label::label;

/// Maximum number of nodes, of edges and of groups; larger charts are not drawn.
const MAX: usize = 200;
/// Statements about style and layout, which have no effect.
const STYLE_STATEMENTS: &[&str] = &[
    "style",
    "classDef",
    "class",
    "click",
    "linkStyle",
    "direction",
];
/// Brackets of nodes and what is shown for them, longer ones first.
const SHAPES: &[(&str, &str, char, char)] = &[
    ("[[", "]]", '[', ']'),
    ("[(", ")]", '(', ')'),
    ("([", "])", '(', ')'),
    ("((", "))", '(', ')'),
    ("{{", "}}", '{', '}'),
    ("[", "]", '[', ']'),
    ("(", ")", '(', ')'),
    ("{", "}", '{', '}'),
    (">", "]", '[', ']'),
];

#[derive(Default)]
struct Chart {
    names: Vec<String>,
    /// The label of each node.
    labels: Vec<Option<String>>,
    indices: HashMap<String, usize>,
    /// The source node, the target node and the label of the arrow.
    edges: Vec<(usize, usize, String)>,
    /// Names and titles of the groups.
    groups: Vec<(String, String)>,
    /// The groups that are open.
    open: Vec<usize>,
    /// The group of the first statement that names the node.
    inside: Vec<Option<usize>>,
}

pub(super) fn lines<'a>(statements: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let mut chart = Chart::default();
    for statement in statements {
        let word = statement.split_whitespace().next()?;
        if STYLE_STATEMENTS.contains(&word) {
            continue;
        }
        match word {
            "subgraph" => chart.group(&statement[word.len()..]),
            "end" => drop(chart.open.pop()?),
            _ => chart.read(statement)?,
        }
        if chart.edges.len() > MAX || chart.names.len() > MAX || chart.groups.len() > MAX {
            return None;
        }
    }
    chart.open.is_empty().then(|| chart.draw())
}

impl Chart {
    /// Opens `name [Title]` or `Title`.
    fn group(&mut self, rest: &str) {
        let rest = rest.trim();
        let titled = rest.split_once('[').and_then(|(name, title)| {
            let title = title.trim_end().strip_suffix(']')?;
            Some((name.trim(), label(title)))
        });
        let (name, title) = titled.unwrap_or_else(|| (rest, label(rest)));
        self.open.push(self.groups.len());
        self.groups.push((name.to_owned(), title));
    }

    /// Reads `a --> b & c -->|label| d`.
    fn read(&mut self, statement: &str) -> Option<()> {
        let mut rest = statement;
        let mut from = self.nodes(&mut rest)?;
        while !rest.trim().is_empty() {
            let text = arrow(&mut rest)?;
            let to = self.nodes(&mut rest)?;
            for from in &from {
                for to in &to {
                    self.edges.push((*from, *to, text.clone()));
                }
            }
            from = to;
        }
        Some(())
    }

    fn nodes(&mut self, rest: &mut &str) -> Option<Vec<usize>> {
        let mut nodes = vec![self.node(rest)?];
        while let Some(more) = rest.trim_start().strip_prefix('&') {
            *rest = more;
            nodes.push(self.node(rest)?);
        }
        Some(nodes)
    }

    fn node(&mut self, rest: &mut &str) -> Option<usize> {
        let text = rest.trim_start();
        let end = text
            .find(|char: char| !(char.is_alphanumeric() || char == '_'))
            .unwrap_or(text.len());
        let (name, mut after) = text.split_at(end);
        if name.is_empty() {
            return None;
        }
        let mut shown = None;
        for (open, close, left, right) in SHAPES {
            // `>` begins a shape only where no arrow ends.
            if let Some(inner) = after.strip_prefix(open) {
                let (inner, behind) = closed(inner, close)?;
                shown = Some(format!("{left}{}{right}", label(inner)));
                after = behind;
                break;
            }
        }
        // `:::class`
        if let Some(class) = after.strip_prefix(":::") {
            after = class.trim_start_matches(|char: char| char.is_alphanumeric() || char == '_');
        }
        *rest = after;
        let next = self.names.len();
        let index = *self.indices.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.names.push(name.to_owned());
            self.labels.push(None);
            self.inside.push(self.open.last().copied());
        }
        if shown.is_some() {
            self.labels[index] = shown;
        }
        Some(index)
    }

    fn draw(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut shown = vec![false; self.names.len()];
        let is_target = |node: usize| {
            self.edges
                .iter()
                .any(|(from, to, _)| *to == node && *from != node)
        };
        let roots = (0..self.names.len()).filter(|node| !is_target(*node));
        // A cycle without a root begins at its first node.
        for node in roots.chain(0..self.names.len()) {
            if !shown[node] {
                lines.push(self.titled(node));
                shown[node] = true;
                self.branch(node, "", &mut shown, &mut lines);
            }
        }
        lines
    }

    fn branch(&self, node: usize, indent: &str, shown: &mut [bool], lines: &mut Vec<String>) {
        let edges: Vec<&(usize, usize, String)> = self
            .edges
            .iter()
            .filter(|(from, ..)| *from == node)
            .collect();
        for (index, (_, to, text)) in edges.iter().enumerate() {
            let last = index + 1 == edges.len();
            let corner = if last { '└' } else { '├' };
            let arrow = if text.is_empty() {
                format!("{corner}▶ ")
            } else {
                format!("{corner}─ {text} ▶ ")
            };
            let is_drawn = std::mem::replace(&mut shown[*to], true);
            let node = if is_drawn {
                format!("↑ {}", self.label(*to))
            } else {
                self.titled(*to)
            };
            lines.push(format!("{indent}{arrow}{node}"));
            if !is_drawn {
                let width = osier_base::text::width(&arrow);
                let line = if last { ' ' } else { '│' };
                let below = format!("{indent}{line}{}", " ".repeat(width - 1));
                self.branch(*to, &below, shown, lines);
            }
        }
    }

    fn label(&self, node: usize) -> &str {
        let name = &self.names[node];
        // An arrow may lead to a group.
        let group = self.groups.iter().find(|(group, _)| group == name);
        let title = group.map_or(name, |(_, title)| title);
        self.labels[node].as_deref().unwrap_or(title)
    }

    /// The label, and the group that the node is in.
    fn titled(&self, node: usize) -> String {
        match self.inside[node] {
            Some(group) => format!("{} · {}", self.label(node), self.groups[group].1),
            None => self.label(node).to_owned(),
        }
    }
}

/// The text up to `close`, outside of quotes, and what follows.
fn closed<'a>(text: &'a str, close: &str) -> Option<(&'a str, &'a str)> {
    let mut quoted = false;
    for (at, char) in text.char_indices() {
        if char == '"' {
            quoted = !quoted;
        }
        if !quoted && text[at..].starts_with(close) {
            return Some((&text[..at], &text[at + close.len()..]));
        }
    }
    None
}

/// Reads an arrow and returns its label.
fn arrow(rest: &mut &str) -> Option<String> {
    let is_line = |char: char| matches!(char, '-' | '=' | '.' | '<' | '>' | '~');
    let text = rest.trim_start();
    let end = text.find(|char| !is_line(char)).unwrap_or(text.len());
    let (line, mut after) = text.split_at(end);
    if line.len() < 2 {
        return None;
    }
    // `--x` and `--o` end in a mark that is part of the line.
    if let Some(marked) = after
        .strip_prefix(['x', 'o'])
        .filter(|more| more.starts_with(' '))
    {
        after = marked;
    }
    if let Some(inner) = after.trim_start().strip_prefix('|') {
        let (inner, behind) = inner.split_once('|')?;
        *rest = behind;
        return Some(label(inner));
    }
    if line.contains('>') || line.len() > 2 {
        *rest = after;
        return Some(String::new());
    }
    // `-- text -->`
    let close = ["-->", "---", "==>", "===", ".->", ".-"];
    let found = close
        .iter()
        .filter_map(|close| Some((after.find(close)?, close.len())));
    let (at, length) = found.min()?;
    let inner = after[..at].trim_end_matches(['-', '=', '.']);
    *rest = after[at + length..].trim_start_matches(['-', '=', '>']);
    Some(label(inner))
}
