//! The setup of a session: command line and configuration, resolved before anything runs.

use osier_protocol::Opening;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use osier_base::folders::Folders;
use osier_extensions::hooks::CallbackHooks;
use osier_llm::{Model, Provider, Secret, ThinkingLevel};
use osier_mcp::ServerConfig;
use osier_permissions::trust::project_root;
use osier_protocol::{Budget, PermissionMode, SandboxMode};
use osier_settings::Settings;
use osier_store::TakeOver;
use osier_tools::editor::Editor;
#[cfg(feature = "transfer")]
use osier_transfer::HtmlThemes;

/// The setup of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionSetup {
    pub folders: Folders,
    /// The absolute working directory of the tools.
    pub cwd: PathBuf,
    /// Additional directories for the tools. Absolute.
    pub directories: Vec<PathBuf>,
    pub settings: Settings,
    /// The environment variables; shared by all sessions of a program.
    pub environment: Arc<BTreeMap<String, String>>,
    /// `PROVIDER/ID[:LEVEL]` or part of a name; overrides the settings.
    pub model: Option<String>,
    /// Fallback models in order; overrides the settings.
    pub fallback: Vec<String>,
    /// The models to cycle through; overrides the settings.
    pub cycle: Vec<String>,
    pub thinking: Option<ThinkingLevel>,
    /// A stored session keeps its own model and level: for servers, whose options are for new sessions.
    pub prefers_stored: bool,
    /// The key for the provider of the selected model, for this run only.
    pub api_key: Option<Secret>,
    /// The URL of the provider of the selected model, for this run only.
    pub base_url: Option<String>,
    /// The osier server for all calls; overrides the settings.
    pub proxy: Option<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// Additional instruction files, or directories that contain one.
    pub context: Vec<PathBuf>,
    pub session: SessionChoice,
    /// The absolute folder of new sessions; overrides the settings.
    pub session_dir: Option<PathBuf>,
    /// Names of the tools to offer; all if not set.
    pub tools: Option<Vec<String>>,
    pub temperature: Option<f32>,
    pub max_turns: Option<u32>,
    pub max_retries: Option<u32>,
    /// The budget of the session; each limit overrides that of the settings.
    pub budget: Budget,
    /// The permission mode; overrides the settings.
    pub permissions: Option<PermissionMode>,
    /// The sandbox mode; overrides the settings.
    pub sandbox: Option<SandboxMode>,
    /// The program with the hidden sandbox subcommand; the running one if not set.
    pub helper: Option<PathBuf>,
    /// Whether a client can answer questions; if not, they are dismissed.
    pub answers_questions: bool,
    /// Whether a session starts although safety settings cannot be read: for clients that show what applies instead.
    pub starts_with_faults: bool,
    /// Hooks that are functions of a program that uses osier.
    pub hook_callbacks: Option<Arc<CallbackHooks>>,
    /// Hooks of `Setup` run with this trigger when the first session opens.
    pub setup_hooks: Option<&'static str>,
    /// How long after a run hooks are notified that the session is idle.
    pub idle_after: Duration,
    /// How long auto review waits for the judgement of a model.
    pub review_timeout: Duration,
    /// Write trace log entries.
    pub trace: bool,
    /// Log every message of MCP servers.
    pub trace_servers: bool,
    /// The first prompt waits for MCP servers that are starting, and calls for their subagents: for non-interactive runs.
    pub waits_for_servers: bool,
    /// Additional MCP servers.
    pub servers: Vec<ServerConfig>,
    /// Whether there are no other MCP servers.
    pub only_given_servers: bool,
    /// Additional definitions of subagents, as the Markdown files have them. They override those of the files.
    pub agents: Vec<String>,
    /// The editor that provides files and terminals.
    pub editor: Option<Arc<dyn Editor>>,
    /// The HTML theme of exported pages; a plain one if not set.
    #[cfg(feature = "transfer")]
    pub html_themes: Option<Arc<dyn HtmlThemes>>,
    /// Whether a scripted demo runs while there is no model: for clients that show that it is one. Others fail.
    pub may_demo: bool,
    /// The models of servers on this machine, if they were searched for already.
    pub local_models: Option<Vec<Model>>,
    /// A model and its provider from an embedder; the default model.
    pub embedded: Option<(Model, Arc<dyn Provider>)>,
}

/// Which session is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionChoice {
    #[default]
    New,
    /// The newest session of this directory, or a new one.
    Continue,
    /// An id, a prefix of one, or a path.
    Resume(String),
    /// A copy of the current branch of the session with this reference.
    Copy(String),
    /// A copy of the current branch of the newest session of this directory, or a new one.
    CopyLatest,
    /// The session with this reference, read-only.
    ReadOnly(String),
    /// The session with this reference, or the newest one of this directory, even if another process has it open.
    TakeOver(Option<String>, TakeOver),
    /// This file; created if it does not exist.
    File(PathBuf),
    /// Nothing is stored.
    Unstored,
}

impl SessionChoice {
    /// The session `target`, opened in this way.
    pub fn opening(opening: Opening, target: String) -> Self {
        match opening {
            Opening::Itself => Self::Resume(target),
            Opening::Copy => Self::Copy(target),
            Opening::ReadOnly => Self::ReadOnly(target),
            Opening::TakeOver => Self::TakeOver(Some(target), TakeOver::Ask),
            Opening::EndOther => Self::TakeOver(Some(target), TakeOver::End),
        }
    }

    /// This session, taken over from a process that has it open.
    ///
    /// # Errors
    /// The choice names no stored session.
    pub fn taken_over(self) -> Result<Self, String> {
        match self {
            Self::Resume(target) => Ok(Self::TakeOver(Some(target), TakeOver::Ask)),
            Self::Continue => Ok(Self::TakeOver(None, TakeOver::Ask)),
            Self::File(path) if path.exists() => {
                let target = path.to_string_lossy().into_owned();
                Ok(Self::TakeOver(Some(target), TakeOver::Ask))
            }
            Self::File(path) => Ok(Self::File(path)),
            _ => Err(
                "`--take-over` needs the session: `--continue`, `--resume ID` or `--session FILE`"
                    .to_owned(),
            ),
        }
    }
}

impl SessionSetup {
    /// The folder of new sessions, if it is not the one in the data directory. A relative one of the settings is in the
    /// project.
    pub(crate) fn session_folder(&self) -> Option<PathBuf> {
        let set = self.settings.session_dir.as_deref();
        let set = set.map(|folder| osier_base::path::resolve(&project_root(&self.cwd), folder));
        self.session_dir.clone().or(set)
    }

    /// The setup of a session in another directory. Blocks.
    pub(crate) fn in_directory(self, cwd: PathBuf) -> Self {
        let (settings, _) = Settings::load_for(&self.folders, &cwd);
        Self {
            cwd,
            settings,
            ..self
        }
    }

    /// Defaults for working in `cwd` with files in `folders`.
    pub fn new(folders: Folders, cwd: PathBuf) -> Self {
        Self {
            folders,
            cwd,
            idle_after: Duration::from_mins(1),
            review_timeout: Duration::from_secs(20),
            ..Self::default()
        }
    }
}
