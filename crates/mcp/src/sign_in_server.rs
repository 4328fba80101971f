//! The conditions on a sign-in server. Its metadata is untrusted: it names the addresses that osier
//! connects to, and that the browser opens with the cookies of the user.

use osier_sandbox::network::{Reach, ReachError};
use reqwest::Url;
use rmcp::transport::auth::AuthorizationMetadata;

/// The only method of PKCE that protects the code.
const METHOD: &str = "S256";

/// Refuses a server whose metadata do not offer PKCE, as the specification requires.
///
/// # Errors
/// The reason for the user.
pub(super) fn require_pkce(metadata: &AuthorizationMetadata) -> Result<(), String> {
    let reason = match &metadata.code_challenge_methods_supported {
        Some(methods) if methods.iter().any(|method| method == METHOD) => return Ok(()),
        Some(_) => format!("lists no `{METHOD}` in `code_challenge_methods_supported`"),
        None => "has no `code_challenge_methods_supported`".to_owned(),
    };
    Err(format!(
        "the metadata of the sign-in server {reason}, so a stolen code would be enough to sign in; ask its operator for PKCE with `{METHOD}`"
    ))
}

/// The refusal of a server without metadata: it is unknown whether it offers PKCE.
pub(super) fn no_metadata(server: &str) -> String {
    let shown = osier_base::visible::one_line(server, 200);
    format!(
        "`{shown}` publishes no metadata of a sign-in server, so osier cannot know whether a stolen code would be enough to sign in; ask its operator for metadata with PKCE (`{METHOD}`), or set an `Authorization` header in `headers`"
    )
}

/// Refuses metadata of a public server that name a host of a private network. Requests check their
/// address again, also after redirects (`AuthorizationManager`), but only this check covers the
/// address that the browser opens.
///
/// # Errors
/// The reason for the user.
pub(super) async fn check_addresses(
    server: &str,
    metadata: &AuthorizationMetadata,
    reach: &Reach,
) -> Result<(), String> {
    if server
        .parse::<Url>()
        .is_ok_and(|server| is_private(&server))
    {
        return Ok(());
    }
    let named = [
        (
            "authorization_endpoint",
            Some(&metadata.authorization_endpoint),
        ),
        ("token_endpoint", Some(&metadata.token_endpoint)),
        (
            "registration_endpoint",
            metadata.registration_endpoint.as_ref(),
        ),
    ];
    for (field, address) in named {
        let Some(address) = address else { continue };
        let refused = |reason: &str| {
            let shown = osier_base::visible::one_line(address, 200);
            Err(format!(
                "the `{field}` of the sign-in server, `{shown}`, {reason}"
            ))
        };
        let Ok(url) = address.parse::<Url>() else {
            return refused("is not a URL");
        };
        let (Some(host), "http" | "https") = (url.host_str(), url.scheme()) else {
            return refused("is not an address of a web page");
        };
        let port = url.port_or_known_default().unwrap_or_default();
        match reach.addresses(host, port).await {
            // Perhaps only a proxy knows the name: then the proxy decides. Otherwise, the request
            // fails.
            Ok(_) | Err(ReachError::Unresolved) => {}
            Err(ReachError::Invalid) => return refused("has an invalid host"),
            Err(ReachError::Private(address)) => {
                return refused(&format!(
                    "is on a private network ({address}), but the server is not"
                ));
            }
        }
    }
    Ok(())
}

/// Whether the server's own address is one of this machine or of a private network. A name proves
/// nothing: the server's owner decides what it resolves to.
fn is_private(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default().trim_end_matches('.');
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = host == "localhost" || host.ends_with(".localhost");
    is_local || host.parse().is_ok_and(|address| !Reach::is_public(address))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(change: &serde_json::Value) -> AuthorizationMetadata {
        let mut all = json!({
            "issuer": "https://1.1.1.1", "authorization_endpoint": "https://1.1.1.1/authorize",
            "token_endpoint": "https://1.1.1.1/token", "code_challenge_methods_supported": ["plain", "S256"],
        });
        for (name, value) in change.as_object().unwrap() {
            all[name] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_server_without_pkce_is_refused() {
        for (methods, expected) in [
            (json!(["plain", "S256"]), None),
            (
                json!(["plain"]),
                Some("lists no `S256` in `code_challenge_methods_supported`"),
            ),
            (
                json!([]),
                Some("lists no `S256` in `code_challenge_methods_supported`"),
            ),
            (
                json!(null),
                Some("has no `code_challenge_methods_supported`"),
            ),
        ] {
            let change = json!({"code_challenge_methods_supported": methods});
            let found = require_pkce(&metadata(&change));
            let expected = expected.map(|reason| {
                format!(
                    "the metadata of the sign-in server {reason}, so a stolen code would be enough to sign in; ask its operator for PKCE with `S256`"
                )
            });
            assert_eq!(found.err(), expected);
        }
    }

    #[tokio::test]
    async fn metadata_of_a_public_server_name_no_private_address() {
        const PUBLIC: &str = "https://1.1.1.1/mcp";
        let private = |address: &str| {
            Some(format!(
                "is on a private network ({address}), but the server is not"
            ))
        };
        for (server, address, expected) in [
            (PUBLIC, "https://1.0.0.1/x", None),
            (PUBLIC, "http://127.0.0.1:8080/x", private("127.0.0.1")),
            (PUBLIC, "http://2130706433/x", private("127.0.0.1")),
            (PUBLIC, "http://localhost/x", private("127.0.0.1")),
            (PUBLIC, "http://[::ffff:10.0.0.1]/x", private("10.0.0.1")),
            (
                PUBLIC,
                "http://169.254.169.254/latest",
                private("169.254.169.254"),
            ),
            (
                PUBLIC,
                "file:///etc/passwd",
                Some("is not an address of a web page".to_owned()),
            ),
            (PUBLIC, "nothing", Some("is not a URL".to_owned())),
            (
                "https://name.invalid/mcp",
                "http://10.0.0.1/x",
                private("10.0.0.1"),
            ),
            ("http://localhost:3000/mcp", "http://127.0.0.1:3000/x", None),
            ("http://10.0.0.1/mcp", "http://10.0.0.2/x", None),
        ] {
            for field in [
                "authorization_endpoint",
                "token_endpoint",
                "registration_endpoint",
            ] {
                let (metadata, reach) = (metadata(&json!({field: address})), Reach::default());
                let found = check_addresses(server, &metadata, &reach).await;
                let expected = expected.as_ref().map(|reason| {
                    format!("the `{field}` of the sign-in server, `{address}`, {reason}")
                });
                assert_eq!(found.err(), expected, "{server} {address}");
            }
        }
    }
}
