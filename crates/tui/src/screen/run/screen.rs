//! The state of the loop.

use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::mpsc;

use super::options::Options;
use super::painted::Painted;
use super::tabs::Tabs;
use crate::actions::Toast;
use crate::dialogs::Appearance;
use osier_agent::{Attachment, Subscription};
use osier_base::leftovers::TemporaryFolder;
use osier_base::process::{TerminalLender, TerminalRequest};
use osier_hub::OpenOptions;
use osier_protocol::{Event, Opening};
use osier_session::SessionHandle;
use osier_term::clipboard::{Clipboard, ClipboardError, CopyResult};
use osier_term::frame::{FrameClock, FrameWriter};
use osier_term::images::{OuterTerminal, RenderedImage};
use osier_term::terminal::{Progress, Terminal};

/// The loop's state.
pub(super) struct Screen {
    pub(super) tabs: Tabs,
    pub(super) terminal: Terminal,
    pub(super) writer: FrameWriter,
    pub(super) clock: FrameClock,
    pub(super) appearance: Appearance,
    pub(super) clipboard: Clipboard,
    pub(super) results: mpsc::UnboundedSender<Finished>,
    pub(super) options: Options,
    /// The terminal has reported colours that are not applied yet.
    pub(super) colours_changed: bool,
    pub(super) painted: Painted,
    /// The title, progress and notifications of the terminal.
    pub(super) attention: AttentionState,
    /// Opens another session.
    pub(super) open: Open,
    /// The directory whose settings apply.
    pub(super) place: PathBuf,
    /// Lends the terminal to commands of the user, since the first of them.
    pub(super) lender: Option<TerminalLender>,
    /// The sample projects of demos that were played, removed at the end.
    pub(super) demos: Vec<TemporaryFolder>,
    /// When the interface started, in seconds since the Unix epoch.
    pub(super) started: u64,
}

impl Screen {
    /// Shows a line for a moment in the tab that is shown.
    pub(super) fn toast(&mut self, toast: Toast) {
        self.tabs.front.app.toast(toast, Instant::now());
    }
}

pub(super) type Opener =
    dyn Fn(OpenOptions, Opening) -> Result<(SessionHandle, Subscription<Event>), String>;

/// Opens another session in a new tab.
pub struct Open(pub(super) Box<Opener>);

impl Open {
    /// `open` returns a session that is starting, with its events from the first one on, or the
    /// reason for the user why there is none.
    pub fn new(
        open: impl Fn(OpenOptions, Opening) -> Result<(SessionHandle, Subscription<Event>), String>
        + 'static,
    ) -> Self {
        Self(Box::new(open))
    }
}

osier_base::opaque_debug!(Open);

/// Results of background work.
#[derive(Debug)]
pub(super) enum Finished {
    CopyResult {
        /// The name of the copied text, and how much it is.
        amount: String,
        copied: Result<CopyResult, ClipboardError>,
    },
    /// The clipboard's text, where it can be read.
    Pasted(Option<String>),
    /// An address was shown in the browser, or could not be.
    Opened(bool),
    /// A picture is ready to be shown.
    Picture(RenderedImage),
    /// The report of tmux about the outer terminal.
    OuterTerminal(OuterTerminal),
    /// A file for the prompt was read, or why not.
    Attached(Result<Box<Attachment>, String>),
    /// The picture at the path that an answer in the directory names, in base64, or why the picture is not shown.
    Illustration {
        cwd: String,
        path: String,
        read: Result<String, String>,
    },
    /// The report of `osier doctor` about the environment, or why there is none.
    Doctor(Result<String, String>),
    /// A command of the user wants the terminal.
    WantsTerminal(TerminalRequest),
    /// The clipboard holds this instead of a picture.
    ClipboardText(String),
}

/// The title and the progress sent last.
#[derive(Debug, Default)]
pub(super) struct AttentionState {
    pub(super) title: String,
    pub(super) progress: Option<Progress>,
}
