//! Images on the terminal: the protocol, and the data that is sent in addition to the cells.

use std::path::Path;
use std::time::Instant;

use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Position;

use super::effects::Finished;
use super::screen::Screen;
use osier_settings::Images;
use osier_term::images::{Canvas, DEFAULT_CELL, ImageStore, OuterTerminal, PlacedStrip, Protocol};
use osier_term::input::TerminalReply;
use osier_term::terminal::{QUERY_CELL_SIZE, TerminalHost};
use osier_term::theme::ColourDepth;
use osier_tools::illustration;

/// The terminal's picture support, and the strips on screen.
#[derive(Debug, Default)]
pub(super) struct Painted {
    protocol: Option<Protocol>,
    /// What tmux reports of the outer terminal.
    around: OuterTerminal,
    cell: Option<(u16, u16)>,
    /// Pixels of a cell by the size of the window, for a terminal that does not answer.
    window: Option<(u16, u16)>,
    strips: Vec<PlacedStrip>,
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
    fn protocol(&self, host: TerminalHost) -> Protocol {
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
    fn changed(&mut self, placed: Vec<PlacedStrip>, cells: &Buffer) -> Vec<PlacedStrip> {
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

    /// Nothing of them is on the screen any more.
    pub(super) fn forget(&mut self) {
        self.strips.clear();
    }
}

impl Screen {
    /// Sends images to the loop when they are ready.
    pub(super) fn start_pictures(&mut self) {
        self.painted.resized(self.terminal.cell());
        if self.terminal.kind().host == TerminalHost::Tmux {
            let results = self.results.clone();
            osier_base::task::spawn(async move {
                drop(results.send(Finished::OuterTerminal(OuterTerminal::query().await)));
            });
        }
        let results = self.results.clone();
        let deliver = move |drawn| drop(results.send(Finished::Picture(drawn)));
        self.tabs.front.app.pictures = ImageStore::new(deliver);
    }

    /// The terminal has another size.
    pub(super) fn resize_pictures(&mut self) {
        if self.painted.resized(self.terminal.cell()) {
            self.terminal.output().send(QUERY_CELL_SIZE.into());
        }
    }

    /// Shows pictures as the terminal around tmux can.
    pub(super) fn on_around(&mut self, around: OuterTerminal) {
        self.painted.around = around;
        self.clock.request_now(Instant::now());
    }

    /// Has the terminal forget what it was sent.
    pub(super) fn take_pictures_back(&mut self) {
        self.forget_pictures();
        self.terminal
            .output()
            .send(self.tabs.front.app.pictures.take_bytes());
    }

    /// What pictures are drawn for now.
    pub(super) fn canvas(&self) -> Option<Canvas> {
        let kind = self.terminal.kind();
        let protocol = match self.options.settings.screen.images {
            Images::Off => return None,
            Images::Kitty => Protocol::Kitty,
            Images::Iterm => Protocol::Iterm,
            Images::Sixel => Protocol::Sixel,
            Images::Blocks => Protocol::Blocks,
            Images::Auto => self.painted.protocol(kind.host),
        };
        // A number of a picture is a colour; without colours there is nothing to tell it by.
        let depth = kind.depth;
        let shows = match protocol {
            Protocol::Blocks => depth != ColourDepth::None,
            Protocol::Kitty => matches!(depth, ColourDepth::True | ColourDepth::Indexed),
            Protocol::Iterm | Protocol::Sixel => kind.has_strings(),
        };
        shows.then(|| Canvas {
            protocol,
            cell: self
                .painted
                .cell
                .or(self.painted.window)
                .unwrap_or(DEFAULT_CELL),
            depth,
            background: self
                .tabs
                .front
                .app
                .theme
                .background_rgb()
                .unwrap_or_default(),
            passes_through: kind.host == TerminalHost::Tmux,
        })
    }

    /// Queues what the terminal is sent of pictures with the frame that was just drawn.
    pub(super) fn send_pictures(&mut self) {
        let bytes = self.tabs.front.app.pictures.take_bytes();
        if !bytes.is_empty() {
            self.writer.queue(bytes);
        }
        let placed = self.tabs.front.app.transcript.take_placed();
        if placed.is_empty() && self.painted.strips.is_empty() {
            return;
        }
        for strip in self.painted.changed(placed, self.writer.drawn()) {
            let position = Position::new(strip.x, strip.y);
            self.writer.queue_at(position, strip.bytes.to_vec());
        }
    }

    /// Reads the image files of answers in view, in the background.
    pub(super) fn read_illustrations(&mut self) {
        let app = &mut self.tabs.front.app;
        let wanted = app.transcript.take_wanted();
        if wanted.is_empty() {
            return;
        }
        let (cwd, results) = (app.session.cwd.clone(), self.results.clone());
        let is_here = self.has_files();
        osier_base::task::spawn_blocking(move || {
            for path in wanted {
                let read = if is_here {
                    illustration::read(Path::new(&cwd), &path)
                } else {
                    Err("the file is on the server's machine".to_owned())
                };
                let cwd = cwd.clone();
                let _ = results.send(Finished::Illustration { cwd, path, read });
            }
        });
    }

    /// The terminal may have lost what it was sent.
    pub(super) fn forget_pictures(&mut self) {
        self.painted.forget();
        self.tabs.front.app.pictures.forget_all();
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
