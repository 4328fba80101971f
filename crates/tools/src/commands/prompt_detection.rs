//! Detects whether output ends in a prompt for terminal input, or in the error of a program that could not ask for a password.

use osier_base::text::tail_bytes;

/// Words of prompts, in lower case.
const WORDS: [&str; 14] = [
    "password",
    "passphrase",
    "username",
    "login",
    "y/n",
    "yes/no",
    "[y]",
    "continue",
    "proceed",
    "overwrite",
    "confirm",
    "press",
    "enter",
    "are you sure",
];
/// Characters at the end of a prompt.
const MARKS: [char; 6] = ['?', ':', '>', ']', ')', '…'];
/// Bytes of the last line that are checked.
const LINE: usize = 200;

/// Errors of ssh, git, sudo, gpg and scripts without a user, in lower case.
const REFUSALS: [&str; 12] = [
    "terminal prompts disabled",
    "unable to read askpass response",
    "a terminal is required to read the password",
    "no askpass program specified",
    "inappropriate ioctl for device",
    "no pinentry",
    "failed: operation cancelled",
    "cannot open /dev/tty",
    "/dev/tty: no such device or address",
    "permission denied (publickey",
    "host key verification failed",
    "a password is required",
];
/// Bytes of output that are searched for an error.
const TAIL: usize = 2048;

/// Whether the end of `output` says that a password, or another answer of a user, was needed.
pub(crate) fn needs_password(output: &str) -> bool {
    let tail = tail_bytes(output, TAIL).to_lowercase();
    REFUSALS.iter().any(|error| tail.contains(error))
}

/// Whether `output` ends in an unfinished line that looks like a prompt.
pub(crate) fn asks_for_input(output: &str) -> bool {
    let line = output.rsplit('\n').next().unwrap_or_default().trim_end();
    let marked = line.ends_with(MARKS);
    if line.len() > LINE || !marked {
        return false;
    }
    let line = line.to_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_distinguished_from_other_endings() {
        for (output, expected) in [
            ("Do you want to continue? [Y/n] ", true),
            ("[sudo] password for me: ", true),
            (
                "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
                true,
            ),
            ("Username for 'https://example.org':", true),
            ("? Ok to proceed? (y) ", true),
            ("password: \n", false),
            ("error: expected `;`", false),
            ("Compiling (3/7)", false),
            ("", false),
        ] {
            assert_eq!(asks_for_input(output), expected, "{output:?}");
        }
    }
}
