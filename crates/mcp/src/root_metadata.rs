//! Sign-ins of version 2025-03-26: the server is its own sign-in server, and its metadata is at the
//! root of its origin. In that version, the issuer in the metadata may have a path; later versions
//! require an exact issuer.

use reqwest::{Client, Url};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;

use super::http::{CHALLENGE_TIME, json_body};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";

/// The metadata at the root of the server at `url`. None if the server names a sign-in server, or if a part of the
/// metadata is at another origin.
pub(super) async fn read(url: &str, client: &Client) -> Option<AuthorizationMetadata> {
    let server: Url = url.parse().ok()?;
    let path = server.path().trim_end_matches('/');
    for resource in [format!("{RESOURCE}{path}"), RESOURCE.to_owned()] {
        let names_server = get(client, &server, &resource).await;
        if names_server.is_some() {
            return None;
        }
    }
    let metadata = get(client, &server, SERVER).await?;
    let is_own = |field: &str| {
        let address = metadata.get(field).and_then(Value::as_str);
        let address = address.and_then(|address| address.parse::<Url>().ok());
        address.is_some_and(|address| address.origin() == server.origin())
    };
    let required = ["issuer", "authorization_endpoint", "token_endpoint"];
    let registration =
        metadata.get("registration_endpoint").is_none() || is_own("registration_endpoint");
    if !registration || !required.into_iter().all(is_own) {
        return None;
    }
    serde_json::from_value(metadata).ok()
}

/// The object at `path` of `server`.
async fn get(client: &Client, server: &Url, path: &str) -> Option<Value> {
    let address = server.join(path).ok()?;
    let request = client.get(address).timeout(CHALLENGE_TIME);
    let response = request.send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    json_body(response).await.filter(Value::is_object)
}
