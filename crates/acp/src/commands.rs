//! The slash commands of osier that make sense without its screen. Prompt templates, skills and plugins add their own.

use std::fmt::Write as _;

use osier_agent::{CompactionOutcome, Event as AgentEvent, Op as AgentOp};
use osier_base::path;
use osier_llm::ThinkingLevel;
use osier_protocol::{
    AddedCommand, Event, Op, PermissionMode, ServerAction, TransferEvent, TransferOp, TreeEvent,
    TreeOp,
};

/// Parses the argument of a command.
type Parse = fn(&str) -> Result<Op, String>;

/// A slash command.
#[derive(Debug)]
pub(super) struct SlashCommand {
    name: &'static str,
    argument: &'static str,
    description: &'static str,
    parse: Parse,
}

const fn command(
    name: &'static str,
    argument: &'static str,
    description: &'static str,
    parse: Parse,
) -> SlashCommand {
    SlashCommand {
        name,
        argument,
        description,
        parse,
    }
}

/// When a command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// With its request.
    Request,
    /// The command ends with its request. Events of other changes meanwhile are no answer.
    RequestAlone,
    /// With the event that answers it: the agent continues after the request.
    Event,
}

impl CommandEnd {
    pub(super) fn of(op: &Op) -> Self {
        match op {
            Op::Agent(_) | Op::Tree(TreeOp::Compact { .. }) => Self::Event,
            Op::Reload => Self::RequestAlone,
            _ => Self::Request,
        }
    }
}

/// The names and descriptions are those of the terminal.
const COMMANDS: &[SlashCommand] = &[
    command(
        "compact",
        "[INSTRUCTIONS]",
        "Summarize the earlier conversation",
        |argument| {
            let instructions = Some(argument.to_owned()).filter(|text| !text.is_empty());
            Ok(Op::Tree(TreeOp::Compact {
                instructions,
                review: false,
            }))
        },
    ),
    command("model", "NAME", "Switch to a model", |reference| {
        let reference = required(reference, "a model", "/model NAME")?;
        Ok(Op::SelectModel { reference })
    }),
    command("thinking", "LEVEL", "Set the thinking level", |name| {
        let level = ThinkingLevel::from_name(name);
        let level = level
            .ok_or_else(|| unknown("level", name, &ThinkingLevel::ALL.map(ThinkingLevel::name)))?;
        Ok(AgentOp::SetThinkingLevel { level }.into())
    }),
    command(
        "permissions",
        "[MODE]",
        "Show the permission mode and rules, or change the mode",
        |name| match PermissionMode::from_name(name) {
            _ if name.is_empty() => Ok(Op::ListPermissions),
            Some(mode) => Ok(Op::SetPermissions { mode }),
            None => Err(unknown(
                "mode",
                name,
                &PermissionMode::ALL.map(PermissionMode::name),
            )),
        },
    ),
    command("rename", "NAME", "Rename the session", |name| {
        let name = required(name, "a name", "/rename NAME")?;
        Ok(Op::RenameSession { name })
    }),
    command("usage", "", "Show tokens and cost", |_| Ok(Op::GetUsage)),
    command("context", "", "Show what fills the context window", |_| {
        Ok(Op::Tree(TreeOp::GetContext))
    }),
    command("tools", "", "List the tools of the model", |_| {
        Ok(AgentOp::ListTools.into())
    }),
    command(
        "mcp",
        "[ACTION SERVER]",
        "List the MCP servers, or restart, enable, disable, sign in to or sign out of one",
        server,
    ),
    command("export", "[FILE]", "Export the session to a file", |path| {
        let path = Some(path.to_owned()).filter(|path| !path.is_empty());
        Ok(Op::Transfer(TransferOp::ExportSession {
            path,
            format: None,
            scope: None,
            theme: None,
            force: false,
        }))
    }),
    command(
        "reload",
        "",
        "Read settings, instructions, commands and plugins again",
        |_| Ok(Op::Reload),
    ),
    command(
        "refresh",
        "",
        "Fetch newly published models and prices",
        |_| Ok(Op::RefreshModels),
    ),
    command("logout", "PROVIDER", "Sign out of a provider", |provider| {
        let provider = required(provider, "a provider", "/logout PROVIDER")?;
        Ok(Op::Logout { provider })
    }),
    command(
        "about",
        "",
        "Show the version and the folders of osier",
        |_| Ok(Op::GetAbout),
    ),
];

/// The commands for the editor, after those of the session, which take precedence.
pub(super) fn list(mut commands: Vec<AddedCommand>) -> Vec<AddedCommand> {
    for known in COMMANDS {
        if commands.iter().all(|command| command.name != known.name) {
            commands.push(AddedCommand {
                name: known.name.to_owned(),
                argument: known.argument.to_owned(),
                description: known.description.to_owned(),
                ..AddedCommand::default()
            });
        }
    }
    commands
}

/// The request of a prompt that is a command, or why it is none; `None` for other prompts. `added` are the commands of the
/// session.
pub(super) fn parse(prompt: &str, added: &[AddedCommand]) -> Option<Result<Op, String>> {
    let prompt = prompt.trim().strip_prefix('/')?;
    let (name, argument) = prompt
        .split_once(char::is_whitespace)
        .unwrap_or((prompt, ""));
    if added.iter().any(|command| command.name == name) {
        return None;
    }
    let known = COMMANDS.iter().find(|known| known.name == name)?;
    let argument = argument.trim();
    if known.argument.is_empty() && !argument.is_empty() {
        return Some(Err(format!("`/{name}` takes no argument")));
    }
    Some((known.parse)(argument))
}

/// The text for an event that answers a command; `None` for other events.
pub(super) fn describe(event: &Event) -> Option<String> {
    Some(match event {
        Event::Permissions {
            mode,
            rules,
            sandbox,
        } => {
            let mut text = format!(
                "Permission mode: `{}` ({}). Sandbox: `{}`.",
                mode.name(),
                mode.meaning(),
                sandbox.name()
            );
            for rule in rules {
                let effect = format!("{:?}", rule.effect).to_lowercase();
                let _ = write!(text, "\n- {effect} `{}`", rule.rule);
            }
            text
        }
        Event::Usage { spending } => {
            let total = &spending.total;
            format!(
                "{} input, {} output, {} cached tokens; {} tool calls; ${:.4}",
                total.input, total.output, total.cache_read, spending.tool_calls, total.cost.total
            )
        }
        Event::Tree(TreeEvent::Context { report, .. }) => {
            let mut text = format!(
                "{} of {} tokens are in use ({} are reserved for output).",
                report.used, report.window, report.reserve
            );
            for part in &report.parts {
                let _ = write!(text, "\n- {}: {} tokens", part.kind.name(), part.tokens);
            }
            text
        }
        Event::Agent(event) => return describe_agent(event),
        Event::McpServers { servers } if servers.is_empty() => "No MCP servers.".to_owned(),
        Event::McpServers { servers } => {
            let lines = servers.iter().map(|server| {
                let state = server.state.name();
                format!("- `{}`: {state}, {} tools", server.name, server.tools.len())
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        Event::About { about } => format!(
            "osier {} ({})\n- configuration: `{}`\n- data: `{}`",
            about.version, about.platform, about.config, about.data
        ),
        Event::ModelSelected { model, level, .. } => {
            format!(
                "Model: `{}`, thinking level `{}`.",
                model.reference(),
                level.name()
            )
        }
        Event::SessionRenamed { name: Some(name) } => format!("The session is called `{name}`."),
        Event::Transfer(TransferEvent::SessionExported { exported }) => {
            format!("Exported to `{}`.", path::below_home(&exported.path))
        }
        _ => return None,
    })
}

/// The text for an event of the agent that answers a command.
fn describe_agent(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::Tools { tools } => {
            let offered = tools.iter().filter(|tool| tool.offered);
            let names: Vec<String> = offered.map(|tool| format!("`{}`", tool.name)).collect();
            format!("Tools: {}", names.join(", "))
        }
        AgentEvent::ThinkingLevelChanged { effective, .. } => {
            format!("Thinking level: `{}`.", effective.name())
        }
        AgentEvent::CompactionEnd { outcome, .. } => match outcome {
            CompactionOutcome::Done {
                tokens_before,
                tokens_after,
                ..
            } => format!("Compacted: {tokens_before} tokens became {tokens_after}."),
            CompactionOutcome::Refused { message } | CompactionOutcome::Failed { message } => {
                message.clone()
            }
            CompactionOutcome::Interrupted => "Interrupted; nothing was compacted.".to_owned(),
            CompactionOutcome::Drafted => return None,
        },
        _ => return None,
    })
}

fn required(argument: &str, what: &str, usage: &str) -> Result<String, String> {
    if argument.is_empty() {
        return Err(format!("missing {what}: `{usage}`"));
    }
    Ok(argument.to_owned())
}

fn server(argument: &str) -> Result<Op, String> {
    const ACTIONS: [(&str, ServerAction); 5] = [
        ("restart", ServerAction::Restart),
        ("enable", ServerAction::Enable),
        ("disable", ServerAction::Disable),
        ("login", ServerAction::Login),
        ("logout", ServerAction::Logout),
    ];
    if argument.is_empty() {
        return Ok(Op::ListMcpServers);
    }
    let (word, name) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let action = ACTIONS.iter().find(|(known, _)| *known == word);
    match (action, name.trim()) {
        (Some((_, action)), name) if !name.is_empty() => Ok(Op::McpServer {
            name: name.to_owned(),
            action: *action,
        }),
        (Some(_), _) => Err(format!("missing a server: `/mcp {word} SERVER`")),
        (None, _) => Err(unknown("action", word, &ACTIONS.map(|(name, _)| name))),
    }
}

fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    let known = known.join("`, `");
    match name {
        "" => format!("missing {kind}; expected one of `{known}`"),
        name => format!("unknown {kind} `{name}`; expected one of `{known}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(name: &str) -> AddedCommand {
        AddedCommand {
            name: name.to_owned(),
            ..AddedCommand::default()
        }
    }

    #[test]
    fn prompt_is_a_command_with_its_argument() {
        let parsed = |prompt: &str| parse(prompt, &[added("usage")]);
        let mode = PermissionMode::Ask;
        assert_eq!(
            parsed(" /permissions ask\n"),
            Some(Ok(Op::SetPermissions { mode }))
        );
        assert_eq!(parsed("/permissions"), Some(Ok(Op::ListPermissions)));
        for (prompt, error) in [
            (
                "/permissions fly",
                "unknown mode `fly`; expected one of `yolo`, `auto`, `ask`, `plan`",
            ),
            ("/rename", "missing a name: `/rename NAME`"),
            ("/about me", "`/about` takes no argument"),
            ("/mcp restart", "missing a server: `/mcp restart SERVER`"),
        ] {
            assert_eq!(parsed(prompt), Some(Err(error.to_owned())), "{prompt}");
        }
        // Commands of the session, other words and paths are prompts.
        for prompt in ["/usage", "/etc/hosts has a mistake", "usage", "/"] {
            assert_eq!(parsed(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn commands_of_the_session_take_precedence() {
        let names: Vec<String> = list(vec![added("usage"), added("mine")])
            .into_iter()
            .map(|command| command.name)
            .collect();
        assert_eq!(names[..2], ["usage", "mine"]);
        assert_eq!(names.len(), COMMANDS.len() + 1);
    }
}
