//! The types of hooks, each with its fields.

use serde_json::{Map, Value};

use super::action::Action;
use super::service::Service;

/// The fields of each type.
pub(super) const FIELDS: &[&str] = &["type", "timeout", "if", "onFailure", "statusMessage"];

/// A field with a wrong value, and a description of the expected value.
pub(super) type Unfit = (&'static str, &'static str);

/// Reads the action of a hook from its fields and the value of the required field; `true` for a
/// hook of a project.
type ReadAction = fn(&Map<String, Value>, &str, bool) -> Result<Action, Unfit>;

/// A type of hooks.
pub(super) struct Kind {
    pub name: &'static str,
    /// The field that each hook of this type has.
    pub needs: &'static str,
    /// The fields that only this type has.
    pub fields: &'static [&'static str],
    /// Reads the action of a hook of this type.
    pub read: ReadAction,
}

/// The types of hooks; the first is that of a hook without `type`.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "command",
        needs: "command",
        fields: &["command", "args", "async"],
        read: |_, _, _| Ok(Action::Program),
    },
    Kind {
        name: "http",
        needs: "url",
        fields: &["url", "headers", "allowedEnvVars"],
        read: |hook, url, of_project| {
            let headers = optional(hook, "headers", "an object with texts", texts_by_name)?;
            let variables = optional(hook, "allowedEnvVars", "a list of texts", texts)?;
            let url = url.trim().to_owned();
            let is_web = ["http://", "https://"].iter().any(|it| url.starts_with(it));
            let service = Service::Http {
                url,
                headers,
                variables,
                of_project,
            };
            is_web
                .then(|| Action::Service(Box::new(service)))
                .ok_or(("url", "an address with http or https"))
        },
    },
    Kind {
        name: "prompt",
        needs: "prompt",
        fields: &["prompt", "model", "continueOnBlock"],
        read: |hook, prompt, _| question(hook, prompt, false),
    },
    Kind {
        name: "agent",
        needs: "prompt",
        fields: &["prompt", "model"],
        read: |hook, prompt, _| question(hook, prompt, true),
    },
    Kind {
        name: "mcp_tool",
        needs: "server",
        fields: &["server", "tool", "input"],
        read: |hook, server, _| {
            let tool = text(hook, "tool").filter(|tool| !tool.is_empty());
            let input = hook.get("input").cloned();
            let input = input.unwrap_or_else(|| Value::Object(Map::new()));
            if !input.is_object() {
                return Err(("input", "an object"));
            }
            Ok(Action::Service(Box::new(Service::Tool {
                server: server.to_owned(),
                tool: tool.ok_or(("tool", "a text"))?.to_owned(),
                input,
            })))
        },
    },
];

/// The action of a hook that asks a model or an agent.
fn question(hook: &Map<String, Value>, prompt: &str, is_agent: bool) -> Result<Action, Unfit> {
    let continues = optional(hook, "continueOnBlock", "true or false", Value::as_bool)?;
    let model = optional(hook, "model", "a text", |value| {
        Some(Some(value.as_str()?.to_owned()))
    })?;
    Ok(Action::Service(Box::new(Service::Prompt {
        prompt: prompt.to_owned(),
        model,
        continues: continues && !is_agent,
        is_agent,
    })))
}

/// The value of a field, or its default.
fn optional<T: Default>(
    hook: &Map<String, Value>,
    name: &'static str,
    expected: &'static str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<T, Unfit> {
    match hook.get(name) {
        None => Ok(T::default()),
        Some(value) => read(value).ok_or((name, expected)),
    }
}

pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    let texts = value.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}

fn texts_by_name(value: &Value) -> Option<Vec<(String, String)>> {
    let fields = value.as_object()?.iter();
    let texts = fields.map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())));
    texts.collect()
}

pub(super) fn text<'a>(hook: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    hook.get(key).and_then(Value::as_str)
}
