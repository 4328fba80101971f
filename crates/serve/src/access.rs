//! Access control: the token, the host names of the server, and rate limits.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

use super::browser_sign_in::{BrowserSignIn, BrowserSignIns};
use super::error::{ApiError, ErrorCode};
use super::rate_limit::{RateLimit, RateLimiter};
use osier_base::atomic_file;
use osier_base::atomic_file::Options;
use osier_base::hex::hex;
use osier_base::regular_file;
use osier_base::secrets::add_known;
#[cfg(feature = "proxy")]
use osier_proxy::{LlmProxy, User};
use osier_rpc::remote::proof::Prover;

/// Limit of wrong tokens for one client, and of uses of one wrong token.
const WRONG_TOKEN_LIMIT: RateLimit = RateLimit {
    burst: 10,
    per_second: 0.2,
};
/// Limit of requests for one token.
const REQUEST_LIMIT: RateLimit = RateLimit {
    burst: 2000,
    per_second: 200.0,
};
/// Shortest accepted token of a file, in bytes.
const MIN_TOKEN_BYTES: usize = 16;
/// Bytes of the file of a token that are read.
const MAX_TOKEN_FILE: u64 = 4096;

/// Who sends a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Caller {
    /// The owner of the server, who may do everything.
    Owner,
    /// A user of the LLM proxy, who may only call models.
    #[cfg(feature = "proxy")]
    User(User),
}

#[cfg(feature = "proxy")]
impl Caller {
    /// The user whose calls are counted.
    pub(super) fn user(self) -> Option<User> {
        match self {
            Self::Owner => None,
            Self::User(user) => Some(user),
        }
    }
}

/// Who sends tokens: a connection, or the client that a trusted reverse proxy names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Client {
    Connection(u64),
    Forwarded(String),
}

/// The key by which wrong tokens are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum WrongToken {
    By(Client),
    Digest([u8; 32]),
}

fn limited(seconds: u64) -> ApiError {
    ApiError {
        retry_after: Some(seconds),
        ..ApiError::new(
            ErrorCode::RateLimited,
            format!("too many requests; retry in {seconds} s"),
        )
    }
}

/// Checks tokens and host names.
#[derive(Debug)]
pub(super) struct Access {
    token: [u8; 32],
    /// Proves the knowledge of the token. Made for the first client that asks.
    prover: OnceLock<Prover>,
    /// The address of the server; not set for a Unix socket.
    address: Option<IpAddr>,
    names: Vec<String>,
    /// The LLM proxy with its users.
    #[cfg(feature = "proxy")]
    proxy: Option<LlmProxy>,
    browsers: BrowserSignIns,
    wrong_tokens: RateLimiter<WrongToken>,
    requests: RateLimiter<[u8; 32]>,
}

impl Access {
    pub(super) fn new(token: &str, address: Option<IpAddr>, names: &[String]) -> Self {
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self {
            token: digest(token),
            prover: OnceLock::new(),
            address,
            names,
            #[cfg(feature = "proxy")]
            proxy: None,
            browsers: BrowserSignIns::new(token),
            wrong_tokens: RateLimiter::new(WRONG_TOKEN_LIMIT),
            requests: RateLimiter::new(REQUEST_LIMIT),
        }
    }

    /// Proves to a client on a connection to `address` that this server knows the token.
    pub(super) fn prove(&self, nonce: &str, address: SocketAddr) -> Option<String> {
        let prover = self.prover.get_or_init(|| Prover::of_digest(&self.token));
        prover.prove(nonce, address)
    }

    /// Adds the users of the LLM proxy.
    #[cfg(feature = "proxy")]
    pub(super) fn with_proxy(self, proxy: Option<LlmProxy>) -> Self {
        Self { proxy, ..self }
    }

    #[cfg(feature = "proxy")]
    pub(super) fn proxy(&self) -> Option<&LlmProxy> {
        self.proxy.as_ref()
    }

    /// Signs a browser of the owner in.
    pub(super) fn sign_in(&self) -> Result<BrowserSignIn, ApiError> {
        self.browsers.create()
    }

    /// Returns the caller with this sign-in of a browser. Guessing a secret of 256 bits needs no limit.
    pub(super) fn check_browser(&self, id: &str, secret: &str) -> Result<Caller, ApiError> {
        if !self.browsers.is_valid(id, secret) {
            let message = "the browser is not signed in; open the URL that `osier serve` prints";
            return Err(ApiError::new(ErrorCode::Unauthorized, message));
        }
        let taken = self.requests.count(self.token, Instant::now());
        taken.map_err(limited)?;
        Ok(Caller::Owner)
    }

    /// Returns the caller with this token. Counts wrong tokens and requests. A client with wrong
    /// tokens locks out no other client, not even one at the same address.
    pub(super) fn check(&self, token: &str, from: Client) -> Result<Caller, ApiError> {
        let now = Instant::now();
        let given = digest(token);
        let wrong = [WrongToken::By(from), WrongToken::Digest(given)];
        for key in &wrong {
            self.wrong_tokens.check(key.clone(), now).map_err(limited)?;
        }
        let caller = constant_time_eq(&given, &self.token).then_some(Caller::Owner);
        #[cfg(feature = "proxy")]
        let caller = match caller {
            None => self.user(token)?,
            owner => owner,
        };
        let Some(caller) = caller else {
            for key in wrong {
                self.wrong_tokens.count(key, now).map_err(limited)?;
            }
            let message =
                "the token is wrong; it is at the end of the URL that `osier serve` prints";
            return Err(ApiError::new(ErrorCode::Unauthorized, message));
        };
        self.requests.count(given, now).map_err(limited)?;
        Ok(caller)
    }

    /// The user of the LLM proxy with this token.
    #[cfg(feature = "proxy")]
    fn user(&self, token: &str) -> Result<Option<Caller>, ApiError> {
        let Some(proxy) = &self.proxy else {
            return Ok(None);
        };
        let found = proxy.user(token);
        let found =
            found.map_err(|error| ApiError::new(ErrorCode::Unavailable, error.to_string()))?;
        Ok(found.map(Caller::User))
    }

    /// Whether the user listed this host of pages, which is written without a port: pages of a reverse proxy.
    pub(super) fn is_listed(&self, host: &str) -> bool {
        self.names.contains(&host.to_ascii_lowercase())
    }

    /// Whether a `Host` header names this server. This stops DNS rebinding: pages of other sites have another host.
    pub(super) fn is_own_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        if self.names.contains(&name) {
            return true;
        }
        let Some(address) = self.address else {
            // A Unix socket has no host name.
            return true;
        };
        if name == "localhost" {
            return address.is_loopback() || address.is_unspecified();
        }
        let Ok(named) = name.parse::<IpAddr>() else {
            return false;
        };
        address.is_unspecified()
            || named == address
            || (named.is_loopback() && address.is_loopback())
    }
}

/// `HOST` of `HOST:PORT`, without the brackets of an IPv6 address.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Tokens are compared by their digests, so that the time does not depend on their length.
fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Compares in constant time.
fn constant_time_eq(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differences) == 0
}

/// A new token: 256 random bits in hex.
pub(super) fn make_token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system provides no random numbers"))?;
    Ok(hex(bytes))
}

/// Reads the token from a file. Creates the file with a new token if it does not exist.
///
/// # Errors
/// The file is unreadable, or does not contain a token.
pub fn read_token(path: &Path) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!("cannot use the token file `{}`: {error}", path.display())
    };
    match regular_file::read_named_text(path, MAX_TOKEN_FILE) {
        Ok(text) => {
            let token = text.trim();
            if token.len() < MIN_TOKEN_BYTES || token.contains(char::is_whitespace) {
                let reason =
                    format!("it must contain one word of at least {MIN_TOKEN_BYTES} characters");
                return Err(failed(&reason));
            }
            add_known([token.to_owned()]);
            Ok(token.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = make_token().map_err(|error| failed(&error))?;
            let text = format!("{token}\n");
            let written = atomic_file::write_with(path, text.as_bytes(), Options::PRIVATE);
            written.map_err(|error| failed(&error))?;
            add_known([token.clone()]);
            Ok(token)
        }
        Err(error) => Err(failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn access(address: IpAddr) -> Access {
        Access::new("right", Some(address), &["Box.example".to_owned()])
    }

    #[test]
    fn a_server_recognizes_its_own_host_names() {
        let loopback = access(Ipv4Addr::LOCALHOST.into());
        for own in [
            "127.0.0.1:80",
            "localhost",
            "LOCALHOST:9",
            "[::1]:8080",
            "box.example:443",
        ] {
            assert!(loopback.is_own_host(own), "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:8080",
            "192.168.1.1",
            "",
            "localhost.evil.example",
        ] {
            assert!(!loopback.is_own_host(other), "{other}");
        }
        let everywhere = access(Ipv4Addr::UNSPECIFIED.into());
        assert!(everywhere.is_own_host("192.168.1.1:80"));
        assert!(!everywhere.is_own_host("evil.example"));
    }

    #[test]
    fn wrong_tokens_are_rate_limited() {
        let access = access(Ipv4Addr::LOCALHOST.into());
        let from = Client::Connection(1);
        let codes: Vec<ErrorCode> = (0..12)
            .filter_map(|_| access.check("wrong", from.clone()).err())
            .map(|error| error.code)
            .collect();
        assert_eq!(codes[..10], [ErrorCode::Unauthorized; 10]);
        assert_eq!(codes[10..], [ErrorCode::RateLimited; 2]);
        // The right token must wait as well, or the answer would distinguish it from a wrong one.
        assert_eq!(
            access.check("right", from).map_err(|error| error.code),
            Err(ErrorCode::RateLimited)
        );
        assert_eq!(
            access.check("right", Client::Connection(2)),
            Ok(Caller::Owner)
        );
    }

    #[test]
    fn a_token_is_created_once_and_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/serve.token");
        let made = read_token(&path).unwrap();
        assert_eq!(made.len(), 64);
        assert_eq!(read_token(&path).unwrap(), made);
        std::fs::remove_file(&path).unwrap();
        assert_ne!(read_token(&path).unwrap(), made);
    }
}
