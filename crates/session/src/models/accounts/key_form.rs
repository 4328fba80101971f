//! The form of a typed API key: a key that is obviously wrong is reported at once, not by the first refused request.

/// The start of a vendor's keys, its provider, and whether all keys of the provider start like this.
const STARTS: &[(&str, &str, bool)] = &[
    ("sk-ant-", "anthropic", true),
    ("sk-or-", "openrouter", true),
    ("gsk_", "groq", true),
    ("xai-", "xai", true),
    ("sk-proj-", "openai", false),
    ("AIza", "google", false),
    ("csk-", "cerebras", false),
    ("hf_", "huggingface", false),
    ("nvapi-", "nvidia", false),
    ("pplx-", "perplexity", false),
    ("tvly-", "tavily", false),
];

/// Why `key` cannot be a key of `provider`; `None` if it can. References such as `$NAME` are no keys.
pub(super) fn fault(provider: &str, key: &str) -> Option<String> {
    if key.starts_with(['$', '!']) {
        return None;
    }
    let of_key = STARTS.iter().find(|(start, ..)| key.starts_with(start));
    let expected = STARTS.iter().find(|(_, known, _)| *known == provider);
    if key.starts_with("http://") || key.starts_with("https://") {
        return Some("this is an address, not a key".to_owned());
    }
    if key.chars().any(char::is_whitespace) {
        return Some("the key contains spaces: copy only the key".to_owned());
    }
    if let Some((name, _)) = key.split_once('=')
        && name.len() > 3
        && name
            .chars()
            .all(|char| char.is_ascii_uppercase() || char == '_')
    {
        return Some(format!("type only the key, without `{name}=`"));
    }
    match (of_key, expected) {
        (Some((start, owner, _)), _) if *owner != provider => Some(format!(
            "a key that starts with `{start}` is one of `{owner}`, not of `{provider}`"
        )),
        (None, Some((start, _, true))) => {
            Some(format!("keys of `{provider}` start with `{start}`"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_obviously_wrong_are_reported() {
        for (provider, key, expected) in [
            ("anthropic", "sk-ant-api03-x", None),
            ("openai", "sk-proj-x", None),
            ("openai", "sk-x", None),
            ("deepseek", "sk-x", None),
            ("mine", "secret", None),
            ("anthropic", "$MY_KEY", None),
            (
                "anthropic",
                "sk-x",
                Some("keys of `anthropic` start with `sk-ant-`"),
            ),
            (
                "openai",
                "sk-ant-x",
                Some("a key that starts with `sk-ant-` is one of `anthropic`, not of `openai`"),
            ),
            (
                "openai",
                "OPENAI_API_KEY=sk-x",
                Some("type only the key, without `OPENAI_API_KEY=`"),
            ),
            (
                "openai",
                "export OPENAI_API_KEY",
                Some("the key contains spaces: copy only the key"),
            ),
            (
                "mistral",
                "https://console.mistral.ai",
                Some("this is an address, not a key"),
            ),
        ] {
            assert_eq!(fault(provider, key).as_deref(), expected, "{key}");
        }
    }
}
