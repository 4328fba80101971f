//! The facts about the session that the format knows, as the Agent SDKs have them.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::modes::permission_mode;
use crate::tools;
use osier_protocol::{AddedCommand, PermissionMode, ServerInfo, ServerState};

/// The version of Claude Code whose messages osier writes: programs compare it with the version
/// that they need.
const VERSION: &str = "2.1.332";

/// The facts, collected from events.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub session: String,
    pub cwd: PathBuf,
    pub model: String,
    /// The context window of the model in tokens.
    pub window: u64,
    /// The tokens of the newest request and its answer.
    pub context: u64,
    pub mode: PermissionMode,
    /// The name by which the program set the mode.
    pub mode_name: Option<String>,
    pub tools: Vec<String>,
    pub servers: Vec<ServerInfo>,
    pub commands: Vec<AddedCommand>,
    /// The names of the subagents that the program defines.
    pub agents: Vec<String>,
}

impl Facts {
    /// Claude Code's name of the permission mode: the name that the program used, as long as that
    /// mode is set.
    pub(super) fn mode_name(&self) -> &str {
        let given = self.mode_name.as_deref();
        let given = given.filter(|name| permission_mode(name) == Some(self.mode));
        given.unwrap_or(match self.mode {
            PermissionMode::Yolo => "bypassPermissions",
            PermissionMode::Auto => "auto",
            PermissionMode::Ask => "default",
            PermissionMode::Plan => "plan",
        })
    }

    /// The message `init`.
    pub(super) fn init(&self) -> Value {
        let servers = self.servers.iter();
        let servers: Vec<Value> = servers
            .map(|server| json!({"name": server.name, "status": status(server.state)}))
            .collect();
        let names = |origin: &str| -> Vec<&str> {
            let commands = self.commands.iter();
            let commands = commands.filter(|command| origin.is_empty() || command.origin == origin);
            commands.map(|command| command.name.as_str()).collect()
        };
        json!({
            "type": "system", "subtype": "init", "cwd": self.cwd, "tools": self.tools, "mcp_servers": servers,
            "model": self.model, "permissionMode": self.mode_name(), "slash_commands": names(""), "apiKeySource": "none",
            "output_style": "default", "agents": self.agents, "skills": names("skill"), "plugins": [],
            "claude_code_version": format!("{VERSION} (osier {})", env!("CARGO_PKG_VERSION")),
        })
    }

    pub(super) fn command_list(&self) -> Vec<Value> {
        let commands = self.commands.iter();
        let commands = commands.map(|command| {
            json!({"name": command.name, "description": command.description, "argumentHint": command.argument,
                "aliases": command.aliases})
        });
        commands.collect()
    }

    pub(super) fn server_list(&self) -> Vec<Value> {
        let servers = self.servers.iter();
        let servers = servers.map(|server| {
            let tools = server.tools.iter();
            let tools: Vec<Value> = tools
                .map(|tool| json!({"name": tools::theirs(tool)}))
                .collect();
            let mut status =
                json!({"name": server.name, "status": status(server.state), "tools": tools});
            if let Some(error) = &server.error {
                status["error"] = json!(error);
            }
            if let Some(version) = &server.version {
                status["serverInfo"] = json!({"name": server.name, "version": version});
            }
            status
        });
        servers.collect()
    }

    /// The tokens of the conversation, and the free part of the context window.
    pub(super) fn context_usage(&self) -> Value {
        let free = self.window.saturating_sub(self.context);
        let percentage = self.context * 100 / self.window.max(1);
        let part = |id: &str, name: &str, tokens: u64, kind: &str| json!({"id": id, "name": name, "tokens": tokens, "color": "", "kind": kind});
        json!({"categories": [
                part("messages", "Messages", self.context, "used"),
                part("free_space", "Free space", free, "free"),
            ],
            "totalTokens": self.context, "maxTokens": self.window, "rawMaxTokens": self.window,
            "percentage": percentage, "gridRows": [], "model": self.model, "memoryFiles": [], "mcpTools": [],
            "agents": [], "isAutoCompactEnabled": true, "apiUsage": null})
    }
}

fn status(state: ServerState) -> &'static str {
    match state {
        ServerState::Disabled => "disabled",
        ServerState::Starting | ServerState::Waiting { .. } => "pending",
        ServerState::Ready => "connected",
        ServerState::NeedsLogin => "needs-auth",
        ServerState::Failed => "failed",
    }
}
