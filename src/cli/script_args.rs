//! The settings from the options for scripts and SDKs.

use std::path::Path;

use super::args::{Args, InputFormat, RunArgs, ScriptArgs};
use super::input;
use crate::modes::schema::AnswerSchema;
use osier_base::regular_file;
use osier_mcp::{Launch, ProgramLink, ServerConfig};
use osier_peers::formats::{self, Initialize};
use osier_peers::settings::{MappedRule, map_rule};
use osier_peers::tools;
use osier_permissions::Rule;
use osier_protocol::Effect;
use osier_session::{SessionChoice, SessionSetup};

impl Args {
    /// Whether standard input is read until its end, even with a prompt.
    pub(super) fn requests_stdin(&self) -> bool {
        self.script.stdin || self.prompts.iter().any(|word| word == input::STDIN)
    }
}

impl ScriptArgs {
    /// Whether prompts arrive as JSON lines.
    pub(super) fn reads_lines(&self) -> bool {
        self.input_format == Some(InputFormat::StreamJson)
    }

    /// Whether the program answers questions.
    pub(super) fn asks(&self) -> bool {
        self.permission_prompt_tool.is_some() && self.permission_prompts.as_deref() != Some("none")
    }

    /// Whether the answer must match a schema.
    pub(super) fn has_schema(&self) -> bool {
        self.output_schema.is_some() || self.json_schema.is_some()
    }

    /// The schema of the answer.
    ///
    /// # Errors
    /// The file cannot be read, or has no JSON Schema.
    pub(super) fn schema(&self) -> Result<Option<AnswerSchema>, String> {
        let (name, text) = match (&self.output_schema, &self.json_schema) {
            (Some(path), _) => {
                let text =
                    regular_file::read_named_text(path, regular_file::NAMED).map_err(|error| {
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
    pub(super) fn apply(&self, cwd: &Path, setup: &mut SessionSetup) -> Result<(), String> {
        for directory in &self.add_dir {
            let path = cwd.join(directory).canonicalize();
            let path = path.map_err(|error| {
                format!("cannot use `--add-dir {}`: {error}", directory.display())
            })?;
            setup.directories.push(path);
        }
        let triggers = [(self.init, "init"), (self.maintenance, "maintenance")];
        let given = triggers.into_iter().find(|(is_given, _)| *is_given);
        setup.setup_hooks = given.map(|(_, trigger)| trigger);
        if let Some(path) = &self.system_prompt_file {
            let text = regular_file::read_named_text(&cwd.join(path), regular_file::NAMED)
                .map_err(|error| {
                    format!(
                        "cannot read `--system-prompt-file {}`: {error}",
                        path.display()
                    )
                })?;
            setup.system_prompt = Some(text);
        }
        let settings = &mut setup.settings;
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
        if let Some(name) = &self.permission_mode {
            setup.permissions = formats::permission_mode(name);
        }
        let budget = self.max_thinking_tokens.map(formats::thinking_level);
        setup.thinking = self.effort.or(budget).or(setup.thinking);
        setup.only_given_servers = self.strict_mcp_config;
        setup.fallback.extend(self.fallback_model.clone());
        if self.fork_session {
            setup.session = match std::mem::take(&mut setup.session) {
                SessionChoice::Resume(target) => SessionChoice::Copy(target),
                SessionChoice::Continue => SessionChoice::CopyLatest,
                other => other,
            };
        }
        if let Some(schema) = self.schema()? {
            append(setup, schema.instructions());
        }
        Ok(())
    }
}

/// Appends `text` to the system prompt.
fn append(setup: &mut SessionSetup, text: String) {
    let parts: Vec<String> = setup
        .append_system_prompt
        .take()
        .into_iter()
        .chain([text])
        .collect();
    setup.append_system_prompt = Some(parts.join("\n\n"));
}

/// Applies the request with which a program begins. Returns the schema of the answers, if it has one.
///
/// # Errors
/// The schema is no JSON Schema.
pub(super) fn initialize(
    given: Initialize,
    setup: &mut SessionSetup,
) -> Result<Option<AnswerSchema>, String> {
    setup.system_prompt = given.system_prompt.or(setup.system_prompt.take());
    if let Some(text) = given.append_system_prompt {
        append(setup, text);
    }
    let servers = given.servers.iter();
    let servers = servers.map(|name| ServerConfig::given(name, Launch::Program(None)));
    setup.servers.extend(servers);
    setup
        .agents
        .extend(given.agents.into_iter().map(|(_, definition)| definition));
    let Some(text) = given.schema else {
        return Ok(None);
    };
    let schema = AnswerSchema::parse(&text);
    let schema =
        schema.map_err(|error| format!("`jsonSchema` of the SDK is not a JSON Schema: {error}"))?;
    append(setup, schema.instructions());
    Ok(Some(schema))
}

/// Connects the MCP servers of the program.
pub(super) fn link_servers(setup: &mut SessionSetup, link: &ProgramLink) {
    for server in &mut setup.servers {
        if let Launch::Program(program) = &mut server.launch {
            *program = Some(link.clone());
        }
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
        match map_rule(part, effect, cwd, |text| Rule::parse(text).is_some()) {
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
        let tool = tools::our_tool(name).to_owned();
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
            ("Write", &["write", "edit"]),
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
