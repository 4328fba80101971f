//! MCP servers in the interface: their panel, `/mcp`, and what the editor completes of them.

use super::action::Action;
use super::app::App;
use super::overlays;
use osier_context::AddedCommand;
use osier_mcp::{ServerAction, ServerInfo, prompt_command};
use osier_session::host::Op;

/// What `/mcp ACTION SERVER` can say.
const ACTIONS: &[(&str, ServerAction)] = &[
    ("restart", ServerAction::Restart),
    ("enable", ServerAction::Enable),
    ("disable", ServerAction::Disable),
    ("login", ServerAction::Login),
    ("logout", ServerAction::Logout),
];

/// The action of `/mcp ARGUMENT`.
pub(super) fn slash(argument: &str) -> Result<Vec<Action>, String> {
    let (word, server) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let action = ACTIONS.iter().find(|(name, _)| *name == word);
    match (action, server.trim()) {
        (Some((_, action)), name) if !name.is_empty() => {
            let name = name.to_owned();
            let action = *action;
            Ok(vec![Action::Tell(Op::McpServer { name, action })])
        }
        (None, "") => Ok(vec![Action::ShowServer(word.to_owned())]),
        _ => {
            let names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "write `/mcp`, `/mcp SERVER` or `/mcp ACTION SERVER`: the actions are {}",
                names.join(", ")
            ))
        }
    }
}

impl App {
    pub(super) fn pick_server(&mut self) {
        let picker = overlays::server::picker(&self.servers);
        self.layers.push(overlays::server::ID, picker);
        self.ops.push(Op::ListMcpServers);
    }

    pub(super) fn show_server(&mut self, name: &str) {
        match self.servers.iter().find(|server| server.name == name) {
            Some(server) => {
                let menu = overlays::server::menu(server);
                self.layers.push(overlays::server::MENU_ID, menu);
            }
            None => self.actions.push(Action::Toast {
                text: format!("there is no MCP server `{name}`: `/mcp` lists them"),
                error: true,
            }),
        }
    }

    pub(super) fn follow_servers(&mut self, servers: &[ServerInfo]) {
        self.servers = servers.to_vec();
        self.renew(overlays::server::ID, overlays::server::picker(servers));
        self.editor
            .set_servers(prompts(servers), resources(servers));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_an_action_and_a_server() {
        let restart = Action::Tell(Op::McpServer {
            name: "git".into(),
            action: ServerAction::Restart,
        });
        assert_eq!(slash("restart git"), Ok(vec![restart]));
        assert_eq!(slash("git"), Ok(vec![Action::ShowServer("git".into())]));
        assert!(slash("restart").unwrap_err().contains("restart, enable"));
        assert!(slash("burn git").is_err());
    }
}
