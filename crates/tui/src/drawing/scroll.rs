//! The part of many rows that is on the screen.

use std::ops::Range;

use crate::actions::Command;
use osier_term::Handled;

/// The first row that is shown, and how many fit.
#[derive(Debug, Default)]
pub(crate) struct Scroll {
    top: usize,
    page: usize,
    count: usize,
}

impl Scroll {
    /// Fits `count` rows into `page` rows. Returns the rows that are shown.
    pub(crate) fn fit(&mut self, count: usize, page: usize) -> Range<usize> {
        (self.count, self.page) = (count, page);
        self.by(0);
        self.top..count.min(self.top + page)
    }

    /// Whether there are rows that are not shown.
    pub(crate) fn is_cut(&self) -> bool {
        self.count > self.page
    }

    fn by(&mut self, rows: isize) {
        let last = self.count.saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// Scrolls for a key. A page repeats one row of the page before.
    pub(crate) fn on_command(&mut self, command: Command) -> Handled {
        let page = self.page.saturating_sub(1).max(1).cast_signed();
        match command {
            Command::Up => self.by(-1),
            Command::Down => self.by(1),
            Command::PageUp => self.by(-page),
            Command::PageDown => self.by(page),
            Command::First => self.top = 0,
            Command::Last => self.by(isize::MAX),
            _ => return Handled::No,
        }
        Handled::Yes
    }
}

/// The meaning of a command in a view that scrolls but has no selection.
pub(crate) fn meaning(command: Command) -> Option<&'static str> {
    match command {
        Command::Up => Some("Scroll up"),
        Command::Down => Some("Scroll down"),
        Command::First => Some("Go to the beginning"),
        Command::Last => Some("Go to the end"),
        _ => None,
    }
}
