//! The MCP servers that an editor passes with a session.

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};

use crate::jsonrpc::{decode, invalid_params};
use osier_mcp::{Launch, ServerConfig};

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
            let headers = server.headers.into_iter();
            let launch = Launch::Url {
                url: server.url,
                headers: headers.map(|header| (header.name, header.value)).collect(),
                client_id: None,
                client_secret: None,
                scopes: Vec::new(),
            };
            (server.name, launch)
        }
        acp::McpServer::Sse(server) => {
            return Err(invalid_params(format!(
                "MCP server `{}` has the unsupported type `sse`; expected `http` or a `command`",
                server.name
            )));
        }
        _ => {
            let text = "an MCP server needs a `command`, or the type `http` with an HTTP `url`";
            return Err(invalid_params(text));
        }
    };
    if name.is_empty() {
        return Err(invalid_params("an MCP server has an empty `name`"));
    }
    let name = name.replace(char::is_whitespace, "-");
    Ok(ServerConfig::given(&name, launch))
}

/// Adds the required lists that some editors leave out when they are empty.
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
        let web = config(json!({"type": "http", "name": "web", "url": url, "headers": []}));
        let launch = Launch::Url {
            url,
            headers: [].into(),
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
        };
        assert_eq!(web, Ok(ServerConfig::given("web", launch)));
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

    #[test]
    fn sse_server_is_rejected() {
        let server = json!({"type": "sse", "name": "old", "url": "https://x", "headers": []});
        let text =
            "MCP server `old` has the unsupported type `sse`; expected `http` or a `command`";
        assert_eq!(config(server), Err(invalid_params(text)));
    }
}
