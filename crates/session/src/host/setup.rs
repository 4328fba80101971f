//! What a host starts with: everything typed and configured, resolved into one value before anything
//! runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use osier_base::folders::Folders;
use osier_llm::{Model, Provider, Secret, ThinkingLevel};
use osier_mcp::ServerConfig;
use osier_permissions::Mode;
use osier_sandbox::SandboxMode;
use osier_settings::Settings;
use osier_tools::editor::Editor;
use osier_transfer::Look;

/// Everything a host needs to know.
#[derive(Debug, Clone)]
pub struct HostSetup {
    pub folders: Folders,
    /// Absolute; where tools work.
    pub cwd: PathBuf,
    /// Folders beside `cwd` that are worked in, too. Absolute.
    pub directories: Vec<PathBuf>,
    pub settings: Settings,
    /// The environment keys and homes are looked up in; one for all sessions of a program.
    pub environment: Arc<BTreeMap<String, String>>,
    /// `PROVIDER/ID[:LEVEL]` or part of a name; before the settings.
    pub model: Option<String>,
    /// Models to fall back to, in order; before the settings.
    pub fallback: Vec<String>,
    /// The cycling set; before the settings.
    pub cycle: Vec<String>,
    pub thinking: Option<ThinkingLevel>,
    /// Key for the chosen model's provider, for this run only.
    pub api_key: Option<Secret>,
    /// Where the chosen model's provider is reached, for this run only.
    pub base_url: Option<String>,
    /// The osier server that calls go through; before the settings.
    pub proxy: Option<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// Files of instructions beside those that are found, or folders that hold one.
    pub context: Vec<PathBuf>,
    pub session: SessionChoice,
    /// Names of the tools to offer; all when not set.
    pub tools: Option<Vec<String>>,
    pub temperature: Option<f32>,
    pub max_turns: Option<u32>,
    pub max_retries: Option<u32>,
    /// Before the settings.
    pub permissions: Option<Mode>,
    /// Before the settings.
    pub sandbox: Option<SandboxMode>,
    /// The program with the hidden subcommand that confines; the running one when not set.
    pub helper: Option<PathBuf>,
    /// Somebody listens who can answer questions; otherwise each is dismissed at once.
    pub answers_questions: bool,
    /// How long nothing happens after a run before hooks are told that the person is waited for.
    pub idle_after: Duration,
    /// Make trace log entries.
    pub trace: bool,
    /// Keep every message of MCP servers in their logs.
    pub trace_servers: bool,
    /// The first prompt waits a while for MCP servers that are starting: for modes nobody watches.
    pub waits_for_servers: bool,
    /// MCP servers beside those of the files.
    pub servers: Vec<ServerConfig>,
    /// The editor that files and commands are in, where there is one.
    pub editor: Option<Arc<dyn Editor>>,
    /// Colours of exported pages; plain ones when not set.
    pub look: Option<Arc<dyn Look>>,
    /// A model and its provider brought by an embedder; it is chosen when no other is named.
    pub embedded: Option<(Model, Arc<dyn Provider>)>,
}

/// Which session is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionChoice {
    #[default]
    New,
    /// The newest of this directory, or a new one.
    Continue,
    /// An id, the start of one, or a path.
    Resume(String),
    /// A copy of the current branch of such a session.
    Copy(String),
    /// Such a session as it is now, to be looked at.
    ReadOnly(String),
    /// This file, made when it does not exist.
    File(PathBuf),
    /// Nothing is stored.
    Unstored,
}

impl HostSetup {
    /// Defaults for working in `cwd` with files in `folders`.
    pub fn new(folders: Folders, cwd: PathBuf) -> Self {
        Self {
            folders,
            cwd,
            directories: Vec::new(),
            settings: Settings::default(),
            environment: Arc::default(),
            model: None,
            fallback: Vec::new(),
            cycle: Vec::new(),
            thinking: None,
            api_key: None,
            base_url: None,
            proxy: None,
            system_prompt: None,
            append_system_prompt: None,
            context: Vec::new(),
            session: SessionChoice::New,
            tools: None,
            temperature: None,
            max_turns: None,
            max_retries: None,
            permissions: None,
            sandbox: None,
            helper: None,
            answers_questions: false,
            idle_after: Duration::from_mins(1),
            trace: false,
            trace_servers: false,
            waits_for_servers: false,
            servers: Vec::new(),
            editor: None,
            look: None,
            embedded: None,
        }
    }
}
