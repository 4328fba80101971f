//! The options of an agent.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use osier_llm::ThinkingLevel;
use osier_llm::auth::is_safe;
use osier_protocol::{PermissionMode, SandboxMode};

/// The options of an agent, the same in every mode.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct RunArgs {
    /// Use this model: PROVIDER/ID[:LEVEL] or part of its name; fallback models follow after commas
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Set the favourite models: names and patterns separated by commas, such as `sonnet,gpt-5*`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub models: Vec<String>,

    /// Set the thinking level
    #[arg(long, value_name = "LEVEL", value_parser = thinking_level())]
    pub thinking: Option<ThinkingLevel>,

    /// Use this API key for the model's provider, in this run only
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub api_key: Option<String>,

    /// Set the base URL of the model's provider, such as `http://127.0.0.1:8080/v1`
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub base_url: Option<String>,

    /// Call models through the LLM proxy of this osier server
    #[arg(long, value_name = "URL", value_parser = proxy, value_hint = ValueHint::Url, conflicts_with_all = ["api_key", "base_url"])]
    pub proxy: Option<String>,

    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,

    /// Append text to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,

    /// Add instructions from a file, or from the AGENTS.md of a directory; repeatable
    #[arg(long, value_name = "PATH")]
    pub context: Vec<PathBuf>,

    /// Continue the newest session of this directory
    #[arg(short, long = "continue", group = "stored", conflicts_with_all = ["resume", "session", "no_session"])]
    pub continue_session: bool,

    /// Resume a session by id, id prefix or file; without a value, choose from a list
    #[arg(short, long, value_name = "ID|PATH", group = "stored", num_args = 0..=1, require_equals = false,
          default_missing_value = "", conflicts_with_all = ["session", "no_session"])]
    pub resume: Option<String>,

    /// Continue in a copy of a session, named by id, id prefix or file; it may be open elsewhere
    #[arg(long, value_name = "ID|PATH",
          conflicts_with_all = ["continue_session", "resume", "session", "no_session"])]
    pub fork: Option<String>,

    /// Take the session over from the osier that has it open, which stores its work and ends
    #[arg(long, conflicts_with_all = ["fork", "no_session"])]
    pub take_over: bool,

    /// Use this session file; create it if it does not exist
    #[arg(long, value_name = "PATH", conflicts_with = "no_session")]
    pub session: Option<PathBuf>,

    /// Store new sessions in this folder, and continue the newest one there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["session", "no_session"])]
    pub session_dir: Option<PathBuf>,

    /// Do not store the session
    #[arg(long, visible_alias = "no-session-persistence")]
    pub no_session: bool,

    /// Offer only these tools to the model, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,

    /// Set the permission mode
    #[arg(long, value_name = "MODE", value_parser = permission_mode())]
    pub permissions: Option<PermissionMode>,

    /// Set the sandbox mode for commands
    #[arg(long, value_name = "MODE", value_parser = sandbox_mode())]
    pub sandbox: Option<SandboxMode>,

    /// Trust the project's settings, hooks, plugins and MCP servers as they are now
    #[arg(long)]
    pub trust: bool,

    /// Set the working directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,

    /// Set the sampling temperature, from 0 to 2
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub temperature: Option<f32>,

    /// Limit the model calls per prompt; the last call must answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Stop the session before the next model call when its calls have cost this many US dollars
    #[arg(long, visible_alias = "max-budget-usd", value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// Stop the session when its model calls have used this many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,

    /// Stop the session after this many model calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_session_turns: Option<u64>,

    /// Limit the retries of a failed model call
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,

    /// Use these settings in this run: a TOML file like `settings.toml`, or a JSON object; repeatable
    #[arg(long, value_name = "FILE|JSON")]
    pub settings: Vec<String>,

    /// Set one setting in this run, such as `theme=nord`; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,

    /// Add MCP servers in this run: a file like `mcp.json`, or its JSON; repeatable
    #[arg(long, value_name = "FILE|JSON")]
    pub mcp_config: Vec<String>,

    /// Print the conversation into the terminal instead of using the full screen; same as the setting `screen = "inline"`
    #[arg(long)]
    pub inline: bool,

    /// Use the screen reader mode; same as the setting `screen_reader` or OSIER_SCREEN_READER=1
    #[arg(long)]
    pub screen_reader: bool,

    /// Log every request and response to standard error
    #[arg(long)]
    pub verbose: bool,

    /// Log complete model requests and responses
    #[arg(long)]
    pub trace_llm: bool,

    /// Log complete MCP and tool calls
    #[arg(long)]
    pub trace_mcp: bool,

    /// Append one JSON line per model call and tool call to this file
    #[arg(long, value_name = "FILE")]
    pub accounting: Option<PathBuf>,
}

/// Parses one of `names`, which clap lists in the help, in errors and in completions.
fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(names);
    names.try_map(move |name| parse(&name).ok_or_else(|| format!("unknown value `{name}`")))
}

pub(in crate::cli) fn thinking_level() -> impl TypedValueParser<Value = ThinkingLevel> {
    let values = ThinkingLevel::ALL.iter().map(|level| {
        let value = PossibleValue::new(level.name());
        match level {
            // The words of Claude Code.
            ThinkingLevel::Off => value.alias("disabled"),
            ThinkingLevel::Medium => value.alias("adaptive"),
            _ => value,
        }
    });
    let values = PossibleValuesParser::new(values);
    values.try_map(|name| {
        let name = match name.as_str() {
            "disabled" => "off",
            "adaptive" => "medium",
            name => name,
        };
        ThinkingLevel::from_name(name).ok_or_else(|| format!("unknown value `{name}`"))
    })
}

pub(in crate::cli) fn sandbox_mode() -> impl TypedValueParser<Value = SandboxMode> {
    let names = SandboxMode::ALL.iter().map(|mode| mode.name());
    one_of(names, SandboxMode::from_name)
}

pub(in crate::cli) fn permission_mode() -> impl TypedValueParser<Value = PermissionMode> {
    let names = PermissionMode::ALL.iter().map(|mode| mode.name());
    one_of(names, PermissionMode::from_name)
}

fn proxy(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    if is_safe(text) {
        return Ok(text.to_owned());
    }
    Err(
        "the token needs an encrypted connection; use an https URL or a server on this machine"
            .to_owned(),
    )
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e9 => Ok(value),
        _ => Err("expected a number of US dollars above 0".to_owned()),
    }
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 2".to_owned()),
    }
}
