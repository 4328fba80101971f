//! The options and the clients of HTTP connections.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use reqwest::{Certificate, Client, Url, redirect};
use tokio::sync::OnceCell;

use osier_base::{regular_file, text};

use super::adapt::Memory;
use super::fault;

/// The timeouts and trusted certificates of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// Timeout of a connection attempt, including TLS.
    pub connect_timeout: Duration,
    /// Timeout between two events of the answer, and before the first. Comments and pings, which keep a connection open,
    /// are no events.
    pub idle_timeout: Duration,
    /// Timeout of an answer from its first to its last byte.
    pub answer_timeout: Option<Duration>,
    /// Certificates (PEM) of authorities that are trusted in addition to the system's.
    pub ca_file: Option<Arc<Path>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(15),
            // Models can think for minutes without output.
            idle_timeout: Duration::from_mins(5),
            answer_timeout: None,
            ca_file: None,
        }
    }
}

/// How a server is reached. Servers on this machine are called without a proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Remote,
    Local,
    /// On this machine without TLS: reading the certificates would take as long as a response.
    LocalInClear,
}

impl Way {
    pub(crate) fn to(url: &Url) -> Self {
        match (fault::is_loopback(url), url.scheme()) {
            (true, "http") => Self::LocalInClear,
            (true, _) => Self::Local,
            (false, _) => Self::Remote,
        }
    }
}

/// The clients of an `HttpProvider`.
#[derive(Debug, Default)]
pub(super) struct Clients {
    pub options: HttpOptions,
    /// One client per `Way`.
    built: [OnceCell<Client>; 3],
    /// The parts that models refuse.
    pub refused: Memory,
}

impl Clients {
    pub(super) fn new(options: HttpOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    pub(super) async fn get(&self, way: Way) -> Result<Client, String> {
        let options = self.options.clone();
        let cell = &self.built[way as usize];
        let built = cell.get_or_try_init(|| async move { client(options, way).await });
        built.await.cloned()
    }
}

/// Builds a client. Runs in a blocking task because reading certificates is slow.
pub(crate) async fn client(options: HttpOptions, way: Way) -> Result<Client, String> {
    match osier_base::task::spawn_blocking(move || build(&options, way)).await {
        Ok(client) => client,
        Err(error) => Err(error.to_string()),
    }
}

/// Selects the cryptography of TLS. Must be called before a client is built; further calls have no effect.
pub fn choose_cryptography() {
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// A client for `address` alone.
pub async fn client_for(options: HttpOptions, address: &str) -> Result<Client, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    client(options, Way::to(&url)).await
}

/// The name of an encoding that changes nothing.
const IDENTITY: &str = "identity";

/// The answer to a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostAnswer {
    pub status: u16,
    /// The content type in lower case; empty if the server sends none.
    pub content_type: String,
    pub body: String,
}

/// Sends JSON with POST, with additional headers. The body of the answer has at most `limit` bytes.
///
/// # Errors
/// The address or a header is invalid, or there was no complete answer in UTF-8; in one line.
pub async fn post_json(
    options: HttpOptions,
    address: &str,
    headers: &[(String, String)],
    json: Vec<u8>,
    limit: usize,
) -> Result<PostAnswer, String> {
    let client = client_for(options, address).await?;
    let mut request = client
        .post(address)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT_ENCODING, IDENTITY)
        .body(json);
    for (name, value) in headers {
        let is_framing = ["content-length", "transfer-encoding"];
        if !is_framing.contains(&name.to_ascii_lowercase().as_str()) {
            request = request.header(name, value);
        }
    }
    let told = |error: reqwest::Error| text::single_line(&error.without_url().to_string());
    let mut answer = request.send().await.map_err(told)?;
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(told)? {
        body.extend_from_slice(&part);
        if body.len() > limit {
            return Err(format!("the answer is longer than {limit} bytes"));
        }
    }
    let header = |name| {
        let value = answer.headers().get(name);
        let value = value.and_then(|value: &HeaderValue| value.to_str().ok());
        value.unwrap_or_default().to_ascii_lowercase()
    };
    let encoding = header(CONTENT_ENCODING);
    if !matches!(encoding.as_str(), "" | IDENTITY) {
        let encoding = text::single_line(&encoding);
        return Err(format!(
            "the answer is compressed (`{encoding}`), which osier did not ask for"
        ));
    }
    Ok(PostAnswer {
        status: answer.status().as_u16(),
        content_type: header(CONTENT_TYPE),
        body: String::from_utf8(body).map_err(|_| "the answer is not in UTF-8".to_owned())?,
    })
}

/// The client speaks HTTP/1.1, as every server of a model does. With HTTP/2, all calls to a server
/// would share one connection, and fail with it.
fn build(options: &HttpOptions, way: Way) -> Result<Client, String> {
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
    builder.build().map_err(|error| error.to_string())
}

/// The certificates of `ca_file`.
///
/// # Errors
/// The file cannot be read or contains none.
pub fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let shown = path.display();
    let bytes = regular_file::read(path, regular_file::SMALL)
        .map_err(|error| format!("`ca_file` `{shown}` {error}"))?;
    let found = Certificate::from_pem_bundle(&bytes)
        .map_err(|error| format!("`ca_file` `{shown}` contains no certificates: {error}"))?;
    if found.is_empty() {
        return Err(format!(
            "`ca_file` `{shown}` contains no certificates; expected PEM"
        ));
    }
    Ok(found)
}
