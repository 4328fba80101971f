//! The MCP servers that an editor passes with a session.

use agent_client_protocol_schema::v1 as acp;

use crate::jsonrpc::invalid_params;
use osier_mcp::{Launch, ServerConfig};

/// The configuration of `server`. Whitespace in its name becomes `-`.
pub(super) fn config(server: acp::McpServer) -> acp::Result<ServerConfig> {
    let (name, launch) = match server {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn server_is_a_command_or_a_url() {
        let read = |value| config(serde_json::from_value(value).unwrap());
        let files = read(json!({
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
        let typed = read(json!({
            "type": "stdio", "name": "files-here", "command": "/bin/mcp", "args": ["-v"],
            "env": [{"name": "A", "value": "b"}],
        }));
        assert_eq!(typed, Ok(ServerConfig::given("files-here", launch)));
        let url = "https://example.com/mcp".to_owned();
        let web = read(json!({"type": "http", "name": "web", "url": url, "headers": []}));
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
    fn sse_server_is_rejected() {
        let server = json!({"type": "sse", "name": "old", "url": "https://x", "headers": []});
        let text =
            "MCP server `old` has the unsupported type `sse`; expected `http` or a `command`";
        assert_eq!(
            config(serde_json::from_value(server).unwrap()),
            Err(invalid_params(text))
        );
    }
}
