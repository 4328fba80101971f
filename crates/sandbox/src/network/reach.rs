//! The addresses that osier itself may connect to for the model: public addresses, and addresses that the user named.

use std::net::IpAddr;

use super::address::is_public;
use super::destination::{Destination, Target};
use super::hosts::HostRule;
use super::policy::Resolver;

/// The hosts that osier may connect to.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Hosts that may have addresses of a private network.
    private: Vec<HostRule>,
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
        Self { private }
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
            Target::Name(name) => Resolver::System.resolve(name, port).await,
        };
        let mut found: Vec<IpAddr> = found.iter().map(IpAddr::to_canonical).collect();
        let first = *found.first().ok_or(ReachError::Unresolved)?;
        found.retain(|address| {
            let named = |rule: &HostRule| rule.names_address(*address, &destination);
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
}
