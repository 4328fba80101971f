//! The MCP servers that an editor passes with a session.

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};

use crate::jsonrpc::{decode, invalid_params};
use osier_mcp::{HttpProtocol, Launch, OAuthConfig, ServerConfig};

/// The configuration of `server`. Whitespace in its name becomes `-`.
pub(super) fn config(mut server: Value) -> acp::Result<ServerConfig> {
    fill_empty_lists(&mut server);
    let (name, launch) = match decode(server)? {
        acp::McpServer::Stdio(server) if !server.command.as_os_str().is_empty() => {
            let env = server.env.into_iter();
            let launch = Launch::Command {
                program: server.command.to_string_lossy().into_owned(),
                args: server.args,
                env: env
                    .map(|variable| (variable.name, variable.value))
                    .collect(),
                cwd: None,
            };
            (server.name, launch)
        }
        acp::McpServer::Http(server) if server.url.starts_with("http") => {
            let launch = address(server.url, server.headers, HttpProtocol::Streamable);
            (server.name, launch)
        }
        acp::McpServer::Sse(server) if server.url.starts_with("http") => {
            let launch = address(server.url, server.headers, HttpProtocol::Sse);
            (server.name, launch)
        }
        _ => {
            let text =
                "an MCP server needs a `command`, or the type `http` or `sse` with an HTTP `url`";
            return Err(invalid_params(text));
        }
    };
    if name.is_empty() {
        return Err(invalid_params("an MCP server has an empty `name`"));
    }
    let name = name.replace(char::is_whitespace, "-");
    Ok(ServerConfig::given(&name, launch))
}

fn address(url: String, headers: Vec<acp::HttpHeader>, protocol: HttpProtocol) -> Launch {
    let headers = headers.into_iter();
    Launch::Url {
        url,
        headers: headers.map(|header| (header.name, header.value)).collect(),
        protocol,
        oauth: OAuthConfig::default(),
    }
}

/// Adds the required lists that some editors omit when they are empty.
fn fill_empty_lists(server: &mut Value) {
    let Some(fields) = server.as_object_mut() else {
        return;
    };
    let lists: &[&str] = match fields.get("type").and_then(Value::as_str) {
        Some("http" | "sse") => &["headers"],
        _ => &["args", "env"],
    };
    for name in lists {
        fields.entry(*name).or_insert_with(|| json!([]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_a_command_or_a_url() {
        let files = config(json!({
            "name": "files here", "command": "/bin/mcp", "args": ["-v"],
            "env": [{"name": "A", "value": "b"}],
        }));
        let launch = Launch::Command {
            program: "/bin/mcp".to_owned(),
            args: vec!["-v".to_owned()],
            env: [("A".to_owned(), "b".to_owned())].into(),
            cwd: None,
        };
        assert_eq!(files, Ok(ServerConfig::given("files-here", launch.clone())));
        let typed = config(json!({
            "type": "stdio", "name": "files-here", "command": "/bin/mcp", "args": ["-v"],
            "env": [{"name": "A", "value": "b"}],
        }));
        assert_eq!(typed, Ok(ServerConfig::given("files-here", launch)));
        let url = "https://example.com/mcp".to_owned();
        for (kind, protocol) in [
            ("http", HttpProtocol::Streamable),
            ("sse", HttpProtocol::Sse),
        ] {
            let web = config(json!({"type": kind, "name": "web", "url": url, "headers": []}));
            let launch = Launch::Url {
                url: url.clone(),
                headers: [].into(),
                protocol,
                oauth: OAuthConfig::default(),
            };
            assert_eq!(web, Ok(ServerConfig::given("web", launch)));
        }
    }

    #[test]
    fn empty_lists_may_be_missing() {
        for (short, whole) in [
            (
                json!({"name": "files", "command": "/bin/mcp"}),
                json!({"name": "files", "command": "/bin/mcp", "args": [], "env": []}),
            ),
            (
                json!({"type": "http", "name": "web", "url": "https://x"}),
                json!({"type": "http", "name": "web", "url": "https://x", "headers": []}),
            ),
        ] {
            assert!(config(short.clone()).is_ok(), "{short}");
            assert_eq!(config(short), config(whole));
        }
    }
}
