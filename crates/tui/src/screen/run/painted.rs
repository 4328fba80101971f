//! Which pictures the terminal shows, and how.

use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Position;

use osier_term::images::{OuterTerminal, PlacedStrip, Protocol};
use osier_term::input::TerminalReply;
use osier_term::terminal::TerminalHost;

/// The terminal's picture support, and the strips on screen.
#[derive(Debug, Default)]
pub(super) struct Painted {
    pub(super) protocol: Option<Protocol>,
    /// The outer terminal that tmux reports.
    pub(super) around: OuterTerminal,
    pub(super) cell: Option<(u16, u16)>,
    /// Pixels of a cell by the size of the window, for a terminal that does not answer.
    pub(super) window: Option<(u16, u16)>,
    pub(super) strips: Vec<PlacedStrip>,
}

impl Painted {
    /// Records a reply. True when it may change how pictures are shown.
    pub(super) fn on_reply(&mut self, reply: &TerminalReply) -> bool {
        let before = (self.protocol, self.cell);
        self.protocol = Protocol::with_reply(self.protocol, reply);
        match reply {
            TerminalReply::CellSize(width, height) if *width > 1 && *height > 1 => {
                self.cell = Some((*width, *height));
            }
            _ => {}
        }
        (self.protocol, self.cell) != before
    }

    /// The picture protocol of the outermost terminal.
    pub(super) fn protocol(&self, host: TerminalHost) -> Protocol {
        match host {
            TerminalHost::Screen => Protocol::Blocks,
            TerminalHost::Tmux => self.around.protocol_in_tmux(),
            _ => self.protocol.unwrap_or_default(),
        }
    }

    /// The size of the window or of its cells has changed. True when the terminal has to be queried again.
    pub(super) fn resized(&mut self, window: Option<(u16, u16)>) -> bool {
        self.window = window;
        self.strips.clear();
        self.cell.is_some()
    }

    /// The strips that have moved and that nothing covers.
    pub(super) fn changed(&mut self, placed: Vec<PlacedStrip>, cells: &Buffer) -> Vec<PlacedStrip> {
        let is_whole = |strip: &PlacedStrip| {
            (strip.x..strip.x + strip.columns).all(|x| {
                let cell = cells.cell(Position::new(x, strip.y));
                cell.is_some_and(|cell| cell.diff_option == CellDiffOption::Skip)
            })
        };
        let whole: Vec<PlacedStrip> = placed.into_iter().filter(is_whole).collect();
        let place = |strip: &PlacedStrip| (strip.x, strip.y, strip.part);
        let before: Vec<_> = self.strips.iter().map(place).collect();
        let changed = whole.iter().filter(|strip| !before.contains(&place(strip)));
        let changed = changed.cloned().collect();
        self.strips = whole;
        changed
    }

    /// Forgets the strips, because none of them is on the screen any more.
    pub(super) fn forget(&mut self) {
        self.strips.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_choose_the_picture_protocol() {
        let told = |replies: &[TerminalReply]| {
            let mut painted = Painted::default();
            for reply in replies {
                painted.on_reply(reply);
            }
            painted.protocol
        };
        let version = |name: &str| TerminalReply::Version(name.to_owned());
        let sixel = || TerminalReply::DeviceAttributes(vec![62, 4, 22]);
        for (replies, expected) in [
            (vec![version("kitty(0.40.0)")], Some(Protocol::Kitty)),
            (vec![version("kitty(0.28.1)")], Some(Protocol::Kitty)),
            (vec![version("kitty(0.26.5)")], None),
            (vec![version("ghostty 1.2"), sixel()], Some(Protocol::Kitty)),
            (
                vec![version("WezTerm 2024"), sixel()],
                Some(Protocol::Iterm),
            ),
            (vec![version("foot(1.20)"), sixel()], Some(Protocol::Sixel)),
            (vec![version("XTerm(390)")], None),
            (vec![TerminalReply::DeviceAttributes(vec![64, 1])], None),
        ] {
            assert_eq!(told(&replies), expected, "{replies:?}");
        }
    }
}
