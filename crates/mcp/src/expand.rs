//! Expands `${NAME}` and `${NAME:-default}` in the strings of a server's entry.

use std::collections::BTreeMap;

/// `text` with its variables replaced. `used` gets the name and the value of each.
///
/// # Errors
/// The name of a variable that is not set and has no default.
pub(super) fn expand(
    text: &str,
    environment: &BTreeMap<String, String>,
    mut used: impl FnMut(&str, &str),
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        expanded.push_str(&rest[..start]);
        let inner = &rest[start + 2..start + length];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        // Some editors write `${env:NAME}`.
        let name = name.strip_prefix("env:").unwrap_or(name);
        let value = environment.get(name).map(String::as_str);
        let value = value.filter(|value| default.is_none() || !value.is_empty());
        if let Some(value) = value {
            used(name, value);
        }
        expanded.push_str(value.or(default).ok_or(name)?);
        rest = &rest[start + length + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced() {
        let environment = BTreeMap::from([
            ("A".to_owned(), "1".to_owned()),
            ("EMPTY".to_owned(), String::new()),
        ]);
        let expanded = |text: &str| expand(text, &environment, |_, _| {});
        assert_eq!(expanded("x${A}y${env:A}"), Ok("x1y1".into()));
        assert_eq!(
            expanded("${B:-two} ${EMPTY:-three}"),
            Ok("two three".into())
        );
        assert_eq!(expanded("${B}"), Err("B".into()));
        assert_eq!(expanded("$A ${open"), Ok("$A ${open".into()));
    }
}
