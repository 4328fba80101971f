//! The table of the settings, from which everything else is derived: one row each, by subject. `screen` has the rows of
//! the screen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use toml::de::DeValue;

use osier_base::problem::Problem;
use osier_llm::{CacheRetention, ModelOptions, ThinkingLevel};
use osier_protocol::{NetworkAccess, PermissionMode, SandboxMode};

use super::form::Form;
use super::kinds::{
    ALLOWING_RULES, CHOICE, CREDENTIAL_STORE, FLAG, MODEL, PARTS, RESTRICTING_RULES, allowed,
    allowed_hosts, any_text, cost_limit, folder, kilobytes, language_servers, limit, model_options,
    models, network, number, optional_word, path, percentage, refresh, url, web_search, word,
};
use super::row::{Other, Project, Row, Safety, field, settings};
use super::screen::screen_rows;
use super::values::{
    Bidi, CredentialStore, Density, ExitOutput, FooterPart, Images, LanguageServer, ScreenMode,
    WebSearch,
};

/// A setting: its name, its values, its description and its parser.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    /// The default as it would be written; empty when there is none.
    pub default: &'static str,
    pub description: &'static str,
    pub group: Group,
    pub form: Form,
    accepts: &'static str,
    read: fn(&mut Settings, &DeValue<'_>) -> Option<()>,
    /// Sets the strictest value; only of safety settings.
    pub(super) strictest: Option<fn(&mut Settings)>,
    /// Combines the value with that of other settings; true if the other value names a scripted model, which is ignored.
    pub(super) combine: fn(&mut Settings, &Settings, Other) -> bool,
}

osier_base::words! {
    /// Settings that belong together, in the order of lists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Group {
        Model = "model",
        /// Used by the screen alone.
        Screen = "screen",
        Safety = "safety",
        Agent = "agent",
        Context = "context",
        Files = "files",
        Limits = "limits",
        Network = "network",
    }
}

/// All settings, in the order of their groups.
pub static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let mut settings = [Settings::SETTINGS, ScreenSettings::SETTINGS].concat();
    settings.sort_by_key(|setting| setting.group);
    settings
});

/// The setting with this name.
pub fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

// recipe: a setting, 1: its row, by subject, unless the screen alone uses it; `kinds.rs` has the kinds of values
settings! {
    /// All settings, resolved.
    pub struct Settings [] {
        Model {
            /// The model to start with.
            model: Option<String>, MODEL;
            /// Models for switching with a key.
            models: Vec<String> = [], models("a list of names and patterns, e.g. [\"anthropic/*\", \"gpt-5\"]");
            /// Fallback models for failed calls, in order.
            fallback: Vec<String> = [], models("a list of names");
            /// Models that lists show first; switching uses them when `models` is empty.
            favourites: Vec<String> = [], models("a list of \"PROVIDER/ID\"");
            /// The tools and request options of models, by "PROVIDER/ID", id or pattern.
            model_options: Vec<ModelOptions> = {}, model_options("a table of tables by model, e.g. {\"openai/gpt-5*\" = {tools = \"edit\", verbosity = \"low\"}}, with `tools` (\"edit\", \"patch\" or \"gemini\"), `verbosity` (\"low\", \"medium\" or \"high\"), `service_tier` (a text) and `parallel_calls` (true or false)");
            /// The model of the role `plan`.
            plan_model: Option<String>, MODEL;
            /// The model of the role `edit`.
            edit_model: Option<String>, MODEL;
            /// The model for titles, searches and checks of summaries, and, if it is set, for summaries; without it, a
            /// cheap model of the same provider. "off": no titles, and the model of the session for the rest.
            small_model: Option<String>, MODEL;
            /// The model of the permission mode `auto`; without it, a cheap model of the same provider, or the model of
            /// the session.
            review_model: Option<String>, MODEL.project(Project::Nothing).safety(Safety::Allows(None), |_, _| {});
            /// The thinking level to start with; without it, `medium` for models that can think.
            thinking: Option<ThinkingLevel>, optional_word();
            /// How long providers keep the prompt cache: some minutes, or an hour at Anthropic (writing costs more) and a
            /// day at OpenAI.
            cache_retention: CacheRetention = "short", word();
            /// Whether osier detects Ollama, LM Studio, llama.cpp and vLLM on this machine.
            discover_local_models: bool = true, FLAG;
            /// Whether osier checks for new models and prices once a day, in the background.
            refresh_models: Option<String> = true, refresh("true, false, or the https URL of a copy of models.dev/api.json");
        }
        Safety {
            /// Permission mode.
            permissions: PermissionMode = "yolo", word().project(Project::Stricter).safety(
                Safety::Restricts(Some(|mode| *mode = (*mode).max(PermissionMode::Ask))),
                |own, other| *own = (*own).max(*other),
            );
            /// Rules for calls that run without a question.
            allow: Vec<String> = [], ALLOWING_RULES;
            /// Rules for calls that require a question in every mode.
            ask: Vec<String> = [], RESTRICTING_RULES;
            /// Rules for calls that are always denied.
            deny: Vec<String> = [], RESTRICTING_RULES;
            /// Where commands can write; without network unless `sandbox_network` is set.
            sandbox: SandboxMode = "off", word().project(Project::Stricter).safety(
                // A sandbox that was selected stays; without one, the strictest applies.
                Safety::Restricts(Some(|mode| if *mode == SandboxMode::Off {
                    *mode = SandboxMode::ReadOnly;
                })),
                |own, other| *own = (*own).max(*other),
            );
            /// Whether sandboxed commands have a network, or the hosts that they can reach.
            sandbox_network: NetworkAccess = false, network("true, false, or a list of hosts, e.g. [\"example.org\", \"*.example.com:443\", \"10.0.0.0/8\"]");
            /// Additional folders that sandboxed commands can write to.
            sandbox_write: Vec<String> = [], allowed("a list of folders, e.g. [\"~/.cargo\"]");
            /// Hosts of private networks that `web_fetch` can reach: names, addresses and networks.
            web_private_hosts: Vec<String> = [], allowed_hosts("a list of hosts, e.g. [\"localhost:3000\", \"*.corp.example\", \"10.0.0.0/8\"]");
            /// Environment variables that programs inherit although their names are those of keys, such as `GITHUB_TOKEN`.
            pass_environment: Vec<String> = [], allowed("a list of environment variables, e.g. [\"OPENAI_API_KEY\"]");
            /// Whether osier warns about keys and passwords in texts that the model gets.
            secret_warnings: bool = true, FLAG.project(Project::Stricter).safety(
                Safety::Restricts(Some(|warns| *warns = true)),
                |own, other| *own |= other,
            );
            /// Whether the hooks in `~/.claude/settings.json` run in osier too; without it, osier asks.
            claude_hooks: Option<bool>, CHOICE.project(Project::Nothing).safety(
                Safety::Restricts(None),
                |own, other| if *other == Some(true) {
                    *own = *other;
                },
            );
            /// Where API keys and sign-ins are stored.
            credential_store: CredentialStore = "file", CREDENTIAL_STORE;
        }
        Agent {
            /// Whether the model can start subagents (the tool `task`).
            subagents: bool = true, FLAG;
            /// How the model searches the web: `auto` uses the provider of the model, otherwise a service with a key.
            web_search: WebSearch = "auto", web_search("auto, provider, brave, tavily, exa, off, or the URL of a SearXNG server");
            /// The share of the context window that the definitions of MCP tools may fill. Beyond it, 10,000 tokens or 40
            /// tools, the model loads them on demand; 100 turns that off.
            mcp_tools_share: u64 = 2, percentage("a percentage from 0 to 100");
            /// Whether the first request of a session describes date, system, shell, git, files and the limits of the
            /// sandbox.
            describe_environment: bool = true, FLAG;
            /// Whether osier stops a model that repeats the same tool calls with the same results.
            loop_guard: bool = true, FLAG;
            /// How long a command of the model may run before it becomes a background job. A timeout that the model sets
            /// takes precedence.
            background_after: u64 = 600, number::<_, 0>("a number of seconds; 0 for never");
        }
        Context {
            /// How much of the output of a command the model gets. The rest is in a file that it can read.
            output_limit: u64 = 50, kilobytes::<400>("a number of KB from 1 to 400");
            /// Whether the conversation is compacted when the context window is nearly full.
            auto_compact: bool = true, FLAG;
            /// Whether results of tools that the model no longer needs are left out of requests where that saves money.
            drop_results: bool = true, FLAG;
            /// Whether a small model writes the titles of sessions without a name.
            titles: bool = true, FLAG;
        }
        Files {
            /// The folder of new sessions; a relative one is in the project. Without it, they are in the data directory.
            session_dir: Option<String>, folder("a path, e.g. \".osier/sessions\"").project(Project::Nothing);
            /// Whether checkpoints record files before they change, so that they can be restored.
            checkpoints: bool = true, FLAG;
            /// Size limit of checkpoints: those of the least recently used sessions are removed first.
            checkpoints_limit: u64 = 5000, number::<_, 0>("a number of MB");
            /// How long the checkpoints of a session are kept after its last use.
            checkpoints_days: u64 = 90, number::<_, 0>("a number of days");
            /// Whether formatters of trusted projects format files after the model changed them.
            format: bool = true, FLAG;
            /// Whether language servers of trusted projects report errors after changes and give the model tools such as
            /// `definition`.
            lsp: bool = true, FLAG;
            /// Changes of the known language servers, and further ones.
            lsp_servers: Vec<LanguageServer> = {}, language_servers("a table of tables by server, e.g. {gopls = {disabled = true}, nixd = {command = [\"nixd\"], extensions = [\"nix\"], markers = [\"flake.nix\"], options = {}}}");
            /// How long the result of a change waits for language servers. Errors that come later follow in a reminder.
            lsp_wait: u64 = 1500, number::<_, 0>("a number of milliseconds");
        }
        Limits {
            /// How often a failed model call is tried again.
            max_retries: u32 = 5, number::<_, 0>("a whole number from 0");
            /// How long a model may send no content before the call is tried again. Signs of life without content do not
            /// count.
            idle_timeout: u64 = 300, number::<_, 1>("a number of seconds from 1");
            /// How long one answer may take in non-interactive modes.
            answer_timeout: u64 = 3600, number::<_, 1>("a number of seconds from 1");
            /// Stop a session before the next model call when its calls have cost this much; `/budget` raises it.
            max_cost: Option<f64>, cost_limit("a number of US dollars");
            /// Stop a session when its model calls have used this many input and output tokens.
            max_tokens: Option<u64>, limit("a whole number");
            /// Stop a session after this many model calls, those of subagents and summaries included.
            max_session_turns: Option<u64>, limit("a whole number");
        }
        Network {
            /// The osier server that proxies model calls.
            proxy: Option<String>, url("an https URL, or a URL on this machine").project(Project::Nothing);
            /// Additional certificate authorities to trust.
            ca_file: Option<PathBuf>, path("the path of a PEM file").project(Project::Nothing);
        }
        /// The settings of the screen.
        screen: ScreenSettings = ScreenSettings::empty();
        /// Environment variables of commands, from settings of Claude Code.
        command_environment: BTreeMap<String, String> = BTreeMap::new();
        /// Additional directories from the user's settings of Claude Code.
        directories: Vec<PathBuf> = Vec::new();
        /// Additional directories of a trusted project, which the sandbox does not open for writing.
        project_directories: Vec<PathBuf> = Vec::new();
        /// Why safety settings cannot be read as they are written. Then the values here are the last valid ones or
        /// stricter.
        faults: Vec<Problem> = Vec::new();
        /// The loosest permission mode that flags can select: above `yolo` while rules cannot be read.
        least: PermissionMode = PermissionMode::Yolo;
        /// The safety settings of the user's file as written.
        written: String = String::new();
    }
}

screen_rows!(settings);

/// The default of every setting.
static DEFAULTS: LazyLock<Settings> = LazyLock::new(|| {
    let mut settings = Settings::empty();
    for setting in SETTINGS.iter() {
        if let Ok(default) = DeValue::parse(setting.default) {
            setting.read(&mut settings, default.get_ref());
        }
    }
    settings
});

impl Default for Settings {
    fn default() -> Self {
        DEFAULTS.clone()
    }
}

impl Default for ScreenSettings {
    fn default() -> Self {
        DEFAULTS.screen.clone()
    }
}

impl Setting {
    /// The values that the setting accepts, in words.
    pub fn accepts(&self) -> String {
        if self.accepts.is_empty() {
            self.form.in_words()
        } else {
            self.accepts.to_owned()
        }
    }

    /// Applies a value; false if the value is invalid.
    pub(super) fn read(&self, settings: &mut Settings, value: &DeValue<'_>) -> bool {
        (self.read)(settings, value).is_some()
    }

    /// Whether an invalid value is a fault.
    pub(super) fn is_safety(&self) -> bool {
        self.strictest.is_some()
    }
}
