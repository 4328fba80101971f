//! The table `osier` of a plugin: registration, user interface and messages.

use std::sync::Arc;

use mlua::{Error, Function, Lua, LuaSerdeExt as _, Result, Table, Value};

use super::api::{FUNCTIONS, STYLES, find_event};
use super::channel::{PluginMessage, Request};
use super::convert::{fail, from_lua, only, optional, to_lua};
use super::cx::PluginCx;
use super::{async_functions, lines};
use osier_agent::Severity;
use osier_base::problem::nearest;
use osier_base::text::{head_bytes, single_line};
use osier_llm::ToolSpec;
use osier_protocol::{AddedCommand, PluginKey};

/// Maximum bytes of a text in the footer.
const STATUS_LIMIT: usize = 4 * 1024;
/// Maximum bytes of a notice.
const NOTICE_LIMIT: usize = 64 * 1024;

/// Adds everything in [`FUNCTIONS`] to the Lua state.
pub(super) fn install(lua: &Lua, cx: &Arc<PluginCx>) -> Result<()> {
    let osier = lua.create_table()?;
    for part in ["ui", "model", "json"] {
        osier.set(part, lua.create_table()?)?;
    }
    for function in FUNCTIONS {
        let value = make(lua, cx, function.name)?;
        let value = match value {
            Value::Function(inner) if function.at_load => {
                Value::Function(only_at_load(lua, cx, function.name, inner)?)
            }
            value => value,
        };
        match function.name.split_once('.') {
            Some((part, name)) => osier.get::<Table>(part)?.set(name, value)?,
            None => osier.set(function.name, value)?,
        }
    }
    let globals = lua.globals();
    globals.set("osier", osier)?;
    let told = Arc::clone(cx);
    let print = lua.create_function(move |_, values: mlua::Variadic<Value>| {
        let texts = values.iter().map(Value::to_string);
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        notify(&told, &texts.join(" "), Severity::Info)
    })?;
    globals.set("print", print)
}

fn make(lua: &Lua, cx: &Arc<PluginCx>, name: &str) -> Result<Value> {
    let cx = Arc::clone(cx);
    let function = match name {
        "on" => lua.create_function(move |_, (event, function): (String, Function)| {
            on(&cx, &event, function)
        }),
        "tool" => lua.create_function(move |lua, given: Table| tool(lua, &cx, &given)),
        "command" => lua.create_function(move |_, given: Table| command(&cx, &given)),
        "keymap" => lua.create_function(
            move |_, (keys, description, function): (String, String, Function)| {
                keymap(&cx, keys, description, function)
            },
        ),
        "renderer" => lua.create_function(move |_, (kind, function): (String, Function)| {
            cx.allowances.registrations.spend(kind.len())?;
            cx.handlers.get().renderers.insert(kind, function);
            Ok(())
        }),
        "ui.notify" => lua.create_function(move |_, (text, severity): (String, Option<String>)| {
            notify(&cx, &text, severity_of(severity.as_deref())?)
        }),
        "status" => lua.create_function(move |_, text: Option<String>| {
            let text = text.as_deref().map(|text| head_bytes(text, STATUS_LIMIT));
            let text = text.map(single_line);
            let plugin = cx.name.clone();
            cx.send(STATUS_LIMIT, Request::Status { plugin, text })
        }),
        "widget" => lua.create_function(move |lua, value: Value| {
            let lines = lines::read(&from_lua(lua, value)?).or_else(fail)?;
            let plugin = cx.name.clone();
            cx.send(lines::bytes(&lines), Request::Widget { plugin, lines })
        }),
        "send_message" => {
            lua.create_async_function(move |lua, (text, options): (String, Option<Table>)| {
                let cx = Arc::clone(&cx);
                async move { send_message(&lua, &cx, text, options).await }
            })
        }
        "append_entry" => lua.create_async_function(move |lua, (kind, data): (String, Value)| {
            let cx = Arc::clone(&cx);
            async move {
                let lines = render(&lua, &cx, &kind, &data).await?;
                store(
                    &cx,
                    PluginMessage {
                        display: lines.is_some(),
                        lines: lines.unwrap_or_default(),
                        kind,
                        data: from_lua(&lua, data)?,
                        ..PluginMessage::default()
                    },
                )
            }
        }),
        "json.encode" => lua.create_function(|lua, value: Value| {
            serde_json::to_string(&from_lua(lua, value)?).map_err(Error::external)
        }),
        "json.decode" => lua.create_function(|lua, text: String| {
            match serde_json::from_str::<serde_json::Value>(&text) {
                Ok(value) => to_lua(lua, &value),
                Err(error) => fail(format!("no JSON: {error}")),
            }
        }),
        "cwd" => return lua.to_value(&cx.cwd.to_string_lossy()),
        "plugin" => return lua.to_value(&cx.name),
        "version" => return lua.to_value(env!("CARGO_PKG_VERSION")),
        name => return async_functions::make(lua, &cx, name).map(Value::Function),
    };
    function.map(Value::Function)
}

fn keymap(cx: &PluginCx, keys: String, description: String, function: Function) -> Result<()> {
    let bytes = keys.len() + description.len();
    cx.allowances.registrations.spend(bytes)?;
    cx.registration().keys.push(PluginKey {
        keys: keys.clone(),
        description,
        plugin: cx.name.clone(),
    });
    cx.handlers.get().keys.insert(keys, function);
    Ok(())
}

fn severity_of(name: Option<&str>) -> Result<Severity> {
    match name {
        None | Some("info") => Ok(Severity::Info),
        Some("warning") => Ok(Severity::Warning),
        Some("error") => Ok(Severity::Error),
        Some(other) => fail(format!(
            "unknown severity `{other}`; expected info, warning or error"
        )),
    }
}

/// Wraps a registration function so that it fails after loading.
fn only_at_load(
    lua: &Lua,
    cx: &Arc<PluginCx>,
    name: &'static str,
    inner: Function,
) -> Result<Function> {
    let cx = Arc::clone(cx);
    lua.create_function(move |_, values: mlua::MultiValue| {
        if !cx.is_loading() {
            return fail(format!(
                "`osier.{name}` is only available while the file loads"
            ));
        }
        inner.call::<mlua::MultiValue>(values)
    })
}

fn notify(cx: &PluginCx, text: &str, severity: Severity) -> Result<()> {
    let text = osier_base::text::sanitize(head_bytes(text, NOTICE_LIMIT));
    let text = format!("{}: {text}", cx.name);
    cx.send(text.len(), Request::Notify { severity, text })
}

fn on(cx: &PluginCx, name: &str, function: Function) -> Result<()> {
    let Some(event) = find_event(name) else {
        let events = super::api::INTERCEPTED.iter().chain(super::api::NOTIFIED);
        let known = nearest(name, events.map(|event| event.name));
        let hint = known.map_or_else(String::new, |known| format!(": did you mean `{known}`?"));
        return fail(format!("unknown event `{name}`{hint}"));
    };
    cx.allowances.registrations.spend(0)?;
    let mut registration = cx.registration();
    if !registration.events.contains(&event.name) {
        registration.events.push(event.name);
    }
    drop(registration);
    let mut handlers = cx.handlers.get();
    handlers
        .events
        .entry(event.name)
        .or_default()
        .push(function);
    Ok(())
}

/// A field that must be a string that is not empty.
fn text_of(given: &Table, field: &str, what: &str) -> Result<String> {
    match given.get::<Option<String>>(field) {
        Ok(Some(text)) if !text.trim().is_empty() => Ok(text),
        _ => fail(format!("{what} needs `{field}`, a string")),
    }
}

fn run_of(given: &Table, what: &str) -> Result<Function> {
    given
        .get::<Function>("run")
        .or_else(|_| fail(format!("{what} needs `run`, a function")))
}

fn tool(lua: &Lua, cx: &PluginCx, given: &Table) -> Result<()> {
    only(
        given,
        &["name", "description", "parameters", "run"],
        "a tool",
    )?;
    let name = text_of(given, "name", "a tool")?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    if name.len() > 64 || !name.chars().all(is_name) {
        return fail(format!("invalid tool name `{name}`: use a-z, 0-9, _ and -"));
    }
    // Permissions depend on the name of a tool.
    if osier_tools::find(&name).is_some() {
        return fail(format!("`{name}` is a built-in tool: choose another name"));
    }
    let parameters = match given.get::<Value>("parameters")? {
        Value::Nil => serde_json::json!({"type": "object", "properties": {}}),
        value => from_lua(lua, value)?,
    };
    if parameters.get("type").and_then(serde_json::Value::as_str) != Some("object") {
        return fail(format!(
            "`parameters` of `{name}` must be a JSON schema of `type = \"object\"`"
        ));
    }
    let spec = ToolSpec {
        freeform: None,
        description: text_of(given, "description", "a tool")?,
        parameters: without_empty_maps(parameters),
        name: name.clone(),
    };
    let function = run_of(given, "a tool")?;
    let bytes = spec.description.len() + spec.parameters.to_string().len();
    cx.allowances.registrations.spend(bytes)?;
    cx.registration().tools.push(spec);
    cx.handlers.get().tools.insert(name, function);
    Ok(())
}

/// An empty Lua table can be a list or an object; in a schema, `required` is a list.
fn without_empty_maps(mut schema: serde_json::Value) -> serde_json::Value {
    if let Some(fields) = schema.as_object_mut() {
        for name in ["required", "enum"] {
            let is_empty = fields
                .get(name)
                .and_then(serde_json::Value::as_object)
                .is_some_and(serde_json::Map::is_empty);
            if is_empty {
                fields.insert(name.to_owned(), serde_json::json!([]));
            }
        }
    }
    schema
}

fn command(cx: &PluginCx, given: &Table) -> Result<()> {
    let known = ["name", "description", "argument", "values", "run"];
    only(given, &known, "a command")?;
    let name = text_of(given, "name", "a command")?;
    if name.contains(char::is_whitespace) || name.contains('/') {
        return fail(format!(
            "invalid command name `{name}`: use no spaces and no slashes"
        ));
    }
    let text = |field: &str| {
        optional(given, field, "a command", "a string").map(Option::unwrap_or_default)
    };
    let command = AddedCommand {
        name: name.clone(),
        aliases: Vec::new(),
        argument: text("argument")?,
        description: text("description")?,
        origin: cx.name.clone(),
        values: optional(given, "values", "a command", "a list of strings")?.unwrap_or_default(),
    };
    let function = run_of(given, "a command")?;
    let texts = [&command.name, &command.argument, &command.description];
    let texts = texts.into_iter().chain(&command.values);
    let bytes = texts.map(|text| text.len() + size_of::<String>()).sum();
    cx.allowances.registrations.spend(bytes)?;
    cx.registration().commands.push(command);
    cx.handlers.get().commands.insert(name, function);
    Ok(())
}

async fn send_message(
    lua: &Lua,
    cx: &PluginCx,
    text: String,
    options: Option<Table>,
) -> Result<()> {
    if let Some(options) = &options {
        let known = ["kind", "data", "display", "trigger_turn"];
        only(options, &known, "the options of `osier.send_message`")?;
    }
    let option = |name: &str| match &options {
        Some(options) => options.get::<Value>(name),
        None => Ok(Value::Nil),
    };
    let kind = match option("kind")? {
        Value::Nil => cx.name.clone(),
        value => lua.from_value(value)?,
    };
    let data = option("data")?;
    let lines = render(lua, cx, &kind, &data).await?;
    let is = |value: Value, default: bool| match value {
        Value::Nil => default,
        Value::Boolean(value) => value,
        _ => true,
    };
    let message = PluginMessage {
        kind,
        text,
        data: from_lua(lua, data)?,
        lines: lines.unwrap_or_default(),
        display: is(option("display")?, true),
        trigger_turn: is(option("trigger_turn")?, false),
    };
    store(cx, message)
}

fn store(cx: &PluginCx, message: PluginMessage) -> Result<()> {
    let bytes = message.kind.len() + message.text.len() + lines::bytes(&message.lines);
    let bytes = bytes + message.data.to_string().len();
    cx.allowances.messages.spend(bytes)?;
    cx.send(bytes, Request::Message(Box::new(message)))
}

/// The lines that the renderer of `kind` returns for `data`, if there is one.
async fn render(
    lua: &Lua,
    cx: &PluginCx,
    kind: &str,
    data: &Value,
) -> Result<Option<Vec<osier_protocol::StyledLine>>> {
    let renderer = cx.handlers.get().renderers.get(kind).cloned();
    let Some(renderer) = renderer else {
        return Ok(None);
    };
    let value: Value = renderer.call_async(data.clone()).await?;
    let lines = lines::read(&from_lua(lua, value)?);
    lines.map(Some).or_else(|message| {
        fail(format!(
            "the renderer of `{kind}`: {message} ({})",
            STYLES.join(", ")
        ))
    })
}
