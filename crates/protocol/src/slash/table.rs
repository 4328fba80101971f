//! The table of slash commands: the commands that are used most, then the others by name. Lists show them in this order.

use osier_agent::Op as AgentOp;
use osier_base::words::Word;
use osier_llm::ThinkingLevel;

use super::category::CommandCategory;
use super::requests;
use super::row::SlashCommand;
use crate::{Op, PermissionMode, Role, TreeOp};

// recipe: a slash command, 1: its row, for all clients: lists and the palette have it, and a key can be bound to it; with a request and `.everywhere` it works in each client with a person, with `.in_scripts` also in scripts; `slash/mod.rs` has a test that lists what each client lacks
/// Makes the rows: name, category, argument and description, then the rest.
macro_rules! table {
    ($($name:literal $category:ident $argument:literal $description:literal $(.$part:ident($($value:expr),*))*;)*) => {
        /// Every slash command of osier.
        pub const COMMANDS: &[SlashCommand] = &[
            $(SlashCommand::new($name, CommandCategory::$category, $argument, $description)$(.$part($($value),*))*,)*
        ];
    };
}

table! {
    "model" Model "[NAME]" "Choose a model" .key("model_picker").everywhere(requests::model).in_scripts();
    "thinking" Model "[LEVEL]" "Switch to the next thinking level"
        .key("cycle_thinking").by_word().aliases(&["effort", "reasoning"]).values(<ThinkingLevel as Word>::NAMES).everywhere(requests::thinking);
    "new" Session "" "Start a new session; during a run, in a new tab"
        .key("new_session").by_word().aliases(&["clear"]).on_screens();
    "resume" Session "[ID]" "Resume a session" .key("session_picker").on_screens();
    "search" Conversation "" "Search the conversation" .key("search").aliases(&["find"]);
    "compact" Run "[INSTRUCTIONS]" "Summarize the earlier conversation" .by_word().everywhere(requests::compact).in_scripts();
    "diff" Files "[last|session|head|ENTRY|FROM TO]" "Review changed files"
        .key("changes").values(&["last", "session", "head"]);
    "undo" Files "[files|both]" "Undo conversation and files of the last prompt, or one of both"
        .key("undo_prompt").by_word().values(&["files", "both"]).on_screens().sends(requests::undo);
    "rewind" Tree "" "Go back to an earlier prompt" .by_word();
    "plan" Run "[PROMPT]" "Switch to plan mode; with a prompt, send it"
        .key("plan_mode").by_word().everywhere(requests::plan).in_scripts();
    "permissions" Run "[MODE]" "Change the permission mode and rules"
        .aliases(&["mode"]).values(<PermissionMode as Word>::NAMES).everywhere(requests::permissions);
    "context" Session "" "Show what fills the context window" .everywhere(|_| requests::one(TreeOp::GetContext)).in_scripts();
    "usage" Session "[all] [today|week|month]" "Show cost and tokens by model, day and tool"
        .aliases(&["cost"]).values(&["all", "today", "week", "month"]).everywhere(requests::usage).in_scripts();
    "init" Prompt "[NOTES]" "Have the model write AGENTS.md for this project"
        .by_word().yields().everywhere(requests::init).in_scripts();
    "review" Prompt "[WHAT]" "Have the model review the changes, or what you name"
        .by_word().yields().everywhere(requests::review).in_scripts();
    "login" Account "[PROVIDER]" "Sign in to a provider" .on_screens().sends(requests::login);
    "settings" Settings "" "Change settings";
    "theme" Settings "[NAME]" "Change the theme" .key("themes").on_screens();
    "tree" Tree "" "Show the session tree";
    "export" Session "[FILE] [--log] [--force]" "Export the session as HTML, Markdown or JSON lines"
        .by_word().everywhere(requests::export);
    "memory" Settings "" "Edit AGENTS.md, the instructions for this project";
    "help" Application "" "Show keyboard shortcuts and commands" .aliases(&["keys"]).on_screens();
    "quit" Application "" "Quit osier" .by_word().aliases(&["exit"]).on_screens();
    "about" Application "" "Show version, platform and folders" .everywhere(|_| requests::one(Op::GetAbout)).in_scripts();
    "agents" Run "" "List subagents; look into one, steer or stop it"
        .key("subagents").everywhere(|_| requests::one(Op::ListSubagents));
    "answer" Run "" "Answer the pending question";
    "archive" Session "[off]" "Archive the session, or unarchive it" .by_word().values(&["off"]).on_screens();
    "background" Run "" "Continue the running command in the background"
        .on_screens().sends(|_| requests::one(Op::MoveToBackground));
    "budget" Session "[USD|N tokens|N turns|off]" "Show or change the budget of the session"
        .values(&["off"]).everywhere(requests::budget);
    "clone" Session "" "Copy the branch into a new session"
        .by_word().on_screens().sends(|_| requests::one(TreeOp::Clone));
    "close" Tabs "" "Close the tab; the session stays stored" .key("close_session").by_word().on_screens();
    "copy" Conversation "" "Copy the last answer" .key("copy_answer").on_screens();
    "copy-code" Conversation "" "Copy the last code block" .key("copy_code");
    "copy-output" Conversation "" "Copy the last output of a call or command" .key("copy_output");
    "doctor" Application "" "Check the environment and suggest fixes";
    "fan" Run "MODEL MODEL … [-- PROMPT]" "Run several models side by side" .on_screens().sends(requests::fan);
    "fork" Session "[worktree]" "Fork a new session from before the last prompt"
        .by_word().values(&["worktree"]).on_screens().sends(requests::fork);
    "guide" Application "" "Show the first steps: model, trust, theme";
    "hooks" Tools "" "List hooks and their last results";
    "import" Session "FILE" "Import a session from osier, pi, Claude Code or Codex" .sends(requests::import);
    "jobs" Run "" "List background jobs";
    "keymap" Settings "[NAME]" "Change keyboard shortcuts, or use another keymap"
        .values(&["default", "vim", "emacs"]);
    "log" Application "" "Show warnings, retries and failed calls of the session"
        .everywhere(|_| requests::one(Op::GetLog)).in_scripts();
    "logout" Account "[PROVIDER]" "Sign out of a provider" .everywhere(requests::logout);
    "lsp" Session "" "Show the language servers and what they report"
        .key("language_servers").everywhere(|_| requests::one(Op::ListCodeServers));
    "map" Tools "" "Show the map of the project: its most used files and symbols";
    "mcp" Tools "[ACTION SERVER]" "List MCP servers; restart, enable or sign in to one" .everywhere(requests::server);
    "name" Session "TEXT" "Rename the session; `-` removes its name"
        .key("rename_session").aliases(&["rename"]).everywhere(requests::name).in_scripts();
    "panel" Application "" "Toggle the side panel: changed files, jobs, to-dos" .key("side_panel");
    "pin" Session "[off]" "Pin the session in the list, or unpin it" .by_word().values(&["off"]).on_screens();
    "redo" Files "[files|both]" "Redo what `/undo` reverted: conversation, files, or both"
        .key("redo_prompt").by_word().values(&["files", "both"]).on_screens().sends(requests::redo);
    "refresh" Model "" "Fetch newly published models and prices"
        .key("refresh_models").everywhere(|_| requests::one(Op::RefreshModels));
    "reload" Settings "" "Reload settings, keymaps, themes, hooks and skills"
        .everywhere(|_| requests::one(Op::Reload));
    "restore" Files "[ENTRY|undo|redo]" "Restore files to this point; undo or redo restores"
        .key("restore_files").values(&["undo", "redo"]).on_screens();
    "retry" Run "[MODEL]" "Continue a failed run; with a model, retry as a branch"
        .by_word().on_screens().sends(requests::retry);
    "role" Model "[plan|edit [MODEL]]" "Switch to the model of the other role"
        .key("cycle_role").by_word().values(<Role as Word>::NAMES).everywhere(requests::role);
    "session" Session "" "Show the session's file, counts and cost"
        .key("session_info").aliases(&["status"]).everywhere(|_| requests::one(Op::GetStatus)).in_scripts();
    "sessions" Tabs "[NUMBER]" "List tabs" .key("open_sessions").on_screens();
    "skills" Prompt "" "List skills and prompt templates";
    "stash" Prompt "" "List stashed prompts" .key("stash_list");
    "tab" Tabs "[ID]" "Start a new session in a new tab" .key("new_tab").aliases(&["beside"]);
    "takeover" Session "" "Take control from another client"
        .key("take_over").by_word().on_screens().sends(|_| requests::one(Op::TakeOver));
    "terminal" Run "[COMMAND]" "Open a new terminal, or list terminals and type in them" .key("terminals");
    "todo" Run "" "Toggle the to-do list" .key("toggle_todo");
    "tools" Tools "" "List tools and their cost, and turn them on or off"
        .everywhere(|_| requests::one(AgentOp::ListTools)).in_scripts();
    "trust" Run "" "Trust this folder, or stop trusting it" .everywhere(|_| requests::one(Op::AskTrust));
    "vim" Settings "" "Use the keys of Vim, or stop using them" .key("vim_keys");
}
