//! The addresses that osier itself may connect to for the model: public addresses, and addresses that the user named.

use std::net::IpAddr;

use super::address::{is_own, is_public};
use super::destination::{Destination, Target};
use super::hosts::HostRule;
use super::policy::Resolver;

/// The hosts that osier may connect to.
#[derive(Debug, Default)]
pub struct Reach {
    /// Hosts that may have addresses of a private network.
    private: Vec<HostRule>,
    resolver: Resolver,
}

/// Why a host cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReachError {
    /// The name or address is invalid.
    Invalid,
    /// The name has no address.
    Unresolved,
    /// All of its addresses are private, local or reserved.
    Private(IpAddr),
}

impl Reach {
    /// `private` are hosts that may have addresses of a private network.
    pub fn new(private: Vec<HostRule>) -> Self {
        Self {
            private,
            resolver: Resolver::System,
        }
    }

    /// Whether `address` is on the public internet.
    pub fn is_public(address: IpAddr) -> bool {
        is_public(address)
    }

    /// The addresses of `host` that may be reached. Connect to these: a name can have other addresses the next time.
    ///
    /// # Errors
    /// There is none.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, ReachError> {
        let host = Target::parse(host).ok_or(ReachError::Invalid)?;
        let destination = Destination { host, port };
        let found = match &destination.host {
            Target::Address(address) => vec![*address],
            Target::Name(name) => self.resolver.resolve(name, port).await,
        };
        let mut found: Vec<IpAddr> = found.iter().map(IpAddr::to_canonical).collect();
        let first = *found.first().ok_or(ReachError::Unresolved)?;
        found.retain(|address| {
            // A name in the list may have an address of the user's networks.
            let named = |rule: &HostRule| {
                rule.names_address(*address, &destination)
                    || (rule.names(&destination) && is_own(*address))
            };
            is_public(*address) || self.private.iter().any(named)
        });
        if found.is_empty() {
            return Err(ReachError::Private(first));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn private_addresses_need_a_rule() {
        let rules = ["127.0.0.0/8:8080", "localhost:8081"];
        let rules = rules.iter().map(|rule| HostRule::parse(rule).unwrap());
        let reach = Reach::new(rules.collect());
        for (host, port, expected) in [
            ("127.0.0.1", 8080, true),
            ("2130706433", 8080, true),
            ("[::ffff:127.0.0.1]", 8080, true),
            ("127.0.0.1", 80, false),
            ("localhost", 8081, true),
            ("localhost", 80, false),
            ("10.0.0.1", 8080, false),
            ("169.254.169.254", 80, false),
            ("100.64.0.1", 80, false),
            ("224.0.0.1", 80, false),
            ("[fe80::1]", 80, false),
            ("1.1.1.1", 80, true),
        ] {
            let found = reach.addresses(host, port).await;
            assert_eq!(found.is_ok(), expected, "{host}:{port} {found:?}");
        }
        let private = ReachError::Private("10.0.0.1".parse().unwrap());
        assert_eq!(reach.addresses("10.0.0.1", 80).await, Err(private));
        assert_eq!(reach.addresses("a b", 80).await, Err(ReachError::Invalid));
    }

    /// The resolver is that of the system, the file of hosts is the test's own.
    #[tokio::test]
    async fn a_listed_name_may_have_a_private_address() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        let text = "10.1.2.3 wiki.corp.test\n127.0.0.1 wiki.corp.test here.test plain\n169.254.169.254 meta.corp.test\n\
                    100.100.100.200 cloud.corp.test\n10.1.2.3 other.test\n93.184.216.34 mixed.test\n10.1.2.3 mixed.test\n";
        osier_base::atomic_file::write(&file, text.as_bytes()).unwrap();
        let rules = ["*.corp.test", "here.test:8080", "plain"];
        let rules = rules.iter().map(|rule| HostRule::parse(rule).unwrap());
        let reach = Reach {
            private: rules.collect(),
            resolver: Resolver::SystemWith(file),
        };
        let private = |address: &str| Err(ReachError::Private(address.parse().unwrap()));
        for (host, port, expected) in [
            ("wiki.corp.test", 80, Ok(vec!["10.1.2.3", "127.0.0.1"])),
            ("WIKI.corp.test.", 80, Ok(vec!["10.1.2.3", "127.0.0.1"])),
            ("here.test", 8080, Ok(vec!["127.0.0.1"])),
            ("here.test", 80, private("127.0.0.1")),
            ("plain", 80, Ok(vec!["127.0.0.1"])),
            ("meta.corp.test", 80, private("169.254.169.254")),
            ("cloud.corp.test", 80, private("100.100.100.200")),
            ("other.test", 80, private("10.1.2.3")),
            ("mixed.test", 80, Ok(vec!["93.184.216.34"])),
            ("127.0.0.1", 8080, private("127.0.0.1")),
        ] {
            let found = reach.addresses(host, port).await;
            let expected = expected.map(|texts: Vec<&str>| {
                let texts = texts.into_iter();
                texts
                    .map(|text| text.parse().unwrap())
                    .collect::<Vec<IpAddr>>()
            });
            assert_eq!(found, expected, "{host}:{port}");
        }
    }
}
