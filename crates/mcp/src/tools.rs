//! A server's tool as a tool of the agent.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, Tool as Listed};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::config::ServerConfig;
use super::connection::{CallError, Connection, Wait};
use super::messages;
use super::result;
use super::size::values;
use osier_agent::{
    PreparedCall, Preparing, Tool, ToolContext, ToolHints, ToolOrigin, ToolOutput, ToolStatus,
};
use osier_base::server_tool::tool_name;
use osier_base::text;
use osier_base::visible::visible;
use osier_llm::ToolSpec;
use osier_tools::Workspace;

/// Maximum bytes of a description.
const DESCRIPTION_LIMIT: usize = 4096;
/// Maximum bytes of the name for people.
const TITLE_LIMIT: usize = 120;
/// Maximum bytes of an argument schema.
const SCHEMA_LIMIT: usize = 32 * 1024;

/// Approximate bytes of a JSON value in memory.
const VALUE_SIZE: usize = 100;

/// The connection of a tool's server, or why there is none.
#[derive(Debug)]
pub(super) struct Link {
    current: watch::Sender<Result<Connection, Down>>,
    /// How long a call waits for a server that starts.
    patience: Duration,
}

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(super) struct Down {
    pub reason: String,
    /// Whether the server starts, or will start.
    pub is_starting: bool,
}

impl Link {
    pub(super) fn down(reason: &str, patience: Duration) -> Self {
        let down = Down {
            reason: reason.to_owned(),
            is_starting: false,
        };
        Self {
            current: watch::channel(Err(down)).0,
            patience,
        }
    }

    pub(super) fn set(&self, connection: Result<Connection, Down>) {
        drop(self.current.send_replace(connection));
    }

    pub(super) fn get(&self) -> Result<Connection, String> {
        self.current.borrow().clone().map_err(|down| down.reason)
    }

    /// The connection. Waits for a server that is about to be ready.
    async fn wait(&self, cancel: &CancellationToken) -> Result<Connection, String> {
        let mut current = self.current.subscribe();
        let ready = current.wait_for(|current| match current {
            Ok(connection) => !connection.is_closed(),
            Err(down) => !down.is_starting,
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            _ = tokio::time::timeout(self.patience, ready) => {}
        }
        self.get()
    }
}

/// A tool of a server.
#[derive(Debug)]
pub(super) struct ServerTool {
    spec: ToolSpec,
    title: Option<String>,
    pub server: String,
    /// The server's name of the tool.
    pub tool: String,
    hints: ToolHints,
    requires_task: bool,
    timeout: Duration,
    link: Arc<Link>,
    workspace: Arc<Workspace>,
    /// The parts of the definition that were omitted.
    pub cut: Option<&'static str>,
}

impl ServerTool {
    pub(super) fn new(
        listed: &Listed,
        config: &ServerConfig,
        link: &Arc<Link>,
        workspace: &Arc<Workspace>,
    ) -> Self {
        let (server, tool) = (config.name.clone(), listed.name.to_string());
        let description = listed.description.as_deref().unwrap_or(&tool);
        let description = text::sanitize(description);
        let mut cut = (description.len() > DESCRIPTION_LIMIT).then_some("its description");
        let description = text::head_bytes(&description, DESCRIPTION_LIMIT).to_owned();
        let mut parameters = Value::Object((*listed.input_schema).clone());
        leave_defaults_out(&mut parameters);
        if size(&parameters) > SCHEMA_LIMIT {
            cut = Some("the descriptions in its schema");
            strip(&mut parameters);
        }
        if size(&parameters) > SCHEMA_LIMIT {
            cut = Some("its schema");
            parameters = json!({"type": "object"});
        }
        let annotations = listed.annotations.as_ref();
        let title = listed.title.as_ref();
        let title = title.or_else(|| annotations.and_then(|known| known.title.as_ref()));
        let title = title.map(|title| visible(text::head_bytes(title, TITLE_LIMIT)).into_owned());
        let hint =
            |read: fn(&rmcp::model::ToolAnnotations) -> Option<bool>| annotations.and_then(read);
        Self {
            spec: ToolSpec {
                freeform: None,
                name: tool_name(&server, &tool),
                description,
                parameters,
            },
            title: title.filter(|title| !title.trim().is_empty()),
            hints: ToolHints {
                read_only: hint(|annotations| annotations.read_only_hint),
                destructive: hint(|annotations| annotations.destructive_hint),
                idempotent: hint(|annotations| annotations.idempotent_hint),
                open_world: hint(|annotations| annotations.open_world_hint),
            },
            requires_task: messages::requires_task(listed),
            timeout: config.timeout,
            link: Arc::clone(link),
            workspace: Arc::clone(workspace),
            server,
            tool,
            cut,
        }
    }

    /// Approximate bytes of the tool in memory: a value of its schema needs more than its text.
    pub(super) fn size(&self) -> usize {
        let schema = self.spec.parameters.to_string();
        let texts = self.tool.len() + self.spec.description.len() + schema.len();
        texts + VALUE_SIZE * values(schema.as_bytes())
    }

    async fn call(&self, arguments: Value, cx: ToolContext) -> ToolOutput {
        let server = self.server.clone();
        let connection = match self.link.wait(&cx.cancel).await {
            Ok(connection) => connection,
            Err(message) => {
                let text = format!(
                    "The MCP server `{server}` is unavailable: {message}. Continue without it, or try again later."
                );
                return ToolOutput::failed(ToolStatus::ConnectionError { server, message }, text);
            }
        };
        let mut params = CallToolRequestParams::new(self.tool.clone());
        params.arguments = match arguments {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        };
        let wait = Wait {
            cancel: cx.cancel,
            timeout: self.timeout,
            updates: cx.updates,
        };
        let changes = connection.tool_changes().announced();
        let answer = connection
            .call_tool(params, self.requires_task, &wait)
            .await;
        let announces = connection.announces_tools();
        if answer.is_ok() {
            // The next request offers the tools that the call has changed.
            connection.tool_changes().settled(changes, announces).await;
        }
        match answer {
            Ok(result) => result::output(result, &server, &self.tool, &self.workspace).await,
            Err(error) => failure(server, &error),
        }
    }
}

fn failure(server: String, error: &CallError) -> ToolOutput {
    let message = text::sanitize(&error.to_string()).into_owned();
    let message = text::head_bytes(&message, DESCRIPTION_LIMIT).to_owned();
    let (status, text) = match error {
        CallError::Cancelled => (ToolStatus::Aborted, "interrupted".to_owned()),
        CallError::Late { after } => {
            let timeout_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            let text = format!("The MCP server `{server}` failed: {message}.");
            (ToolStatus::Timeout { timeout_ms }, text)
        }
        CallError::Closed(_) => {
            let text = format!(
                "The connection to the MCP server `{server}` was lost during the call: {message}. It is being restarted; the call may or may not have had an effect."
            );
            (ToolStatus::ConnectionError { server, message }, text)
        }
        CallError::Server(_) => {
            let text = format!("The MCP server `{server}` returned an error: {message}");
            (ToolStatus::McpServerError { server, message }, text)
        }
    };
    ToolOutput::failed(status, text)
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Server {
            server: self.server.clone(),
            tool: self.tool.clone(),
        }
    }

    fn title(&self) -> Option<String> {
        self.title.clone()
    }

    fn hints(&self) -> ToolHints {
        self.hints
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        PreparedCall::new(move |cx| async move { self.call(arguments, cx).await }).ready()
    }
}

fn size(schema: &Value) -> usize {
    serde_json::to_string(schema).map_or(usize::MAX, |json| json.len())
}

/// Makes arguments with a default optional: servers list them as required, and calls leave them out.
fn leave_defaults_out(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let properties = fields.get("properties").and_then(Value::as_object);
    let with_default = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| {
            let has_default = value.get("default").is_some();
            has_default.then(|| name.clone())
        });
    let with_default: Vec<String> = with_default.collect();
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.retain(|name| !with_default.iter().any(|known| name == known));
    }
}

/// Removes the parts of a schema that are only documentation.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for key in ["description", "examples", "title", "$comment"] {
                if fields.get(key).is_some_and(|value| !value.is_object()) {
                    fields.remove(key);
                }
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::config::parse;
    use super::*;

    fn tool(listed: Value) -> ServerTool {
        let text = r#"{"mcpServers": {"s": {"command": "x"}}}"#;
        let servers = parse(Path::new("mcp.json"), text, &BTreeMap::new());
        let (link, workspace) = (
            Arc::new(Link::down("it is down", Duration::ZERO)),
            Arc::new(Workspace::new("/")),
        );
        let listed = serde_json::from_value(listed).unwrap();
        ServerTool::new(&listed, &servers.servers["s"], &link, &workspace)
    }

    #[test]
    fn a_tool_has_its_servers_name_and_hints() {
        let tool = tool(json!({
            "name": "look",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "title": "Old title"}
        }));
        assert_eq!(tool.spec().name, "s__look");
        assert_eq!(tool.title().as_deref(), Some("Old title"));
        let expected = ToolHints {
            read_only: Some(true),
            destructive: Some(false),
            ..ToolHints::default()
        };
        assert_eq!(tool.hints(), expected);
    }

    #[test]
    fn arguments_with_a_default_are_optional() {
        let tool = tool(json!({"name": "shot", "inputSchema": {
            "type": "object", "required": ["scale", "path", 3],
            "properties": {"scale": {"type": "string", "default": "css"}, "path": {"type": "string"}}
        }}));
        assert_eq!(tool.spec().parameters["required"], json!(["path", 3]));
    }

    #[test]
    fn a_huge_schema_loses_descriptions_and_then_everything() {
        let field = |length: usize| json!({"type": "string", "description": "x".repeat(length)});
        let explained = tool(json!({"name": "a", "inputSchema": {
            "type": "object", "properties": {"description": field(100_000)}
        }}));
        assert_eq!(
            explained.spec().parameters,
            json!({"type": "object", "properties": {"description": {"type": "string"}}})
        );
        assert_eq!(explained.cut, Some("the descriptions in its schema"));
        let names: serde_json::Map<String, Value> = (0..5000)
            .map(|place| (format!("f{place}"), field(1)))
            .collect();
        let schema = json!({"type": "object", "properties": names});
        let all =
            tool(json!({"name": "a", "inputSchema": schema, "description": "y".repeat(9000)}));
        assert_eq!(all.spec().parameters, json!({"type": "object"}));
        assert_eq!(all.spec().description.len(), DESCRIPTION_LIMIT);
        assert_eq!(all.cut, Some("its schema"));
        // The size is 17 bytes of JSON with two values, the name and the description.
        assert_eq!(all.size(), 17 + 2 * VALUE_SIZE + 1 + DESCRIPTION_LIMIT);
    }

    #[tokio::test]
    async fn a_call_of_an_unavailable_server_fails_immediately() {
        let tool = tool(json!({"name": "a", "inputSchema": {"type": "object"}}));
        let cx = ToolContext {
            call_id: String::new(),
            cancel: tokio_util::sync::CancellationToken::new(),
            updates: osier_agent::UpdateSink::discard(),
        };
        let mut prepared = Arc::new(tool).prepare(json!({})).await.unwrap();
        let output = prepared.run(cx).await;
        let expected = ToolStatus::ConnectionError {
            server: "s".into(),
            message: "it is down".into(),
        };
        assert_eq!(output.status, expected);
    }
}
