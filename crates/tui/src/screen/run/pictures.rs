//! Images on the terminal: the protocol, and the data that is sent in addition to the cells.

use std::path::Path;
use std::time::Instant;

use ratatui::layout::Position;

use super::screen::{Finished, Screen};
use osier_settings::Images;
use osier_term::images::{Canvas, DEFAULT_CELL, ImageStore, OuterTerminal, Protocol};
use osier_term::terminal::{QUERY_CELL_SIZE, TerminalHost};
use osier_term::theme::ColourDepth;
use osier_tools::illustration;

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

    /// Makes the terminal forget the pictures.
    pub(super) fn delete_pictures(&mut self) {
        self.forget_pictures();
        self.terminal
            .output()
            .send(self.tabs.front.app.pictures.take_bytes());
    }

    /// The canvas that pictures are drawn for now.
    pub(super) fn canvas(&self) -> Option<Canvas> {
        if self.writer.is_inline() {
            // Pictures arrive later than their rows are printed.
            return None;
        }
        let kind = self.terminal.kind();
        let protocol = match self.options.settings.screen.images {
            Images::Off => return None,
            Images::Kitty => Protocol::Kitty,
            Images::Iterm => Protocol::Iterm,
            Images::Sixel => Protocol::Sixel,
            Images::Blocks => Protocol::Blocks,
            Images::Auto => self.painted.protocol(kind.host),
        };
        // The number of a picture is sent as a colour; without colours, the terminal cannot know
        // which picture is meant.
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

    /// Queues the picture data that is sent with the frame that was just drawn.
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

    /// The terminal may have lost the pictures.
    pub(super) fn forget_pictures(&mut self) {
        self.painted.forget();
        self.tabs.front.app.pictures.forget_all();
    }
}
