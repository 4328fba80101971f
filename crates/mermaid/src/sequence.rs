//! A sequence diagram: messages between lifelines.

use super::label::label;
use osier_base::text::width;

/// Maximum number of participants and of steps; larger diagrams are not drawn.
const MAX: usize = 200;
/// Arrows, longer ones first, and whether they are dashed.
const ARROWS: &[(&str, bool)] = &[
    ("-->>", true),
    ("->>", false),
    ("--x", true),
    ("-x", false),
    ("--)", true),
    ("-)", false),
    ("-->", true),
    ("->", false),
];

enum Step {
    Message {
        from: usize,
        to: usize,
        text: String,
        dashed: bool,
    },
    Note {
        first: usize,
        last: usize,
        text: String,
    },
    /// A row where a block such as a loop begins, continues or ends, and the depth of the block.
    BlockEdge { text: String, depth: usize },
}

/// Statements that open a block, and whether the block is drawn: colours and boxes are not.
const BLOCKS: &[(&str, bool)] = &[
    ("loop", true),
    ("alt", true),
    ("opt", true),
    ("par", true),
    ("critical", true),
    ("break", true),
    ("rect", false),
    ("box", false),
];

#[derive(Default)]
struct Sequence {
    names: Vec<String>,
    labels: Vec<String>,
    steps: Vec<Step>,
    /// The open blocks: whether each is drawn.
    open: Vec<bool>,
}

pub(super) fn lines<'a>(statements: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let mut sequence = Sequence::default();
    for statement in statements {
        sequence.read(statement)?;
        if sequence.steps.len() > MAX || sequence.names.len() > MAX {
            return None;
        }
    }
    (!sequence.names.is_empty() && sequence.open.is_empty()).then(|| sequence.draw())
}

impl Sequence {
    fn read(&mut self, statement: &str) -> Option<()> {
        let (word, rest) = statement
            .split_once(char::is_whitespace)
            .unwrap_or((statement, ""));
        match word {
            "participant" | "actor" => {
                let (name, shown) = rest.split_once(" as ").unwrap_or((rest, rest));
                let index = self.who(name.trim());
                self.labels[index] = label(shown);
                return Some(());
            }
            "create" => return self.read(rest),
            "else" | "and" | "option" => return self.block_edge('├', word, rest),
            "end" => {
                let shown = *self.open.last()?;
                if shown {
                    self.block_edge('╰', "end", "")?;
                }
                self.open.pop();
                return Some(());
            }
            "destroy" | "autonumber" | "activate" | "deactivate" | "title" => return Some(()),
            "Note" | "note" => return self.note(rest),
            _ => {}
        }
        if let Some((_, shown)) = BLOCKS.iter().find(|(part, _)| *part == word) {
            self.open.push(*shown);
            return if *shown {
                self.block_edge('╭', word, rest)
            } else {
                Some(())
            };
        }
        let (line, text) = statement.split_once(':').unwrap_or((statement, ""));
        let found = ARROWS.iter().find_map(|(arrow, dashed)| {
            let (from, to) = line.split_once(arrow)?;
            Some((from, to, *dashed))
        });
        let (from, to, dashed) = found?;
        let to = to.trim().trim_start_matches(['+', '-']);
        let (from, to) = (self.known(from)?, self.known(to)?);
        let text = label(text);
        self.steps.push(Step::Message {
            from,
            to,
            text,
            dashed,
        });
        Some(())
    }

    /// Adds an edge of the open block.
    fn block_edge(&mut self, corner: char, word: &str, text: &str) -> Option<()> {
        let depth = self.open.iter().filter(|shown| **shown).count();
        let text = format!("{corner} {word} {}", label(text));
        self.steps.push(Step::BlockEdge {
            text: text.trim_end().to_owned(),
            depth: depth.checked_sub(1)?,
        });
        Some(())
    }

    /// `over A,B: text`, `right of A: text`.
    fn note(&mut self, rest: &str) -> Option<()> {
        let (place, text) = rest.split_once(':')?;
        let names = ["over ", "left of ", "right of "]
            .iter()
            .find_map(|side| place.trim().strip_prefix(side))?;
        let places: Option<Vec<usize>> = names.split(',').map(|name| self.known(name)).collect();
        let places = places?;
        self.steps.push(Step::Note {
            first: *places.iter().min()?,
            last: *places.iter().max()?,
            text: label(text),
        });
        Some(())
    }

    fn known(&mut self, name: &str) -> Option<usize> {
        let name = name.trim();
        let is_name = !name.is_empty() && !name.contains(['-', '>', '<']);
        is_name.then(|| self.who(name))
    }

    fn who(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.labels.push(label(name));
            self.names.len() - 1
        })
    }

    /// The columns of the lifelines, with room for the text between them.
    fn columns(&self) -> Vec<usize> {
        let mut columns = vec![width(&self.labels[0]) / 2];
        for place in 1..self.names.len() {
            let labels = width(&self.labels[place - 1]).div_ceil(2)
                + width(&self.labels[place]).div_ceil(2)
                + 2;
            let before = columns[place - 1];
            let wanted = self.steps.iter().filter_map(|step| {
                let (first, last, text) = match step {
                    Step::BlockEdge { .. } => return None,
                    Step::Message { from, to, text, .. } if from != to => {
                        (*from.min(to), *from.max(to), width(text) + 5)
                    }
                    // A message to the same participant is to the right of its lifeline.
                    Step::Message { from, text, .. } => (*from, *from + 1, width(text) + 6),
                    Step::Note { first, last, text } if first < last => {
                        (*first, *last, width(text) + 3)
                    }
                    Step::Note { first, text, .. } => (*first, *first + 1, width(text) + 4),
                };
                (last == place).then(|| (columns[first] + text).saturating_sub(before))
            });
            let gap = wanted.max().unwrap_or(0).max(labels);
            columns.push(before + gap);
        }
        columns
    }

    fn draw(&self) -> Vec<String> {
        let columns = self.columns();
        let mut lines = Vec::new();
        let mut head = String::new();
        for (label, column) in self.labels.iter().zip(&columns) {
            let start = column.saturating_sub(width(label) / 2);
            head.push_str(&" ".repeat(start.saturating_sub(width(&head))));
            head.push_str(label);
        }
        lines.push(head);
        lines.push(row(&columns, &[]));
        for step in &self.steps {
            match step {
                Step::Message { from, to, text, .. } if from == to => {
                    let at = columns[*from] + 1;
                    lines.push(row(&columns, &[(at, &format!("─╮ {text}"))]));
                    lines.push(row(&columns, &[(at, "◀╯")]));
                }
                Step::Message {
                    from,
                    to,
                    text,
                    dashed,
                } => {
                    let (left, right) = (columns[*from.min(to)] + 1, columns[*from.max(to)]);
                    let line = if *dashed { "╌" } else { "─" }.repeat(right - left - 1);
                    let arrow = if from < to {
                        format!("{line}▶")
                    } else {
                        format!("◀{line}")
                    };
                    if !text.is_empty() {
                        lines.push(row(&columns, &[(left, &centred(text, right - left))]));
                    }
                    lines.push(row(&columns, &[(left, &arrow)]));
                }
                Step::Note { first, last, text } if first < last => {
                    let (left, right) = (columns[*first] + 1, columns[*last]);
                    lines.push(row(&columns, &[(left, &centred(text, right - left))]));
                }
                Step::Note { first, text, .. } => {
                    lines.push(row(&columns, &[(columns[*first] + 2, text)]));
                }
                Step::BlockEdge { text, depth } => {
                    let line = row(&columns, &[(2 * depth, &format!("{text} "))]);
                    lines.push(line.trim_end().to_owned());
                }
            }
        }
        lines
    }
}

fn centred(text: &str, room: usize) -> String {
    let free = room.saturating_sub(width(text));
    format!(
        "{}{text}{}",
        " ".repeat(free / 2),
        " ".repeat(free - free / 2)
    )
}

/// A row of lifelines with texts over them at their columns.
fn row(columns: &[usize], over: &[(usize, &str)]) -> String {
    let mut line = String::new();
    let mut at = 0;
    let mut over = over.iter().peekable();
    let mut lifelines = columns.iter().peekable();
    loop {
        let text = over.peek().map(|(column, _)| *column);
        while lifelines.next_if(|column| **column < at).is_some() {}
        let lifeline = lifelines.peek().map(|column| **column);
        match (lifeline, text) {
            (None, None) => break,
            (Some(column), text) if text.is_none_or(|text| column < text) => {
                line.push_str(&" ".repeat(column - at));
                line.push('│');
                at = column + 1;
                lifelines.next();
            }
            (_, Some(column)) => {
                let (_, text) = over.next().copied().unwrap_or_default();
                line.push_str(&" ".repeat(column.saturating_sub(at)));
                line.push_str(text);
                at = column.max(at) + width(text);
            }
            (Some(_), None) => {}
        }
    }
    line
}
