//! Versions, error codes and messages of the protocol.

use serde_json::{Value, json};

/// The version without a handshake: every request says its version and the capabilities of its client.
pub(super) const MODERN: &str = "2026-07-28";
/// Versions with a handshake, newest first.
pub(super) const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The fields of `_meta` in a request without a handshake.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The field of `_meta` in a result that names the server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

pub(super) const PARSE: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const UNKNOWN_METHOD: i64 = -32601;
pub(super) const INVALID_PARAMETERS: i64 = -32602;
pub(super) const HEADER_MISMATCH: i64 = -32020;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// Why a request has an error and no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The response to the request `id`.
    pub(super) fn response(self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = self.data {
            error["data"] = data;
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// The response to the request `id`.
pub(super) fn response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The result of a failed call, which the model of the client reads.
pub fn failed(message: &str) -> Value {
    json!({"content": [{"type": "text", "text": message}], "isError": true})
}

/// Whether a message belongs to a version without a handshake.
pub(super) fn is_modern(message: &Value) -> bool {
    message["method"] == "server/discover" || message["params"]["_meta"].get(VERSION).is_some()
}

/// The version that a request without a handshake says.
///
/// # Errors
/// A field of `_meta` is missing or invalid.
pub(super) fn stated_version(message: &Value) -> Result<&str, Refusal> {
    let meta = &message["params"]["_meta"];
    let invalid = |field: &str, expected: &str| {
        let message = format!("`_meta` needs `{field}`, {expected}");
        Refusal::new(INVALID_PARAMETERS, message)
    };
    let version = meta[VERSION].as_str();
    let version = version.ok_or_else(|| invalid(VERSION, "the version of the protocol"))?;
    if !meta[CAPABILITIES].is_object() {
        return Err(invalid(CAPABILITIES, "an object"));
    }
    Ok(version)
}

/// Refuses a version that osier does not serve without a handshake.
pub(super) fn check_version(version: &str) -> Result<(), Refusal> {
    if version == MODERN {
        return Ok(());
    }
    Err(Refusal {
        data: Some(json!({"supported": [MODERN], "requested": version})),
        ..Refusal::new(
            UNSUPPORTED_VERSION,
            format!("unsupported protocol version; expected `{MODERN}`, or `initialize`"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_handshake_says_its_version_and_capabilities() {
        let with = |meta: Value| json!({"method": "tools/list", "params": {"_meta": meta}});
        assert!(!is_modern(&json!({"method": "tools/list"})));
        assert!(is_modern(&json!({"method": "server/discover"})));
        let complete = with(json!({VERSION: MODERN, CAPABILITIES: {}}));
        assert!(is_modern(&complete));
        assert_eq!(stated_version(&complete), Ok(MODERN));
        for (meta, field) in [
            (json!({CAPABILITIES: {}}), VERSION),
            (json!({VERSION: 1, CAPABILITIES: {}}), VERSION),
            (json!({VERSION: MODERN}), CAPABILITIES),
            (json!({VERSION: MODERN, CAPABILITIES: []}), CAPABILITIES),
        ] {
            let refusal = stated_version(&with(meta.clone())).unwrap_err();
            assert_eq!(refusal.code, INVALID_PARAMETERS, "{meta}");
            assert!(refusal.message.contains(field), "{meta}");
        }
        let refusal = check_version("2025-11-25").unwrap_err();
        let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
        assert_eq!((refusal.code, refusal.data), (-32022, Some(data)));
    }
}
