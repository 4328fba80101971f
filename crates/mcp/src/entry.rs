//! A server of the session: its state, and the tools that it offers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::attached::Attached;
use super::changes::ToolChanges;
use super::config::ServerConfig;
use super::lists::{Listed, Lists};
use super::log::ServerLog;
use super::server::Command;
use super::tools::{Link, ServerTool};
use osier_agent::{Severity, Tool};
use osier_base::text;
use osier_protocol::{ServerInfo, ServerState};

/// Maximum number of entries that a notice names.
const SHOWN: usize = 5;

/// A notice for the user.
type Notice = Option<(Severity, String)>;

/// The data of a server that mentions need.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub link: Arc<Link>,
    pub attached: Attached,
    pub timeout: Duration,
    pub info: ServerInfo,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub config: Arc<ServerConfig>,
    pub info: ServerInfo,
    link: Arc<Link>,
    attached: Attached,
    commands: mpsc::UnboundedSender<Command>,
    _task: AbortOnDropHandle<()>,
    tools: Vec<Arc<ServerTool>>,
    pub tool_changes: ToolChanges,
    /// Whether the server was ready before, so that its end is reported.
    was_ready: bool,
    /// Entries of the last lists that could not be read.
    unreadable: Vec<String>,
}

impl Entry {
    pub(super) fn new(
        config: Arc<ServerConfig>,
        link: Arc<Link>,
        attached: Attached,
        log: &ServerLog,
        commands: mpsc::UnboundedSender<Command>,
        tool_changes: ToolChanges,
        task: AbortOnDropHandle<()>,
    ) -> Self {
        let info = ServerInfo {
            name: config.name.clone(),
            state: if config.disabled {
                ServerState::Disabled
            } else {
                ServerState::Starting
            },
            shown: config.shown.clone(),
            file: config.file.display().to_string(),
            remote: config.launch.is_url(),
            error: None,
            log: log.path().display().to_string(),
            version: None,
            protocol: None,
            instructions: None,
            tools: Vec::new(),
            hidden_tools: 0,
            resources: Vec::new(),
            prompts: Vec::new(),
        };
        Self {
            config,
            info,
            link,
            attached,
            commands,
            _task: task,
            tools: Vec::new(),
            tool_changes,
            was_ready: false,
            unreadable: Vec::new(),
        }
    }

    pub(super) fn command(&self, command: Command) {
        // The task lives as long as this entry.
        let _ = self.commands.send(command);
    }

    pub(super) fn commands(&self) -> mpsc::UnboundedSender<Command> {
        self.commands.clone()
    }

    pub(super) fn known(&self) -> Known {
        Known {
            link: Arc::clone(&self.link),
            attached: self.attached.clone(),
            timeout: self.config.timeout,
            info: self.info.clone(),
        }
    }

    /// The tools for the agent. The tools of a restarting server stay, so that the list changes rarely.
    pub(super) fn offered(&self) -> Vec<Arc<dyn Tool>> {
        let gone = matches!(
            self.info.state,
            ServerState::Disabled | ServerState::Failed | ServerState::NeedsLogin
        );
        if gone {
            return Vec::new();
        }
        let tools = self.tools.iter();
        tools
            .map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
            .collect()
    }

    pub(super) fn set_state(&mut self, state: ServerState, error: Option<String>) -> Notice {
        let before = std::mem::replace(&mut self.info.state, state);
        let name = &self.info.name;
        let why = error.clone().unwrap_or_default();
        let log = &self.info.log;
        let notice = match state {
            ServerState::Failed => {
                let text =
                    format!("the MCP server `{name}` is unavailable: {why}; see its log {log}");
                Some((Severity::Warning, text))
            }
            ServerState::NeedsLogin if before != state => {
                let text =
                    format!("the MCP server `{name}` requires a sign-in: run `/mcp login {name}`");
                Some((Severity::Warning, text))
            }
            ServerState::Waiting { .. } if self.was_ready => {
                let text = format!(
                    "the MCP server `{name}` ended and is being restarted; see its log {log}"
                );
                Some((Severity::Warning, text))
            }
            _ => None,
        };
        match state {
            // The last error stays visible during a restart.
            ServerState::Starting => {}
            _ => self.info.error = error,
        }
        self.was_ready = state == ServerState::Ready;
        notice
    }

    pub(super) fn set_lists(&mut self, lists: Lists) -> Vec<Notice> {
        let unreadable = lists.unreadable();
        if lists.version.is_some() {
            self.info.version = lists.version;
        }
        if lists.protocol.is_some() {
            self.info.protocol = lists.protocol;
        }
        if let Some(instructions) = lists.instructions {
            self.info.instructions = (!instructions.is_empty()).then_some(instructions);
        }
        let mut notices = vec![self.report_unreadable(unreadable)];
        if let Some(resources) = lists.resources {
            notices.push(self.surplus(&resources, "resource"));
            self.info.resources = resources.entries;
        }
        if let Some(prompts) = lists.prompts {
            notices.push(self.surplus(&prompts, "prompt"));
            self.info.prompts = prompts.entries;
        }
        if let Some(tools) = lists.tools {
            notices.push(self.set_tools(tools));
        }
        notices
    }

    /// Reports entries that cannot be read, unless they were reported before.
    fn report_unreadable(&mut self, names: Vec<String>) -> Notice {
        if names.is_empty() || names == self.unreadable {
            return None;
        }
        let more = match names.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = names[..names.len().min(SHOWN)].join(", ");
        let text = format!(
            "the MCP server `{}` sent parts that osier cannot read and omits: {shown}{more}",
            self.info.name
        );
        self.unreadable = names;
        Some((Severity::Warning, text::single_line(&text)))
    }

    /// Reports entries beyond the limits.
    fn surplus<T>(&self, list: &Listed<T>, what: &str) -> Notice {
        if list.left_out == 0 {
            return None;
        }
        let (name, all, offered) = (&self.info.name, list.count(what), list.entries.len());
        let text =
            format!("the MCP server `{name}` has {all}; only the first {offered} are offered");
        Some((Severity::Warning, text))
    }

    fn set_tools(&mut self, listed: Listed<Arc<ServerTool>>) -> Notice {
        let surplus = self.surplus(&listed, "tool").map(|(severity, text)| {
            let file = &self.info.file;
            (
                severity,
                format!("{text}: select tools with `tools` in {file}"),
            )
        });
        let total = listed.total;
        let mut tools = listed.entries;
        // An unchanged tool keeps its object, so that nothing that depends on it is rebuilt.
        let known = std::mem::take(&mut self.tools);
        for tool in &mut tools {
            let same = |known: &&Arc<ServerTool>| {
                known.spec() == tool.spec() && known.hints() == tool.hints()
            };
            if let Some(known) = known.iter().find(same) {
                *tool = Arc::clone(known);
            }
        }
        self.info.tools = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        self.info.hidden_tools = total - tools.len();
        let name = &self.info.name;
        let cut: Vec<String> = tools
            .iter()
            .filter(|tool| !known.iter().any(|known| Arc::ptr_eq(known, tool)))
            .filter_map(|tool| Some(format!("`{}` without {}", tool.tool, tool.cut?)))
            .collect();
        self.tools = tools;
        if surplus.is_some() {
            return surplus;
        }
        let few = cut.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = match cut.len() {
            0 => return None,
            1..=3 => String::new(),
            all => format!(" and {} more", all - 3),
        };
        let text = format!(
            "tool definitions of the MCP server `{name}` are too long and were shortened: {few}{more}"
        );
        Some((Severity::Warning, text))
    }

    /// Ends the server and waits until it is gone.
    pub(super) async fn end(self) {
        let (done, ended) = oneshot::channel();
        if self.commands.send(Command::End(done)).is_ok() {
            let _ = ended.await;
        }
    }
}
