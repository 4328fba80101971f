//! The options of scripts and SDKs, with Claude Code's names.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};
use osier_peers::formats::permission_mode;

use super::run::thinking_level;

/// The options of runs for programs.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Scripts and SDKs")]
pub(in crate::cli) struct ScriptArgs {
    /// Write the answer as text, one JSON result, or a JSON line per message, as Claude Code does
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "mode"])]
    pub output_format: Option<OutputFormat>,

    /// Read prompts as text, or as JSON lines of Claude Code's format
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output_format")]
    pub input_format: Option<InputFormat>,

    /// Wait for standard input and put it before the prompt; the same as the prompt `-`
    #[arg(long)]
    pub stdin: bool,

    /// Write what the model streams, too; for `stream-json`
    #[arg(long)]
    pub include_partial_messages: bool,

    /// Write the prompts of standard input, too; for `stream-json`
    #[arg(long)]
    pub replay_user_messages: bool,

    /// Require an answer that matches the JSON Schema in this file; the model may repair it once
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "json_schema")]
    pub output_schema: Option<PathBuf>,

    /// Require an answer that matches this JSON Schema
    #[arg(long, value_name = "SCHEMA")]
    pub json_schema: Option<String>,

    /// Set the permission mode by Claude Code's name
    #[arg(long, value_name = "MODE", value_parser = permission_mode_name, conflicts_with = "permissions")]
    pub permission_mode: Option<String>,

    /// Accepted for SDKs: `--permission-mode bypassPermissions` needs nothing else
    #[arg(long, hide = true)]
    pub allow_dangerously_skip_permissions: bool,

    /// Say who answers questions about permissions: the program, or nobody
    #[arg(long, value_name = "WHO", value_parser = ["host", "none"])]
    pub permission_prompts: Option<String>,

    /// Answer questions about permissions over standard input; `stdio` is the only value
    #[arg(long, value_name = "TOOL", value_parser = ["stdio"])]
    pub permission_prompt_tool: Option<String>,

    /// Add rules that allow calls, separated by commas
    #[arg(long = "allowed-tools", alias = "allowedTools", value_name = "RULES")]
    pub allowed_tools: Option<String>,

    /// Add rules that deny calls, separated by commas
    #[arg(
        long = "disallowed-tools",
        alias = "disallowedTools",
        value_name = "RULES"
    )]
    pub disallowed_tools: Option<String>,

    /// Let the tools use this directory, too; repeatable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub add_dir: Vec<PathBuf>,

    /// Run the hooks of `Setup` with the trigger `init` before the session starts
    #[arg(long)]
    pub init: bool,

    /// Run the hooks of `Setup` with the trigger `maintenance` before the session starts
    #[arg(long, conflicts_with = "init")]
    pub maintenance: bool,

    /// Call this model when the first one fails
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,

    /// Set the thinking level
    #[arg(long, value_name = "LEVEL", value_parser = thinking_level(), conflicts_with = "thinking")]
    pub effort: Option<osier_llm::ThinkingLevel>,

    /// Set the thinking level that a model with a budget of this many tokens has
    #[arg(long, value_name = "N", conflicts_with_all = ["thinking", "effort"])]
    pub max_thinking_tokens: Option<u64>,

    /// Show thinking; `summarized` is the only value
    #[arg(long, value_name = "HOW", value_parser = ["summarized"], hide = true)]
    pub thinking_display: Option<String>,

    /// Use only the MCP servers of `--mcp-config` and of the program
    #[arg(long)]
    pub strict_mcp_config: bool,

    /// Continue in a copy of the session that `--resume` or `--continue` names
    #[arg(long, requires = "stored", conflicts_with = "take_over")]
    pub fork_session: bool,

    /// Replace the system prompt by the content of this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "system_prompt")]
    pub system_prompt_file: Option<PathBuf>,

    /// Accepted for SDKs; osier always reads its own settings
    #[arg(long, value_name = "LIST", hide = true)]
    pub setting_sources: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum InputFormat {
    Text,
    StreamJson,
}

fn permission_mode_name(name: &str) -> Result<String, String> {
    let known = permission_mode(name).map(|_| name.to_owned());
    known.ok_or_else(|| {
        "expected one of `default`, `manual`, `acceptEdits`, `dontAsk`, `auto`, `plan`, `bypassPermissions`"
            .to_owned()
    })
}
