//! The MCP servers, and what can be done with one.

use crate::actions::{Action, Effect};
use crate::drawing::Picker;
use osier_base::text;
use osier_protocol::{Op, ServerAction, ServerInfo, ServerState};
use osier_term::face::Token;
use osier_term::widgets::columns::{Cell, Column, Columns};
use osier_term::widgets::select::Item;

/// The layer of the list.
pub(super) const ID: &str = "mcp";
/// The layer of one server.
pub(super) const MENU_ID: &str = "mcp_server";

const COLUMNS: Columns = Columns {
    label: "server",
    details: &[
        Column::words("state", 0),
        Column::numbers("tools", 1),
        Column::numbers("resources", 3),
        Column::numbers("prompts", 3),
        Column::words("error", 2).at_least(12),
    ],
};

/// One line a server: how it is, what it has.
pub(super) fn picker(servers: &[ServerInfo]) -> Picker {
    let items = servers.iter().map(|server| Item {
        key: server.name.clone(),
        label: format!("{} {}", mark(server.state), server.name),
        details: details(server),
        keywords: server.shown.clone(),
        dimmed: server.state == ServerState::Disabled,
    });
    Picker::new(
        "MCP servers",
        "no servers configured: add one with osier mcp add",
        items.collect(),
        Box::new(|name| vec![Action::ShowServer(name.to_owned())]),
    )
    .with_columns(COLUMNS)
    .taking("open")
}

fn mark(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "●",
        ServerState::Starting | ServerState::Waiting { .. } => "◐",
        ServerState::Disabled => "○",
        ServerState::NeedsLogin | ServerState::Failed => "■",
    }
}

/// How it is, how many of each it has, and what is wrong.
fn details(server: &ServerInfo) -> Vec<Cell> {
    let token = match server.state {
        ServerState::Ready => Token::Success,
        ServerState::Starting | ServerState::Waiting { .. } => Token::Working,
        ServerState::Disabled => Token::Muted,
        ServerState::NeedsLogin => Token::Warning,
        ServerState::Failed => Token::Error,
    };
    let count = |count: usize| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    vec![
        Cell::new(server.state.name(), token),
        count(server.tools.len()).into(),
        count(server.resources.len()).into(),
        count(server.prompts.len()).into(),
        server.error.clone().unwrap_or_default().into(),
    ]
}

fn detail(server: &ServerInfo) -> String {
    let counted = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        count => Some(format!("{count} {what}s")),
    };
    let state = server.state.name().to_owned();
    let parts = match &server.error {
        Some(error) => vec![Some(state), Some(text::single_line(error))],
        None => vec![
            Some(state),
            counted(server.tools.len(), "tool"),
            counted(server.resources.len(), "resource"),
            counted(server.prompts.len(), "prompt"),
        ],
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What can be done with `server`, then what is known of it.
pub(super) fn menu(server: &ServerInfo) -> Picker {
    let mut items: Vec<Item> = actions(server)
        .iter()
        .map(|(word, what)| item(word, what, "", false))
        .collect();
    let state = detail(server);
    let instructions = server.instructions.as_deref().map(text::single_line);
    let how = if server.remote { "URL" } else { "command" };
    let facts = [
        ("state", Some(state.as_str())),
        (how, Some(server.shown.as_str())),
        ("configured in", Some(server.file.as_str())),
        ("log", Some(server.log.as_str())),
        ("version", server.version.as_deref()),
        ("protocol", server.protocol.as_deref()),
        ("instructions", instructions.as_deref()),
    ];
    let facts = facts
        .iter()
        .filter_map(|(name, value)| Some((name, (*value)?)));
    items.extend(facts.map(|(name, value)| item(&format!("= {value}"), name, value, true)));
    let tools = server.tools.iter();
    items.extend(tools.map(|tool| item(&format!("= {tool}"), "tool", tool, true)));
    if server.hidden_tools > 0 {
        let hidden = format!("{} more are hidden", server.hidden_tools);
        items.push(item(&format!("= {hidden}"), "tool", &hidden, true));
    }
    let name = server.name.clone();
    Picker::new(
        format!("MCP server {name}"),
        "nothing matches",
        items,
        Box::new(move |key| take(&name, key)),
    )
    .with_columns(Columns::SENTENCE)
    .taking("run or copy")
}

fn item(key: &str, label: &str, detail: &str, dimmed: bool) -> Item {
    Item {
        key: key.to_owned(),
        label: label.to_owned(),
        details: vec![detail.into()],
        keywords: detail.to_owned(),
        dimmed,
    }
}

/// What makes sense for `server` as it is.
fn actions(server: &ServerInfo) -> Vec<(&'static str, &'static str)> {
    let mut actions = Vec::new();
    if server.state == ServerState::Disabled {
        actions.push(("enable", "start for this session"));
    } else {
        actions.push(("restart", "stop and start again"));
        actions.push(("disable", "stop for this session"));
    }
    if server.remote {
        actions.push(("login", "sign in with a browser"));
        actions.push(("logout", "delete the stored credentials"));
    }
    actions
}

/// An action, or a fact, which is copied.
fn take(name: &str, key: &str) -> Vec<Action> {
    let action = match key {
        "enable" => ServerAction::Enable,
        "restart" => ServerAction::Restart,
        "disable" => ServerAction::Disable,
        "login" => ServerAction::Login,
        "logout" => ServerAction::Logout,
        fact => {
            let fact = fact.trim_start_matches("= ").to_owned();
            return vec![Action::Effect(Effect::Copy(fact))];
        }
    };
    let name = name.to_owned();
    vec![Action::Tell(Op::McpServer { name, action })]
}
