//! A long document that is there at once, as several that show the same below each other: each is parsed and
//! laid out when it is first seen. Who pages up into megabytes pays for one section of them.

use super::Markdown;
use super::split::Kind;
use super::unit::Unit;

/// Bytes of a section, at least.
const SECTION: usize = 32 * 1024;

impl Markdown {
    /// A whole document as one or more. They are to be shown one below the other, a blank row between two.
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
            unread: true,
            finished: true,
            dirty: true,
            ..Self::new()
        };
        starts.zip(ends).map(section).collect()
    }

    /// Finds the blocks of a section that is seen for the first time.
    pub(super) fn read_section(&mut self) {
        if !std::mem::take(&mut self.unread) {
            return;
        }
        let text = std::mem::take(&mut self.source);
        self.finished = false;
        self.push(&text);
        self.finish();
    }
}

/// Where sections begin: at blocks that nothing above reaches into.
fn cuts(units: &[Unit]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut start = 0;
    for pair in units.windows(2) {
        let [above, unit] = pair else { continue };
        let goes_on = unit.rest.is_some() || matches!(unit.kind, Kind::Item { first: false, .. });
        let place = unit.source.start;
        if !goes_on && unit.has_gap_after(above.kind) && place - start >= SECTION {
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
    fn sections_show_what_the_whole_does() {
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
    fn a_section_that_was_not_seen_has_no_blocks() {
        let mut sections = Markdown::sections(&long());
        assert!(sections.iter().all(|section| section.block_count() == 0));
        sections[1].height(80);
        assert!(sections[1].block_count() > 100 && sections[0].block_count() == 0);
    }
}
