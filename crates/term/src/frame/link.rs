//! Hyperlinks of cells. A cell cannot store a target, so a link is an id stored in the cell's
//! underline colour, which osier does not use otherwise. Every buffer operation, including scrolls,
//! therefore moves links with their cells.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Cell;
use ratatui::style::Color;
#[cfg(test)]
use ratatui::style::Style;

/// The id of a link target in a [`Links`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LinkId(u16);

impl LinkId {
    /// Sets the link of a cell.
    pub(crate) fn mark(self, cell: &mut Cell) {
        cell.underline_color = self.carrier();
    }

    /// `style` with the link.
    #[cfg(test)]
    pub(super) fn style(self, style: Style) -> Style {
        style.underline_color(self.carrier())
    }

    /// The link of a cell.
    pub(crate) fn of(cell: &Cell) -> Option<Self> {
        match cell.underline_color {
            Color::Rgb(_, high, low) => Some(Self(u16::from_be_bytes([high, low]))),
            _ => None,
        }
    }

    pub(super) fn number(self) -> u16 {
        self.0
    }

    fn carrier(self) -> Color {
        Color::from_u32(u32::from(self.0))
    }
}

/// The table of link targets. Holds at most 65,535; later targets are shown without a link.
#[derive(Debug, Default)]
pub struct Links {
    known: RefCell<Known>,
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Arc<str>, LinkId>,
    targets: Vec<Arc<str>>,
}

impl Links {
    /// The id of a target. `None` if the target could end the control sequence early, or if the
    /// table is full.
    pub(crate) fn intern(&self, target: &Arc<str>) -> Option<LinkId> {
        let mut known = self.known.borrow_mut();
        if let Some(id) = known.numbers.get(target) {
            return Some(*id);
        }
        if target.len() > 2048 || !target.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) {
            return None;
        }
        let id = LinkId(u16::try_from(known.targets.len()).ok()?);
        known.targets.push(Arc::clone(target));
        known.numbers.insert(Arc::clone(target), id);
        Some(id)
    }

    pub(crate) fn target(&self, id: LinkId) -> Option<Arc<str>> {
        self.known.borrow().targets.get(usize::from(id.0)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_target_keeps_its_id_and_unsafe_target_gets_none() {
        let links = Links::default();
        let first = links.intern(&Arc::from("https://a.example/")).unwrap();
        let second = links.intern(&Arc::from("https://b.example/")).unwrap();
        assert_eq!(links.intern(&Arc::from("https://a.example/")), Some(first));
        assert_ne!(first, second);
        assert_eq!(links.intern(&Arc::from("https://a/\x1b\\evil")), None);

        let mut cell = Cell::default();
        assert_eq!(LinkId::of(&cell), None);
        second.mark(&mut cell);
        assert_eq!(LinkId::of(&cell), Some(second));
        assert_eq!(links.target(second).as_deref(), Some("https://b.example/"));
    }
}
