//! `osier mcp login`: the challenge of the server, the browser, and the pasted address.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::web_server::{WebServer, json as answer, plain};

/// A server that requires a sign-in whose metadata only its challenge names. It is the sign-in server, too.
fn guarded() -> WebServer {
    let address = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&address);
    let server = WebServer::start(move |asked, _| {
        let base = own.lock().unwrap().clone();
        let path = asked.line.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let ok = |value: Value| answer("200 OK", &value);
        match path {
            "/special/resource" => ok(json!({
                "resource": format!("{base}/mcp"),
                "authorization_servers": [format!("{base}/sign-in")],
            })),
            "/.well-known/oauth-authorization-server/sign-in" => ok(json!({
                "issuer": format!("{base}/sign-in"),
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            })),
            "/register" => {
                let mut client = asked.json();
                client["client_id"] = json!("client-1");
                answer("201 Created", &client)
            }
            "/token" => ok(json!({
                "access_token": "token-1", "token_type": "Bearer", "expires_in": 3600, "scope": "read",
            })),
            "/mcp" => {
                let header = format!(
                    "WWW-Authenticate: Bearer resource_metadata=\"{base}/special/resource\", scope=\"read\"\r\n"
                );
                plain("401 Unauthorized", &header, "")
            }
            _ => plain("404 Not Found", "", ""),
        }
    });
    *address.lock().unwrap() = server.url();
    server
}

fn parameter(url: &str, name: &str) -> String {
    let url = reqwest::Url::parse(url).unwrap();
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(have, _)| have == name);
    found
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[test]
fn login_reads_the_challenge_and_takes_a_pasted_address() {
    let server = guarded();
    let home = Home::new();
    let servers = json!({"mcpServers": {"web": {"url": format!("{}/mcp", server.url())}}});
    home.config("mcp.json", servers.to_string());
    for (is_wrong, code) in [(true, Some(1)), (false, Some(0))] {
        let mut process = home.cli().args(["mcp", "login", "web"]).start();
        assert_eq!(
            process.line().as_deref(),
            Some("Open this URL in a browser:")
        );
        let url = process.line().unwrap().trim().to_owned();
        assert!(
            url.starts_with(&format!("{}/authorize?", server.url())),
            "{url}"
        );
        assert_eq!(parameter(&url, "scope"), "read");
        let hint = "If the browser is on another machine, paste the final URL of the browser here.";
        assert_eq!(process.line().as_deref(), Some(hint));
        process.say("what is this");
        let mut state = parameter(&url, "state");
        if is_wrong {
            state.push('x');
        }
        let redirect = parameter(&url, "redirect_uri");
        process.say(&format!("{redirect}?code=code-1&state={state}"));
        let (lines, ended, errors) = process.end();
        assert_eq!(ended, code, "{lines:?} {errors}");
        assert_eq!(
            errors,
            "! this is not the address after a sign-in: it has no `code`\n"
        );
        let expected = if is_wrong {
            "cannot sign in to `web`: the pasted address belongs to another sign-in: its `state` is wrong; start again"
        } else {
            "signed in to `web`"
        };
        assert_eq!(lines, [expected]);
    }
    let tokens = server.asked();
    let mut tokens = tokens
        .iter()
        .filter(|asked| asked.line.starts_with("POST /token"));
    assert_eq!(tokens.next().unwrap().field("code"), "code-1");
    assert!(tokens.next().is_none());
}
