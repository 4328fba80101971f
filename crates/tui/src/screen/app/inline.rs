//! Inline mode: frames at the end of the terminal's text. Lists and views, and the conversation while it is read, borrow the
//! alternate screen.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use super::App;
use crate::conversation::Transcript;
use crate::dialogs::Questions;
use crate::drawing::layout;
use osier_protocol::SessionInfo;
use osier_settings::ScreenMode;
use osier_term::frame::FrameWriter;

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
    /// The state of a frame; the last one prints all rows of the conversation.
    pub(super) fn new(is_next: bool, is_last: bool) -> Self {
        Self {
            is_next,
            is_last,
            ..Self::default()
        }
    }

    /// Gives the rows to print and those to leave out to the writer.
    pub(super) fn pass_to(self, writer: &mut FrameWriter) {
        if let Some(rows) = self.printed {
            writer.print(rows);
        }
        writer.leave_out(self.unused);
    }

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
    has_view || app.shows_keys || reads || !layout::fits(area)
}

/// Names the session whose end is printed below the text of another one.
pub(super) fn announce(session: &SessionInfo, transcript: &mut Transcript) {
    let title = match session.name.as_deref().unwrap_or(&session.id) {
        "" => "New session".to_owned(),
        name => format!("Session: {name}"),
    };
    transcript.announce(title);
}
