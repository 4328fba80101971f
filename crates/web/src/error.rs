//! Why a page is not fetched, with the limits of a page.

use std::time::Duration;

use osier_sandbox::network::ReachError;
use reqwest::Url;
use thiserror::Error;

/// Bytes of a page at most.
pub(crate) const LIMIT: usize = 5 * 1024 * 1024;
/// Time for a page, redirects included.
pub(crate) const TIME: Duration = Duration::from_secs(30);
pub(crate) const REDIRECTS: usize = 5;

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FetchError {
    #[error("`{url}` is not an address of a web page: {reason}; expected `https://HOST/PATH`")]
    Url { url: String, reason: &'static str },
    #[error("`{host}` has no address: check the spelling and the network")]
    Unresolved { host: String },
    #[error(
        "`{host}` is on a private network ({address}), which osier does not fetch from; the user can add the host to \
         `web_private_hosts` in `settings.toml`"
    )]
    Private { host: String, address: String },
    #[error("`{host}` cannot be reached: {reason}")]
    Network { host: String, reason: String },
    #[error("`{host}` did not send the page within {} seconds", TIME.as_secs())]
    Late { host: String },
    #[error("`{url}` answered {status}")]
    Status { url: String, status: String },
    #[error("the page is larger than {} MB, the limit", LIMIT / 1024 / 1024)]
    TooLarge,
    #[error("the page redirects more than {REDIRECTS} times")]
    Redirects,
    #[error("the page is {content_type}, which osier cannot read as text")]
    ContentType { content_type: String },
    #[error("the page is compressed ({encoding}), although osier does not accept that")]
    Compressed { encoding: String },
    #[error("the page cannot be converted: {0}")]
    Conversion(String),
    #[error("cannot create an HTTP client: {0}")]
    Client(String),
}

impl FetchError {
    /// Why a page cannot be converted.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Conversion(reason) => reason,
            error => error.to_string(),
        }
    }

    pub(crate) fn of_address(url: &Url, error: &ReachError) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        match error {
            ReachError::Invalid => Self::Url {
                url: url.to_string(),
                reason: "the host is invalid",
            },
            ReachError::Unresolved => Self::Unresolved { host },
            ReachError::Private(address) => Self::Private {
                host,
                address: address.to_string(),
            },
        }
    }
}
