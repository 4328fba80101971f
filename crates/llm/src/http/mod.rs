//! Calls models over HTTP, for every wire format there is.
//!
//! One `HttpProvider` value holds its own client, built on the first call because reading the system's
//! certificates is slow. The answer is never held as a whole: bytes go through the parser and the
//! decoder as they come. Whatever goes wrong ends in one `Failed` with the right status, and no text
//! that leaves this module holds the key.

mod call;
pub(super) mod fault;
mod fetch;
mod proxy;
mod reader;
mod served;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, Url, redirect};
use tokio::sync::OnceCell;

use super::provider::{EventStream, Provider, Request};
use super::wire::Wire;
use call::Call;
use fault::Peer;

pub use fetch::{Fetch, Fetched};
pub use proxy::{ProxyFrame, ProxyOptions, ProxyProvider, ProxyRequest};
pub use served::{ServedModel, ServedModels};

/// How patient a provider is, and whom it trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// Until the connection stands, TLS included.
    pub connect_timeout: Duration,
    /// Between two pieces of the answer, and before the first.
    pub idle_timeout: Duration,
    /// Certificates (PEM) of authorities that are trusted besides the system's.
    pub ca_file: Option<Arc<Path>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(15),
            // Models may think for minutes without a word.
            idle_timeout: Duration::from_mins(5),
            ca_file: None,
        }
    }
}

/// Speaks to every provider that `models.json` and the bundled table can name. Cheap to clone; clones
/// share connections.
#[derive(Debug, Clone, Default)]
pub struct HttpProvider {
    clients: Arc<Clients>,
}

impl HttpProvider {
    pub fn new(options: HttpOptions) -> Self {
        Self {
            clients: Arc::new(Clients {
                options,
                ..Clients::default()
            }),
        }
    }
}

impl Provider for HttpProvider {
    fn stream(&self, request: Request) -> EventStream {
        reader::start(Call::new(request, Arc::clone(&self.clients)))
    }
}

impl HttpProvider {
    /// Streams in the format of `wire`, whatever the model speaks itself, from `peer`.
    fn stream_as(&self, request: Request, wire: &'static Wire, peer: Peer) -> EventStream {
        reader::start(Call::new(request, Arc::clone(&self.clients)).with_wire(wire, peer))
    }
}

/// How a server is reached. Servers on this machine are reached past any proxy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Remote,
    Local,
    /// On this machine and in clear: no certificate is wanted, and reading them costs as much as an answer.
    LocalInClear,
}

impl Way {
    pub(super) fn to(url: &Url) -> Self {
        match (fault::is_loopback(url), url.scheme()) {
            (true, "http") => Self::LocalInClear,
            (true, _) => Self::Local,
            (false, _) => Self::Remote,
        }
    }
}

/// The clients of one provider value.
#[derive(Debug, Default)]
struct Clients {
    options: HttpOptions,
    /// By `Way`.
    built: [OnceCell<Client>; 3],
}

impl Clients {
    async fn get(&self, way: Way) -> Result<Client, String> {
        let options = self.options.clone();
        let cell = &self.built[way as usize];
        let built = cell.get_or_try_init(|| async move { client(options, way).await });
        built.await.cloned()
    }
}

/// A client of its own. Reading certificates is slow and blocks: kept off the thread that draws.
pub(super) async fn client(options: HttpOptions, way: Way) -> Result<Client, String> {
    match tokio::task::spawn_blocking(move || build(&options, way)).await {
        Ok(client) => client,
        Err(error) => Err(error.to_string()),
    }
}

/// Says what TLS is done with; to be called before any client is made. Once is enough, more does no harm.
pub fn choose_cryptography() {
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// A client for `address` whose connections can become something else than HTTP.
pub async fn client_to_upgrade(options: HttpOptions, address: &str) -> Result<Client, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    let way = Way::to(&url);
    let built = tokio::task::spawn_blocking(move || {
        let client = builder(&options, way)?.http1_only().build();
        client.map_err(|error| error.to_string())
    });
    built.await.map_err(|error| error.to_string())?
}

fn build(options: &HttpOptions, way: Way) -> Result<Client, String> {
    let client = builder(options, way)?.build();
    client.map_err(|error| error.to_string())
}

fn builder(options: &HttpOptions, way: Way) -> Result<ClientBuilder, String> {
    choose_cryptography();
    let mut builder = Client::builder()
        .user_agent(concat!("osier/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.connect_timeout)
        .tcp_keepalive(Duration::from_secs(30))
        // A key must not follow a redirect to another host.
        .redirect(redirect::Policy::none());
    if !matches!(way, Way::Remote) {
        builder = builder.no_proxy();
    }
    if matches!(way, Way::LocalInClear) {
        builder = builder.tls_certs_only([]);
    } else if let Some(path) = &options.ca_file {
        builder = builder.tls_certs_merge(certificates(path)?);
    }
    Ok(builder)
}

/// The certificates of `ca_file`.
fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| format!("`ca_file` `{shown}` cannot be read: {error}"))?;
    let found = Certificate::from_pem_bundle(&bytes)
        .map_err(|error| format!("`ca_file` `{shown}` contains no certificates: {error}"))?;
    if found.is_empty() {
        return Err(format!(
            "`ca_file` `{shown}` contains no certificates; expected PEM"
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
