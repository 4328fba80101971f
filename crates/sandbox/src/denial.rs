//! Whether a command failed because of the sandbox. This is a guess from its output, because the kernel does
//! not report denials.

use osier_base::process::Exit;
use osier_base::text::tail_bytes;

/// Bytes of output that are searched.
const SEARCHED: usize = 16 * 1024;

/// Phrases that programs print when the kernel denies access.
const WORDS: &[&str] = &[
    "read-only file system",
    "permission denied",
    "operation not permitted",
    "network is unreachable",
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "eacces",
    "eperm",
    "erofs",
];

/// Phrases that programs print without a network, but also when no server listens.
const OFFLINE_WORDS: &[&str] = &[
    "connection refused",
    "couldn't connect to server",
    "econnrefused",
];

/// Whether `output` of a sandboxed command that ended with `exit` indicates a denial. `network` says whether
/// the sandbox allowed the network.
pub fn is_denied(exit: Exit, output: &str, network: bool) -> bool {
    if exit.is_success() {
        return false;
    }
    let stderr = tail_bytes(output, SEARCHED).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
    says(WORDS) || (!network && says(OFFLINE_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32) -> Exit {
        Exit {
            code: Some(code),
            signal: None,
        }
    }

    #[test]
    fn denials_are_distinguished_from_other_failures() {
        for (code, output, expected) in [
            (1, "touch: cannot touch '/x': Read-only file system", true),
            (1, "bash: /etc/x: Permission denied", true),
            (6, "curl: (6) Could not resolve host: example.org", true),
            (
                1,
                "PermissionError: [Errno 1] Operation not permitted",
                true,
            ),
            (1, "Error: EROFS: read-only", true),
            (1, "error[E0308]: mismatched types", false),
            (0, "grep found: Permission denied", false),
        ] {
            assert_eq!(is_denied(exit(code), output, true), expected, "{output}");
        }
        let refused =
            "curl: (7) Failed to connect to 127.0.0.1 port 80: Couldn't connect to server";
        assert!(is_denied(exit(7), refused, false));
        assert!(!is_denied(exit(7), refused, true));
    }
}
