//! The list of allowed hosts.

use std::net::IpAddr;

use super::address::contains;
use super::destination::{Destination, Target};

/// An entry of the list: `example.org`, `*.example.org:443`, `localhost:8080`, `10.0.0.0/8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: Pattern,
    /// Any port if not set.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Name(String),
    /// Everything below the name, but not the name itself.
    Below(String),
    Network(IpAddr, u8),
}

const LOCALHOST: &str = "localhost";

impl HostRule {
    /// Parses an entry.
    ///
    /// # Errors
    /// The text is not a host, with the reason for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "`{text}` is not a network host; expected a name, `*.NAME`, an address or a network such as `10.0.0.0/8`, each with an optional `:PORT`"
            )
        };
        Self::read(text.trim()).ok_or_else(unknown)
    }

    fn read(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::address(address, None));
        }
        if let Some((address, length)) = text.split_once('/') {
            let (length, port) = match length.split_once(':') {
                Some((length, port)) => (length, Some(port.parse().ok()?)),
                None => (length, None),
            };
            let address = address.trim_start_matches('[').trim_end_matches(']');
            let address: IpAddr = address.parse().ok()?;
            let length = length.parse().ok()?;
            let longest = if address.is_ipv4() { 32 } else { 128 };
            let host = Pattern::Network(address, length);
            return (length <= longest).then_some(Self { host, port });
        }
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        // A rule without a port is about any port.
        let has_port = rest
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.ends_with(']'));
        let destination = Destination::parse(rest, (!has_port).then_some(1))?;
        let port = has_port.then_some(destination.port);
        match destination.host {
            Target::Address(_) if below => None,
            Target::Address(address) => Some(Self::address(address, port)),
            Target::Name(name) => {
                let host = if below { Pattern::Below } else { Pattern::Name };
                Some(Self {
                    host: host(name),
                    port,
                })
            }
        }
    }

    fn address(address: IpAddr, port: Option<u16>) -> Self {
        let length = if address.is_ipv4() { 32 } else { 128 };
        Self {
            host: Pattern::Network(address, length),
            port,
        }
    }

    /// The entry for exactly this destination.
    pub(super) fn exactly(destination: &Destination) -> Self {
        let port = Some(destination.port);
        match &destination.host {
            Target::Address(address) => Self::address(*address, port),
            Target::Name(name) => Self {
                host: Pattern::Name(name.clone()),
                port,
            },
        }
    }

    /// Whether the entry names the machine itself.
    pub(super) fn is_local(&self) -> bool {
        match &self.host {
            Pattern::Name(name) => name == LOCALHOST,
            Pattern::Below(_) => false,
            Pattern::Network(address, _) => address.is_loopback(),
        }
    }

    /// Whether the entry names `destination`.
    pub(super) fn names(&self, destination: &Destination) -> bool {
        let host = match (&self.host, &destination.host) {
            (Pattern::Name(rule), Target::Name(name)) => rule == name,
            (Pattern::Below(rule), Target::Name(name)) => is_below(name, rule),
            (Pattern::Network(network, length), Target::Address(address)) => {
                contains(*network, *length, *address)
            }
            _ => false,
        };
        host && self.has_port(destination.port)
    }

    /// Whether this entry of a deny rule denies `destination`: a name also denies the names below
    /// it.
    pub(super) fn denies(&self, destination: &Destination) -> bool {
        let below = match (&self.host, &destination.host) {
            (Pattern::Name(rule), Target::Name(name)) => is_below(name, rule),
            _ => false,
        };
        self.names(destination) || (below && self.has_port(destination.port))
    }

    /// Whether this entry of a deny rule denies a host; text that is no host counts as denied.
    pub fn denies_host(&self, host: &str, port: u16) -> bool {
        Target::parse(host).is_none_or(|host| self.denies(&Destination { host, port }))
    }

    /// Whether the entry is a name: whether a host has it cannot be seen from an address.
    pub(super) fn has_name(&self) -> bool {
        !matches!(self.host, Pattern::Network(..))
    }

    /// Whether the entry names the address of a host, so that the address may be a private one.
    pub(super) fn names_address(&self, address: IpAddr, destination: &Destination) -> bool {
        let host = match &self.host {
            Pattern::Network(network, length) => contains(*network, *length, address),
            Pattern::Name(name) => {
                name == LOCALHOST && self.names(destination) && address.is_loopback()
            }
            Pattern::Below(_) => false,
        };
        host && self.has_port(destination.port)
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

fn is_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above)
        .is_some_and(|below| below.len() > 1 && below.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_hosts_and_ports() {
        for (rule, destination, expected) in [
            ("example.org", "example.org:443", true),
            ("example.org", "example.org:80", true),
            ("Example.ORG.", "example.org:80", true),
            ("example.org:443", "example.org:443", true),
            ("example.org:443", "example.org:80", false),
            ("example.org", "a.example.org:80", false),
            ("example.org", "example.org.evil.net:80", false),
            ("example.org", "evilexample.org:80", false),
            ("*.example.org", "a.example.org:80", true),
            ("*.example.org", "a.b.example.org:80", true),
            ("*.example.org", "example.org:80", false),
            ("*.example.org", ".example.org:80", false),
            ("*.example.org", "evilexample.org:80", false),
            ("*.example.org:443", "a.example.org:80", false),
            ("10.0.0.0/8", "10.1.2.3:80", true),
            ("10.0.0.0/8", "11.1.2.3:80", false),
            ("10.0.0.0/8:22", "10.1.2.3:80", false),
            ("10.0.0.0/8", "0xa010203:80", true),
            ("10.0.0.0/8", "intern.example.org:80", false),
            ("127.0.0.1:80", "localhost:80", false),
            ("::1", "[::1]:80", true),
            ("[::1]:80", "[::1]:80", true),
            ("bücher.example", "xn--bcher-kva.example:80", true),
        ] {
            let rule = HostRule::parse(rule).unwrap();
            let found = Destination::parse(destination, None);
            let found = found.is_some_and(|destination| rule.names(&destination));
            assert_eq!(found, expected, "{rule:?} {destination}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "*.*.org",
            "a b",
            "http://x.org",
            "x.org/",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "x:99999",
            "*.1.2.3.4",
            "u@x.org",
        ] {
            let error = HostRule::parse(text).unwrap_err();
            assert!(error.contains("is not a network host"), "{text}: {error}");
        }
    }
}
