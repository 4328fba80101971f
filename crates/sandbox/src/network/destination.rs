//! Where a client of the proxy wants to connect, in one normal form.

use std::fmt;
use std::net::IpAddr;

use url::Host;

/// A host and a port. Names are lower case, in ASCII, without a final dot; every form of an IPv4 address is an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Destination {
    pub host: Target,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Target {
    Name(String),
    Address(IpAddr),
}

/// Bytes of a name at most, and of one of its parts.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

impl Target {
    /// Parses a name or an address; an IPv6 address is in brackets.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_plain =
            |char: char| !char.is_control() && !char.is_whitespace() && !"@/\\?#%".contains(char);
        if text.is_empty() || text.len() > 4 * MAX_NAME || !text.chars().all(is_plain) {
            return None;
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        match Host::parse(text).ok()? {
            Host::Ipv4(address) => Some(Self::Address(address.into())),
            Host::Ipv6(address) => Some(Self::Address(IpAddr::V6(address).to_canonical())),
            Host::Domain(name) => is_name(&name).then_some(Self::Name(name)),
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(allowed)
    };
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

impl Destination {
    /// Parses `HOST:PORT`; without a port, `default` if there is one.
    pub(super) fn parse(text: &str, default: Option<u16>) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // The colon may be part of an IPv6 address in brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            Some(port) if port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().ok()?
            }
            Some(_) => return None,
            None => default?,
        };
        let host = Target::parse(host)?;
        (port != 0).then_some(Self { host, port })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.host {
            Target::Name(name) => write!(formatter, "{name}:{port}"),
            Target::Address(IpAddr::V4(address)) => write!(formatter, "{address}:{port}"),
            Target::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_host_has_one_normal_form() {
        for (text, expected) in [
            ("example.org:443", Some("example.org:443")),
            ("EXAMPLE.org", Some("example.org:80")),
            ("example.org.:1", Some("example.org:1")),
            ("bücher.example", Some("xn--bcher-kva.example:80")),
            ("ｅxample.org", Some("example.org:80")),
            ("127.0.0.1:1", Some("127.0.0.1:1")),
            ("2130706433", Some("127.0.0.1:80")),
            ("0x7f000001", Some("127.0.0.1:80")),
            ("0177.0.0.1", Some("127.0.0.1:80")),
            ("127.1", Some("127.0.0.1:80")),
            ("127.0.0.1.", Some("127.0.0.1:80")),
            ("[::1]:5", Some("[::1]:5")),
            ("[::ffff:127.0.0.1]", Some("127.0.0.1:80")),
            ("_srv.example.org", Some("_srv.example.org:80")),
            ("example.org..", None),
            ("", None),
            (".", None),
            ("a..b", None),
            ("user@example.org", None),
            ("example.org:", None),
            ("example.org:0", None),
            ("example.org:65536", None),
            ("example.org:+80", None),
            ("example.org:80:80", None),
            ("example.org/x", None),
            ("example%2eorg", None),
            ("example.org\0", None),
            ("example.org\r\nx", None),
            ("exam ple.org", None),
            ("::1", None),
            ("[::1", None),
            ("[::1%25eth0]", None),
            ("256.1.1.1", None),
        ] {
            let found = Destination::parse(text, Some(80)).map(|found| found.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        let long = format!("{}.org", "a".repeat(64));
        assert_eq!(Destination::parse(&long, Some(80)), None);
        let long = "a.".repeat(130) + "org";
        assert_eq!(Destination::parse(&long, Some(80)), None);
        assert_eq!(Destination::parse("example.org", None), None);
    }
}
