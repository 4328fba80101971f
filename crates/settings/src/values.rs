//! Types that only settings have.

use serde::Deserialize;

use osier_tools::ServiceKind;

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
    /// Where osier draws.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum ScreenMode {
        /// On a screen of its own.
        #[default]
        Full = "full",
        /// At the end of the terminal's text.
        Inline = "inline",
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
    /// How much of calls and their output the conversation shows.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Density {
        Quiet = "quiet",
        #[default]
        Normal = "normal",
        Everything = "everything",
    }
}

osier_base::words! {
    /// Who puts right-to-left text in visual order.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Bidi {
        /// osier, unless the terminal is known to do it.
        #[default]
        Auto = "auto",
        /// osier.
        On = "on",
        /// The terminal.
        Off = "off",
    }
}

impl Bidi {
    /// Whether osier does it; `None` depends on the terminal.
    pub fn is_on(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::On => Some(true),
            Self::Off => Some(false),
        }
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

osier_base::words! {
    /// Where API keys and sign-ins are stored.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum CredentialStore {
        #[default]
        File = "file",
        Keyring = "keyring",
    }
}

impl CredentialStore {
    pub fn is_keyring(self) -> bool {
        self == Self::Keyring
    }
}

/// How the tool `web_search` searches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WebSearch {
    /// With the provider of the model, or a service that has a key.
    #[default]
    Auto,
    Provider,
    Service(ServiceKind),
    /// The address of a SearXNG server.
    Searxng(String),
    Off,
}

/// A change of a language server, or a further one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageServer {
    #[serde(skip)]
    pub name: String,
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// Ends of file names.
    pub extensions: Option<Vec<String>>,
    /// Files that mark the root of a project.
    pub markers: Option<Vec<String>>,
    /// Options for the server.
    pub options: Option<serde_json::Map<String, serde_json::Value>>,
    pub disabled: bool,
}
