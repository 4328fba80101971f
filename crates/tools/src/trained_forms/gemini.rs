//! The names of Gemini CLI for tools and arguments.

use osier_llm::{ToolCall, ToolSpec};
use serde_json::{Map, Value};

use crate::built_in::GeminiForm;
use crate::find;

fn row(name: &str) -> Option<&'static GeminiForm> {
    find(name)?.gemini.as_ref()
}

impl GeminiForm {
    /// The name of the argument `name` of the call, or of the elements of the list `list`.
    fn argument(&self, list: Option<&str>, name: &str) -> &str {
        let wanted = |path: &str| match list {
            Some(list) => {
                path.strip_prefix(list)
                    .and_then(|rest| rest.strip_prefix('.'))
                    == Some(name)
            }
            None => path == name,
        };
        let row = self.arguments.iter().find(|(path, _)| wanted(path));
        row.map_or("", |(_, theirs)| theirs)
    }

    fn rename(&self, list: Option<&str>, map: &mut Map<String, Value>) {
        let renamed = std::mem::take(map).into_iter().map(|(name, value)| {
            let theirs = self.argument(list, &name);
            (
                if theirs.is_empty() {
                    name
                } else {
                    theirs.to_owned()
                },
                value,
            )
        });
        *map = renamed.collect();
    }
}

/// Renames the tools that Gemini CLI has, and their arguments, to Gemini CLI's names.
pub(super) fn rename_tools(tools: &mut [ToolSpec]) {
    for spec in tools {
        let Some(row) = row(&spec.name) else {
            continue;
        };
        row.name.clone_into(&mut spec.name);
        for (path, _) in row.arguments.iter().filter(|(path, _)| path.contains('.')) {
            let list = path.split('.').next();
            if let Some(list) = list
                && let Some(items) = spec
                    .parameters
                    .pointer_mut(&format!("/properties/{list}/items"))
            {
                rename_schema(row, Some(list), items);
                break;
            }
        }
        rename_schema(row, None, &mut spec.parameters);
    }
}

fn rename_schema(row: &GeminiForm, list: Option<&str>, schema: &mut Value) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        row.rename(list, properties);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for name in required {
            let theirs = row.argument(list, name.as_str().unwrap_or_default());
            if !theirs.is_empty() {
                *name = Value::from(theirs);
            }
        }
    }
}

/// Renames the arguments of an earlier call.
pub(super) fn rename_call(call: &mut ToolCall) {
    let Some(row) = row(&call.name) else {
        return;
    };
    row.name.clone_into(&mut call.name);
    let Value::Object(arguments) = &mut call.arguments else {
        return;
    };
    for (list, value) in arguments.iter_mut() {
        let elements = value.as_array_mut().into_iter().flatten();
        for element in elements.filter_map(Value::as_object_mut) {
            row.rename(Some(list), element);
        }
    }
    row.rename(None, arguments);
}
