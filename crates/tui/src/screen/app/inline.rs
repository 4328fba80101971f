//! Inline mode: frames at the end of the terminal's text. Lists and views, and the conversation while it is read, borrow the
//! alternate screen.

use std::ops::Range;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use super::App;
use crate::conversation::Printing;
use crate::dialogs::Questions;
use crate::drawing::layout;
use osier_protocol::SessionInfo;
use osier_settings::ScreenMode;
use osier_term::frame::{Cursor, FrameWriter};

/// The frame that is drawn, if it is an inline one.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    is_next: bool,
    printing: Printing,
    /// Rows to print above the frame.
    printed: Option<Buffer>,
    /// Rows of the frame that nothing uses.
    unused: Range<u16>,
}

impl Inline {
    pub(super) fn is_frame(&self) -> bool {
        self.is_next
    }

    pub(super) fn printing(&self) -> Printing {
        self.printing
    }

    pub(super) fn set(&mut self, printed: Option<Buffer>, unused: Range<u16>) {
        (self.printed, self.unused) = (printed, unused);
    }
}

/// Draws the next frame of a writer; returns where the cursor belongs. An inline frame prints rows of the conversation.
pub fn draw_next(
    app: &mut App,
    writer: &mut FrameWriter,
    now: Instant,
    printing: Printing,
) -> Option<Cursor> {
    app.inline = Inline {
        is_next: writer.is_inline(),
        printing,
        ..Inline::default()
    };
    let (canvas, links) = writer.canvas();
    let position = app.draw(canvas, links, now);
    let frame = std::mem::take(&mut app.inline);
    if !frame.is_next {
        app.transcript.prints_nothing();
    }
    if let Some(rows) = frame.printed {
        writer.print(rows);
    }
    writer.leave_out(frame.unused);
    let shape = app.cursor_shape();
    position.map(|position| Cursor { position, shape })
}

/// Whether the setting chooses inline mode.
pub(crate) fn is_on(app: &App) -> bool {
    app.settings.screen == ScreenMode::Inline
}

/// Whether the alternate screen is needed: for a list or a view, for the page of keys, and for the conversation while it is
/// read.
pub(crate) fn covers_screen(app: &App, size: Size) -> bool {
    let has_view = !app.overlays.is_empty() && !Questions::is_in_front(&app.overlays);
    let reads = app.transcript.is_browsing() || !app.transcript.follows();
    let area = Rect::new(0, 0, size.width, size.height);
    has_view || app.keys_shown.page().is_some() || reads || !layout::fits(area)
}

/// Names the session whose end is printed below the text of another one.
pub(crate) fn announce(app: &mut App, title: &str) {
    app.transcript.announce(format!("Session: {title}"));
}

/// The title of a session that has just been opened, as far as it is known.
pub(super) fn title(session: &SessionInfo) -> String {
    let source = session.fork_of.as_deref();
    match session.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => source.map_or_else(|| "new".to_owned(), |source| format!("fork of {source}")),
    }
}
