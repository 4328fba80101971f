//! Hyperlinks of cells. A cell has no room for a target, so a link is a number that travels in the
//! cell's underline colour, which osier uses for nothing else: every buffer operation, the scroll
//! included, moves it along for free.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Style};

/// The number of a link target within one `Links`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkId(u16);

impl LinkId {
    /// Lays the link over a cell.
    pub fn mark(self, cell: &mut Cell) {
        cell.underline_color = self.carrier();
    }

    /// `style` with the link on it.
    #[must_use]
    pub fn style(self, style: Style) -> Style {
        style.underline_color(self.carrier())
    }

    /// The link of a cell.
    pub fn of(cell: &Cell) -> Option<Self> {
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

/// The targets that were shown so far. At most 65,535; later ones are shown without a link.
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
    /// The number of a target. `None` for one that could break out of the control sequence, or when
    /// there are too many.
    pub fn intern(&self, target: &Arc<str>) -> Option<LinkId> {
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

    pub fn target(&self, id: LinkId) -> Option<Arc<str>> {
        self.known.borrow().targets.get(usize::from(id.0)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_keeps_its_number_and_an_unsafe_one_gets_none() {
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
