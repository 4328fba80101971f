//! The options of scripts and SDKs, with Claude Code's names, and what they set.

use std::path::{Path, PathBuf};

use clap::{ValueEnum, ValueHint};

use super::args::RunArgs;
use super::run_config::RunConfig;
use crate::modes::script::claude::{ClaudeFormat, Lines};
use crate::modes::script::codex::CodexFormat;
use crate::modes::script::schema::AnswerSchema;
use crate::modes::script::{FinalText, Format, permission_mode};
use osier_extensions::hooks::names;
use osier_permissions::Rule;
use osier_protocol::{Effect, PermissionMode};
use osier_session::{SessionChoice, SessionSetup};
use osier_settings::claude::{MappedRule, map_rule};

/// The options of runs for programs.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Scripts and SDKs")]
pub(super) struct ScriptArgs {
    /// Write the answer as text, one JSON result, or a JSON line per message, as Claude Code does
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "mode"])]
    pub output_format: Option<OutputFormat>,

    /// Read prompts as text, or as JSON lines of Claude Code's format
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output_format")]
    pub input_format: Option<InputFormat>,

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
    pub permission_mode: Option<PermissionMode>,

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

    /// Call this model when the first one fails
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,

    /// Set the thinking level
    #[arg(long, value_name = "LEVEL", value_parser = super::args::thinking_level(), conflicts_with = "thinking")]
    pub effort: Option<osier_llm::ThinkingLevel>,

    /// Continue in a copy of the session that `--resume` or `--continue` names
    #[arg(long)]
    pub fork_session: bool,

    /// Replace the system prompt by the content of this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "system_prompt")]
    pub system_prompt_file: Option<PathBuf>,

    /// Accepted for SDKs; osier always reads its own settings
    #[arg(long, value_name = "LIST", hide = true)]
    pub setting_sources: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum InputFormat {
    Text,
    StreamJson,
}

fn permission_mode_name(name: &str) -> Result<PermissionMode, String> {
    permission_mode(name).ok_or_else(|| {
        "expected one of `default`, `acceptEdits`, `dontAsk`, `auto`, `plan`, `bypassPermissions`"
            .to_owned()
    })
}

impl ScriptArgs {
    /// Whether prompts arrive as JSON lines.
    pub(super) fn reads_lines(&self) -> bool {
        self.input_format == Some(InputFormat::StreamJson)
    }

    /// Whether the program answers questions.
    pub(super) fn asks(&self) -> bool {
        self.permission_prompt_tool.is_some()
    }

    /// The format of the lines; `None` for print mode.
    pub(super) fn format(&self, codex: bool) -> Option<Box<dyn Format + Send>> {
        let claude = |lines| {
            let format = ClaudeFormat::new(lines, self.replay_user_messages);
            Some(Box::new(format) as Box<dyn Format + Send>)
        };
        match self.output_format {
            _ if codex => Some(Box::<CodexFormat>::default()),
            Some(OutputFormat::StreamJson) if self.include_partial_messages => {
                claude(Lines::Partial)
            }
            Some(OutputFormat::StreamJson) => claude(Lines::Messages),
            Some(OutputFormat::Json) => claude(Lines::Result),
            Some(OutputFormat::Text) | None if self.has_schema() => {
                Some(Box::<FinalText>::default())
            }
            Some(OutputFormat::Text) | None => None,
        }
    }

    fn has_schema(&self) -> bool {
        self.output_schema.is_some() || self.json_schema.is_some()
    }

    /// The schema of the answer.
    ///
    /// # Errors
    /// The file cannot be read, or has no JSON Schema.
    pub(super) fn schema(&self) -> Result<Option<AnswerSchema>, String> {
        let (name, text) = match (&self.output_schema, &self.json_schema) {
            (Some(path), _) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    format!("cannot read `--output-schema {}`: {error}", path.display())
                })?;
                ("--output-schema", text)
            }
            (None, Some(text)) => ("--json-schema", text.clone()),
            (None, None) => return Ok(None),
        };
        let schema = AnswerSchema::parse(&text);
        schema
            .map(Some)
            .map_err(|error| format!("`{name}` is not a JSON Schema: {error}"))
    }

    /// Applies the options to a session.
    ///
    /// # Errors
    /// A file or directory cannot be read.
    pub(super) fn apply(&self, config: &RunConfig, setup: &mut SessionSetup) -> Result<(), String> {
        for directory in &self.add_dir {
            let path = config.cwd.join(directory).canonicalize();
            let path = path.map_err(|error| {
                format!("cannot use `--add-dir {}`: {error}", directory.display())
            })?;
            setup.directories.push(path);
        }
        if let Some(path) = &self.system_prompt_file {
            let text = std::fs::read_to_string(config.cwd.join(path)).map_err(|error| {
                format!(
                    "cannot read `--system-prompt-file {}`: {error}",
                    path.display()
                )
            })?;
            setup.system_prompt = Some(text);
        }
        let (settings, cwd) = (&mut setup.settings, &config.cwd);
        let allowed = ("--allowed-tools", Effect::Allow, &self.allowed_tools);
        let denied = ("--disallowed-tools", Effect::Deny, &self.disallowed_tools);
        for ((option, effect, list), known) in
            [(allowed, &mut settings.allow), (denied, &mut settings.deny)]
        {
            if let Some(list) = list {
                known.extend(
                    rules(list, effect, cwd).map_err(|error| format!("`{option}`: {error}"))?,
                );
            }
        }
        setup.permissions = self.permission_mode.or(setup.permissions);
        setup.thinking = self.effort.or(setup.thinking);
        setup.fallback.extend(self.fallback_model.clone());
        if self.fork_session {
            setup.session = match std::mem::take(&mut setup.session) {
                SessionChoice::Resume(target) => SessionChoice::Copy(target),
                other => other,
            };
        }
        if let Some(schema) = self.schema()? {
            let own = setup.append_system_prompt.take();
            let parts: Vec<String> = own.into_iter().chain([schema.instructions()]).collect();
            setup.append_system_prompt = Some(parts.join("\n\n"));
        }
        Ok(())
    }
}

/// The rules of a list, with osier's names of tools or Claude Code's. Paths with one slash start in `cwd`.
///
/// # Errors
/// A part is no rule: a deny rule that is not understood must not be dropped, and an allow rule must not lose its pattern.
fn rules(list: &str, effect: Effect, cwd: &Path) -> Result<Vec<String>, String> {
    let parts = split(list)?;
    if parts.len() > 1 && parts.contains(&"*") {
        return Err("`*` stands for every tool; write it alone".to_owned());
    }
    let mut rules = Vec::new();
    for part in parts {
        let unreadable = || {
            format!(
                "cannot read the rule `{part}`; expected a tool or `TOOL(PATTERN)`, as in `Bash(git log *)`"
            )
        };
        match map_rule(part, effect, cwd) {
            MappedRule::Rules(mapped) => rules.extend(mapped),
            MappedRule::Invalid => return Err(unreadable()),
            // A name of osier, or of a tool that osier does not have.
            MappedRule::NoTool => {
                let rule = Rule::parse(part).ok_or_else(unreadable)?;
                if let Some(known) = rule.misspelt() {
                    return Err(format!(
                        "no tool has the name in `{part}`; did you mean `{known}`?"
                    ));
                }
                rules.push(part.to_owned());
            }
        }
    }
    let doubtful = rules.iter().find_map(|text| {
        let doubt = Rule::parse(text)?.doubt()?;
        Some(format!(
            "the rule `{text}` is likely to match nothing: {doubt}"
        ))
    });
    doubtful.map_or(Ok(rules), Err)
}

/// Splits a list at commas and blanks outside of parentheses.
fn split(list: &str) -> Result<Vec<&str>, String> {
    let mut depth = 0_usize;
    let mut is_balanced = true;
    let parts = list.split(|char: char| {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => is_balanced = false,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && (char == ',' || char.is_ascii_whitespace())
    });
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    if is_balanced && depth == 0 {
        Ok(parts)
    } else {
        Err(format!("the parentheses of `{list}` do not match"))
    }
}

/// The tools of `--tools` by osier's names; `None` for all of them.
pub(super) fn tools(args: &RunArgs) -> Option<Vec<String>> {
    let names = args.tools.as_ref()?;
    if names.iter().any(|name| name == "default") {
        return None;
    }
    let mut tools: Vec<String> = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let tool = names::our_tool(name).to_owned();
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Some(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_split_outside_of_parentheses() {
        let allow = |list: &str| rules(list, Effect::Allow, Path::new("/w")).unwrap();
        assert_eq!(
            allow("Bash(git log, x),Read\tEdit(src/a)\nls"),
            [
                "bash(git log, x)",
                "read",
                "edit(src/a)",
                "edit(src/a/**)",
                "write(src/a)",
                "write(src/a/**)",
                "ls",
            ]
        );
        assert_eq!(allow(" , "), Vec::<String>::new());
        assert_eq!(allow("*"), ["*"]);
        assert_eq!(
            allow("mcp__srv WebSearch Monitor"),
            ["mcp__srv__*", "web_search", "Monitor"]
        );
    }

    #[test]
    fn deny_rules_mean_what_they_mean_in_settings_of_claude_code() {
        let deny = |list: &str| rules(list, Effect::Deny, Path::new("/w")).unwrap();
        for (list, expected) in [
            ("mcp__srv", &["mcp__srv__*"][..]),
            ("mcp__srv__", &["mcp__srv__*"]),
            ("mcp__srv(*)", &["mcp__srv__*"]),
            ("mcp__srv__ping", &["mcp__srv__ping"]),
            ("Write", &["edit", "write"]),
            ("Bash(:*)", &["bash"]),
            ("Read(sub/)", &["read(**/sub/**)"]),
            ("Read(/.env)", &["read(/w/.env)", "read(/w/.env/**)"]),
            ("bash(rm *)", &["bash(rm *)"]),
        ] {
            assert_eq!(deny(list), expected, "{list}");
        }
    }

    #[test]
    fn rules_that_are_not_understood_are_errors() {
        for list in [
            "Bash(rm *",
            "\"Bash(rm *)\"",
            "BASH(rm *)",
            "[\"Bash(rm *)\"]",
            "Read;Bash(rm *)",
            "Bash(rm *)Read",
            "Bash(echo ( x),Bash(rm *)",
            "Bash(rm\u{a0}*)",
            "shell(rm *)",
            "Bash (git log *)",
            "Bash, (git log *)",
            "Edit (src/a)",
            "Bash(git log) *",
            "Bash(git log))",
        ] {
            for effect in [Effect::Allow, Effect::Deny] {
                assert!(rules(list, effect, Path::new("/w")).is_err(), "{list}");
            }
        }
        let error = rules("Bash (x)", Effect::Allow, Path::new("/w"));
        let text = "cannot read the rule `(x)`; expected a tool or `TOOL(PATTERN)`, as in `Bash(git log *)`";
        assert_eq!(error, Err(text.to_owned()));
    }

    #[test]
    fn tools_have_both_names() {
        let tools = |list: &str| {
            let names = list.split(',').map(str::to_owned).collect();
            tools(&RunArgs {
                tools: Some(names),
                ..RunArgs::default()
            })
        };
        assert_eq!(
            tools("Read,Glob,bash"),
            Some(vec!["read".into(), "find".into(), "bash".into()])
        );
        assert_eq!(tools("default"), None);
        assert_eq!(tools(""), Some(Vec::new()));
        assert_eq!(tools("nonesuch"), Some(vec!["nonesuch".into()]));
    }
}
