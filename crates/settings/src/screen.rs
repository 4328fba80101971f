//! The settings that only the screen uses: one row each, and the types of their values.

use std::collections::BTreeMap;

use super::form::Form;
use super::kinds::{FLAG, any_text, list, put, word};
use super::row::{Row, Safety, field, settings};
use super::table::{DEFAULTS, Group, Setting, Settings};

// recipe: a setting, 2: its row, if the screen alone uses it
settings! {
    /// The settings that only the screen uses.
    pub struct ScreenSettings [screen] {
        Screen {
            /// Colour theme: a built-in theme, a file in `themes/`, or `DARK/LIGHT` to follow the terminal.
            theme: String = "system", any_text("the name of a theme");
            /// Keymap: `default`, `vim`, `emacs`, or a file in `keymaps/` that extends the default.
            keymap: String = "default", any_text("the name of a keymap");
            /// Enable the mouse: the wheel scrolls, a click expands or collapses.
            mouse: bool = true, FLAG;
            /// The text that stays in the terminal after exit.
            exit_output: ExitOutput = "answer", word();
            /// Whether thinking is expanded at first.
            show_thinking: bool = true, FLAG;
            /// Show the model, the duration, the tools and the cost below each turn.
            turn_summary: bool = true, FLAG;
            /// No spinner: the status line changes only on events.
            reduced_motion: bool = false, FLAG;
            /// Screen reader mode: one column, words instead of symbols and lines, the cursor on the selection. Also
            /// `--screen-reader` and `OSIER_SCREEN_READER=1`.
            screen_reader: bool = false, FLAG;
            /// Show the side panel on screens with 140 columns or more: changed files, jobs, terminals and the to-do list.
            side_panel: bool = false, FLAG;
            /// Parts of the footer on the left, in this order.
            footer_left: Vec<FooterPart> = ["sessions", "cwd", "branch", "session"], PARTS;
            /// Parts of the footer on the right, in this order.
            footer_right: Vec<FooterPart> = ["connection", "plugins", "jobs", "diagnostics", "permissions", "sandbox", "tokens", "cost", "context", "cache", "model", "thinking"], PARTS;
            /// How images are shown: detected from the terminal, with a fixed protocol, as coloured half-blocks, or not at all.
            images: Images = "auto", word();
            /// Send a terminal notification when a turn ends while the terminal is not focused.
            notifications: bool = true, FLAG;
            /// Show the session and its state in the terminal title.
            title: bool = true, FLAG;
        }
    }
}

impl Default for ScreenSettings {
    fn default() -> Self {
        DEFAULTS.screen.clone()
    }
}

/// Parts of the footer; each is used once.
const PARTS: Row<Vec<FooterPart>> = Row::new(Form::Parts, "", |own, value| {
    let names = list(value)?;
    let mut parts = Vec::with_capacity(names.len());
    for name in &names {
        let part = FooterPart::from_name(name)?;
        if parts.contains(&part) {
            return None;
        }
        parts.push(part);
    }
    put(own, Some(parts))
});

osier_base::words! {
    /// How images are shown.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Images {
        /// Detected from the terminal.
        #[default]
        Auto = "auto",
        Kitty = "kitty",
        Iterm = "iterm",
        Sixel = "sixel",
        /// As coloured half-blocks.
        Blocks = "blocks",
        Off = "off",
    }
}

osier_base::words! {
    /// The part of the session that stays in the scrollback on exit.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum ExitOutput {
        Nothing = "nothing",
        #[default]
        Answer = "answer",
        Transcript = "transcript",
    }
}

osier_base::words! {
    /// A part of the footer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FooterPart {
        /// The open sessions, when there are several.
        Sessions = "sessions",
        /// The current directory.
        Cwd = "cwd",
        /// The git branch.
        Branch = "branch",
        /// The session's name.
        Session = "session",
        /// The connection to a remote agent.
        Connection = "connection",
        /// Status texts of plugins.
        Plugins = "plugins",
        /// Running background jobs.
        Jobs = "jobs",
        /// Errors and warnings of language servers.
        Diagnostics = "diagnostics",
        /// The permission mode, if it is not the default, and whether the session is read-only.
        Permissions = "permissions",
        /// The sandbox mode.
        Sandbox = "sandbox",
        /// Input, output and cached tokens.
        Tokens = "tokens",
        /// The cost of the session.
        Cost = "cost",
        /// The use of the context window.
        Context = "context",
        /// How long the provider still keeps the conversation in its cache.
        Cache = "cache",
        Model = "model",
        /// The thinking level.
        Thinking = "thinking",
    }
}

/// The environment variable for screen reader mode.
pub const READING: &str = "OSIER_SCREEN_READER";

/// Whether the environment enables screen reader mode.
pub fn wants_reading(environment: &BTreeMap<String, String>) -> bool {
    let value = environment.get(READING).map(String::as_str);
    !matches!(value, None | Some("" | "0" | "false"))
}

impl Settings {
    /// Disables what does not suit a screen reader; `asked` when a flag or the environment enables the mode.
    pub fn read_aloud(&mut self, asked: bool) {
        let screen = &mut self.screen;
        screen.screen_reader |= asked;
        screen.reduced_motion |= screen.screen_reader;
        if screen.screen_reader {
            screen.images = Images::Off;
        }
    }
}
