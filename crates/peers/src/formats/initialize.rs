//! The request `initialize`, with which programs on the Agent SDKs begin. Most of it sets up the session, so it is read
//! before the session starts.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The settings of `initialize`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Initialize {
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// The schema that the answers must match.
    pub schema: Option<String>,
    /// The subagents: the name of each, and its definition as Markdown with front matter.
    pub agents: Vec<(String, String)>,
    /// The MCP servers that run in the program.
    pub servers: Vec<String>,
    pub title: Option<String>,
}

/// The use of a field of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldUse {
    /// The field has an effect.
    Read,
    /// The field only announces what the program can show.
    Announcement,
}

use FieldUse::{Announcement, Read};

/// The fields that are not refused.
const FIELDS: [(&str, FieldUse); 15] = [
    ("subtype", Read),
    ("hooks", Read),
    ("systemPrompt", Read),
    ("appendSystemPrompt", Read),
    ("jsonSchema", Read),
    ("agents", Read),
    ("title", Read),
    ("sdkMcpServers", Read),
    // The manifests repeat the answers of the servers.
    ("sdkMcpServerManifests", Announcement),
    ("excludeDynamicSections", Announcement),
    ("keepsBypassHeld", Announcement),
    ("offersBypassSwitchBack", Announcement),
    ("perTaskStopAffordance", Announcement),
    ("rapidFollowupPreempt", Announcement),
    ("supportedDialogKinds", Announcement),
];

impl Initialize {
    /// The request in a line of a program; `None` for other lines, and for a request that is
    /// refused when it is answered.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        let value = serde_json::from_slice::<Value>(line).ok()?;
        let request = &value["request"];
        let is_request = value["type"] == "control_request" && request["subtype"] == "initialize";
        is_request.then(|| Self::read(request).ok()).flatten()
    }

    /// Reads the request.
    ///
    /// # Errors
    /// Names the field that osier does not support, or that has a wrong value.
    pub(super) fn read(request: &Value) -> Result<Self, String> {
        let fields = request.as_object().into_iter().flatten();
        let is_known = |name: &str| FIELDS.iter().any(|(known, _)| *known == name);
        let mut unknown = fields.filter(|(name, value)| !is_known(name) && !is_empty(value));
        if let Some((name, _)) = unknown.next() {
            return Err(format!(
                "osier does not support `{name}` of the SDK; configure it in osier's own files"
            ));
        }
        let schema = &request["jsonSchema"];
        Ok(Self {
            system_prompt: text(request, "systemPrompt")?,
            append_system_prompt: text(request, "appendSystemPrompt")?,
            schema: (!is_empty(schema)).then(|| schema.to_string()),
            agents: agents(&request["agents"])?,
            servers: servers(&request["sdkMcpServers"])?,
            title: text(request, "title")?,
        })
    }
}

/// The text of a field, or of the parts of its list; `None` if it is blank.
fn text(request: &Value, name: &str) -> Result<Option<String>, String> {
    let parts = match &request[name] {
        value if is_empty(value) => return Ok(None),
        Value::String(text) => vec![text.as_str()],
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        _ => return Err(format!("`{name}` of the SDK is no text")),
    };
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(Some(parts.join("\n\n")))
}

fn servers(given: &Value) -> Result<Vec<String>, String> {
    if is_empty(given) {
        return Ok(Vec::new());
    }
    serde_json::from_value(given.clone())
        .map_err(|_| "`sdkMcpServers` of the SDK is no list of names".to_owned())
}

/// The definitions of `agents`, each as the Markdown file that it could be.
fn agents(given: &Value) -> Result<Vec<(String, String)>, String> {
    let agents = match given {
        value if is_empty(value) => return Ok(Vec::new()),
        Value::Object(agents) => agents,
        _ => return Err("`agents` of the SDK is not an object".to_owned()),
    };
    let agent = |(name, fields): (&String, &Value)| {
        let fields = fields.as_object();
        let fields = fields.ok_or_else(|| format!("the agent `{name}` is not an object"))?;
        Ok((name.clone(), definition(name, fields)?))
    };
    agents.iter().map(agent).collect()
}

fn definition(name: &str, fields: &Map<String, Value>) -> Result<String, String> {
    let mut head = format!("---\nname: {}\n", Value::from(name));
    let mut prompt = None;
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("prompt", Value::String(text)) => prompt = Some(text),
            // An empty list of tools means no tools.
            ("tools", Value::Array(_)) => {}
            (_, value) if is_empty(value) => continue,
            ("description" | "model", Value::String(_)) | ("disallowedTools", Value::Array(_)) => {}
            _ => {
                return Err(format!(
                    "osier does not support `{field}` of the agent `{name}` with this value"
                ));
            }
        }
        if field != "prompt" {
            let _ = writeln!(head, "{field}: {value}");
        }
    }
    if fields.get("description").is_none_or(is_empty) {
        return Err(format!("the agent `{name}` has no `description`"));
    }
    let prompt = prompt.ok_or_else(|| format!("the agent `{name}` has no `prompt`"))?;
    Ok(format!("{head}---\n{prompt}\n"))
}

/// Whether a value is empty. The SDK for TypeScript always sends `"systemPrompt": [""]`.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(values) => values.iter().all(is_empty),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_set_up_the_session() {
        let request = json!({"type": "control_request", "request_id": "1", "request": {
            "subtype": "initialize", "hooks": {}, "systemPrompt": ["Be brief.", ""], "appendSystemPrompt": "Cite.",
            "jsonSchema": {"type": "object"}, "title": "review", "sdkMcpServers": ["calc"], "promptSuggestions": false,
            "agents": {"critic": {"description": "a \"hard\" critic", "prompt": "Find faults.\nAll.",
                "tools": ["Read", "Grep"], "model": "sonnet", "background": false}},
        }});
        let definition = "---\nname: \"critic\"\ndescription: \"a \\\"hard\\\" critic\"\ntools: [\"Read\",\"Grep\"]\n\
            model: \"sonnet\"\n---\nFind faults.\nAll.\n";
        let expected = Initialize {
            system_prompt: Some("Be brief.".to_owned()),
            append_system_prompt: Some("Cite.".to_owned()),
            schema: Some("{\"type\":\"object\"}".to_owned()),
            agents: vec![("critic".to_owned(), definition.to_owned())],
            servers: vec!["calc".to_owned()],
            title: Some("review".to_owned()),
        };
        let line = request.to_string();
        assert_eq!(Initialize::of_line(line.as_bytes()), Some(expected));
        let prompt = json!({"type": "user", "message": {"content": "hi"}}).to_string();
        assert_eq!(Initialize::of_line(prompt.as_bytes()), None);
        let bare = json!({"subtype": "initialize", "systemPrompt": [""], "agents": null});
        assert_eq!(Initialize::read(&bare), Ok(Initialize::default()));
    }

    #[test]
    fn fields_without_an_effect_are_refused_by_name() {
        for (field, value, expected) in [
            (
                "toolAliases",
                json!({"Read": "x"}),
                "osier does not support `toolAliases` of the SDK; configure it in osier's own files",
            ),
            (
                "systemPrompt",
                json!(7),
                "`systemPrompt` of the SDK is no text",
            ),
            (
                "sdkMcpServers",
                json!({"a": 1}),
                "`sdkMcpServers` of the SDK is no list of names",
            ),
            (
                "agents",
                json!({"a": {"prompt": "p"}}),
                "the agent `a` has no `description`",
            ),
            (
                "agents",
                json!({"a": {"description": "d"}}),
                "the agent `a` has no `prompt`",
            ),
            (
                "agents",
                json!({"a": {"description": "d", "prompt": "p", "maxTurns": 3}}),
                "osier does not support `maxTurns` of the agent `a` with this value",
            ),
        ] {
            let request = json!({"subtype": "initialize", field: value});
            assert_eq!(Initialize::read(&request), Err(expected.to_owned()));
        }
    }
}
