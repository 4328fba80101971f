//! Parts of a top-level block: a quote, an item or a footnote without an end is parted where a block begins
//! inside of it, and code and tables inside are parts of their own. So what is laid out at once is small, and
//! what is far from the screen keeps no rows.
//!
//! Where parts begin depends on complete lines alone. A part is parsed without the marks of what it is inside
//! of, and gives the rows that it gives in the whole.

use std::ops::Range;

use super::Markdown;
use super::code::CodeBlock;
use super::containers::{Container, inner};
use super::render::{Block, blank_before, context_at};
use super::split::{Boundary, Kind, Splitter};
use super::table_block::TableBlock;
use super::unit::{Body, Rest, Unit};

/// Bytes from which on the open block is parted where another begins in it.
pub(super) const PART: usize = 4 * 1024;

impl Markdown {
    /// The line may begin a part of the open block.
    pub(super) fn begin_part(&mut self, line: &Range<usize>) {
        let Some(boundary) = self.splitter.boundary() else {
            return;
        };
        let fence = self.splitter.fence().filter(|_| self.splitter.is_direct());
        let is_long = line.start - self.open_block_start() >= self.part;
        let Some(last) = self.units.last() else {
            return;
        };
        self.block = line.start;
        if !is_long && fence.is_none() && !must_part(last, boundary) {
            return;
        }
        self.join();
        let Some(rest) = self.rest_at(line.start, line.end, boundary, &self.splitter) else {
            return;
        };
        let mut part = Unit::rest(self.open_kind(), line.clone(), rest);
        if let Some(fence) = fence
            && let Some(rest) = &part.rest
        {
            let text = &self.source[line.clone()];
            let prefix = rest.context.spans();
            part.body = Body::Code(Box::new(CodeBlock::inside(
                &rest.containers,
                prefix,
                fence,
                text,
            )));
        }
        self.push_part(part);
    }

    /// The line makes the one above it the header of a table.
    pub(super) fn begin_table(&mut self, line: &Range<usize>) {
        let Some(header) = self.header.clone() else {
            return;
        };
        self.join();
        let depth = self.splitter.containers().len();
        let Some(last) = self.units.last_mut() else {
            return;
        };
        let head = &self.source[header.start..line.end];
        if last.source.start == header.start {
            let context = last.rest.as_ref().map(|rest| &rest.context);
            if let Some(table) = TableBlock::new(last.containers(), context, head) {
                last.body = Body::Table(Box::new(table));
            }
            return;
        }
        if let Some(part) = self.table_part(&header, line.end, depth) {
            self.push_part(part);
        }
    }

    /// A table whose header is not the first line of what is open.
    fn table_part(&self, header: &Range<usize>, end: usize, depth: usize) -> Option<Unit> {
        let source = header.start..end;
        let head = &self.source[source.clone()];
        let kind = self.open_kind();
        let (mut part, table) = if depth == 0 {
            let part = Unit::new(kind, source.start, head, false);
            (part, TableBlock::new(&[], None, head)?)
        } else {
            let boundary = Boundary {
                depth,
                sibling: false,
            };
            let rest = self.rest_at(source.start, end, boundary, &self.splitter)?;
            let table = TableBlock::new(&rest.containers, Some(&rest.context), head)?;
            (Unit::rest(kind, source, rest), table)
        };
        part.body = Body::Table(Box::new(table));
        Some(part)
    }

    /// The part that an unfinished line begins behind one that it does not go on.
    pub(super) fn begins_part(&self, splitter: &Splitter, partial: &str) -> Option<Unit> {
        let boundary = splitter.boundary()?;
        if !must_part(self.units.last()?, boundary) {
            return None;
        }
        let rest = self.rest_at(self.line, self.line, boundary, splitter)?;
        let source = self.line..self.line + partial.len();
        Some(Unit::rest(self.open_kind(), source, rest))
    }

    fn push_part(&mut self, part: Unit) {
        if let Some(last) = self.units.last_mut() {
            last.source.end = part.source.start;
        }
        self.close_last();
        self.units.push(part);
    }

    fn open_kind(&self) -> Kind {
        self.units.last().map_or(Kind::Text, |unit| unit.kind)
    }

    /// Where the open block, or the part of it that is open, begins.
    fn open_block_start(&self) -> usize {
        let open = self.cut.as_ref().map(|cut| &self.units[cut.first]);
        open.or(self.units.last())
            .map_or(self.line, |unit| unit.source.start)
    }

    /// How the text from `place` on is shown apart from what is above it. The line there ends at `end`.
    fn rest_at(
        &self,
        place: usize,
        end: usize,
        boundary: Boundary,
        splitter: &Splitter,
    ) -> Option<Rest> {
        let last = self.units.last()?;
        let containers = splitter.containers().get(..boundary.depth)?.to_vec();
        let (context, number) = if must_part(last, boundary) {
            let is_item = |container: &&Container| matches!(container, Container::Item { .. });
            let items = containers.iter().filter(is_item).count();
            last.rest.as_ref()?.context.behind(boundary.depth, items)
        } else {
            let open = last.containers();
            let above = &self.source[last.source.start..place];
            let above = inner(open, above, last.flows());
            let below = inner(open, &self.source[place..end], false);
            let block = Block {
                context: last.rest.as_ref().map(|rest| &rest.context),
                number: last.number(),
                ..Block::default()
            };
            let source = [above.as_ref(), below.as_ref(), "\n"].concat();
            context_at(&source, block, above.len())?
        };
        (context.depth() == boundary.depth).then_some(Rest {
            containers,
            context,
            number: number.filter(|_| boundary.sibling),
            after_blank: blank_before(&self.source, place),
            flow: None,
            markup: false,
        })
    }
}

/// Whether a line that begins a block does not go on with the open part: it leaves a container of it, or the
/// part is code or a table.
fn must_part(last: &Unit, boundary: Boundary) -> bool {
    !matches!(last.body, Body::Text(_)) || boundary.depth < last.containers().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::render::render;
    use super::*;
    use osier_term::row::Row;

    const WIDTH: usize = 80;

    fn rows(document: &mut Markdown, width: usize) -> Vec<Row> {
        let height = document.height(width);
        let mut rows = Vec::new();
        document.rows(width, 0..height, &mut rows);
        rows
    }

    /// The document parted wherever that is possible.
    fn parted(source: &str) -> Markdown {
        let mut document = Markdown {
            part: 1,
            ..Markdown::new()
        };
        document.push(source);
        document.finish();
        document
    }

    /// Each top-level block in one piece, and its rows.
    fn whole(source: &str, width: usize) -> Vec<(String, Vec<Row>)> {
        let document = parted(source);
        let mut groups: Vec<Unit> = Vec::new();
        for unit in &document.units {
            match groups.last_mut() {
                Some(last) if unit.rest.is_some() => last.source.end = unit.source.end,
                _ => groups.push(unit.clone()),
            }
        }
        let block = |unit: &Unit| {
            let block = Block {
                width,
                number: unit.number(),
                ..Block::default()
            };
            let text = &document.source[unit.source.clone()];
            (
                text.to_owned(),
                render(text, block, |label| {
                    document
                        .definitions
                        .get(&super::super::unit::normalise(label))
                        .cloned()
                })
                .0,
            )
        };
        groups.iter().map(block).collect()
    }

    /// The rows of each top-level block.
    fn groups(document: &mut Markdown, width: usize) -> Vec<Vec<Row>> {
        let all = rows(document, width);
        let mut groups: Vec<Vec<Row>> = Vec::new();
        for index in 0..document.units.len() {
            let start = index.checked_sub(1).map_or(0, |above| document.ends[above]);
            let mut start = start.min(all.len());
            if document.units[index].rest.is_none() {
                start += usize::from(document.has_gap(index) && document.ends[index] > start);
                groups.push(Vec::new());
            }
            groups
                .last_mut()
                .unwrap()
                .extend_from_slice(&all[start..document.ends[index]]);
        }
        groups
    }

    fn nested() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "alpha beta gamma",
            "漢字 and more words",
            "",
            "",
            "- one",
            "- two",
            "* other",
            "1. first",
            "1. second",
            "7) x",
            "> quoted",
            ">",
            "# Title",
            "```rust",
            "```",
            "let a = 1;",
            "| a | b |",
            "|---|---|",
            "| 1 | 2 |",
            "word |",
            "    deep",
            "  - in",
            "    - far in",
            "   text",
            "---",
            "[ref] here",
            "[ref]: /there",
            "- [x] done",
            "> [!NOTE]",
            "*em",
            "ph*",
            "hard  ",
            "> - item",
            "  ```",
            "===",
            "   ===",
            ":--|--",
            "a | b",
        ]);
        let lines = prop::collection::vec(line, 1..24);
        let outer = prop::sample::select(vec![
            "", "> ", "- ", "> > ", "> - ", "- > ", "1. ", "[^n]: ", "- - ",
        ]);
        (outer, lines).prop_map(|(outer, lines)| {
            let rest: String = outer
                .chars()
                .map(|mark| if mark == '>' { '>' } else { ' ' })
                .collect();
            let rest = if outer.starts_with('[') {
                "    ".to_owned()
            } else {
                rest
            };
            let mut source = String::new();
            for (index, line) in lines.iter().enumerate() {
                source.push_str(if index == 0 { outer } else { &rest });
                source.push_str(line);
                source.push('\n');
            }
            source
        })
    }

    fn assert_parts_give_the_whole(source: &str, width: usize) {
        let whole = whole(source, width);
        let mut document = parted(source);
        let groups = groups(&mut document, width);
        for ((text, whole), parts) in whole.iter().zip(&groups) {
            let show = |rows: &[Row]| rows.iter().map(Row::text).collect::<Vec<_>>().join("\n");
            assert!(
                whole == parts,
                "{text}\n--- whole\n{}\n--- parts\n{}",
                show(whole),
                show(parts)
            );
        }
    }

    #[test]
    fn lazy_lines_stay_text() {
        for source in [
            "-    text\n  > [!NOTE]\n  > - item\n  | a | b |\n  |---|---|\n",
            "-    text\n      - far in\n    ```\n    more\n",
            "> text\n>\n> | a | b |\n|---|---|\n",
            "> text\n>\n> a | b\n:--|--\n",
            "> - text\n>\n>   more\n===\n",
            "> word |\n> |---|---|\n> ===\n> [ref]: /there\n> 7) x\n",
        ] {
            assert_parts_give_the_whole(source, 20);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn parts_give_the_rows_of_the_whole(source in nested(), width in 20usize..60) {
            assert_parts_give_the_whole(&source, width);
        }
    }

    /// Most bytes that a look laid out while `lines` more came, in deltas of a part of a line, and all of them.
    fn most_laid(
        document: &mut Markdown,
        lines: std::ops::Range<usize>,
        line: impl Fn(usize) -> String,
    ) -> (usize, usize) {
        document.height(WIDTH);
        let start = document.laid.get();
        let mut most = 0;
        let mut out = Vec::new();
        for line in lines.map(line) {
            let half = line.floor_char_boundary(line.len() / 2);
            for delta in [&line[..half], &line[half..]] {
                let before = document.laid.get();
                document.push(delta);
                let height = document.height(WIDTH);
                out.clear();
                document.rows(WIDTH, height.saturating_sub(40)..height, &mut out);
                most = most.max(document.laid.get() - before);
            }
        }
        (most, document.laid.get() - start)
    }

    #[test]
    fn a_delta_costs_the_same_early_and_late() {
        type Line = fn(usize) -> String;
        let kinds: [(&str, usize, Line); 9] = [
            ("quote", 50_000, |n| {
                format!("> line {n} of *what* was said\n")
            }),
            ("quote of paragraphs", 50_000, |n| {
                if n % 5 == 4 {
                    ">\n".into()
                } else {
                    format!("> line {n}\n")
                }
            }),
            ("item in a quote", 50_000, |n| match n {
                0 => "> - first\n".into(),
                n if n % 7 == 6 => ">\n".into(),
                n => format!(">   more of it, line {n}\n"),
            }),
            ("list in an item", 20_000, |n| {
                if n == 0 {
                    "- a\n".into()
                } else {
                    format!("  - inner {n}\n")
                }
            }),
            ("numbers in a quote", 20_000, |n| {
                format!("> {}. item\n", n + 1)
            }),
            ("list", 20_000, |n| format!("- item {n} with `code`\n")),
            ("code in an item", 50_000, |n| {
                if n == 0 {
                    "1. a\n\n   ```rust\n".into()
                } else {
                    format!("   let a = {n};\n")
                }
            }),
            ("table", 20_000, |n| {
                if n == 0 {
                    "| a | b |\n|---|---|\n".into()
                } else {
                    format!("| row {n} | {} |\n", n * n)
                }
            }),
            ("table in a quote", 20_000, |n| {
                if n == 0 {
                    "> intro\n>\n> | a | b |\n> |---|---|\n".into()
                } else {
                    format!("> | row {n} | {} |\n", n * n)
                }
            }),
        ];
        for (name, count, line) in kinds {
            let mut document = Markdown::new();
            (0..1000).for_each(|n| document.push(&line(n)));
            let early = most_laid(&mut document, 1000..1100, line);
            (1100..count).for_each(|n| document.push(&line(n)));
            let late = most_laid(&mut document, count..count + 100, line);
            println!("{name}: {early:?} bytes early, {late:?} late");
            assert!(
                early.0.max(late.0) <= 64 * 1024,
                "{name}: {early:?}, late {late:?}"
            );
            // Two looks a line.
            let mean = early.1.max(late.1) / 200;
            assert!(mean <= 8 * 1024, "{name}: {mean}");
        }
    }
}
