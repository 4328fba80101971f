//! The headers of a request without a handshake, which repeat fields of its body: servers between the client and osier
//! read them. osier refuses a request whose headers say something else.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::Value;

use super::super::headers::header_text;
use super::protocol::{HEADER_MISMATCH, Refusal, check_version, stated_version};

pub(super) const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// The methods with the header of a name, and the parameter that it repeats.
const NAMED: &[(&str, &str)] = &[
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
];

/// Checks the headers and the version of a request.
///
/// # Errors
/// The version is not supported, or a header does not repeat the body.
pub(super) fn check(headers: &HeaderMap, message: &Value) -> Result<(), Refusal> {
    let version = stated_version(message)?;
    repeats(headers, VERSION, version)?;
    check_version(version)?;
    let method = message["method"].as_str().unwrap_or_default();
    repeats(headers, METHOD, method)?;
    if let Some((_, field)) = NAMED.iter().find(|(named, _)| *named == method)
        && let Some(name) = message["params"][field].as_str()
    {
        repeats(headers, NAME, name)?;
    }
    Ok(())
}

fn repeats(headers: &HeaderMap, header: &str, expected: &str) -> Result<(), Refusal> {
    let mismatch = |message| Err(Refusal::new(HEADER_MISMATCH, message));
    let mut values = headers.get_all(header).iter();
    let (Some(_), None) = (values.next(), values.next()) else {
        return mismatch(format!("the request needs one header `{header}`"));
    };
    let given = header_text(headers, header).unwrap_or_default();
    let given = if header == NAME {
        decoded(given)
    } else {
        Some(given.trim().to_owned())
    };
    if given.as_deref() != Some(expected) {
        return mismatch(format!(
            "the header `{header}` does not match `{expected}` in the body"
        ));
    }
    Ok(())
}

/// The text of a header that may be encoded as `=?base64?…?=`; `None` if it is not valid.
fn decoded(value: &str) -> Option<String> {
    let value = value.trim();
    let encoded = value.strip_prefix("=?base64?");
    let Some(encoded) = encoded.and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let bytes = BASE64.decode(encoded).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn request(method: &str, params: &Value) -> Value {
        let mut message = json!({"id": 1, "method": method, "params": params});
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        message
    }

    fn checked(headers: &[(&'static str, &'static str)], message: &Value) -> Option<i64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        check(&map, message).err().map(|refusal| refusal.code)
    }

    #[test]
    fn headers_repeat_the_body() {
        let list = request("tools/list", &json!({}));
        let version = ("MCP-Protocol-Version", "2026-07-28");
        let method = ("Mcp-Method", "tools/list");
        let mismatch = Some(HEADER_MISMATCH);
        assert_eq!(checked(&[version, method], &list), None);
        assert_eq!(checked(&[method], &list), mismatch);
        assert_eq!(checked(&[version], &list), mismatch);
        assert_eq!(checked(&[version, version, method], &list), mismatch);
        assert_eq!(
            checked(&[version, ("mcp-method", "TOOLS/LIST")], &list),
            mismatch
        );
        assert_eq!(
            checked(&[("mcp-protocol-version", "2025-11-25"), method], &list),
            mismatch
        );
    }

    #[test]
    fn a_name_can_be_encoded() {
        let call = request("tools/call", &json!({"name": "rün"}));
        let named = |name| {
            let version = ("mcp-protocol-version", "2026-07-28");
            checked(
                &[version, ("mcp-method", "tools/call"), ("mcp-name", name)],
                &call,
            )
        };
        assert_eq!(named("=?base64?csO8bg==?="), None);
        for wrong in [
            "run",
            "=?base64?csO8bg?=",
            "=?base64?!!!?=",
            "=?base64?csO8bg==",
        ] {
            assert_eq!(named(wrong), Some(HEADER_MISMATCH), "{wrong}");
        }
        let plain = request("tools/call", &json!({"name": "run"}));
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "  run  "),
        ];
        assert_eq!(checked(&headers, &plain), None);
        assert_eq!(checked(&headers[..2], &plain), Some(HEADER_MISMATCH));
    }
}
