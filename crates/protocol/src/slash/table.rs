//! The table of slash commands: the commands that are used most, then the others by name. Lists show them in this order.

use osier_agent::Op as AgentOp;
use osier_base::words::Word;
use osier_llm::ThinkingLevel;

use super::requests;
use super::row::SlashCommand;
use crate::{Op, PermissionMode, Role, TreeOp};

// recipe: a slash command, 1: its row, for all clients
/// Makes the rows: name, argument and description, then the rest.
macro_rules! table {
    ($($name:literal $argument:literal $description:literal $(.$part:ident($($value:expr),*))*;)*) => {
        /// Every slash command of osier.
        pub const COMMANDS: &[SlashCommand] = &[
            $(SlashCommand::new($name, $argument, $description)$(.$part($($value),*))*,)*
        ];
    };
}

table! {
    "model" "[NAME]" "Choose a model" .everywhere(requests::model);
    "new" "" "Start a new session; during a run, in a new tab" .aliases(&["clear"]).on_screens();
    "resume" "[ID]" "Resume a session" .on_screens();
    "compact" "[INSTRUCTIONS]" "Summarize the earlier conversation" .everywhere(requests::compact);
    "diff" "[last|session|head|ENTRY|FROM TO]" "Review changed files" .values(&["last", "session", "head"]);
    "undo" "[files|both]" "Go back to before the last prompt, with files or not"
        .values(&["files", "both"]).on_screens().sends(requests::undo);
    "rewind" "" "Go back to an earlier prompt";
    "plan" "[PROMPT]" "Switch to plan mode; with a prompt, send it" .everywhere(requests::plan);
    "permissions" "[MODE]" "Change the permission mode and rules"
        .values(<PermissionMode as Word>::NAMES).everywhere(requests::permissions);
    "context" "" "Show what fills the context window" .everywhere(|_| requests::one(TreeOp::GetContext));
    "usage" "" "Show tokens, cost and cache hits by model"
        .aliases(&["cost"]).everywhere(|_| requests::one(Op::GetUsage));
    "init" "[NOTES]" "Have the model write AGENTS.md for this project" .yields().everywhere(requests::init);
    "review" "[WHAT]" "Have the model review the changes, or what you name" .yields().everywhere(requests::review);
    "login" "[PROVIDER]" "Sign in to a provider" .on_screens().sends(requests::login);
    "settings" "" "Change settings";
    "theme" "[NAME]" "Change the theme" .on_screens();
    "tree" "" "Show the session tree";
    "export" "[FILE] [--log] [--force]" "Export the session as HTML, Markdown or JSON lines" .everywhere(requests::export);
    "memory" "" "Edit AGENTS.md, the instructions for this project";
    "help" "" "Show keyboard shortcuts and commands" .aliases(&["keys"]).on_screens();
    "quit" "" "Quit osier" .aliases(&["exit"]).on_screens();
    "about" "" "Show version, platform and folders" .everywhere(|_| requests::one(Op::GetAbout));
    "answer" "" "Answer the pending question";
    "archive" "[off]" "Archive the session, or unarchive it" .values(&["off"]).on_screens();
    "background" "" "Continue the running command in the background"
        .on_screens().sends(|_| requests::one(Op::MoveToBackground));
    "budget" "[USD|N tokens|N turns|off]" "Show or change the budget of the session"
        .values(&["off"]).everywhere(requests::budget);
    "clone" "" "Copy the branch into a new session" .on_screens().sends(|_| requests::one(TreeOp::Clone));
    "close" "" "Close the tab; the session stays stored" .on_screens();
    "copy" "" "Copy the last answer" .on_screens();
    "fan" "MODEL MODEL … [-- PROMPT]" "Run several models side by side" .on_screens().sends(requests::fan);
    "fork" "" "Fork a new session from before the last prompt"
        .on_screens().sends(|_| requests::one(TreeOp::Fork { entry_id: None }));
    "guide" "" "Show the first steps: model, trust, theme";
    "hooks" "" "List hooks and their last results";
    "import" "FILE" "Import a session from osier, pi, Claude Code or Codex" .sends(requests::import);
    "jobs" "" "List background jobs";
    "keymap" "" "Change keyboard shortcuts";
    "log" "" "Show warnings, retries and failed calls of the session" .everywhere(|_| requests::one(Op::GetLog));
    "logout" "[PROVIDER]" "Sign out of a provider" .everywhere(requests::logout);
    "lsp" "" "Show the language servers and what they report" .everywhere(|_| requests::one(Op::ListCodeServers));
    "map" "" "Show the map of the project: its most used files and symbols";
    "mcp" "[ACTION SERVER]" "List MCP servers; restart, enable or sign in to one" .everywhere(requests::server);
    "name" "TEXT" "Rename the session; `-` removes its name" .aliases(&["rename"]).everywhere(requests::name);
    "panel" "" "Toggle the side panel: changed files, jobs, to-dos";
    "pin" "[off]" "Pin the session in the list, or unpin it" .values(&["off"]).on_screens();
    "redo" "[files|both]" "Redo what `/undo` reverted, with files or not"
        .values(&["files", "both"]).on_screens().sends(requests::redo);
    "refresh" "" "Fetch newly published models and prices" .everywhere(|_| requests::one(Op::RefreshModels));
    "reload" "" "Reload settings, keymaps, themes, hooks and skills" .everywhere(|_| requests::one(Op::Reload));
    "restore" "[ENTRY|undo]" "Restore files to this point; `undo` reverts it" .values(&["undo"]).on_screens();
    "retry" "[MODEL]" "Continue a failed run; with a model, retry as a branch" .on_screens().sends(requests::retry);
    "role" "[plan|edit [MODEL]]" "Switch to the model of the other role"
        .values(<Role as Word>::NAMES).everywhere(requests::role);
    "session" "" "Show the session's file, counts and cost"
        .aliases(&["status"]).everywhere(|_| requests::one(Op::GetStatus));
    "sessions" "[NUMBER]" "List tabs" .on_screens();
    "skills" "" "List skills and prompt templates";
    "stash" "" "List stashed prompts";
    "tab" "[ID]" "Start a new session in a new tab" .aliases(&["beside"]);
    "takeover" "" "Take control from another client" .on_screens().sends(|_| requests::one(Op::TakeOver));
    "terminal" "[COMMAND]" "List terminals and type in them";
    "thinking" "[LEVEL]" "Switch to the next thinking level"
        .values(<ThinkingLevel as Word>::NAMES).everywhere(requests::thinking);
    "todo" "" "Toggle the to-do list";
    "tools" "" "List tools and their cost, and turn them on or off"
        .everywhere(|_| requests::one(AgentOp::ListTools));
}
