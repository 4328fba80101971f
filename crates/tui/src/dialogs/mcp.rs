//! MCP servers: their list, `/mcp`, and the completion of their prompts and resources.

use crate::actions::{Action, Effect, Outbox, Toast};
use crate::drawing::{Choice, MenuItem, Overlays, Picker, overlays};
use crate::input::Editor;
use osier_base::text;
use osier_mcp::prompt_command;
use osier_protocol::{AddedCommand, Op, ServerAction, ServerInfo, ServerState};
use osier_term::{Cell, Column, Columns, Item, Token};

/// The layer of the list.
const ID: &str = "mcp";
/// The layer of one server.
const MENU_ID: &str = "mcp_server";

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

/// One line for each server: its state and its tools.
fn picker(servers: &[ServerInfo]) -> Picker<ServerInfo> {
    Picker::new(
        "MCP servers",
        "no servers yet: type !osier mcp add NAME COMMAND to add one, /reload starts it",
        servers.iter().cloned(),
        |server| [Action::ShowServer(server.name.clone())],
    )
    .with_columns(COLUMNS)
    .taking("open")
}

impl Choice for ServerInfo {
    fn row(&self) -> Item {
        Item {
            label: format!("{} {}", mark(self.state), self.name),
            details: details(self),
            keywords: self.shown.clone(),
            dimmed: self.state == ServerState::Disabled,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

fn mark(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "●",
        ServerState::Starting | ServerState::Waiting { .. } => "◐",
        ServerState::Disabled => "○",
        ServerState::NeedsLogin | ServerState::Failed => "■",
    }
}

/// The state of the server, the numbers of its tools, resources and prompts, and its problem.
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

/// The menu of `server`: its actions, then facts, which can be copied.
fn menu(server: &ServerInfo) -> Picker<MenuItem> {
    let instructions = server.instructions.as_deref().map(text::single_line);
    let how = if server.remote { "URL" } else { "command" };
    let facts = [
        ("state", Some(detail(server))),
        (how, Some(server.shown.clone())),
        ("configured in", Some(server.file.clone())),
        ("log", Some(server.log.clone())),
        ("version", server.version.clone()),
        ("protocol", server.protocol.clone()),
        ("instructions", instructions),
    ];
    let facts = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let tools = server.tools.iter().map(|tool| ("tool", tool.clone()));
    let hidden = Some(server.hidden_tools).filter(|count| *count > 0);
    let hidden = hidden.map(|count| ("tool", format!("{count} more are hidden")));
    let facts = facts.chain(tools).chain(hidden);
    let actions = actions(server).into_iter().map(|(action, word, meaning)| {
        let name = server.name.clone();
        MenuItem::new(word, meaning, Op::McpServer { name, action })
    });
    let facts = facts.map(|(name, value)| {
        MenuItem::new(name, &value, Effect::Copy(value.clone(), "value")).dimmed()
    });
    let title = format!("MCP server {}", server.name);
    Picker::menu(title, "nothing matches", actions.chain(facts)).taking("run or copy")
}

/// The actions that are possible in the state of `server`, each with its name and its description.
fn actions(server: &ServerInfo) -> Vec<(ServerAction, &'static str, &'static str)> {
    use ServerAction::{Disable, Enable, Login, Logout, Restart};
    let mut actions = Vec::new();
    if server.state == ServerState::Disabled {
        actions.push((Enable, "enable", "start for this session"));
    } else {
        actions.push((Restart, "restart", "stop and start again"));
        actions.push((Disable, "disable", "stop for this session"));
    }
    if server.remote {
        actions.push((Login, "login", "sign in with a browser"));
        actions.push((Logout, "logout", "delete the stored credentials"));
    }
    actions
}

/// The MCP servers that the session reported last.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    servers: Vec<ServerInfo>,
}

impl Servers {
    /// Lists the servers.
    pub(crate) fn open(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(ID, picker(&self.servers));
        outbox.push(Op::ListMcpServers);
    }

    /// Opens the menu of a server.
    pub(crate) fn open_menu(&self, name: &str, overlays: &mut Overlays, outbox: &mut Outbox) {
        let mut servers = self.servers.iter();
        if let Some(server) = servers.find(|server| server.name == name) {
            overlays.push(MENU_ID, menu(server));
        } else {
            let text = format!("unknown MCP server `{name}`; `/mcp` lists them");
            outbox.push(Toast::error(text));
        }
    }

    pub(crate) fn set(
        &mut self,
        servers: &[ServerInfo],
        overlays: &mut Overlays,
        editor: &mut Editor,
    ) {
        self.servers = servers.to_vec();
        overlays::refresh(overlays, ID, picker(servers));
        editor.set_servers(prompts(servers), resources(servers));
    }
}

fn prompts(servers: &[ServerInfo]) -> Vec<AddedCommand> {
    let prompts = servers.iter().flat_map(|server| {
        server.prompts.iter().map(move |prompt| {
            let arguments = prompt.arguments.iter().map(|argument| {
                if argument.required {
                    argument.name.clone()
                } else {
                    format!("[{}]", argument.name)
                }
            });
            AddedCommand {
                name: prompt_command(&server.name, &prompt.name)[1..].to_owned(),
                aliases: Vec::new(),
                argument: arguments.collect::<Vec<_>>().join(" "),
                description: prompt.description.clone(),
                origin: "mcp".to_owned(),
                values: Vec::new(),
            }
        })
    });
    prompts.collect()
}

fn resources(servers: &[ServerInfo]) -> Vec<String> {
    let resources = servers.iter().flat_map(|server| {
        let of_server = server.resources.iter();
        of_server.map(move |resource| format!("{}:{}", server.name, resource.uri))
    });
    resources.collect()
}
