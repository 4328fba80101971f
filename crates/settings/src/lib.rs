//! The settings in `settings.toml`.
//!
//! Start at [`Settings`], the resolved values; [`SETTINGS`], the table from which parsing, checks and the
//! documentation are derived; and [`list`], which returns every value with its source.
//!
//! An invalid line is reported and skipped; all other lines apply. A safety setting that cannot be read is a fault: the
//! strictest value applies, never the default (`Take::Safety`), [`Settings::faults`] has the reason, and a session
//! starts only if a person sees it. The settings of a trusted project override the user's, but cannot weaken permissions
//! or change where secrets are sent.
//!
//! The crate does not know sessions or the screen.
//!
//! ```
//! use osier_settings::Settings;
//!
//! let (settings, problems) = Settings::parse("settings.toml".as_ref(), "theme = \"dark\"\nmouse = 3\n");
//! assert_eq!(settings.theme, "dark");
//! assert_eq!(problems.len(), 1);
//! ```

mod claude;
mod defaults;
mod edit;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hold;
mod http;
mod last_valid;
mod list;
mod load;
mod misspelt;
mod parse;
mod project;
mod rows;
pub mod schema;
mod screen;
mod table;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::de::DeValue;

use osier_base::problem::Problem;
use osier_llm::{CacheRetention, ModelOptions, ThinkingLevel};
use osier_protocol::{Budget, NetworkAccess, PermissionMode, SandboxMode};

pub use edit::{quoted, set, write};
pub use list::{SettingInfo, Source, list, literal};
pub use screen::{ExitOutput, FooterPart, Images, READING, wants_reading};
pub use table::SETTINGS;
pub use value::{LanguageServer, WebSearch};

/// All settings, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `PROVIDER/ID[:LEVEL]`, or a part of a model name.
    pub model: Option<String>,
    /// The models for switching with a key; patterns with `*` are allowed. Empty: every model with a key.
    pub models: Vec<String>,
    /// Fallback models for failed calls, in order.
    pub fallback: Vec<String>,
    /// Models that lists show first, and that switching uses when `models` is empty.
    pub favourites: Vec<String>,
    /// The models of the roles.
    pub plan_model: Option<String>,
    pub edit_model: Option<String>,
    /// The model for titles, searches and checks of summaries; `off` for none.
    pub small_model: Option<String>,
    /// The model that judges calls in the permission mode `auto`.
    pub review_model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    /// How long providers keep the prompt cache.
    pub cache_retention: CacheRetention,
    pub theme: String,
    pub keymap: String,
    pub mouse: bool,
    /// What stays in the scrollback on exit.
    pub exit_output: ExitOutput,
    pub show_thinking: bool,
    /// Whether a line below each turn says what it took.
    pub turn_summary: bool,
    pub reduced_motion: bool,
    /// Whether the screen is laid out for screen readers.
    pub screen_reader: bool,
    /// Whether wide screens show the side panel.
    pub side_panel: bool,
    /// How images are shown.
    pub images: Images,
    pub notifications: bool,
    /// Whether the terminal title shows the session and its state.
    pub title: bool,
    /// The parts of the footer, from both ends.
    pub footer_left: Vec<FooterPart>,
    pub footer_right: Vec<FooterPart>,
    pub max_retries: u32,
    /// Seconds without content after which a model call fails.
    pub idle_timeout: u64,
    /// Seconds after which an answer fails when nobody watches.
    pub answer_timeout: u64,
    /// Seconds after which a command of the model becomes a background job; 0: never.
    pub background_after: u64,
    /// The budget of each session.
    pub budget: Budget,
    /// Whether the model is told where it works.
    pub describe_environment: bool,
    /// Whether a model that repeats its tool calls is stopped.
    pub loop_guard: bool,
    /// Whether language servers run.
    pub lsp: bool,
    pub lsp_servers: Vec<LanguageServer>,
    /// Milliseconds that the result of a change waits for language servers.
    pub lsp_wait: u64,
    /// Whether changed files are formatted.
    pub format: bool,
    /// The percentage of the context window that the definitions of MCP tools may fill.
    pub mcp_tools_share: u64,
    /// Whether a nearly full context window is compacted automatically.
    pub auto_compact: bool,
    /// Whether results that the model no longer needs are left out of requests.
    pub drop_results: bool,
    /// Whether sessions get titles from a small model.
    pub titles: bool,
    pub discover_local_models: bool,
    /// Whether checkpoints of the project's files are recorded.
    pub checkpoints: bool,
    /// Whether the model can start subagents.
    pub subagents: bool,
    /// Size limit of all checkpoints in MB.
    pub checkpoints_limit: u64,
    /// Days after its last use that the checkpoints of a session are kept.
    pub checkpoints_days: u64,
    /// Whether credentials go into the system's keyring.
    pub keyring: bool,
    /// The osier server that proxies model calls.
    pub proxy: Option<String>,
    /// Additional certificate authorities; the path is relative to the file.
    pub ca_file: Option<PathBuf>,
    /// The URL that is checked for new models once a day; no check when not set.
    pub refresh_models: Option<String>,
    /// The permission mode.
    pub permissions: PermissionMode,
    /// The permission rules.
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// Whether the user's Claude Code hooks run in osier; the user is asked if not set.
    pub claude_hooks: Option<bool>,
    /// What commands can do.
    pub sandbox: SandboxMode,
    pub sandbox_network: NetworkAccess,
    /// Additional folders that sandboxed commands can write to.
    pub sandbox_write: Vec<String>,
    /// How the tool `web_search` searches.
    pub web_search: WebSearch,
    /// Hosts of private networks that `web_fetch` can reach.
    pub web_private_hosts: Vec<String>,
    /// Environment variables with keys of model providers that commands, hooks, plugins and MCP servers inherit.
    pub pass_environment: Vec<String>,
    /// Whether the user is warned about keys in texts that the model gets.
    pub secret_warnings: bool,
    /// What models are trained with, and options of their requests.
    pub model_options: Vec<ModelOptions>,
    /// Environment variables of commands, from settings of Claude Code.
    pub command_environment: BTreeMap<String, String>,
    /// Additional directories from the user's settings of Claude Code.
    pub directories: Vec<PathBuf>,
    /// Those of a trusted project, which the sandbox does not open for writing.
    pub project_directories: Vec<PathBuf>,
    /// Why safety settings cannot be read as they are written. Then the values here are the last valid ones or stricter.
    pub faults: Vec<Problem>,
    /// The loosest permission mode that flags can select: above `yolo` while rules cannot be read.
    pub least: PermissionMode,
    /// The safety settings of the user's file as written.
    pub written: String,
}

/// A setting: its key, its values, its description and how it is parsed.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    /// The default as it would be written; empty when there is none.
    pub default: &'static str,
    pub accepts: &'static str,
    pub description: &'static str,
    pub form: schema::Form,
    take: Take,
}

/// How the value of a setting is read. `None` when it is invalid.
type Read = fn(&mut Settings, &DeValue<'_>) -> Option<()>;

/// How a setting is taken over.
#[derive(Debug, Clone, Copy)]
enum Take {
    /// An invalid value is reported, and the default applies.
    Plain(Read),
    /// An invalid value is a fault. The second function sets the strictest value in its place.
    Safety(Read, fn(&mut Settings)),
}

/// Maximum size of a settings file.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

#[cfg(test)]
mod tests;
