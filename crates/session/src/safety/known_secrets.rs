//! The keys that osier itself uses, for exports: they are removed whatever they look like.

use std::collections::BTreeMap;
use std::fs;

use osier_base::folders::Folders;
use osier_base::secrets::add_known;
use serde_json::Value;

/// The ends of names of secret values, in small letters.
const ENDINGS: [&str; 6] = ["key", "token", "secret", "password", "access", "refresh"];

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Adds the keys in the environment, in the credential store, in `models.json` and in the server's token file to what
/// exports remove. Call it before an export; keys in the system's keyring are not read.
pub fn remember(folders: &Folders, environment: &BTreeMap<String, String>) {
    let variables = environment.iter();
    let values = variables.filter(|(name, _)| is_secret_name(name));
    add_known(values.map(|(_, value)| value.clone()));
    for path in [folders.credentials(), folders.models()] {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut values = Vec::new();
        collect(
            &serde_json::from_str(&text).unwrap_or_default(),
            false,
            &mut values,
        );
        add_known(values);
    }
    add_known(fs::read_to_string(folders.data.join("serve.token")));
}

/// The texts of fields with a secret name, and of everything in such fields.
fn collect(value: &Value, is_secret: bool, values: &mut Vec<String>) {
    match value {
        // `$NAME` and `!command` name a source; the environment was read.
        Value::String(text) if is_secret && !text.starts_with(['$', '!']) => {
            values.push(text.clone());
        }
        Value::Array(parts) => parts
            .iter()
            .for_each(|part| collect(part, is_secret, values)),
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, is_secret || is_secret_name(name), values);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_fields_are_collected() {
        let file = serde_json::json!({
            "openai": {"type": "api_key", "key": "one"},
            "anthropic": {"type": "oauth", "access": "two", "refresh": "three", "baseUrl": "no"},
            "mistral": {"type": "api_key", "key": "$MISTRAL"},
            "mcp:x": {"credentials": {"token_response": {"access_token": "four", "token_type": "no"}}},
        });
        let mut values = Vec::new();
        collect(&file, false, &mut values);
        assert_eq!(values, ["one", "two", "three", "four"]);
    }
}
