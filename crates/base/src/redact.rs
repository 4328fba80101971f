//! Removes keys from text that leaves the machine: everything that looks like a credential of a known vendor.
//!
//! It matches patterns, not known values, so it also finds keys that were pasted, printed by a command or read from a
//! file. The replacement is ASCII without quotes or backslashes, so that a JSON line stays valid.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Replaces a removed key.
pub(crate) const REDACTED: &str = "[key removed]";

/// Patterns of keys, and whether a match must contain a digit: names of classes and files can also be words with
/// hyphens.
const SHAPES: &[(&str, bool)] = &[
    // Anthropic, OpenAI, OpenRouter, DeepSeek and others with the same format.
    (r"\bsk-[A-Za-z0-9_-]{20,}", true),
    // Stripe.
    (r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", true),
    // AWS.
    (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", true),
    // GitHub, GitLab.
    (r"\bgh[pousr]_[A-Za-z0-9]{30,}", true),
    (r"\bgithub_pat_[A-Za-z0-9_]{30,}", true),
    (r"\bglpat-[A-Za-z0-9_-]{20,}", true),
    // Google.
    (r"\bAIza[A-Za-z0-9_-]{30,}", true),
    (r"\bya29\.[A-Za-z0-9_-]{20,}", true),
    // Slack.
    (r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", true),
    // Groq, Hugging Face, Replicate, xAI, Perplexity, Cerebras, Fireworks, Tavily, npm, PyPI.
    (r"\b(?:gsk|hf|r8|npm|fw)_[A-Za-z0-9]{20,}", true),
    (r"\b(?:xai|pplx|csk|tvly|pypi)-[A-Za-z0-9_-]{20,}", true),
    // JSON web tokens.
    (
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        true,
    ),
    // Private keys in PEM, with real or escaped line ends.
    (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\sA-Za-z0-9+/=\\:,-]*?-----END [A-Z ]*PRIVATE KEY-----",
        false,
    ),
];

/// A name that announces a key: `MISTRAL_API_KEY=…`, `authorization: Bearer …`.
const NAMED: &str = r#"(?x)
    ( \b[A-Z][A-Z0-9_]* (?:API_KEY|ACCESS_KEY|SECRET|TOKEN|PASSWORD) (?:\\?["'])? \s?[=:]\s? (?:\\?["'])?
    | \b(?i:bearer)\s )
    ( [A-Za-z0-9_~+/.=-]{16,} )"#;

/// All patterns in one expression, so that text is scanned once. Digits need no separate group: only patterns that
/// start with dashes may lack them.
static KEYS: LazyLock<Option<(Regex, Regex)>> = LazyLock::new(|| {
    let all: Vec<&str> = SHAPES.iter().map(|(shape, _)| *shape).collect();
    Some((Regex::new(&all.join("|")).ok()?, Regex::new(NAMED).ok()?))
});

/// `text` without keys. Borrowed if there is nothing to remove.
pub fn redact(text: &str) -> Cow<'_, str> {
    let Some((shapes, named)) = &*KEYS else {
        return Cow::Borrowed(text);
    };
    let once = shapes.replace_all(text, |found: &Captures<'_>| {
        if is_key(&found[0]) {
            REDACTED.to_owned()
        } else {
            found[0].to_owned()
        }
    });
    let twice = named.replace_all(&once, |found: &Captures<'_>| {
        if is_key(&found[2]) {
            format!("{}{REDACTED}", &found[1])
        } else {
            found[0].to_owned()
        }
    });
    // All matches turned out not to be keys.
    if *twice == *text {
        return Cow::Borrowed(text);
    }
    Cow::Owned(twice.into_owned())
}

/// A key has digits and letters, unlike words and paths.
fn is_key(found: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| found.bytes().any(|byte| kind(&byte));
    found.starts_with("-----") || (has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made up at run time, so that no scanner takes them for real keys.
    fn samples() -> Vec<String> {
        let body = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7z";
        let mut keys: Vec<String> = [
            "sk-ant-api03-",
            "sk-proj-",
            "sk-or-v1-",
            "sk-",
            "ghp_",
            "gho_",
            "github_pat_",
            "glpat-",
            "AIza",
            "ya29.",
            "xoxb-",
            "gsk_",
            "hf_",
            "npm_",
            "xai-",
            "pplx-",
            "sk_live_",
        ]
        .map(|prefix| format!("{prefix}{body}{body}"))
        .into();
        keys.push(format!("AKIA{}", "Q7W2E9R4T6Y1U8I3"));
        keys.push(format!("eyJ{body}.eyJ{body}.{body}"));
        keys
    }

    #[test]
    fn known_keys_are_removed_and_surrounding_text_stays() {
        assert!(KEYS.is_some());
        for key in samples() {
            let text = format!("before \"{key}\" after");
            assert_eq!(
                redact(&text),
                format!("before \"{REDACTED}\" after"),
                "{key}"
            );
        }
        let pem = "x -----BEGIN RSA PRIVATE KEY-----\nMIIE/+=\n-----END RSA PRIVATE KEY----- y";
        assert_eq!(redact(pem), format!("x {REDACTED} y"));
        assert_eq!(
            redact(
                "export MISTRAL_API_KEY=\"abc123def456ghi789\"\nAuthorization: Bearer abcdef1234567890abcd"
            ),
            format!("export MISTRAL_API_KEY=\"{REDACTED}\"\nAuthorization: Bearer {REDACTED}")
        );
    }

    #[test]
    fn similar_words_stay() {
        for text in [
            "sk-folding-cube-spinner-container-large",
            "task-0123456789abcdef0123456789",
            "MAX_TOKEN = self.configuration.maximum",
            "the bearer of this letter",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
