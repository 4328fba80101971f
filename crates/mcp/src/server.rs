//! The lifecycle of a server: start, list, watch, and restart with increasing delays. One task owns it and
//! publishes its state.

use std::sync::Arc;
use std::time::Duration;

use globset::GlobSet;
use rmcp::model::{
    PaginatedRequestParams, ProtocolVersion, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{Peer, QuitReason, RoleClient, ServiceError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::{Changed, Client};
use super::config::{Launch, ServerConfig};
use super::connect::{Approach, ConnectError, command, connect};
use super::connection::{Connection, challenge};
use super::instruction_text;
use super::lists::{Listed, Lists, PAGE_LIMIT, listed_prompts, listed_resources};
use super::login::Logins;
use super::repair;
use super::tools::{Down, Link, ServerTool};
use super::working_directory::StartGuard;
use osier_base::server_tool::tool_name;
use osier_protocol::ServerState;
use osier_tools::Workspace;

/// Delays before a restart; after the last, the server is not restarted.
const BACK_OFF: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_mins(1),
];
/// A server that ran this long restarts with the shortest delay.
const STABLE: Duration = Duration::from_mins(2);
/// Time for a server to end.
const END_TIME: Duration = Duration::from_secs(5);
/// Change notifications within this time are combined.
const SETTLE: Duration = Duration::from_millis(100);

/// Commands of the owner.
#[derive(Debug)]
pub(super) enum Command {
    Start,
    Stop,
    /// Ends the server permanently; answered when the process is gone.
    End(oneshot::Sender<()>),
}

/// Events for the owner.
#[derive(Debug)]
pub(super) enum ServerUpdate {
    State {
        state: ServerState,
        error: Option<String>,
    },
    Lists(Box<Lists>),
}

/// The inputs of the task of a server.
#[derive(Debug)]
pub(super) struct ServerTask {
    pub config: Arc<ServerConfig>,
    /// The tools of all servers that the user selected.
    pub wanted: Option<GlobSet>,
    pub client: Client,
    pub link: Arc<Link>,
    pub workspace: Arc<Workspace>,
    pub logins: Logins,
    pub trace: bool,
    pub guard: Option<Arc<dyn StartGuard>>,
    pub changed: mpsc::UnboundedReceiver<Changed>,
    pub refusals: mpsc::UnboundedReceiver<String>,
    pub commands: mpsc::UnboundedReceiver<Command>,
    pub updates: mpsc::UnboundedSender<(String, ServerUpdate)>,
}

/// Why a phase of the lifecycle ended.
enum Ended {
    /// The connection was lost, or never established.
    Lost(ConnectError),
    Command(Command),
    /// The owner is gone.
    Orphaned,
}

impl ServerTask {
    pub(super) async fn run(mut self) {
        let mut attempts = 0;
        let mut approach = Approach::new(&self.config);
        let mut started = !self.config.disabled;
        loop {
            if !started {
                match self.commands.recv().await {
                    Some(Command::Start) => {}
                    Some(Command::Stop) => continue,
                    Some(Command::End(done)) => {
                        let _ = done.send(());
                        return;
                    }
                    None => return,
                }
            }
            let began = Instant::now();
            let ended = self.live(&mut approach).await;
            if began.elapsed() > STABLE {
                attempts = 0;
            }
            let next = match ended {
                Ended::Lost(error) => self.rest(&error, &mut attempts).await,
                ended => ended,
            };
            match next {
                Ended::Command(Command::Start) => {
                    attempts = 0;
                    // The program may be another one by now.
                    approach = Approach::new(&self.config);
                    started = true;
                }
                Ended::Lost(_) => started = true,
                Ended::Command(Command::Stop) => {
                    self.down(ServerState::Disabled, None, "it is disabled");
                    started = false;
                }
                Ended::Command(Command::End(done)) => {
                    let _ = done.send(());
                    return;
                }
                Ended::Orphaned => return,
            }
        }
    }

    /// Waits for the next start, or for a command.
    async fn rest(&mut self, error: &ConnectError, attempts: &mut usize) -> Ended {
        let message = self.client.log.hide(&error.to_string());
        self.client.log.line("osier", &message);
        let wait = BACK_OFF.get(*attempts).filter(|_| error.is_passing());
        *attempts += 1;
        let state = match (error, wait) {
            (ConnectError::Login, _) => ServerState::NeedsLogin,
            (_, Some(wait)) => ServerState::Waiting {
                delay_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            },
            (_, None) => ServerState::Failed,
        };
        self.down(state, Some(message.clone()), &message);
        let over = async {
            match wait {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            command = self.commands.recv() => command.map_or(Ended::Orphaned, Ended::Command),
            () = over => Ended::Lost(ConnectError::Failed(message)),
        }
    }

    fn down(&self, state: ServerState, error: Option<String>, reason: &str) {
        self.link.set(Err(Down {
            reason: reason.to_owned(),
            is_starting: matches!(state, ServerState::Starting | ServerState::Waiting { .. }),
        }));
        self.update(ServerUpdate::State { state, error });
    }

    fn update(&self, update: ServerUpdate) {
        // The owner may have ended.
        let _ = self.updates.send((self.config.name.clone(), update));
    }

    /// Runs the server from a start to its next end.
    async fn live(&mut self, approach: &mut Approach) -> Ended {
        self.down(ServerState::Starting, None, "it is starting");
        let (config, client) = (Arc::clone(&self.config), self.client.clone());
        let (logins, trace) = (self.logins.clone(), self.trace);
        let guard = self.guard.clone();
        let connected = async {
            if let Some(guard) = guard
                && let Some((command, cwd)) = command(&config, &client)
            {
                let permitted = guard.permit(&config.name, command, cwd).await;
                permitted.map_err(ConnectError::Refused)?;
            }
            connect(&config, &client, &logins, approach, trace).await
        };
        let connected = tokio::select! {
            connected = connected => connected,
            command = self.commands.recv() => {
                return command.map_or(Ended::Orphaned, Ended::Command);
            }
        };
        let service = match connected {
            Ok(service) => service,
            Err(error) => return Ended::Lost(error),
        };
        let connection = Connection::new(&service);
        let stop = service.cancellation_token();
        let over = service.waiting();
        tokio::pin!(over);
        let ended = self.serve(&connection, over.as_mut()).await;
        if !matches!(ended, Ended::Lost(_)) {
            stop.cancel();
            // Dropping the handle kills a process that does not exit.
            let _ = tokio::time::timeout(END_TIME, over).await;
        }
        ended
    }

    /// Handles events while the connection is open.
    async fn serve(
        &mut self,
        connection: &Connection,
        mut over: std::pin::Pin<
            &mut impl Future<Output = Result<QuitReason, tokio::task::JoinError>>,
        >,
    ) -> Ended {
        let lost = || Ended::Lost(ConnectError::Failed("it ended".to_owned()));
        // Earlier denials do not apply to this connection.
        while self.refusals.try_recv().is_ok() {}
        let source = Source {
            config: Arc::clone(&self.config),
            wanted: self.wanted.clone(),
            link: Arc::clone(&self.link),
            workspace: Arc::clone(&self.workspace),
        };
        // A command is carried out at once, also if the server does not answer.
        tokio::select! {
            _ = &mut over => return lost(),
            command = self.commands.recv() => {
                return command.map_or(Ended::Orphaned, Ended::Command);
            }
            listed = source.list(connection, None) => match listed {
                Ok(lists) => {
                    self.link.set(Ok(connection.clone()));
                    self.update(ServerUpdate::Lists(Box::new(lists)));
                    self.update(ServerUpdate::State { state: ServerState::Ready, error: None });
                }
                Err(error) => {
                    if let Some(header) = challenge(&error) {
                        return self.refused(header);
                    }
                    let message = format!("cannot list its tools: {error}");
                    return Ended::Lost(ConnectError::Failed(message));
                }
            },
        }
        let watch = CancellationToken::new();
        let _watching = watch.clone().drop_guard();
        osier_base::task::spawn(subscribe(connection.clone(), self.client.clone(), watch));
        // A trace contains all messages.
        let level = self.config.log_level.or(self.trace.then_some("debug"));
        if let Some(level) = level {
            let connection = connection.clone();
            osier_base::task::spawn(async move { connection.set_log_level(level).await });
        }
        loop {
            tokio::select! {
                _ = &mut over => return lost(),
                command = self.commands.recv() => {
                    return command.map_or(Ended::Orphaned, Ended::Command);
                }
                Some(header) = self.refusals.recv() => return self.refused(&header),
                Some(changed) = self.changed.recv() => {
                    tokio::time::sleep(SETTLE).await;
                    let mut all = vec![changed];
                    while let Ok(changed) = self.changed.try_recv() {
                        all.push(changed);
                    }
                    tokio::select! {
                        _ = &mut over => return lost(),
                        command = self.commands.recv() => {
                            return command.map_or(Ended::Orphaned, Ended::Command);
                        }
                        listed = source.list(connection, Some(&all)) => match listed {
                            Ok(lists) => self.update(ServerUpdate::Lists(Box::new(lists))),
                            Err(error) => {
                                self.client.log.line("osier", &error.to_string());
                                // Calls must not wait for a list that does not come.
                                let changes = &self.client.tool_changes;
                                changes.listed(changes.announced());
                            }
                        },
                    }
                }
            }
        }
    }

    /// Stores the challenge for a sign-in.
    fn refused(&self, header: &str) -> Ended {
        if let Launch::Url { url, .. } = &self.config.launch {
            self.logins.challenged(url, header);
        }
        Ended::Lost(ConnectError::Login)
    }
}

/// The source of a server's lists.
struct Source {
    config: Arc<ServerConfig>,
    wanted: Option<GlobSet>,
    link: Arc<Link>,
    workspace: Arc<Workspace>,
}

impl Source {
    /// Lists what the server offers; only `changed`, if set.
    async fn list(
        &self,
        connection: &Connection,
        changed: Option<&[Changed]>,
    ) -> Result<Lists, ServiceError> {
        let info = connection.info();
        let capabilities = info.as_ref().map(|info| info.capabilities.clone());
        let capabilities = capabilities.unwrap_or_default();
        let wanted = |what| changed.is_none_or(|changed| changed.contains(&what));
        let peer = connection.peer();
        let mut lists = Lists {
            // Counted before the list is requested, so that a later change causes a new list.
            tool_changes: connection.tool_changes().announced(),
            ..Lists::default()
        };
        if let Some(info) = &info {
            let instructions = info.instructions.as_deref().unwrap_or_default();
            lists.instructions = Some(instruction_text::cleaned(instructions));
            lists.protocol = Some(info.protocol_version.to_string());
            let named = info.server_info.as_ref();
            lists.version = named.map(|named| format!("{} {}", named.name, named.version));
        }
        // Some servers have tools, but do not declare the capability.
        let says_nothing = capabilities.resources.is_none() && capabilities.prompts.is_none();
        if wanted(Changed::Tools) && (capabilities.tools.is_some() || says_nothing) {
            // Prompts and resources work without tools.
            let offers_more = capabilities.resources.is_some() || capabilities.prompts.is_some();
            lists.tools = Some(match self.tools(peer).await {
                Err(error @ (ServiceError::McpError(_) | ServiceError::UnexpectedResponse))
                    if offers_more =>
                {
                    Listed::failed("tools", &error)
                }
                listed => listed?,
            });
        }
        if wanted(Changed::Resources) && capabilities.resources.is_some() {
            let listed = listed_resources(peer).await;
            lists.resources =
                Some(listed.unwrap_or_else(|error| Listed::failed("resources", &error)));
        }
        if wanted(Changed::Prompts) && capabilities.prompts.is_some() {
            let listed = listed_prompts(peer).await;
            lists.prompts = Some(listed.unwrap_or_else(|error| Listed::failed("prompts", &error)));
        }
        Ok(lists)
    }

    async fn tools(
        &self,
        peer: &Peer<RoleClient>,
    ) -> Result<Listed<Arc<ServerTool>>, ServiceError> {
        let (config, link, workspace) = (&self.config, &self.link, &self.workspace);
        let mut tools = Listed::tools();
        let mut params = PaginatedRequestParams::default();
        for _ in 0..PAGE_LIMIT {
            let timeout = config.timeout;
            let page = tokio::time::timeout(timeout, peer.list_tools(Some(params))).await;
            let page = match page.map_err(|_| ServiceError::Timeout { timeout })? {
                // The entries of the earlier pages stay.
                Err(error @ (ServiceError::McpError(_) | ServiceError::UnexpectedResponse))
                    if tools.total > 0 =>
                {
                    tools.unreadable.push(format!("the next tools ({error})"));
                    tools.is_partial = true;
                    break;
                }
                page => page?,
            };
            tools
                .unreadable
                .extend(repair::left_out(page.meta.as_ref()));
            for listed in page.tools {
                if !self.is_wanted(&listed.name) {
                    tools.total += 1;
                    continue;
                }
                tools.add(|| {
                    let tool = ServerTool::new(&listed, config, link, workspace);
                    let size = tool.size();
                    (Arc::new(tool), size)
                });
            }
            match tools.next(page.next_cursor) {
                Some(next) => params = next,
                None => break,
            }
        }
        Ok(tools)
    }

    fn is_wanted(&self, tool: &str) -> bool {
        let by_name = |wanted: &GlobSet| wanted.is_match(tool_name(&self.config.name, tool));
        self.config.tools.allows(tool) && self.wanted.as_ref().is_none_or(by_name)
    }
}

/// Subscribes to changes of a 2026 server. Older servers send notifications without a subscription.
async fn subscribe(connection: Connection, client: Client, stop: CancellationToken) {
    let Some(info) = connection.info() else {
        return;
    };
    if info.protocol_version < ProtocolVersion::V_2026_07_28 {
        return;
    }
    let capabilities = &info.capabilities;
    let tells = |changes: Option<Option<bool>>| changes.flatten() == Some(true);
    let mut filter = SubscriptionFilter::builder();
    if tells(capabilities.tools.as_ref().map(|tools| tools.list_changed)) {
        filter = filter.tools_list_changed();
    }
    if tells(
        capabilities
            .prompts
            .as_ref()
            .map(|prompts| prompts.list_changed),
    ) {
        filter = filter.prompts_list_changed();
    }
    if tells(
        capabilities
            .resources
            .as_ref()
            .map(|resources| resources.list_changed),
    ) {
        filter = filter.resources_list_changed();
    }
    let filter = filter.build();
    if filter == SubscriptionFilter::new() {
        return;
    }
    let follow = async {
        let mut subscription = match connection.peer().listen(filter).await {
            Ok(subscription) => subscription,
            Err(error) => return client.log.line("osier", &error.to_string()),
        };
        while let Ok(Some(notification)) = subscription.next().await {
            let changed = match notification {
                ServerNotification::ToolListChangedNotification(_) => Changed::Tools,
                ServerNotification::PromptListChangedNotification(_) => Changed::Prompts,
                ServerNotification::ResourceListChangedNotification(_) => Changed::Resources,
                _ => continue,
            };
            client.note(changed);
        }
    };
    tokio::select! {
        () = follow => {}
        () = stop.cancelled() => {}
    }
}
