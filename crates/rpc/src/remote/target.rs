//! Addresses of servers: `unix:PATH`, `http://…`, `https://…`, `ssh://[user@]host[:port]/dir`.

use std::fmt;
use std::path::{Path, PathBuf};

use osier_llm::auth::{is_on_this_machine, is_safe};

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Unix(PathBuf),
    /// The URL without a trailing slash.
    Http(String),
    Ssh {
        /// `user@host` or `host`.
        host: String,
        port: Option<u16>,
        /// The working directory; the home directory when not set.
        folder: Option<String>,
    },
}

/// Why an address is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error(
        "invalid server address `{0}`; expected `unix:PATH`, `https://HOST` or `ssh://[USER@]HOST[:PORT]/DIR`"
    )]
    Unknown(String),
    #[error("`{0}` would send the token unencrypted; use https or ssh")]
    Unsafe(String),
    #[error("`{0}` contains no host")]
    NoHost(String),
}

impl Target {
    /// Parses an address, and the token after `#token=`.
    pub fn parse(text: &str) -> Result<(Self, Option<String>), TargetError> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok((Self::Unix(PathBuf::from(path)), None));
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            return Ok((ssh(text, rest)?, None));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let (address, token) = match text.split_once("#token=") {
                Some((address, token)) => (address, Some(token.to_owned())),
                None => (text, None),
            };
            let address = address.trim_end_matches('/').to_owned();
            if !is_safe(&address) {
                return Err(TargetError::Unsafe(address));
            }
            return Ok((Self::Http(address), token));
        }
        if text.starts_with('/') || text.starts_with("./") {
            return Ok((Self::Unix(PathBuf::from(text)), None));
        }
        // Errors are shown and logged, so they have no token.
        let address = text.split("#token=").next().unwrap_or_default();
        Err(TargetError::Unknown(address.to_owned()))
    }

    /// Whether the server runs on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Http(address) => is_on_this_machine(address),
            Self::Ssh { .. } => false,
        }
    }

    /// The short name for the footer.
    pub fn label(&self) -> String {
        match self {
            Self::Unix(path) => path.file_name().map_or_else(
                || "here".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            ),
            Self::Http(address) => {
                let host = address.split("://").nth(1).unwrap_or(address);
                host.to_owned()
            }
            Self::Ssh { host, .. } => host.clone(),
        }
    }

    /// The working directory of the address, if any.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Ssh { folder, .. } => folder.as_deref().map(Path::new),
            _ => None,
        }
    }
}

fn ssh(text: &str, rest: &str) -> Result<Target, TargetError> {
    let (authority, folder) = match rest.split_once('/') {
        Some((authority, folder)) if !folder.is_empty() => (authority, Some(format!("/{folder}"))),
        Some((authority, _)) => (authority, None),
        None => (rest, None),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (authority, None),
    };
    // ssh would read a host that begins with a dash as an option.
    let name = host.rsplit('@').next().unwrap_or_default();
    if name.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
        return Err(TargetError::NoHost(text.to_owned()));
    }
    if authority.contains(':') && port.is_none() {
        return Err(TargetError::Unknown(text.to_owned()));
    }
    Ok(Target::Ssh {
        host: host.to_owned(),
        port,
        folder,
    })
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Http(address) => formatter.write_str(address),
            Self::Ssh { host, port, folder } => {
                write!(formatter, "ssh://{host}")?;
                if let Some(port) = port {
                    write!(formatter, ":{port}")?;
                }
                formatter.write_str(folder.as_deref().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let ssh = |host: &str, port, folder: Option<&str>| Target::Ssh {
            host: host.to_owned(),
            port,
            folder: folder.map(str::to_owned),
        };
        for (text, expected) in [
            ("unix:/run/a.sock", Target::Unix("/run/a.sock".into())),
            ("/run/a.sock", Target::Unix("/run/a.sock".into())),
            (
                "https://box.example/",
                Target::Http("https://box.example".into()),
            ),
            ("ssh://box", ssh("box", None, None)),
            (
                "ssh://me@box:2222/work/a",
                ssh("me@box", Some(2222), Some("/work/a")),
            ),
            ("ssh://box/", ssh("box", None, None)),
        ] {
            assert_eq!(Target::parse(text), Ok((expected, None)), "{text}");
        }
        let (_, token) = Target::parse("http://127.0.0.1:7433/#token=abc").unwrap();
        assert_eq!(token.as_deref(), Some("abc"));
        let error = Target::parse("htp://127.0.0.1/#token=abc").unwrap_err();
        assert_eq!(error, TargetError::Unknown("htp://127.0.0.1/".to_owned()));
        let local = |text: &str| Target::parse(text).unwrap().0.is_local();
        assert!(local("http://127.0.0.1:7433"));
        assert!(!local("https://127.0.0.1.evil.example"));
        for wrong in [
            "box",
            "http://127.0.0.1:80@box.example",
            "http://box.example",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://box:x/",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
