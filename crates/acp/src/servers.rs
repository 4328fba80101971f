//! MCP servers that an editor hands over with a session.

use std::collections::BTreeMap;

use serde_json::Value;

use super::wire::Fault;
use osier_mcp::{Launch, ServerConfig};

/// The servers of `mcpServers`; a session without them has none.
pub(super) fn read(servers: &Value) -> Result<Vec<ServerConfig>, Fault> {
    let servers = servers.as_array().map(Vec::as_slice).unwrap_or_default();
    servers.iter().map(server).collect()
}

fn server(server: &Value) -> Result<ServerConfig, Fault> {
    let word = |name: &str| server[name].as_str().unwrap_or_default();
    let name: String = word("name")
        .chars()
        .map(|letter| if letter.is_whitespace() { '-' } else { letter })
        .collect();
    if name.is_empty() {
        return Err(Fault::params("an MCP server has no `name`"));
    }
    let launch = match word("type") {
        "" | "stdio" if !word("command").is_empty() => Launch::Command {
            program: word("command").to_owned(),
            args: texts(&server["args"]),
            env: pairs(&server["env"]),
            cwd: None,
        },
        "http" if word("url").starts_with("http") => Launch::Url {
            url: word("url").to_owned(),
            headers: pairs(&server["headers"]),
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
        },
        kind => {
            let text = format!(
                "the MCP server `{name}` of type `{kind}` cannot be reached: give a `command`, or `http` with a `url`"
            );
            return Err(Fault::params(text));
        }
    };
    Ok(ServerConfig::given(&name, launch))
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

/// `[{name, value}]`.
fn pairs(list: &Value) -> BTreeMap<String, String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|pair| {
        let (name, value) = (pair["name"].as_str()?, pair["value"].as_str()?);
        Some((name.to_owned(), value.to_owned()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let servers = read(&json!([
            {"name": "files here", "command": "/bin/mcp", "args": ["-v"], "env": [{"name": "A", "value": "b"}]},
            {"type": "http", "name": "web", "url": "https://example.com/mcp", "headers": []},
        ]))
        .unwrap();
        assert_eq!(
            (servers[0].name.as_str(), servers[0].shown.as_str()),
            ("files-here", "/bin/mcp -v")
        );
        assert!(servers[1].launch.is_url());
        assert_eq!(read(&Value::Null).unwrap(), []);
        let fault = read(&json!([{"type": "sse", "name": "old", "url": "https://x"}])).unwrap_err();
        assert!(fault.message.contains("`old` of type `sse`"), "{fault:?}");
    }
}
