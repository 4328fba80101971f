//! Servers, hooks, plug-ins, instructions, and what is typed.

use crate::command::{Command, Group, Kind, may, needs};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Surroundings, name, doc)
}

pub(super) const COMMANDS: &[Command] = &[
    row("list_mcp_servers", "The MCP servers of the session.").told(&["mcp_servers"]),
    row(
        "mcp_server",
        "Does something with an MCP server; `mcp_servers` tells how it goes.",
    )
    .takes(&[
        needs("name", Kind::Text, "which one"),
        needs(
            "action",
            Kind::Word(&["restart", "enable", "disable", "login", "logout"]),
            "what is done",
        ),
    ]),
    row("list_hooks", "The hooks and how each went last.").told(&["hooks"]),
    row(
        "list_context",
        "Instructions, skills and templates with what they cost.",
    )
    .told(&["context"]),
    row(
        "reload",
        "Reads settings, hooks, models, instructions, skills, templates and plug-ins again. What is wrong with them is \
         the error.",
    ),
    row(
        "press_plugin_key",
        "Does what a plug-in has bound to a key, as `plugin_keys` names them.",
    )
    .takes(&[
        needs("plugin", Kind::Text, "its name"),
        needs("keys", Kind::Text, "the keys"),
    ]),
    row("list_history", "Prompts of earlier sessions, oldest first.").told(&["history"]),
    row("add_history", "Remembers a prompt for every session.")
        .takes(&[needs("text", Kind::Text, "the prompt")]),
    row(
        "keep_unsent",
        "Keeps what is typed and not sent, so that a crash does not lose it; an empty text removes it.",
    )
    .takes(&[needs("text", Kind::Text, "what is typed")]),
    row(
        "find_unsent",
        "What an earlier run left typed and not sent, if anything.",
    )
    .told(&["unsent_found"]),
    row("stash_prompt", "Puts a prompt aside, for any session.")
        .takes(&[
            needs("text", Kind::Text, "the prompt"),
            may(
                "parts",
                Kind::List("PromptPart"),
                "what it is made of, where that is more than its text",
            ),
        ])
        .told(&["stash"]),
    row("list_stash", "The prompts that were put aside, the newest first.").told(&["stash"]),
    row("drop_stashed", "Forgets a prompt that was put aside.")
        .takes(&[needs("stashed", Kind::Text, "its id")])
        .told(&["stash"]),
];
