//! The rows of tools that the session provides. They are here because rules, hooks and imports, which lie below the session,
//! read them.

use osier_agent::{OtherName, Spellings};

use crate::built_in::{BuiltIn, Part, PeerTool, Renamed, ToolEffect, ToolView, Verbs};
use crate::call::spellings;

/// The tool that starts a subagent.
pub const SUBAGENT: &str = "task";

/// The tool that finds and loads tools of MCP servers.
pub const TOOL_SEARCH: &str = "tool_search";

/// The tool that searches the web.
pub const WEB_SEARCH: &str = "web_search";

const TASK: &[Renamed] = &[
    ("prompt", "prompt"),
    ("subagent_type", "agent"),
    ("run_in_background", "run_in_background"),
];

pub(crate) const ROWS: &[BuiltIn] = &[
    BuiltIn {
        rule_argument: Some("agent"),
        spellings: &SPELLINGS,
        peers: &[
            PeerTool::claude("Agent", TASK),
            PeerTool::claude("Task", TASK),
            PeerTool::opencode("task", TASK),
        ],
        view: ToolView::new(
            Verbs::new("Working on", "Worked on", "work on"),
            &[Part::text("prompt")],
        ),
        does: "starts a [subagent](subagents.md), unless they are off",
        ..BuiltIn::of_session(SUBAGENT, ToolEffect::Delegates)
    },
    BuiltIn {
        view: ToolView::new(
            Verbs::new("Looking for tools", "Looked for tools", "look for tools"),
            &[Part::text("query")],
        ),
        does: "finds and loads tools of [MCP servers](mcp.md) that have many",
        ..BuiltIn::of_session(TOOL_SEARCH, ToolEffect::Looks)
    },
    BuiltIn {
        peers: &[PeerTool::claude("WebSearch", &[("query", "query")])],
        view: ToolView {
            question: "Search the web?",
            ..ToolView::new(
                Verbs::new(
                    "Searching the web for",
                    "Searched the web for",
                    "search the web for",
                )
                .several("searched the web", "time"),
                &[Part::text("query")],
            )
        },
        does: "searches the web; offered only if the provider of the model or a service can",
        ..BuiltIn::of_session(WEB_SEARCH, ToolEffect::Fetches)
    },
];

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("agent"),
        OtherName::of("subagent"),
        OtherName::of("spawn_agent"),
        OtherName::of("dispatch_agent"),
    ],
    arguments: &[
        ("prompt", &["task", "message", "instructions"]),
        ("agent", &["subagent_type", "agent_type", "agent_name"]),
        ("run_in_background", &["background"]),
    ],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};
