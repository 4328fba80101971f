//! The built-in tools of the agent: they read, search and change files, run commands, fetch pages and ask the user.
//!
//! Start at [`build`], which creates the tools; [`Workspace`], the state that the tools of a session share; and
//! [`BuiltIn`], the row of a tool. Every tool has its own file with its row (`ROW`), and [`BUILT_IN`] is the list of the
//! rows. Permission rules, hooks, settings and sessions of other agents, the screen, the browser chat, editors and exports
//! derive from them what they know of a tool.
//!
//! Code that tools share, lowest room first; a room imports only lower ones:
//!
//! - `call`: arguments, and how other programs spell them
//! - `files`: which file a call means, what the model knows of it (`ledger`), its lines and [`diff`]s
//! - `commands`: how a command runs, in the foreground or as a job, and where its output goes
//! - `terminal`: programs on a pseudo-terminal
//! - `workspace`: the state of a session, and what a session provides
//! - `built_in`: the row of a tool
//!
//! The tools: `read`, `edit` (with `write` and `apply_patch`), `search`, `shell`, `ask` and [`code`]. Above them are
//! [`trained_forms`], the forms of tools that models are trained with, and `calls`, the files of a call by its row.
//! `of_session` has the rows of tools that the session provides.
//!
//! Invariants: a tool opens exactly the file that was checked, without symbolic links; nothing overwrites
//! the changes of another program; an edit that is not certain changes nothing.
//!
//! The crate does not know permissions, sessions or the screen.
//!
//! ```
//! use std::sync::Arc;
//!
//! use osier_tools::Workspace;
//!
//! let workspace = Arc::new(Workspace::new("/work"));
//! let names = ["grep".to_owned(), "read".to_owned()];
//! let tools = osier_tools::build(&workspace, Some(&names))?;
//! let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
//! assert_eq!(names, ["read", "grep"]);
//! # Ok::<(), osier_tools::UnknownTool>(())
//! ```
//!
//! # Design
//!
//! - A file is found once: the path of a call is resolved when the call is prepared, the gate judges that path, and
//!   the tool opens exactly that file, without links.
//! - Terminals are islands: a program runs on a pseudo-terminal, an emulator makes a screen of its output, and only
//!   that screen leaves. A line for a shell is judged as a command.
//! - A process with limits (`__pdf`) reads PDF files.

mod ask;
mod built_in;
mod call;
mod calls;
pub mod code;
mod commands;
mod edit;
mod files;
mod of_session;
mod read;
mod search;
mod shell;
mod terminal;
#[cfg(any(test, fuzzing))]
mod testing;
pub mod trained_forms;
mod workspace;

use std::sync::Arc;

use thiserror::Error;

use osier_agent::ToolSet;
use serde_json::Value;

pub use ask::plan::PLAN_BYTES;
pub use built_in::{
    BuiltIn, Collapsed, Count, Part, PartKind, PeerTool, Renamed, RuleText, ToolEffect, ToolView,
    Verbs,
};
pub use calls::{file_targets, known_call};
pub use commands::jobs::JobObserver;
pub use commands::outcome::{ShellEnd, ShellOutcome, ShellRequest, start_error};
pub use commands::output::OutputLimits;
pub use commands::output_directory::{OWNER, OutputOptions};
pub use commands::truncation::Capped;
#[cfg(any(test, fuzzing))]
pub use edit::fuzz;
pub use edit::patch::NAME as PATCH;
pub use edit::reformat::{Reformatted, reformat};
pub use edit::tool::EDIT;
pub use edit::write::WRITE;
pub use files::ledger::ChangedFiles;
pub use files::target::{FileArgument, NamedFile};
pub use files::{diff, editor, encoding};
pub use of_session::{SUBAGENT, TOOL_SEARCH, WEB_SEARCH};
pub use osier_map::{Outline, OutlinedFile, Symbol, SymbolMatch};
pub use osier_web::helper as html_helper;
pub use osier_web::{
    RESULTS, SearchResult, SearchService, ServiceKind, Web, WebAddress, WebOptions,
};
pub use read::tool::READ;
pub use read::{attachment, illustration, image, media, pdf};
pub use search::completion;
pub use search::find::FIND;
pub use search::grep::GREP;
pub use search::ls::LS;
pub use search::map::NAME as MAP;
pub use shell::bash::{BASH, NO_OUTPUT, control_characters};
pub use shell::terminal_tool::TERMINAL;
pub use terminal::{TerminalChange, TerminalObserver};
pub use workspace::{PlanAnswer, PlanDecision, PlanMode, ReadFilter, ReadFilters, Workspace};

// recipe: a tool, 1: `crates/tools/src/ROOM/NAME.rs`: the tool, its row (`ROW`) and the details of its results; its room names it as a module (short ones to copy are `search/ls.rs`, and `read/tool.rs` for one file; `FileUse` says what a tool does with a path, `workspace.target` and `workspace.open` in `workspace/open.rs` find and open a file)
// recipe: a tool, 2: its place in `BUILT_IN`
/// Every tool, in the order that models see.
pub const BUILT_IN: &[BuiltIn] = &[
    read::tool::ROW,
    edit::write::ROW,
    edit::tool::ROW,
    edit::patch::ROW,
    shell::bash::ROW,
    search::grep::ROW,
    search::find::ROW,
    search::ls::ROW,
    ask::todo::ROW,
    ask::ask_user::ROW,
    read::web_fetch::ROW,
    ask::plan::ROW,
];

// recipe: a tool, 3: the first request must not exceed `FIRST_REQUEST_TOKENS`, which `cargo test -p osier-session prompt` estimates and `cargo test --test it first_request` counts: keep the definition short. The snapshot of all definitions changes, too
/// The limit of the first request in each of the three main APIs: the prompt, the definitions of all tools, `task` included,
/// the description of the environment and a short prompt of the user. It keeps a new session cheap.
pub const FIRST_REQUEST_TOKENS: usize = 1_234;

/// The tools whose rules a grant for all edits writes; rules for them apply to every tool that changes files.
pub const EDIT_RULES: [&str; 2] = [EDIT, WRITE];

/// An unknown tool name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown tool `{name}`")]
pub struct UnknownTool {
    pub name: String,
}

impl UnknownTool {
    /// The known tools.
    pub fn hint(&self) -> String {
        let names: Vec<&str> = BUILT_IN.iter().map(|tool| tool.name).collect();
        format!("expected one of {}", names.join(", "))
    }
}

/// The built-in tools, and those that a session offers with a language server, a terminal or a large project, or provides
/// itself.
pub fn all() -> impl Iterator<Item = &'static BuiltIn> {
    const OTHERS: &[BuiltIn] = &[shell::terminal_tool::ROW, search::map::ROW];
    let own = BUILT_IN.iter().chain(code::rows()).chain(OTHERS);
    own.chain(of_session::ROWS)
}

/// The tool `name` of [`all`].
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    all().find(|tool| tool.name == name)
}

/// The effect of the tool `name`; `None` for tools of servers and plugins, which can do anything.
pub fn effect(name: &str) -> Option<ToolEffect> {
    find(name).map(|tool| tool.effect)
}

/// The subject of a call of any tool, in a title; without a row, the first text of the arguments.
pub fn subject(name: &str, arguments: &Value) -> Option<String> {
    if let Some(tool) = find(name) {
        return tool.subject(arguments);
    }
    let mut values = arguments.as_object()?.values();
    values.find_map(Value::as_str).map(str::to_owned)
}

/// The tools `names`, or all, working in `workspace`. Always in the order of the table, so that the prompt
/// cache of the provider hits.
pub fn build(workspace: &Arc<Workspace>, names: Option<&[String]>) -> Result<ToolSet, UnknownTool> {
    if let Some(name) = names
        .into_iter()
        .flatten()
        .find(|name| !BUILT_IN.iter().any(|tool| tool.name == **name))
    {
        return Err(UnknownTool { name: name.clone() });
    }
    let is_named = |tool: &str| names.is_none_or(|names| names.iter().any(|name| name == tool));
    // A tool that is another form of other tools comes with them.
    let is_form = |tool: &BuiltIn| tool.is_form && tool.replaces.iter().all(|name| is_named(name));
    let is_wanted = |tool: &&BuiltIn| is_named(tool.name) || is_form(tool);
    let tools = BUILT_IN.iter().filter(is_wanted);
    Ok(tools.filter_map(|tool| tool.make(workspace)).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn names(wanted: Option<&[String]>) -> Result<Vec<String>, UnknownTool> {
        let workspace = Arc::new(Workspace::new("/"));
        let tools = build(&workspace, wanted)?;
        Ok(tools.iter().map(|tool| tool.spec().name.clone()).collect())
    }

    #[test]
    fn tools_are_built_by_name_in_table_order() {
        let all: Vec<&str> = BUILT_IN.iter().map(|tool| tool.name).collect();
        assert_eq!(names(None).unwrap(), all);
        let wanted = ["bash".to_owned(), "read".to_owned()];
        assert_eq!(names(Some(&wanted)).unwrap(), ["read", "bash"]);
        let wanted = ["edit".to_owned(), "write".to_owned()];
        assert_eq!(
            names(Some(&wanted)).unwrap(),
            ["write", "edit", "apply_patch"]
        );
        assert_eq!(names(Some(&[])).unwrap(), [""; 0]);
        let error = names(Some(&["rg".to_owned()])).unwrap_err();
        assert_eq!(error.to_string(), "unknown tool `rg`");
        assert!(
            error
                .hint()
                .starts_with("expected one of read, write, edit, ")
        );
    }

    // recipe: a tool, 4: `docs/tools.md`: written by `UPDATE_DOCS=1 cargo test -p osier-tools documentation`
    #[test]
    fn documentation_has_the_table_of_tools() {
        let rows = all().map(|tool| {
            let effect = serde_json::to_value(tool.effect).unwrap();
            let effect = effect.as_str().unwrap();
            format!("| `{}` | {effect} | {} |\n", tool.name, tool.does)
        });
        let limit = (FIRST_REQUEST_TOKENS / 1_000, FIRST_REQUEST_TOKENS % 1_000);
        let table = format!(
            "The first request of a session takes at most {},{:03} tokens in chat completions, responses and messages: the \
             system prompt, all tool definitions, the description of the environment and a short prompt. A test counts them \
             with a real tokenizer.\n\n| tool | effect | does |\n|---|---|---|\n{}",
            limit.0,
            limit.1,
            rows.collect::<String>()
        );
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
        osier_testing::pages::check_part(&page, "tools", &table);
    }

    /// Clients need all of a row to show and judge a call.
    #[test]
    fn every_row_is_complete() {
        let mut names = Vec::new();
        for tool in all() {
            let name = tool.name;
            assert!(!names.contains(&name), "two rows are named `{name}`");
            names.push(name);
            assert!(!tool.does.is_empty(), "the row of `{name}` needs `does`");
            let verbs = &tool.view.verbs;
            let is_shown = [verbs.now, verbs.done, verbs.base]
                .iter()
                .all(|verb| !verb.is_empty());
            assert!(is_shown, "the row of `{name}` needs verbs");
            assert!(
                !tool.view.subject.is_empty(),
                "the row of `{name}` needs a subject"
            );
            let needs_question = !tool.effect.is_free();
            let has_question = !tool.view.question.is_empty();
            assert_eq!(
                has_question,
                needs_question || name == READ,
                "the question of `{name}`"
            );
            let Some(run) = tool.run else { continue };
            let known = &(run.spec)().parameters["properties"];
            let parts = tool.view.subject.iter().map(|part| part.argument);
            let file = tool.file.map(|file| file.name);
            let rules = tool.rule_text().argument();
            let named = parts
                .chain(file)
                .chain(rules)
                .chain(tool.acts_with.iter().copied());
            for argument in named {
                assert!(
                    known.get(argument).is_some(),
                    "`{name}` has no argument `{argument}`"
                );
            }
        }
    }

    #[test]
    fn headers_say_where_and_how_much() {
        for (tool, arguments, expected) in [
            (
                GREP,
                json!({"pattern": "x", "path": "src", "glob": "*.rs"}),
                Some("x in src (*.rs)"),
            ),
            (
                READ,
                json!({"file_path": "a", "offset": 10, "limit": 5}),
                Some("a:10-14"),
            ),
            (READ, json!({"file_path": "a", "offset": 10}), Some("a:10-")),
            (BASH, json!({"command": "a\nb"}), Some("a\nb")),
            (BASH, json!({"action": "list"}), None),
            (
                TERMINAL,
                json!({"id": "t1", "keys": ["esc", "enter"]}),
                Some("esc enter in t1"),
            ),
            (
                "rename",
                json!({"symbol": "a", "new_name": "b"}),
                Some("a → b"),
            ),
            ("symbols", json!({"query": "cart"}), Some("cart")),
            (
                PATCH,
                json!({"input": "*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch"}),
                Some("a, b"),
            ),
            (
                "ask_user",
                json!({"questions": [{"question": "Why?"}, {"question": "How?"}]}),
                Some("Why? (+1 question)"),
            ),
            (
                "exit_plan_mode",
                json!({"plan": "\n# Do it\n\nThen rest."}),
                Some("Do it"),
            ),
        ] {
            let subject = find(tool).unwrap().subject(&arguments);
            assert_eq!(subject.as_deref(), expected, "{tool} {arguments}");
        }
        for (tool, details, expected) in [
            (
                GREP,
                json!({"matches": 1, "files": 1}),
                Some("1 match in 1 file"),
            ),
            (GREP, json!({"matches": 0, "files": 0}), Some("0 matches")),
            (FIND, json!({"count": 2}), Some("2 paths")),
            (READ, json!({"linesRead": 1}), Some("1 line")),
            (READ, json!({"linesRead": 0, "mimeType": "image/png"}), None),
            (WRITE, json!({"size": 3, "diff": "+a"}), None),
            (BASH, json!({"count": 2}), None),
        ] {
            let counted = find(tool).unwrap().counted(&details);
            assert_eq!(counted.as_deref(), expected, "{tool} {details}");
        }
        assert_eq!(
            subject("x__y", &json!({"n": 1, "to": "z"})).as_deref(),
            Some("z")
        );
    }

    /// Calls of other programs, in sessions that were imported, are shown as calls of the tools that do the same.
    #[test]
    fn calls_of_other_programs_are_known() {
        for (name, arguments, expected) in [
            ("Bash", json!({"command": "ls"}), Some((BASH, "ls"))),
            ("exec_command", json!({"cmd": "ls"}), Some((BASH, "ls"))),
            (
                "shell",
                json!({"command": ["bash", "-c", "ls"]}),
                Some((BASH, "bash -c ls")),
            ),
            ("MultiEdit", json!({"file_path": "a"}), Some((EDIT, "a"))),
            ("read", json!({"path": "a"}), Some((READ, "a"))),
            ("Glob", json!({"pattern": "*.rs"}), Some((FIND, "*.rs"))),
            ("Monitor", json!({}), None),
        ] {
            let known = known_call(name, arguments.as_object().unwrap());
            let known = known.map(|(tool, arguments)| (tool.name, tool.subject(&arguments.into())));
            let expected = expected.map(|(tool, subject)| (tool, Some(subject.to_owned())));
            assert_eq!(known, expected, "{name}");
        }
    }

    #[test]
    fn the_schemas_are_valid() {
        let workspace = Arc::new(Workspace::new("/"));
        for tool in build(&workspace, None).unwrap() {
            osier_testing::json_schema::JsonSchema::new(&tool.spec().parameters);
        }
    }

    #[test]
    fn rules_match_the_first_text_of_the_subject() {
        for (tool, expected) in [
            (READ, RuleText::Argument("file_path")),
            (PATCH, RuleText::Argument("input")),
            (BASH, RuleText::Command("command")),
            (GREP, RuleText::Argument("pattern")),
            (MAP, RuleText::Argument("query")),
            (SUBAGENT, RuleText::Argument("agent")),
            ("web_fetch", RuleText::Page("url")),
            ("symbols", RuleText::Argument("query")),
            ("diagnostics", RuleText::Argument("file_path")),
            ("todo", RuleText::None),
            ("exit_plan_mode", RuleText::None),
        ] {
            assert_eq!(find(tool).unwrap().rule_text(), expected, "{tool}");
        }
    }
}
