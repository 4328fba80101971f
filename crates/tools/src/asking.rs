//! Whether the end of an output looks like a question to somebody at a terminal.

/// Words of questions, in small letters.
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
/// What the line of a question ends with.
const MARKS: [char; 6] = ['?', ':', '>', ']', ')', '…'];
/// Bytes of the line that are looked at.
const LINE: usize = 200;

/// Whether `output` ends in an unfinished line that asks something.
pub(super) fn asks_for_input(output: &str) -> bool {
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
    fn questions_are_told_from_other_ends() {
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
