//! Who may come in: the token, the names the server goes by, and how often a wrong token may be tried.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Instant;

use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

use super::fault::{Code, Fault};
use super::limits::Buckets;
use osier_base::atomic_file;
use osier_base::atomic_file::Options;
use osier_base::hex::hex;
#[cfg(feature = "proxy")]
use osier_proxy::{LlmProxy, User};

/// Wrong tokens that one address may try before it has to wait, and how many more a second.
const WRONG_TOKENS: (u32, f64) = (10, 0.2);
/// Requests that one token may make at once, and how many more a second.
const REQUESTS: (u32, f64) = (2000, 200.0);
/// Shortest token that is taken from a file, in bytes.
const SHORTEST: usize = 16;

/// Who asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Caller {
    /// Whoever runs the server.
    Owner,
    /// Somebody who calls models through it.
    #[cfg(feature = "proxy")]
    User(User),
}

#[cfg(feature = "proxy")]
impl Caller {
    /// The one whose calls are counted.
    pub(super) fn user(self) -> Option<User> {
        match self {
            Self::Owner => None,
            Self::User(user) => Some(user),
        }
    }
}

/// The doorkeeper.
#[derive(Debug)]
pub(super) struct Access {
    token: [u8; 32],
    /// Where it listens; not set for a unix socket.
    address: Option<IpAddr>,
    names: Vec<String>,
    /// Knows other people, who may call models and nothing else.
    #[cfg(feature = "proxy")]
    relay: Option<LlmProxy>,
    wrong: Buckets<Option<IpAddr>>,
    requests: Buckets<[u8; 32]>,
}

impl Access {
    pub(super) fn new(token: &str, address: Option<IpAddr>, names: &[String]) -> Self {
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self {
            token: digest(token),
            address,
            names,
            #[cfg(feature = "proxy")]
            relay: None,
            wrong: Buckets::new(WRONG_TOKENS.0, WRONG_TOKENS.1),
            requests: Buckets::new(REQUESTS.0, REQUESTS.1),
        }
    }

    /// Adds the users of the LLM proxy.
    #[cfg(feature = "proxy")]
    pub(super) fn with_proxy(self, relay: Option<LlmProxy>) -> Self {
        Self { relay, ..self }
    }

    #[cfg(feature = "proxy")]
    pub(super) fn relay(&self) -> Option<&LlmProxy> {
        self.relay.as_ref()
    }

    /// Lets a token in, or counts it as wrong.
    pub(super) fn check(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, Fault> {
        let now = Instant::now();
        let limited = |seconds| Fault {
            retry_after: Some(seconds),
            ..Fault::new(
                Code::RateLimited,
                format!("too much at once: wait {seconds} s"),
            )
        };
        self.wrong.has(from, now).map_err(limited)?;
        let given = digest(token);
        let caller = same(&given, &self.token).then_some(Caller::Owner);
        #[cfg(feature = "proxy")]
        let caller = match caller {
            None => self.user(token)?,
            owner => owner,
        };
        let Some(caller) = caller else {
            self.wrong.take(from, now).map_err(limited)?;
            let message =
                "the token is not known here: the line `osier serve` has printed ends with it";
            return Err(Fault::new(Code::Unauthorized, message));
        };
        self.requests.take(given, now).map_err(limited)?;
        Ok(caller)
    }

    /// The user of the LLM proxy that a token belongs to.
    #[cfg(feature = "proxy")]
    fn user(&self, token: &str) -> Result<Option<Caller>, Fault> {
        let Some(relay) = &self.relay else {
            return Ok(None);
        };
        let found = relay.user(token);
        let found = found.map_err(|error| Fault::new(Code::Unavailable, error.to_string()))?;
        Ok(found.map(Caller::User))
    }

    /// Whether a `Host` header names this server: a page elsewhere whose name was made to point here has
    /// another.
    pub(super) fn is_own(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        if self.names.contains(&name) {
            return true;
        }
        let Some(address) = self.address else {
            // Nobody reaches a unix socket by a name.
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

/// `HOST` of `HOST:PORT`, without the brackets of an address.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Tokens are compared by their digests, so that their length tells nothing either.
fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Compares in constant time.
fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differences) == 0
}

/// A new token: 256 random bits in hex.
pub fn make_token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(hex(bytes))
}

/// The token in a file, which is made when it is not there. The error is one sentence.
pub fn read_token(path: &Path) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!(
            "the token file `{}` cannot be used: {error}",
            path.display()
        )
    };
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let token = text.trim();
            if token.len() < SHORTEST || token.contains(char::is_whitespace) {
                let shortest = format!("it has to hold one word of at least {SHORTEST} letters");
                return Err(failed(&shortest));
            }
            Ok(token.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = make_token().map_err(|error| failed(&error))?;
            let options = Options {
                mode: Some(0o600),
                parents: true,
            };
            let written = atomic_file::write_with(path, format!("{token}\n").as_bytes(), options);
            written.map_err(|error| failed(&error))?;
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
    fn a_server_knows_its_own_names() {
        let loopback = access(Ipv4Addr::LOCALHOST.into());
        for own in [
            "127.0.0.1:80",
            "localhost",
            "LOCALHOST:9",
            "[::1]:8080",
            "box.example:443",
        ] {
            assert!(loopback.is_own(own), "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:8080",
            "192.168.1.1",
            "",
            "localhost.evil.example",
        ] {
            assert!(!loopback.is_own(other), "{other}");
        }
        let everywhere = access(Ipv4Addr::UNSPECIFIED.into());
        assert!(everywhere.is_own("192.168.1.1:80"));
        assert!(!everywhere.is_own("evil.example"));
    }

    #[test]
    fn a_wrong_token_can_be_tried_only_so_often() {
        let access = access(Ipv4Addr::LOCALHOST.into());
        let from = Some(IpAddr::from(Ipv4Addr::LOCALHOST));
        let codes: Vec<Code> = (0..12)
            .filter_map(|_| access.check("wrong", from).err())
            .map(|fault| fault.code)
            .collect();
        assert_eq!(codes[..10], [Code::Unauthorized; 10]);
        assert_eq!(codes[10..], [Code::RateLimited; 2]);
        // The right one waits, too: else it could be told from a wrong one.
        assert_eq!(
            access.check("right", from).map_err(|fault| fault.code),
            Err(Code::RateLimited)
        );
        assert_eq!(access.check("right", None), Ok(Caller::Owner));
    }

    #[test]
    fn a_token_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/serve.token");
        let made = read_token(&path).unwrap();
        assert_eq!(made.len(), 64);
        assert_eq!(read_token(&path).unwrap(), made);
        std::fs::remove_file(&path).unwrap();
        assert_ne!(read_token(&path).unwrap(), made);
    }
}
