//! Inline mode: frames at the end of the terminal's text. Lists and views, and the conversation while it is read, borrow the
//! alternate screen.

use std::ops::Range;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use super::App;
use crate::conversation::Transcript;
use crate::dialogs::Questions;
use crate::drawing::layout;
use osier_protocol::SessionInfo;
use osier_settings::ScreenMode;
use osier_term::frame::{Cursor, FrameWriter};

/// The frame that is drawn, if it is an inline one.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    is_next: bool,
    is_last: bool,
    /// Rows to print above the frame.
    printed: Option<Buffer>,
    /// Rows of the frame that nothing uses.
    unused: Range<u16>,
}

impl Inline {
    pub(super) fn is_frame(&self) -> bool {
        self.is_next
    }

    pub(super) fn prints_all(&self) -> bool {
        self.is_last
    }

    pub(super) fn set(&mut self, printed: Option<Buffer>, unused: Range<u16>) {
        (self.printed, self.unused) = (printed, unused);
    }
}

/// Draws the next frame of a writer; returns where the cursor belongs. An inline frame prints rows of the conversation, and
/// the last one prints all of them.
pub fn draw_next(
    app: &mut App,
    writer: &mut FrameWriter,
    now: Instant,
    is_last: bool,
) -> Option<Cursor> {
    app.inline = Inline {
        is_next: writer.is_inline(),
        is_last,
        ..Inline::default()
    };
    let (canvas, links) = writer.canvas();
    let position = app.draw(canvas, links, now);
    let frame = std::mem::take(&mut app.inline);
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
pub(super) fn announce(session: &SessionInfo, transcript: &mut Transcript) {
    let title = match session.name.as_deref().unwrap_or(&session.id) {
        "" => "New session".to_owned(),
        name => format!("Session: {name}"),
    };
    transcript.announce(title);
}
