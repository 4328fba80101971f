//! A long complete document as several sections, each of which is parsed and laid out when it is
//! first drawn. Scrolling into megabytes of text costs only one section.

use super::Markdown;
use crate::unit::{Kind, Unit};

/// Minimum bytes of a section.
const SECTION: usize = 32 * 1024;

impl Markdown {
    /// Splits a complete document into sections, to be drawn below one another with a blank row between them.
    pub fn sections(text: &str) -> Vec<Self> {
        let whole = Self::from_text(text);
        let cuts = cuts(&whole.units);
        if cuts.is_empty() {
            return vec![whole];
        }
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([whole.source.len()]);
        let section = |(start, end): (usize, usize)| Self {
            source: whole.source[start..end].to_owned(),
            // A reference may have its definition in any section.
            definitions: whole.definitions.clone(),
            is_unsplit: true,
            finished: true,
            dirty: true,
            ..Self::new()
        };
        starts.zip(ends).map(section).collect()
    }

    /// Finds the blocks of a section that is drawn for the first time.
    pub(super) fn read_section(&mut self) {
        if !std::mem::take(&mut self.is_unsplit) {
            return;
        }
        let text = std::mem::take(&mut self.source);
        self.finished = false;
        self.push(&text);
        self.finish();
    }
}

/// The starts of sections: blocks that do not continue a block above.
fn cuts(units: &[Unit]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut start = 0;
    for pair in units.windows(2) {
        let [above, unit] = pair else { continue };
        let continues = unit.part.is_some() || matches!(unit.kind, Kind::Item { first: false, .. });
        let place = unit.source.start;
        if !continues && unit.has_gap_after(above.kind) && place - start >= SECTION {
            cuts.push(place);
            start = place;
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_term::row::Row;

    fn rows(document: &mut Markdown) -> Vec<Row> {
        let height = document.height(80);
        let mut rows = Vec::new();
        document.rows(80, 0..height, &mut rows);
        rows
    }

    fn long() -> String {
        let parts = (0..1200).map(|number| {
            format!(
                "## Part {number}\n\nProse with a [link] and `code`.\n\n- one\n- two\n\n  more of it\n\n1. first\n2. second\n\n\
                 > quoted\n\n```rust\nlet a = {number};\n\n# no title\n```\n\n| a | b |\n|---|---|\n| {number} | x |\n\n    indented\n\n"
            )
        });
        parts.collect::<Vec<_>>().concat() + "[link]: https://example.org/there\n"
    }

    #[test]
    fn sections_have_the_rows_of_the_document() {
        let text = long();
        let mut sections = Markdown::sections(&text);
        assert!(sections.len() > 5, "{}", sections.len());
        let source: String = sections.iter().map(Markdown::source).collect();
        assert_eq!(source, text);
        let mut shown = Vec::new();
        for (index, section) in sections.iter_mut().enumerate() {
            if index > 0 {
                shown.push(Row::default());
            }
            shown.extend(rows(section));
        }
        assert!(shown == rows(&mut Markdown::from_text(&text)));
        assert_eq!(Markdown::sections("short").len(), 1);
    }

    #[test]
    fn sections_are_parsed_when_they_are_drawn() {
        let mut sections = Markdown::sections(&long());
        assert!(sections.iter().all(|section| section.units.is_empty()));
        sections[1].height(80);
        assert!(sections[1].units.len() > 100 && sections[0].units.is_empty());
    }
}
