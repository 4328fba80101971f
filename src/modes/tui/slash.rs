//! Slash commands: one table for dispatch, completion, the palette and the help.

use super::action::Action;
use super::command::Command;
use crate::agent::Op as AgentOp;
use crate::coding::host::Op;
use crate::llm::ThinkingLevel;

/// One slash command.
#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    pub name: &'static str,
    /// What follows the name; empty when nothing does.
    pub argument: &'static str,
    pub description: &'static str,
    /// Values of the argument that completion offers.
    pub values: fn() -> Vec<&'static str>,
    run: fn(&str) -> Result<Vec<Action>, String>,
}

fn none() -> Vec<&'static str> {
    Vec::new()
}

fn levels() -> Vec<&'static str> {
    ThinkingLevel::ALL
        .iter()
        .map(|level| level.name())
        .collect()
}

/// Every slash command in alphabetical order.
pub const SLASH_COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        name: "copy",
        argument: "",
        description: "copy the last answer",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::CopyAnswer)]),
    },
    SlashCommand {
        name: "help",
        argument: "",
        description: "the keys and the commands",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Help)]),
    },
    SlashCommand {
        name: "keys",
        argument: "",
        description: "the keys",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Help)]),
    },
    SlashCommand {
        name: "login",
        argument: "[PROVIDER]",
        description: "sign in to a provider or give it a key; without a name, from a list",
        values: none,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::PickAccount { sign_out: false },
                provider => Action::Tell(Op::Login {
                    provider: provider.to_owned(),
                    method: None,
                }),
            }])
        },
    },
    SlashCommand {
        name: "logout",
        argument: "[PROVIDER]",
        description: "forget a provider's key or sign-in; without a name, from a list",
        values: none,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::PickAccount { sign_out: true },
                provider => Action::Tell(Op::Logout {
                    provider: provider.to_owned(),
                }),
            }])
        },
    },
    SlashCommand {
        name: "model",
        argument: "[NAME]",
        description: "choose a model; without a name, from a list",
        values: none,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::Run(Command::ModelPicker),
                reference => Action::Tell(Op::SelectModel {
                    reference: reference.to_owned(),
                }),
            }])
        },
    },
    SlashCommand {
        name: "name",
        argument: "[TEXT]",
        description: "name the session; without a text, clear its name",
        values: none,
        run: |argument| {
            Ok(vec![Action::Tell(Op::RenameSession {
                name: argument.to_owned(),
            })])
        },
    },
    SlashCommand {
        name: "new",
        argument: "",
        description: "start a new session",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::NewSession)]),
    },
    SlashCommand {
        name: "quit",
        argument: "",
        description: "exit",
        values: none,
        run: |_| Ok(vec![Action::Quit]),
    },
    SlashCommand {
        name: "reload",
        argument: "",
        description: "read settings, models, themes, keys, instructions and skills again",
        values: none,
        run: |_| Ok(vec![Action::ReloadLooks, Action::Tell(Op::Reload)]),
    },
    SlashCommand {
        name: "resume",
        argument: "[ID]",
        description: "resume a session; without an id, from a list",
        values: none,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::Run(Command::SessionPicker),
                target => Action::Tell(Op::ResumeSession {
                    target: target.to_owned(),
                }),
            }])
        },
    },
    SlashCommand {
        name: "retry",
        argument: "",
        description: "go on from where a failed run stopped",
        values: none,
        run: |_| Ok(vec![Action::Tell(Op::Agent(AgentOp::Continue))]),
    },
    SlashCommand {
        name: "skills",
        argument: "",
        description: "the skills and prompt templates, with their cost",
        values: none,
        run: |_| Ok(vec![Action::PickSkill]),
    },
    SlashCommand {
        name: "theme",
        argument: "NAME",
        description: "change the colours",
        values: || vec!["system", "dark", "light"],
        run: |argument| match argument {
            "" => Err("name a theme: `/theme dark`".to_owned()),
            name => Ok(vec![Action::SetTheme(name.to_owned())]),
        },
    },
    SlashCommand {
        name: "thinking",
        argument: "[LEVEL]",
        description: "set the thinking level; without one, the next",
        values: levels,
        run: |argument| match (argument, ThinkingLevel::from_name(argument)) {
            ("", _) => Ok(vec![Action::Run(Command::CycleThinking)]),
            (_, Some(level)) => Ok(vec![Action::Tell(Op::Agent(AgentOp::SetThinkingLevel {
                level,
            }))]),
            _ => Err(format!(
                "`{argument}` is no level: they are {}",
                levels().join(", ")
            )),
        },
    },
    SlashCommand {
        name: "usage",
        argument: "",
        description: "tokens, cost and cache hits of the session, by model",
        values: none,
        run: |_| Ok(vec![Action::Tell(Op::GetUsage)]),
    },
];

/// The command called `name`.
pub fn find(name: &str) -> Option<&'static SlashCommand> {
    SLASH_COMMANDS.iter().find(|command| command.name == name)
}

/// What `/NAME ARGUMENT` means; `None` when the text is no slash command.
///
/// # Errors
/// What is wrong with the argument, or that there is no such command.
pub fn parse(text: &str) -> Option<Result<Vec<Action>, String>> {
    let body = text.strip_prefix('/')?;
    // A path is a prompt, not a command: `/etc/hosts looks odd`.
    let (name, argument) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let Some(command) = find(name) else {
        return Some(Err(format!(
            "there is no command `/{name}`: type `/` to see them all"
        )));
    };
    Some((command.run)(argument.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_unique() {
        let names: Vec<&str> = SLASH_COMMANDS.iter().map(|command| command.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
    }

    #[test]
    fn text_that_only_looks_like_a_command_is_a_prompt() {
        assert!(parse("/etc/hosts looks odd").is_none());
        assert!(parse("hello").is_none());
        assert_eq!(
            parse("/thinking high").unwrap().unwrap(),
            vec![Action::Tell(Op::Agent(AgentOp::SetThinkingLevel {
                level: ThinkingLevel::High
            }))]
        );
        assert!(
            parse("/thinking hard")
                .unwrap()
                .unwrap_err()
                .contains("off, minimal")
        );
        assert!(parse("/nothing").unwrap().is_err());
    }
}
