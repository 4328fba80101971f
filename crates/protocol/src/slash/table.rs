//! The table of slash commands: the commands that are used most, then the others by name. Lists show them in this order.

use osier_agent::Op as AgentOp;
use osier_base::words::Word;
use osier_llm::ThinkingLevel;

use super::requests;
use super::row::SlashCommand;
use crate::{Op, PermissionMode, Role, TreeOp};

const fn row(name: &'static str, description: &'static str) -> SlashCommand {
    SlashCommand::new(name, description)
}

/// Every slash command of osier.
pub const COMMANDS: &[SlashCommand] = &[
    row("model", "Choose a model")
        .argument("[NAME]")
        .everywhere(requests::model),
    row("new", "Start a new session; during a run, in a new tab")
        .aliases(&["clear"])
        .on_screens(),
    row("resume", "Resume a session")
        .argument("[ID]")
        .on_screens(),
    row("compact", "Summarize the earlier conversation")
        .argument("[INSTRUCTIONS]")
        .everywhere(requests::compact),
    row("diff", "Review changed files")
        .argument("[last|session|head|ENTRY|FROM TO]")
        .values(&["last", "session", "head"]),
    row(
        "undo",
        "Go back to before the last prompt, with files or not",
    )
    .argument("[files|both]")
    .values(&["files", "both"])
    .on_screens(),
    row("rewind", "Go back to an earlier prompt"),
    row("plan", "Switch to plan mode; with a prompt, send it")
        .argument("[PROMPT]")
        .everywhere(requests::plan),
    row("permissions", "Change the permission mode and rules")
        .argument("[MODE]")
        .values(<PermissionMode as Word>::NAMES)
        .everywhere(requests::permissions),
    row("context", "Show what fills the context window")
        .everywhere(|_| requests::one(TreeOp::GetContext)),
    row("usage", "Show tokens, cost and cache hits by model")
        .aliases(&["cost"])
        .everywhere(|_| requests::one(Op::GetUsage)),
    row("init", "Have the model write AGENTS.md for this project")
        .argument("[NOTES]")
        .yields()
        .everywhere(requests::init),
    row(
        "review",
        "Have the model review the changes, or what you name",
    )
    .argument("[WHAT]")
    .yields()
    .everywhere(requests::review),
    row("login", "Sign in to a provider")
        .argument("[PROVIDER]")
        .on_screens()
        .sends(requests::login),
    row("settings", "Change settings"),
    row("theme", "Change the theme")
        .argument("[NAME]")
        .on_screens(),
    row("tree", "Show the session tree"),
    row(
        "export",
        "Export the session as HTML, Markdown or JSON lines",
    )
    .argument("[FILE]")
    .everywhere(requests::export),
    row(
        "memory",
        "Edit AGENTS.md, the instructions for this project",
    ),
    row("help", "Show keyboard shortcuts and commands")
        .aliases(&["keys"])
        .on_screens(),
    row("quit", "Quit osier").aliases(&["exit"]).on_screens(),
    row("about", "Show version, platform and folders").everywhere(|_| requests::one(Op::GetAbout)),
    row("answer", "Answer the pending question"),
    row("archive", "Archive the session, or unarchive it")
        .argument("[off]")
        .values(&["off"])
        .on_screens(),
    row(
        "background",
        "Continue the running command in the background",
    )
    .on_screens()
    .sends(|_| requests::one(Op::MoveToBackground)),
    row("budget", "Show or change the budget of the session")
        .argument("[USD|N tokens|N turns|off]")
        .values(&["off"])
        .everywhere(requests::budget),
    row("clone", "Copy the branch into a new session")
        .on_screens()
        .sends(|_| requests::one(TreeOp::Clone)),
    row("close", "Close the tab; the session stays stored").on_screens(),
    row("copy", "Copy the last answer").on_screens(),
    row("fan", "Run several models side by side")
        .argument("MODEL MODEL … [-- PROMPT]")
        .on_screens()
        .sends(requests::fan),
    row("fork", "Fork a new session from before the last prompt")
        .on_screens()
        .sends(|_| requests::one(TreeOp::Fork { entry_id: None })),
    row("guide", "Show the first steps: model, trust, theme"),
    row("hooks", "List hooks and their last results"),
    row(
        "import",
        "Import a session from osier, pi, Claude Code or Codex",
    )
    .argument("FILE")
    .sends(requests::import),
    row("jobs", "List background jobs"),
    row("keymap", "Change keyboard shortcuts"),
    row("logout", "Sign out of a provider")
        .argument("[PROVIDER]")
        .everywhere(requests::logout),
    row("lsp", "Show the language servers and what they report")
        .everywhere(|_| requests::one(Op::ListCodeServers)),
    row(
        "map",
        "Show the map of the project: its most used files and symbols",
    ),
    row("mcp", "List MCP servers; restart, enable or sign in to one")
        .argument("[ACTION SERVER]")
        .everywhere(requests::server),
    row("name", "Rename the session; `-` removes its name")
        .aliases(&["rename"])
        .argument("TEXT")
        .everywhere(requests::name),
    row(
        "panel",
        "Toggle the side panel: changed files, jobs, to-dos",
    ),
    row("pin", "Pin the session in the list, or unpin it")
        .argument("[off]")
        .values(&["off"])
        .on_screens(),
    row("redo", "Redo what `/undo` reverted, with files or not")
        .argument("[files|both]")
        .values(&["files", "both"])
        .on_screens()
        .sends(requests::redo),
    row("refresh", "Fetch newly published models and prices")
        .everywhere(|_| requests::one(Op::RefreshModels)),
    row(
        "reload",
        "Reload settings, keymaps, themes, hooks and skills",
    )
    .everywhere(|_| requests::one(Op::Reload)),
    row("restore", "Restore files to this point; `undo` reverts it")
        .argument("[ENTRY|undo]")
        .values(&["undo"])
        .on_screens(),
    row(
        "retry",
        "Continue a failed run; with a model, retry as a branch",
    )
    .argument("[MODEL]")
    .on_screens()
    .sends(requests::retry),
    row("role", "Switch to the model of the other role")
        .argument("[plan|edit [MODEL]]")
        .values(<Role as Word>::NAMES)
        .everywhere(requests::role),
    row("session", "Show the session's file, counts and cost")
        .aliases(&["status"])
        .on_screens(),
    row("sessions", "List tabs")
        .argument("[NUMBER]")
        .on_screens(),
    row("skills", "List skills and prompt templates"),
    row("stash", "List stashed prompts"),
    row("tab", "Start a new session in a new tab")
        .aliases(&["beside"])
        .argument("[ID]"),
    row("takeover", "Take control from another client")
        .on_screens()
        .sends(|_| requests::one(Op::TakeOver)),
    row("terminal", "List terminals and type in them").argument("[COMMAND]"),
    row("thinking", "Switch to the next thinking level")
        .argument("[LEVEL]")
        .values(<ThinkingLevel as Word>::NAMES)
        .everywhere(requests::thinking),
    row("todo", "Toggle the to-do list"),
    row(
        "tools",
        "List tools and their cost, and turn them on or off",
    )
    .everywhere(|_| requests::one(AgentOp::ListTools)),
];
