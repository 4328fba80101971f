//! Slash commands: the commands of the registry that can be typed into the prompt.

use super::arguments::Parsed;
use super::info::{COMMANDS, CommandInfo, Run, Slash};
use crate::actions::Action;
use osier_base::{problem, sort};
use osier_mcp::PROMPT_PREFIX;

/// The names of the commands that are used most, in the order in which lists show them; the others follow by name.
const BY_USE: &[&str] = &[
    "model",
    "new",
    "resume",
    "compact",
    "diff",
    "undo",
    "rewind",
    "plan",
    "permissions",
    "context",
    "usage",
    "init",
    "review",
    "login",
    "settings",
    "theme",
    "tree",
    "export",
    "memory",
    "help",
    "quit",
];

/// Every command with a slash name: the most used commands, then the others in the order of their names.
pub(crate) fn slash_commands() -> Vec<(&'static CommandInfo, Slash)> {
    let commands = COMMANDS.iter();
    let mut commands: Vec<_> = commands
        .filter_map(|info| Some((info, info.slash?)))
        .collect();
    sort::by_key(&mut commands, |(_, slash)| {
        let place = BY_USE.iter().position(|name| *name == slash.name);
        (place.unwrap_or(BY_USE.len()), slash.name)
    });
    commands
}

/// The name of a command that is most similar to an unknown one.
fn nearest(name: &str) -> Option<&'static str> {
    let slashes = COMMANDS.iter().filter_map(|info| info.slash);
    let names = slashes.flat_map(|slash| {
        [slash.name]
            .into_iter()
            .chain(slash.aliases.iter().copied())
    });
    problem::nearest(name, names)
}

/// The command called `/NAME`.
pub(crate) fn find_slash(name: &str) -> Option<(&'static CommandInfo, Slash)> {
    COMMANDS.iter().find_map(|info| {
        let slash = info.slash?;
        (slash.name == name || slash.aliases.contains(&name)).then_some((info, slash))
    })
}

/// The actions of `/NAME ARGUMENT`; `None` when the text is not a slash command.
///
/// # Errors
/// The mistake in the argument, or that the command does not exist.
pub(crate) fn parse_slash(text: &str) -> Option<Parsed> {
    let body = text.strip_prefix('/')?;
    // A path is a prompt, not a command: `/etc/hosts looks odd`.
    let (name, argument) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    // A prompt of an MCP server becomes text when it enters the conversation.
    let is_prompt = text.starts_with(PROMPT_PREFIX);
    if name.is_empty() || name.contains('/') || is_prompt {
        return None;
    }
    let Some((info, slash)) = find_slash(name) else {
        let advice = nearest(name).map_or_else(
            || "type `/` to list the commands".to_owned(),
            |known| format!("did you mean `/{known}`?"),
        );
        return Some(Err(format!("unknown command `/{name}`; {advice}")));
    };
    let argument = argument.trim();
    let is_typed = matches!(info.run, Run::Arguments);
    Some(match slash.parse {
        Some(parse) if is_typed || !argument.is_empty() => parse(argument),
        _ => Ok(vec![Action::Run(info.command)]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Command;
    use osier_agent::Op as AgentOp;
    use osier_llm::ThinkingLevel;
    use osier_protocol::Op;

    #[test]
    fn slash_names_are_unique() {
        let mut names: Vec<&str> = slash_commands()
            .into_iter()
            .flat_map(|(_, slash)| [&[slash.name], slash.aliases].concat())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn commands_that_are_used_most_are_first() {
        let names: Vec<&str> = slash_commands()
            .iter()
            .map(|(_, slash)| slash.name)
            .collect();
        assert_eq!(names[..BY_USE.len()], *BY_USE);
        assert!(names[BY_USE.len()..].is_sorted());
    }

    #[test]
    fn names_of_other_programs_run_the_same_commands() {
        for (alias, command) in [
            ("clear", Command::NewSession),
            ("cost", Command::ShowUsage),
            ("status", Command::ShowSession),
            ("exit", Command::Quit),
            ("help", Command::Help),
        ] {
            let run = Some(Ok(vec![Action::Run(command)]));
            assert_eq!(parse_slash(&format!("/{alias}")), run);
        }
    }

    #[test]
    fn text_that_only_resembles_a_command_is_a_prompt() {
        assert!(parse_slash("/etc/hosts looks odd").is_none());
        assert!(parse_slash("hello").is_none());
        assert_eq!(
            parse_slash("/thinking high"),
            Some(Ok(vec![Action::Op(Op::Agent(AgentOp::SetThinkingLevel {
                level: ThinkingLevel::High
            }))]))
        );
        assert_eq!(
            parse_slash("/thinking hard"),
            Some(Err(
                "unknown level `hard`; expected one of off, minimal, low, medium, high, xhigh, max"
                    .to_owned()
            ))
        );
        assert_eq!(
            parse_slash("/nothing"),
            Some(Err(
                "unknown command `/nothing`; type `/` to list the commands".to_owned()
            ))
        );
        for (typed, known) in [
            ("modle", "model"),
            ("contxt", "context"), // spellchecker:disable-line
            ("claer", "clear"),    // spellchecker:disable-line
        ] {
            assert_eq!(
                parse_slash(&format!("/{typed}")),
                Some(Err(format!(
                    "unknown command `/{typed}`; did you mean `/{known}`?"
                )))
            );
        }
        // Only commands with arguments read what follows.
        assert_eq!(
            parse_slash("/keys now"),
            Some(Ok(vec![Action::Run(Command::Help)]))
        );
        assert_eq!(
            parse_slash("/beside"),
            Some(Ok(vec![Action::Run(Command::NewTab)]))
        );
    }
}
