//! HTTP clients that connect only to checked addresses.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use osier_llm::http::{certificates, choose_cryptography};
use osier_sandbox::network::{HostRule, Reach, ReachError};
use reqwest::{Client, Proxy, Url, redirect};

use crate::error::FetchError;

const CONNECT: Duration = Duration::from_secs(15);

/// Options for fetching pages.
#[derive(Debug, Clone, Default)]
pub struct WebOptions {
    /// Hosts that may have addresses of a private network.
    pub private_hosts: Vec<HostRule>,
    /// Certificates (PEM) of authorities that are trusted in addition to the system's.
    pub ca_file: Option<Arc<Path>>,
    /// The program with the hidden subcommand that converts pages; without it, this process converts them.
    pub program: Option<PathBuf>,
}

/// A client for `url` alone. It connects only to addresses that were checked, without resolving the name again.
pub(crate) async fn client_for(url: &Url, options: &WebOptions) -> Result<Client, FetchError> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let reach = Reach::new(options.private_hosts.clone());
    let proxy = proxy_for(url);
    let checked = reach.addresses(host, port).await;
    let addresses = match checked {
        Ok(addresses) => addresses,
        // Where a proxy is used, only the proxy may be able to resolve names.
        Err(ReachError::Unresolved) if proxy.is_some() && is_public_name(host) => Vec::new(),
        Err(error) => return Err(FetchError::of_address(url, &error)),
    };
    let addresses: Vec<SocketAddr> = addresses
        .into_iter()
        .map(|address| SocketAddr::new(address, port))
        .collect();
    let is_here = |address: &SocketAddr| address.ip().is_loopback();
    let is_local = !addresses.is_empty() && addresses.iter().all(is_here);
    let proxy = proxy.filter(|_| !is_local);
    let (host, options) = (host.to_owned(), options.clone());
    // Reading certificates is slow.
    let build = move || build(&host, &addresses, proxy, &options);
    let built = osier_base::task::spawn_blocking(build).await;
    built
        .map_err(|error| error.to_string())
        .flatten()
        .map_err(FetchError::Client)
}

/// Whether a name that only the proxy can resolve is one of the public internet.
fn is_public_name(host: &str) -> bool {
    const PRIVATE: [&str; 6] = ["internal", "local", "localhost", "lan", "home", "arpa"];
    let host = host.trim_end_matches('.');
    host.rsplit_once('.')
        .is_some_and(|(_, last)| !PRIVATE.contains(&last))
}

/// The proxy of the environment for `url`.
fn proxy_for(url: &Url) -> Option<Proxy> {
    let destination = url.as_str().parse().ok()?;
    let found = Matcher::from_env().intercept(&destination)?;
    let proxy = Proxy::all(found.uri().to_string()).ok()?;
    Some(match found.raw_auth() {
        Some((user, password)) => proxy.basic_auth(user, password),
        None => proxy,
    })
}

fn build(
    host: &str,
    addresses: &[SocketAddr],
    proxy: Option<Proxy>,
    options: &WebOptions,
) -> Result<Client, String> {
    choose_cryptography();
    let mut builder = Client::builder()
        .user_agent(concat!("osier/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        // Each hop is checked.
        .redirect(redirect::Policy::none());
    builder = match proxy {
        Some(proxy) => builder.proxy(proxy),
        None => builder.no_proxy().resolve_to_addrs(host, addresses),
    };
    if let Some(path) = &options.ca_file {
        builder = builder.tls_certs_merge(certificates(path)?);
    }
    builder.build().map_err(|error| error.to_string())
}
