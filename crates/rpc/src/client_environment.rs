//! The variables of the machine's user that change with each login. A server passes the variables
//! of the newest client to its commands instead of its own, as a terminal multiplexer does.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The header of the request for a WebSocket: a JSON object in base64, without padding.
pub const HEADER: &str = "osier-environment";

/// The names of these variables. A server ignores others.
pub const NAMES: [&str; 11] = [
    "DISPLAY",
    "KRB5CCNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "SSH_AGENT_PID",
    AGENT_SOCKET,
    "SSH_CONNECTION",
    "WAYLAND_DISPLAY",
    "WINDOWID",
    "XAUTHORITY",
];

/// The socket of the ssh agent.
pub const AGENT_SOCKET: &str = "SSH_AUTH_SOCK";

/// The value of the header for the variables of this process.
pub fn header_value() -> String {
    encode(|name| std::env::var(name).ok())
}

fn encode(value_of: impl Fn(&str) -> Option<String>) -> String {
    let known = NAMES.iter();
    let variables: BTreeMap<&str, String> = known
        .filter_map(|name| Some((*name, value_of(name)?)))
        .collect();
    let text = serde_json::to_string(&variables).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(text)
}

/// The variables of a header; `None` if it is damaged.
pub fn decode(header: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = URL_SAFE_NO_PAD.decode(header).ok()?;
    let mut variables: BTreeMap<String, String> = serde_json::from_slice(&text).ok()?;
    variables.retain(|name, value| NAMES.contains(&name.as_str()) && !value.contains('\0'));
    Some(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_variables_travel() {
        let value = encode(|name| match name {
            "LANG" => Some("de_DE.UTF-8".to_owned()),
            AGENT_SOCKET => Some("/tmp/ä".to_owned()),
            _ => None,
        });
        let expected = [("LANG", "de_DE.UTF-8"), (AGENT_SOCKET, "/tmp/ä")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(decode(value.as_bytes()), Some(BTreeMap::from(expected)));
        let others =
            URL_SAFE_NO_PAD.encode(r#"{"LD_PRELOAD":"/tmp/x.so","PATH":"/tmp","LANG":"a\u0000b"}"#);
        assert_eq!(decode(others.as_bytes()), Some(BTreeMap::new()));
        assert_eq!(decode(b"?"), None);
    }
}
