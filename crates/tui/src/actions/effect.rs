//! Side effects that the interface requests from the program.

use std::path::PathBuf;

use osier_protocol::Opening;
use osier_term::KeyPress;

/// One request to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Copy a text; the second value names what is copied, such as `answer`.
    Copy(String, &'static str),
    /// Read the image in the clipboard. The app receives it in `attach`; text is pasted.
    ReadPicture,
    /// Read these files. The app receives them in `attach`.
    ReadPictures(Vec<PathBuf>),
    /// Read the clipboard. The app receives its text in `pasted`.
    ReadClipboard,
    /// Show this address in the browser.
    Open(String),
    Suspend,
    /// Edit this text in an external editor. The app receives the result in `edited`.
    ExternalEditor(String),
    /// Edit the plan or the call of the question `id` in an external editor. The app shows the result.
    EditAnswer {
        id: String,
        text: String,
    },
    /// Edit a file of the working directory, at a line.
    EditFile {
        path: String,
        line: usize,
    },
    /// Show this text in an external program.
    View {
        text: String,
        with: Viewer,
    },
    Repaint,
    /// Check the environment. The app shows the report in the conversation.
    Doctor,
    /// A run ended or an answer is needed.
    Notify(String),
    /// Show this theme without choosing it; without a name, the chosen one again.
    PreviewTheme(Option<String>),
    /// Load this theme and save it in the settings.
    LoadTheme(String),
    /// Use this keymap and save it in the settings.
    LoadKeymap(String),
    /// Use the keymap of Vim, or the default one if that of Vim is in use, and save it in the settings.
    ToggleVim,
    /// List the settings. The app receives them in `show_settings`.
    PickSetting,
    /// Write a setting of the user and apply it; without a value, remove it from the file.
    WriteSetting {
        name: String,
        value: Option<String>,
    },
    /// Add a text to a list in the settings of the user, or remove it, and apply it.
    EditList {
        name: &'static str,
        text: String,
        adds: bool,
    },
    /// Save a setting that a key has changed and that is applied already. Only errors are reported.
    Remember {
        name: &'static str,
        value: String,
    },
    /// Write a binding to the user's keymap and apply it.
    Bind(NewBinding),
    /// List the themes. The app receives them in `pick_theme`.
    PickTheme,
    /// Read settings, themes and keymaps again.
    ReloadAppearance,
    /// Open, show, close or report tabs.
    Tabs(TabRequest),
    Quit,
}

/// A program that shows a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// `$VISUAL` or `$EDITOR`.
    Editor,
    /// `$PAGER`.
    Pager,
}

/// A binding that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBinding {
    pub context: String,
    pub keys: Vec<KeyPress>,
    /// The name of the command; empty to remove the binding of the keys.
    pub action: String,
}

/// A stored session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// The path of the session, its id or the start of it, or its name.
    pub target: String,
    /// The working directory of the session; the current directory when not set.
    pub cwd: Option<String>,
    pub opening: Opening,
}

/// A request about the tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TabRequest {
    /// Start a new session in a new tab.
    Begin,
    /// Play the demo for this prompt in a new tab, in the directory of the sample project.
    Demo { prompt: String },
    /// Open a stored session in a new tab.
    Open(StoredSession),
    /// Open a fork in a new tab, which shows this notice about the origin of the fork.
    OpenFork(StoredSession, String),
    /// Show the tab with this number.
    Show(usize),
    /// Close the tab with this number; its session stays stored.
    Close(usize),
    /// Close this tab: its session could not be opened.
    Abandon { message: String },
    /// Report the summaries of the tabs to the shown tab.
    Report,
}
