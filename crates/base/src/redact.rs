//! Keys in text that leaves the machine: whatever looks like a credential of a known vendor is replaced.
//!
//! Shapes, not values: a key that was pasted, printed by a command or read from a file is found without
//! knowing it. What is put in its place is plain ASCII without quotes or backslashes, so that a line of
//! JSON stays a line of JSON.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands where a key stood.
pub const REDACTED: &str = "[key removed]";

/// How keys look, and whether a match has to hold a digit to be one: names of classes and files are
/// words joined by dashes, too.
const SHAPES: &[(&str, bool)] = &[
    // Anthropic, OpenAI, OpenRouter, DeepSeek and many who copied the form.
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
    // Private keys in PEM, with real line ends or escaped ones.
    (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\sA-Za-z0-9+/=\\:,-]*?-----END [A-Z ]*PRIVATE KEY-----",
        false,
    ),
];

/// A name that says what stands behind it: `MISTRAL_API_KEY=…`, `authorization: Bearer …`.
const NAMED: &str = r#"(?x)
    ( \b[A-Z][A-Z0-9_]* (?:API_KEY|ACCESS_KEY|SECRET|TOKEN|PASSWORD) (?:\\?["'])? \s?[=:]\s? (?:\\?["'])?
    | \b(?i:bearer)\s )
    ( [A-Za-z0-9_~+/.=-]{16,} )"#;

/// Every shape in one expression, so that text is gone through once; a group for each that needs a digit
/// is not needed, since those that do not begin with dashes all do.
static KEYS: LazyLock<Option<(Regex, Regex)>> = LazyLock::new(|| {
    let all: Vec<&str> = SHAPES.iter().map(|(shape, _)| *shape).collect();
    Some((Regex::new(&all.join("|")).ok()?, Regex::new(NAMED).ok()?))
});

/// `text` without what looks like a key. Borrowed when there is nothing to remove.
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
    // A match that was no key was put back as it was.
    if *twice == *text {
        return Cow::Borrowed(text);
    }
    Cow::Owned(twice.into_owned())
}

/// A key is no word and no path of a program: it has digits and letters.
fn is_key(found: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| found.bytes().any(|byte| kind(&byte));
    found.starts_with("-----") || (has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made up here, so that no scanner takes them for real ones.
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
    fn every_known_shape_goes_and_what_stands_around_it_stays() {
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
    fn words_that_only_look_alike_stay() {
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
