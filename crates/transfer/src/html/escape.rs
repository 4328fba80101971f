//! Makes untrusted text safe for a page: readable, without any active content.

use std::borrow::Cow;

use osier_base::redact::redact;
use osier_base::text::sanitize;

/// `text` as the content of an element or of a quoted attribute: without control sequences, direction
/// overrides and keys, with escaped markup.
pub(super) fn escape(text: &str) -> String {
    escape_clean(&clean(text))
}

/// Escapes text that was already sanitized with `clean`.
pub(super) fn escape_clean(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char => escaped.push(char),
        }
    }
    escaped
}

/// `text` without keys, terminal sequences and direction overrides.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    match redact(text) {
        Cow::Borrowed(text) => sanitize(text),
        Cow::Owned(text) => Cow::Owned(sanitize(&text).into_owned()),
    }
}

/// The escaped URL of a link; `None` if it leads to anything but a web page or an email address.
pub(super) fn address(link: &str) -> Option<String> {
    const SCHEMES: &[&str] = &["https://", "http://", "mailto:"];
    let link = link.trim();
    let lower = link.get(..8).unwrap_or(link).to_ascii_lowercase();
    let known = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    let plain = !link.chars().any(|char| char.is_control() || char == ' ');
    (known && plain).then(|| escape(link))
}

/// The source of an image; `None` for an unsupported type.
pub(super) fn picture(mime_type: &str, base64: &str) -> Option<String> {
    const KINDS: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let known = KINDS.contains(&mime_type) && !base64.is_empty() && base64.bytes().all(is_base64);
    known.then(|| format!("data:{mime_type};base64,{base64}"))
}

/// The anchor of an entry, from an untrusted id.
pub(super) fn anchor(id: &str, number: u32) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=64).contains(&id.len()) && id.bytes().all(plain) {
        format!("e-{id}")
    } else {
        format!("n-{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        assert_eq!(
            escape("</script><img src=x onerror='a(\"b\")'>\u{1b}[31m&\u{202e}x\u{7}"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;x"
        );
    }

    #[test]
    fn links_lead_to_pages_and_pictures_are_pictures() {
        assert_eq!(
            address("https://a.b/?c&d").as_deref(),
            Some("https://a.b/?c&amp;d")
        );
        assert_eq!(address("MAILTO:a@b").as_deref(), Some("MAILTO:a@b"));
        for link in [
            "javascript:alert(1)",
            " JaVaScRiPt:alert(1)",
            "java\nscript:x",
            "data:text/html,x",
            "vbscript:x",
            "//evil",
            "/etc/passwd",
            "file:///etc/passwd",
            "https://a b",
            "é",
        ] {
            assert_eq!(address(link), None, "{link}");
        }
        assert!(picture("image/png", "iVBO/+==").is_some());
        assert_eq!(picture("image/svg+xml", "AAAA"), None);
        assert_eq!(picture("image/png", "\" onload=\"x"), None);
        assert_eq!(anchor("0123abcd", 7), "e-0123abcd");
        assert_eq!(anchor("\"><script>", 7), "n-7");
    }
}
