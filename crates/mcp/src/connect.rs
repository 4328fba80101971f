//! How a connection to a server begins: its process or address, the protocol it knows, and why that can fail.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient,
};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};

use super::answers::Answering;
use super::client::Client;
use super::config::{HttpProtocol, Launch, ServerConfig};
use super::connection::{Service, with_causes};
use super::http::{HttpClient, HttpError};
use super::login::Logins;
use super::probe::{PROBE_TIME, ProbeReport, Probing};
use super::program::ProgramTransport;
use super::sse::SseTransport;
use super::stdio::StdioTransport;
use osier_base::private;
use osier_base::process::Invocation;

/// How often a stream of events that has ended is opened again, and the pause before the first
/// attempt.
const RECONNECTS: usize = 4;
const RECONNECT_TIME: Duration = Duration::from_millis(250);

/// Why a server is unavailable.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("cannot start `{program}`: {source}")]
    Spawn {
        program: String,
        source: std::io::Error,
    },
    #[error("it did not answer within {} s", limit.as_secs())]
    Late { limit: Duration },
    #[error("it requires a sign-in")]
    Login,
    #[error("the header `{name}` is invalid")]
    Header { name: String },
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}

impl ConnectError {
    /// Whether a retry may help.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Failed(_))
    }
}

/// The generation of the protocol that osier uses with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// The generation is unknown: a probe asks the server.
    Unknown,
    /// A version before 2026, which begins with a handshake.
    Before2026,
    From2026,
}

/// The version of the protocol and the transport to try first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Approach {
    pub generation: Generation,
    pub protocol: HttpProtocol,
}

/// Connects to the server of `config`. `approach` becomes the one that works, for the next connection.
pub(super) async fn connect(
    config: &ServerConfig,
    client: &Client,
    logins: &Logins,
    approach: &mut Approach,
    trace: bool,
) -> Result<Service, ConnectError> {
    let limit = config.start_timeout;
    let starter = Starter {
        config,
        client,
        logins,
        trace,
    };
    let connected = tokio::time::timeout(limit, starter.connect(approach)).await;
    connected.unwrap_or(Err(ConnectError::Late { limit }))
}

/// The parameters of a connection attempt.
struct Starter<'a> {
    config: &'a ServerConfig,
    client: &'a Client,
    logins: &'a Logins,
    trace: bool,
}

impl Starter<'_> {
    /// Tries the versions that the server may support, the newest first.
    async fn connect(&self, approach: &mut Approach) -> Result<Service, ConnectError> {
        let first = self.start(*approach).await;
        let (message, report) = match first {
            (Err(ConnectError::Failed(message)), report) => (message, report),
            (Ok(service), report) => {
                if report.is_older.is_set() {
                    approach.generation = Generation::Before2026;
                }
                return Ok(service);
            }
            (Err(error), _) => return Err(error),
        };
        let next = if report.was_slow.is_set() {
            // The server answered after the end of the probe, and does not know the handshake.
            Approach {
                generation: Generation::From2026,
                ..*approach
            }
        } else if report.refuses_posts.is_set() && approach.protocol == HttpProtocol::Streamable {
            Approach {
                generation: Generation::Before2026,
                protocol: HttpProtocol::Sse,
            }
        } else if approach.generation == Generation::Unknown {
            // Some servers exit when they get the probe.
            Approach {
                generation: Generation::Before2026,
                ..*approach
            }
        } else {
            return Err(ConnectError::Failed(message));
        };
        let text = format!("trying another protocol, {}: {message}", next.name());
        self.client.log.line("osier", &text);
        match self.start(next).await.0 {
            Ok(service) => {
                *approach = next;
                Ok(service)
            }
            // The first error names the server's reason.
            Err(ConnectError::Failed(_)) if next.protocol == HttpProtocol::Sse => {
                Err(ConnectError::Failed(message))
            }
            Err(error) => Err(error),
        }
    }

    /// Makes one attempt. Also returns the findings of the probe.
    async fn start(&self, approach: Approach) -> (Result<Service, ConnectError>, ProbeReport) {
        let report = ProbeReport::default();
        let started = self.start_with(approach, &report).await;
        (started, report)
    }

    async fn start_with(
        &self,
        approach: Approach,
        report: &ProbeReport,
    ) -> Result<Service, ConnectError> {
        let (config, client) = (self.config, self.client);
        let mode = approach.mode();
        let limit = (approach.generation == Generation::Unknown).then_some(PROBE_TIME);
        let log = &client.log;
        let probing = |inner| Probing::new(inner, report.clone(), log, limit);
        let started = match &config.launch {
            Launch::Command { program, .. } => {
                let invocation = invocation(config, client);
                let transport = StdioTransport::start(&invocation, Arc::clone(log), self.trace);
                let transport = transport.map_err(|source| {
                    let program = program.clone();
                    ConnectError::Spawn { program, source }
                })?;
                let transport = Answering::new(probing(transport), log);
                serve(client, transport, mode).await
            }
            Launch::Program(Some(link)) => {
                let transport = ProgramTransport::new(&config.name, link);
                serve(client, Answering::new(transport, log), mode).await
            }
            Launch::Program(None) => {
                let text = "it is a part of a program on the Agent SDK, which did not start osier";
                return Err(ConnectError::Refused(text.to_owned()));
            }
            Launch::Url { url, headers, .. } => {
                let headers = header_map(headers)?;
                let has_authorization = headers.contains_key("authorization");
                let http_client = self
                    .logins
                    .client(url, has_authorization, report.clone(), limit)
                    .await;
                let http_client = http_client.map_err(ConnectError::Failed)?;
                if approach.protocol == HttpProtocol::Sse {
                    let opened = SseTransport::start(url, http_client, headers, log, self.trace);
                    let transport = opened
                        .await
                        .map_err(|error| self.sse_failure(url, &error))?;
                    let transport = Probing::new(transport, report.clone(), log, limit);
                    let transport = Answering::new(transport, log);
                    serve(client, transport, mode).await
                } else {
                    let transport = streamable(url, headers, http_client);
                    let transport = Answering::new(transport, log);
                    serve(client, transport, mode).await
                }
            }
        };
        let service = started.map_err(|error| {
            if let (Launch::Url { url, .. }, Some(header)) =
                (&config.launch, error.auth_challenge())
            {
                self.logins.challenged(url, header);
            }
            failure(&error)
        })?;
        // The cache would store every page of every list, and every resource.
        let no_cache = ClientCacheConfig::disabled();
        service.peer().set_response_cache_config(no_cache).await;
        Ok(service)
    }

    /// Why the stream of events could not be opened.
    fn sse_failure(&self, url: &str, error: &HttpError) -> ConnectError {
        let header = match error {
            StreamableHttpError::AuthRequired(error) => &error.www_authenticate_header,
            StreamableHttpError::InsufficientScope(error) => &error.www_authenticate_header,
            error => return ConnectError::Failed(with_causes(error)),
        };
        self.logins.challenged(url, header);
        ConnectError::Login
    }
}

impl Approach {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let protocol = match &config.launch {
            Launch::Url { protocol, .. } => *protocol,
            Launch::Command { .. } | Launch::Program(_) => HttpProtocol::default(),
        };
        let generation = match protocol {
            // The SDKs, in which these servers run, do not know the probe.
            _ if matches!(config.launch, Launch::Program(_)) => Generation::Before2026,
            // A server that uses SSE is older than 2026.
            HttpProtocol::Sse => Generation::Before2026,
            HttpProtocol::Streamable => Generation::Unknown,
        };
        Self {
            generation,
            protocol,
        }
    }

    fn mode(self) -> ClientLifecycleMode {
        let newest = vec![ProtocolVersion::V_2026_07_28];
        match self.generation {
            Generation::Unknown => ClientLifecycleMode::Auto {
                preferred_versions: newest,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Generation::Before2026 => ClientLifecycleMode::Initialize,
            Generation::From2026 => ClientLifecycleMode::Discover {
                preferred_versions: newest,
            },
        }
    }

    fn name(self) -> &'static str {
        match (self.protocol, self.generation) {
            (HttpProtocol::Sse, _) => "HTTP+SSE of 2024",
            (_, Generation::From2026) => "that of 2026",
            _ => "that before 2026",
        }
    }
}

/// Begins the service. This is a separate function because its future is large.
async fn serve(
    client: &Client,
    transport: impl Transport<RoleClient> + 'static,
    mode: ClientLifecycleMode,
) -> Result<Service, ClientInitializeError> {
    Box::pin(client.clone().serve_with_lifecycle(transport, mode)).await
}

fn streamable(
    url: &str,
    headers: HashMap<HeaderName, HeaderValue>,
    client: AuthClient<HttpClient>,
) -> StreamableHttpClientTransport<AuthClient<HttpClient>> {
    let mut http = StreamableHttpClientTransportConfig::with_uri(url);
    http.custom_headers = headers;
    // A call whose stream ended before the answer must fail soon.
    let mut retries = ExponentialBackoff::default();
    retries.base_duration = RECONNECT_TIME;
    retries.max_times = Some(RECONNECTS);
    http.retry_config = Arc::new(retries);
    StreamableHttpClientTransport::with_client(client, http)
}

fn failure(error: &ClientInitializeError) -> ConnectError {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return ConnectError::Login;
    }
    let message = match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::TransportError { error, .. } => with_causes(error.error.as_ref()),
        error => error.to_string(),
    };
    ConnectError::Failed(message)
}

/// The words and variables of the command that starts the server, and where; `None` if it does not start here.
pub(super) fn command(config: &ServerConfig, client: &Client) -> Option<(Vec<String>, PathBuf)> {
    let Launch::Command {
        program, args, env, ..
    } = &config.launch
    else {
        return None;
    };
    let cwd = invocation(config, client).cwd?;
    let words = std::iter::once(program).chain(args).cloned();
    let variables = env.iter().map(|(name, value)| format!("{name}={value}"));
    Some((words.chain(variables).collect(), cwd))
}

fn invocation(config: &ServerConfig, client: &Client) -> Invocation {
    let Launch::Command {
        program,
        args,
        env,
        cwd,
    } = &config.launch
    else {
        return Invocation::default();
    };
    let cwd = match cwd {
        Some(cwd) => client.cwd.join(cwd),
        None if config.of_project => client.cwd.clone(),
        None => {
            // In the project, `npx` would run programs of the project. Starting fails if there is no folder.
            let _ = private::create_folder(&client.folder);
            client.folder.clone()
        }
    };
    let env = env.iter().map(|(name, value)| (name.into(), value.into()));
    // The guard compares no compiled modules, so Python does not read those of the project.
    let env = env.chain([("PYTHONPYCACHEPREFIX".into(), "/dev/null/none".into())]);
    Invocation {
        cwd: Some(cwd),
        env: env.collect(),
        ..Invocation::new(program, args.iter().cloned())
    }
}

fn header_map(
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ConnectError> {
    let header = |(name, value): (&String, &String)| {
        let fault = || ConnectError::Header { name: name.clone() };
        let value = HeaderValue::from_str(value).map_err(|_| fault())?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| fault())?;
        Ok((name, value))
    };
    headers.iter().map(header).collect()
}
