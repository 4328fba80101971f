//! MCP servers: their list, `/mcp`, and the completion of their prompts and resources.

mod picker;

use crate::actions::Outbox;
use crate::drawing::{Overlays, overlays};
use crate::input::Editor;
use osier_mcp::prompt_command;
use osier_protocol::{AddedCommand, Op, ServerInfo};

/// The MCP servers that the host reported last.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    servers: Vec<ServerInfo>,
}

impl Servers {
    /// Lists the servers.
    pub(crate) fn open(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(picker::ID, picker::picker(&self.servers));
        outbox.push(Op::ListMcpServers);
    }

    /// Opens the menu of a server.
    ///
    /// # Errors
    /// There is no server with this name.
    pub(crate) fn open_menu(&self, name: &str, overlays: &mut Overlays) -> Result<(), String> {
        let mut servers = self.servers.iter();
        let Some(server) = servers.find(|server| server.name == name) else {
            return Err(format!("unknown MCP server `{name}`; `/mcp` lists them"));
        };
        overlays.push(picker::MENU_ID, picker::menu(server));
        Ok(())
    }

    pub(crate) fn set(
        &mut self,
        servers: &[ServerInfo],
        overlays: &mut Overlays,
        editor: &mut Editor,
    ) {
        self.servers = servers.to_vec();
        overlays::refresh(overlays, picker::ID, picker::picker(servers));
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
