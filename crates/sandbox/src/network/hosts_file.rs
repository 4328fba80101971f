//! The addresses in the system's file of hosts. The resolver of the system does not find a name there that ends with a dot.

use std::net::IpAddr;
use std::path::Path;

use osier_base::regular_file;

/// The file of the system.
pub(super) const SYSTEM: &str = "/etc/hosts";
/// Lists that block advertisements have some megabytes.
const LIMIT: u64 = 32 * 1024 * 1024;

/// The addresses of `name`, which is in lower case without a final dot. Blocks.
pub(super) fn addresses(file: &Path, name: &str) -> Vec<IpAddr> {
    // Without the file, the name server knows the name.
    let bytes = regular_file::read(file, LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
        let is_named = |word: &str| word.trim_end_matches('.').eq_ignore_ascii_case(name);
        if let Some(address) = address.filter(|address| !found.contains(address))
            && words.any(is_named)
        {
            found.push(address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_name_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        let text = "127.0.0.1 localhost\n10.1.2.3\tintern.example Intern.corp # intern.other\nfe80::1%eth0 intern.corp\n\
                    ::1 intern.corp.\n10.1.2.3 intern.corp\nno intern.corp\n";
        osier_base::atomic_file::write(&file, text.as_bytes()).unwrap();
        for (name, expected) in [
            ("intern.corp", &["10.1.2.3", "::1"][..]),
            ("intern.example", &["10.1.2.3"]),
            ("intern.other", &[]),
            ("intern", &[]),
        ] {
            let found = addresses(&file, name);
            let found: Vec<String> = found.iter().map(IpAddr::to_string).collect();
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(
            addresses(&folder.path().join("none"), "localhost"),
            [] as [IpAddr; 0]
        );
    }
}
