//! Slash commands: one table for dispatch, completion, the palette and the help.

mod arguments;

use super::action::Action;
use super::command::Command;
use super::overlays::restore;
use osier_agent::Op as AgentOp;
use osier_llm::ThinkingLevel;
use osier_mcp::PROMPT_PREFIX;
use osier_permissions::Mode;
use osier_session::host::{CheckpointOp, ExchangeOp, FilesAt, Op, Opening, TreeOp};
use osier_session::marks::Mark;
use osier_term::theme::ThemeStore;

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
        name: "archive",
        argument: "[off]",
        description: "take the session out of sight in the list of sessions, or bring it back",
        values: || vec!["off"],
        run: |argument| arguments::mark(argument, Mark::Archived),
    },
    SlashCommand {
        name: "beside",
        argument: "[ID]",
        description: "start a new session, or resume one, beside this one, which goes on",
        values: none,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::Run(Command::NewBeside),
                target => Action::OpenSession {
                    target: target.to_owned(),
                    cwd: None,
                    opening: Opening::Itself,
                    beside: true,
                },
            }])
        },
    },
    SlashCommand {
        name: "clone",
        argument: "",
        description: "go on in a new session with a copy of this branch",
        values: none,
        run: |_| Ok(vec![Action::Tell(Op::Tree(TreeOp::Clone))]),
    },
    SlashCommand {
        name: "close",
        argument: "",
        description: "close this open session; it stays stored",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::CloseSession)]),
    },
    SlashCommand {
        name: "compact",
        argument: "[INSTRUCTIONS]",
        description: "summarise the earlier part of the conversation; the summary can be edited before it is stored",
        values: none,
        run: |argument| {
            let instructions = Some(argument.to_owned()).filter(|text| !text.is_empty());
            let review = true;
            Ok(vec![Action::Tell(Op::Tree(TreeOp::Compact {
                instructions,
                review,
            }))])
        },
    },
    SlashCommand {
        name: "context",
        argument: "",
        description: "what fills the context window",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Context)]),
    },
    SlashCommand {
        name: "copy",
        argument: "",
        description: "copy the last answer",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::CopyAnswer)]),
    },
    SlashCommand {
        name: "diff",
        argument: "[last|session|head|ENTRY|FROM TO]",
        description: "what changed in the files: in the session, since the last prompt, against git's HEAD, in one turn, between two entries",
        values: || vec!["last", "session", "head"],
        run: arguments::diff,
    },
    SlashCommand {
        name: "export",
        argument: "[FILE]",
        description: "write the session to a page; `.md` and `.jsonl` files are a document and a copy",
        values: none,
        run: |argument| {
            let force = argument.split_whitespace().any(|word| word == "--force");
            let path = argument.replace("--force", "").trim().to_owned();
            Ok(vec![Action::Tell(Op::Exchange(
                ExchangeOp::ExportSession {
                    path: Some(path).filter(|path| !path.is_empty()),
                    format: None,
                    scope: None,
                    theme: None,
                    force,
                },
            ))])
        },
    },
    SlashCommand {
        name: "fan",
        argument: "MODEL MODEL … [-- PROMPT]",
        description: "send a prompt, or the last one again, to several models side by side",
        values: none,
        run: arguments::fan,
    },
    SlashCommand {
        name: "fork",
        argument: "",
        description: "go on in a new session from before the last prompt",
        values: none,
        run: |_| {
            Ok(vec![Action::Tell(Op::Tree(TreeOp::Fork {
                entry_id: None,
            }))])
        },
    },
    SlashCommand {
        name: "help",
        argument: "",
        description: "the keys and the commands",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Help)]),
    },
    SlashCommand {
        name: "hooks",
        argument: "",
        description: "the hooks: when each runs, how it went last",
        values: none,
        run: |_| Ok(vec![Action::PickHook]),
    },
    SlashCommand {
        name: "import",
        argument: "FILE",
        description: "open a session of osier, pi, Claude Code or Codex; `osier import --list` shows them",
        values: none,
        run: |argument| match argument {
            "" => Err("name a file: `/import FILE`".to_owned()),
            path => Ok(vec![Action::Tell(Op::Exchange(
                ExchangeOp::ImportSession {
                    path: path.to_owned(),
                    again: false,
                    open: true,
                },
            ))]),
        },
    },
    SlashCommand {
        name: "jobs",
        argument: "",
        description: "the background jobs: list, output, kill",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Jobs)]),
    },
    SlashCommand {
        name: "keymap",
        argument: "",
        description: "what is bound where, and how to bind more",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Keymap)]),
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
        name: "mcp",
        argument: "[ACTION SERVER]",
        description: "the MCP servers; or restart, enable, disable, login or logout one",
        values: none,
        run: super::servers::slash,
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
        description: "start a new session; beside this one while something goes on here",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::NewSession)]),
    },
    SlashCommand {
        name: "permissions",
        argument: "[MODE]",
        description: "how much is asked: yolo, ask or plan; without a mode, the rules too",
        values: || Mode::ALL.map(Mode::name).to_vec(),
        run: |argument| match (argument, Mode::from_name(argument)) {
            ("", _) => Ok(vec![Action::Run(Command::Permissions)]),
            (_, Some(mode)) => Ok(vec![Action::Tell(Op::SetPermissions { mode })]),
            _ => Err(format!(
                "`{argument}` is no mode: they are yolo, ask and plan"
            )),
        },
    },
    SlashCommand {
        name: "pin",
        argument: "[off]",
        description: "let the session stand first in the list of sessions, or no longer",
        values: || vec!["off"],
        run: |argument| arguments::mark(argument, Mark::Pinned),
    },
    SlashCommand {
        name: "quit",
        argument: "",
        description: "exit",
        values: none,
        run: |_| Ok(vec![Action::Quit]),
    },
    SlashCommand {
        name: "redo",
        argument: "[files|both]",
        description: "take the last `/undo` back; `files` brings files alone, `both` those as well",
        values: none,
        run: |argument| {
            let files = Op::Checkpoint(CheckpointOp::UndoRestore);
            arguments::step(argument, TreeOp::RedoPrompt, files)
        },
    },
    SlashCommand {
        name: "refresh",
        argument: "",
        description: "ask for newly published models and prices",
        values: none,
        run: |_| Ok(vec![Action::Tell(Op::RefreshModels)]),
    },
    SlashCommand {
        name: "reload",
        argument: "",
        description: "read settings, hooks, models, themes, keys, instructions and skills again",
        values: none,
        run: |_| Ok(vec![Action::ReloadLooks, Action::Tell(Op::Reload)]),
    },
    SlashCommand {
        name: "restore",
        argument: "[ENTRY|undo]",
        description: "bring the files back to how they were at this place, or at an entry; `undo` takes that back",
        values: none,
        run: |argument| {
            let op = match argument.trim() {
                "" => restore::preview(FilesAt::Here),
                "undo" => Op::Checkpoint(CheckpointOp::UndoRestore),
                entry if entry.contains(char::is_whitespace) => {
                    return Err(format!(
                        "`/restore {entry}`: say `undo`, one entry, or nothing"
                    ));
                }
                entry => restore::preview(FilesAt::Entry {
                    entry_id: entry.to_owned(),
                }),
            };
            Ok(vec![Action::Tell(op)])
        },
    },
    SlashCommand {
        name: "resume",
        argument: "[ID]",
        description: "resume a session; without an id, from a list",
        values: none,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::Run(Command::SessionPicker),
                target => Action::OpenSession {
                    target: target.to_owned(),
                    cwd: None,
                    opening: Opening::Itself,
                    beside: false,
                },
            }])
        },
    },
    SlashCommand {
        name: "retry",
        argument: "[MODEL]",
        description: "go on from where a failed run stopped; with a model, send it the last prompt as a branch",
        values: none,
        run: |argument| {
            Ok(vec![Action::Tell(match argument {
                "" => Op::Agent(AgentOp::Continue),
                model => Op::Tree(TreeOp::RetryPrompt {
                    model: Some(model.to_owned()),
                }),
            })])
        },
    },
    SlashCommand {
        name: "role",
        argument: "[plan|edit [MODEL]]",
        description: "the model of a role; with a model, what it is from now on",
        values: || vec!["plan", "edit"],
        run: arguments::role,
    },
    SlashCommand {
        name: "session",
        argument: "",
        description: "the open session: its file, counts, cost, checkpoints and forks",
        values: none,
        run: |_| Ok(vec![Action::ShowSession]),
    },
    SlashCommand {
        name: "sessions",
        argument: "[NUMBER]",
        description: "the open sessions: what each does, and going to one",
        values: none,
        run: arguments::open_session,
    },
    SlashCommand {
        name: "settings",
        argument: "",
        description: "every setting: its value, its file; changed in place",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Settings)]),
    },
    SlashCommand {
        name: "skills",
        argument: "",
        description: "the skills and prompt templates, with their cost",
        values: none,
        run: |_| Ok(vec![Action::PickSkill]),
    },
    SlashCommand {
        name: "stash",
        argument: "",
        description: "the prompts that were put aside",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::StashList)]),
    },
    SlashCommand {
        name: "takeover",
        argument: "",
        description: "write in this session, where another of its clients does now",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::TakeOver)]),
    },
    SlashCommand {
        name: "theme",
        argument: "[NAME]",
        description: "change the colours; without a name, from a list that shows each",
        values: ThemeStore::embedded,
        run: |argument| {
            Ok(vec![match argument {
                "" => Action::Run(Command::Themes),
                name => Action::SetTheme(name.to_owned()),
            }])
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
        name: "todo",
        argument: "",
        description: "fold or unfold what the model has set out to do",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::ToggleTodo)]),
    },
    SlashCommand {
        name: "tools",
        argument: "",
        description: "what the model is offered and what it costs; turn tools off and on",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Tools)]),
    },
    SlashCommand {
        name: "tree",
        argument: "",
        description: "the session as a tree",
        values: none,
        run: |_| Ok(vec![Action::Run(Command::Tree)]),
    },
    SlashCommand {
        name: "undo",
        argument: "[files|both]",
        description: "go back to before the last prompt; `files` brings files alone, `both` those as well",
        values: none,
        run: |argument| {
            let files = restore::preview(FilesAt::LastPrompt);
            arguments::step(argument, TreeOp::UndoPrompt, files)
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
    // A prompt of an MCP server becomes text when it enters the conversation.
    let is_prompt = text.starts_with(PROMPT_PREFIX);
    if name.is_empty() || name.contains('/') || is_prompt {
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
