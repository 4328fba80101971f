//! A configured server: how it is started or reached, and which of its tools are offered.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::hidden::Hidden;
use super::program::ProgramLink;
use osier_base::problem::Problem;
use osier_base::secrets;

/// Default time without progress after which a request fails.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Time for the answer to the first request. `npx` may have to download the program first.
pub(super) const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A configured server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    pub name: String,
    /// The file that configures the server.
    pub file: PathBuf,
    /// Whether the file belongs to the project, which is trusted. Other servers do not start in the
    /// project unless their entry says so.
    pub of_project: bool,
    pub launch: Launch,
    /// The command or URL as written in the file, for display.
    pub shown: String,
    /// Values that messages must not show.
    pub hidden: Hidden,
    pub disabled: bool,
    /// Time without progress after which a request fails.
    pub timeout: Duration,
    pub start_timeout: Duration,
    pub tools: ToolFilter,
    pub sampling: SamplingRule,
    /// The level of the least important messages that the server logs; the server decides if it is not set.
    pub log_level: Option<&'static str>,
}

/// The levels of messages that servers log, least important first.
pub(super) const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Whether a server may ask the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SamplingRule {
    /// The user is asked each time.
    #[default]
    Ask,
    Allow,
    Deny,
}

impl ServerConfig {
    /// Makes a server of a project ask before it uses the model: a project must not spend the
    /// user's tokens without a question.
    pub(super) fn limit_project(&mut self) -> Option<Problem> {
        if !self.of_project || self.sampling != SamplingRule::Allow {
            return None;
        }
        self.sampling = SamplingRule::Ask;
        let message = format!(
            "the server `{}` of the project may not use the model without a question",
            self.name
        );
        let hint = "osier asks; to allow it, configure the server in your own mcp.json";
        Some(Problem::of_file(&self.file, message, hint))
    }

    /// A server that the client passed for a session, instead of a file.
    pub fn given(name: &str, launch: Launch) -> Self {
        launch.remember_keys();
        let shown = match &launch {
            Launch::Command { program, args, .. } => {
                let words = std::iter::once(program).chain(args);
                words.cloned().collect::<Vec<_>>().join(" ")
            }
            Launch::Url { url, .. } => url.clone(),
            Launch::Program(_) => "in the program".to_owned(),
        };
        Self {
            name: name.to_owned(),
            file: PathBuf::new(),
            of_project: false,
            launch,
            shown,
            hidden: Hidden::default(),
            disabled: false,
            timeout: REQUEST_TIMEOUT,
            start_timeout: START_TIMEOUT,
            tools: ToolFilter::default(),
            sampling: SamplingRule::Ask,
            log_level: None,
        }
    }
}

impl Launch {
    /// Registers the server's headers and keys as secrets, which no text that leaves the program
    /// contains.
    fn remember_keys(&self) {
        match self {
            Self::Command { env, .. } => {
                let keys = env.iter().filter(|(name, _)| secrets::is_secret_name(name));
                secrets::add_known(keys.map(|(_, value)| value.clone()));
            }
            Self::Url { headers, .. } => {
                for (name, value) in headers {
                    secrets::add_known_header(name, value);
                }
            }
            Self::Program(_) => {}
        }
    }
}

/// How a server is started or reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    Command {
        program: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<PathBuf>,
    },
    Url {
        url: String,
        headers: BTreeMap<String, String>,
        protocol: HttpProtocol,
        oauth: OAuthConfig,
    },
    /// The server is inside of the program that controls osier, if there is one.
    Program(Option<ProgramLink>),
}

/// How a server over HTTP exchanges messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpProtocol {
    /// Streamable HTTP, or the protocol of 2024 if the server does not know it.
    #[default]
    Streamable,
    /// The protocol of 2024: a stream of events, and messages to another address.
    Sse,
}

/// The client that servers with OAuth know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthConfig {
    /// Client id for servers with registered clients.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The address of a document that describes the client; it is the client id where the server accepts it.
    pub client_metadata_url: Option<String>,
    pub scopes: Vec<String>,
}

impl Launch {
    pub fn is_url(&self) -> bool {
        matches!(self, Self::Url { .. })
    }
}

/// The tools of a server that are offered: patterns over the server's names.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// The tools that the user selected by name; all when not set.
    pub(crate) allow: Option<GlobSet>,
    deny: GlobSet,
    /// The source patterns of `allow` and of the excluded tools.
    patterns: (Option<Vec<String>>, Vec<String>),
}

impl PartialEq for ToolFilter {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl ToolFilter {
    pub fn new(allow: Option<&[String]>, deny: &[String]) -> Result<Self, String> {
        let patterns = (allow.map(<[String]>::to_vec), deny.to_vec());
        let allow = allow.map(glob_set).transpose()?;
        let deny = glob_set(deny)?;
        Ok(Self {
            allow,
            deny,
            patterns,
        })
    }

    pub fn allows(&self, tool: &str) -> bool {
        let allowed = self.allow.as_ref().is_none_or(|allow| allow.is_match(tool));
        allowed && !self.deny.is_match(tool)
    }
}

fn glob_set(patterns: &[String]) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(Glob::new(pattern).map_err(|error| error.to_string())?);
    }
    builder.build().map_err(|error| error.to_string())
}
