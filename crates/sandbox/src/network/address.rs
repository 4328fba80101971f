//! Addresses that are not on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are private, local, reserved or for documentation.
const NOT_PUBLIC_4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // With the metadata servers of clouds.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved, broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
    // Metadata servers with public addresses.
    (Ipv4Addr::new(100, 100, 100, 200), 32),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

/// Blocks that are not public in the part of IPv6 that is public.
const NOT_PUBLIC_6: &[(Ipv6Addr, u8)] = &[
    // Teredo, ORCHID and other protocols.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which contains an IPv4 address.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// The public part of IPv6. NAT64, mapped and local addresses are outside.
const PUBLIC_6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Whether `address` is on the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !NOT_PUBLIC_4
            .iter()
            .any(|(network, length)| contains((*network).into(), *length, address.into())),
        IpAddr::V6(address) => {
            let within = |(network, length): &(Ipv6Addr, u8)| {
                contains((*network).into(), *length, address.into())
            };
            within(&PUBLIC_6) && !NOT_PUBLIC_6.iter().any(within)
        }
    }
}

/// Networks of an organization, a home or this machine: a name that the user lists may have such an
/// address. Metadata servers, multicast and reserved networks are not among them: they need a rule
/// for the address.
const OWN: &[(IpAddr, u8)] = &[
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 10),
    (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), 12),
    (IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), 16),
    (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    (IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), 7),
];

/// Metadata servers within these networks.
const METADATA: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Whether `address` is in a network of the user.
pub(super) fn is_own(address: IpAddr) -> bool {
    let within = |(network, length): &(IpAddr, u8)| contains(*network, *length, address);
    OWN.iter().any(within) && !METADATA.contains(&address)
}

/// Whether `address` is in the network; both are of the same family.
pub(super) fn contains(network: IpAddr, length: u8, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let ((network, size), (address, other)) = (bits(network), bits(address));
    let differs = (network ^ address)
        .checked_shr(128 - u32::from(length))
        .unwrap_or(0);
    size == other && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for (address, expected) in [
            ("93.184.216.34", true),
            ("1.1.1.1", true),
            ("172.32.0.1", true),
            ("2606:2800:220:1::1", true),
            ("2001:4860:4860::8888", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("169.254.169.254", false),
            ("172.31.255.255", false),
            ("192.168.1.1", false),
            ("198.19.0.1", false),
            ("224.0.0.251", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("168.63.129.16", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b:1::1", false),
            ("2002:7f00:1::", false),
            ("2001:0:1::", false),
            ("2001:db8::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_network_contains_its_addresses() {
        let within = |network: &str, length, address: &str| {
            contains(network.parse().unwrap(), length, address.parse().unwrap())
        };
        assert!(within("10.0.0.0", 8, "10.255.0.1"));
        assert!(!within("10.0.0.0", 8, "11.0.0.1"));
        assert!(within("0.0.0.0", 0, "9.9.9.9"));
        assert!(!within("0.0.0.0", 0, "::1"));
        assert!(within("fd00::", 8, "fd12::1"));
        assert!(within("::1", 128, "::1"));
        assert!(!within("::1", 128, "::2"));
    }
}
