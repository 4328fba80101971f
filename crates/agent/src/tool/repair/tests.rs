use std::sync::Arc;

use futures_util::future::ready;
use osier_llm::ToolSpec;
use serde_json::json;

use super::super::interface::Tool;
use super::super::output::ToolOutput;
use super::super::prepared::{PreparedCall, Preparing};
use super::super::spellings::{OtherName, Spellings};
use super::*;

#[derive(Debug)]
struct FakeTool {
    spec: ToolSpec,
    origin: ToolOrigin,
}

static EDIT: Spellings = Spellings {
    names: &[
        OtherName::of("str_replace"),
        OtherName::with_command("editor", "str_replace"),
    ],
    arguments: &[
        ("file_path", &["path", "file"]),
        ("old", &["old_str"]),
        ("edits.old", &["old_str"]),
        ("edits.state", &["status"]),
    ],
    values: &[("edits.state", "in_progress", "doing")],
    without_effect: &["description", "edits.id"],
    ..Spellings::NONE
};

static JOBS: Spellings = Spellings {
    names: &[
        OtherName::implying("KillShell", "action", "kill"),
        OtherName::with_command("editor", "view"),
    ],
    ..Spellings::NONE
};

impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> ToolOrigin {
        self.origin.clone()
    }

    fn spellings(&self) -> &'static Spellings {
        match self.spec.name.as_str() {
            "edit" => &EDIT,
            "jobs" => &JOBS,
            _ => &Spellings::NONE,
        }
    }

    fn prepare(self: Arc<Self>, _: Value) -> Preparing {
        let output = ToolOutput::success("", Value::Null);
        Box::pin(ready(Ok(PreparedCall::new(|_| ready(output)))))
    }
}

fn tool(name: &str, origin: ToolOrigin, properties: &Value, required: &[&str]) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        freeform: None,
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": properties, "required": required}),
    };
    Arc::new(FakeTool { spec, origin })
}

fn selection() -> ToolSelection {
    let server = ToolOrigin::Server {
        server: "git".to_owned(),
        tool: "log".to_owned(),
    };
    let text = || json!({"type": "string"});
    let edit = json!({
        "file_path": text(), "old": text(), "all": {"type": "boolean"}, "limit": {"type": "integer"},
        "edits": {"type": "array", "items": {"type": "object", "properties": {
            "old": text(), "state": {"enum": ["open", "doing"]}}}},
        "names": {"type": "array", "items": text()},
    });
    let log = json!({
        "path": text(), "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "paths": {"$ref": "#/$defs/paths"}, "any": {}, "or": {"type": ["string", "integer"]},
        "filter": {"type": "object", "properties": {"all": {"type": "boolean"}}},
        "size": {"type": "number"},
    });
    let mut log = tool("git__log", server.clone(), &log, &["path"])
        .spec()
        .clone();
    log.parameters["$defs"] = json!({"paths": {"type": "array", "items": {"type": "string"}}});
    let log = Arc::new(FakeTool {
        spec: log,
        origin: server.clone(),
    });
    ToolSelection::new(vec![
        tool("edit", ToolOrigin::Program, &edit, &["file_path"]),
        tool(
            "jobs",
            ToolOrigin::Program,
            &json!({"action": text(), "job": text()}),
            &[],
        ),
        log,
        tool("git__Log", server, &json!({}), &[]),
    ])
}

fn repaired(name: &str, arguments: Value) -> (String, Value, Vec<String>) {
    let mut call = ToolCall {
        name: name.to_owned(),
        arguments,
        ..ToolCall::default()
    };
    let notes = repair_call(&mut call, &selection(), true);
    (call.name, call.arguments, notes)
}

#[test]
fn other_names_of_tools_are_understood() {
    for (name, arguments, expected, result) in [
        ("edit", json!({}), "edit", json!({})),
        ("Edit", json!({}), "edit", json!({})),
        ("functions.edit", json!({}), "edit", json!({})),
        ("edit<|channel|>commentary", json!({}), "edit", json!({})),
        ("str-replace", json!({}), "edit", json!({})),
        ("mcp__git__log", json!({}), "git__log", json!({})),
        (
            "editor",
            json!({"command": "str_replace"}),
            "edit",
            json!({}),
        ),
        ("editor", json!({"command": "view"}), "jobs", json!({})),
        (
            "KillShell",
            json!({"job": 1}),
            "jobs",
            json!({"job": "1", "action": "kill"}),
        ),
        // Names that could be another tool stay.
        ("editor", json!({}), "editor", json!({})),
        ("git__LOG", json!({}), "git__LOG", json!({})),
        ("edits", json!({}), "edits", json!({})),
    ] {
        let (found, arguments, _) = repaired(name, arguments);
        assert_eq!((found.as_str(), arguments), (expected, result), "{name}");
    }
}

#[test]
fn a_tool_that_is_not_offered_is_not_found_by_another_name() {
    let mut tools = selection();
    tools.select(&["jobs".to_owned()]);
    for name in ["Edit", "str_replace"] {
        assert!(names::resolve(&tools, name, &json!({})).is_none(), "{name}");
    }
}

#[test]
fn arguments_get_the_names_and_types_of_the_definition() {
    for (arguments, expected) in [
        (
            json!({"path": "a", "old_str": "b"}),
            json!({"file_path": "a", "old": "b"}),
        ),
        (json!({"filePath": "a"}), json!({"file_path": "a"})),
        (
            json!({"file_path": null, "file": "a"}),
            json!({"file_path": "a"}),
        ),
        // The same argument under two names.
        (
            json!({"file_path": "a", "path": "a"}),
            json!({"file_path": "a"}),
        ),
        (
            json!({"file_path": "a", "all": "True", "limit": "3", "old": 5}),
            json!({"file_path": "a", "all": true, "limit": 3, "old": "5"}),
        ),
        (
            json!({"file_path": "a", "limit": 3.0, "all": 0}),
            json!({"file_path": "a", "limit": 3, "all": false}),
        ),
        (
            json!({"file_path": "a", "limit": "", "all": null}),
            json!({"file_path": "a"}),
        ),
        // Lists as text, with one element, with other names in it.
        (
            json!({"file_path": "a", "edits": "[{\"old_str\": \"x\ny\",}]"}),
            json!({"file_path": "a", "edits": [{"old": "x\ny"}]}),
        ),
        (
            json!({"file_path": "a", "edits": {"old": "x", "status": "In Progress"}}),
            json!({"file_path": "a", "edits": [{"old": "x", "state": "doing"}]}),
        ),
        (
            json!({"file_path": "a", "edits": [{"state": "OPEN", "old": null}]}),
            json!({"file_path": "a", "edits": [{"state": "open"}]}),
        ),
        (
            json!({"file_path": "a", "names": "b"}),
            json!({"file_path": "a", "names": ["b"]}),
        ),
        (
            json!({"file_path": "a", "names": "[\"b\", \"c\"]"}),
            json!({"file_path": "a", "names": ["b", "c"]}),
        ),
        (
            json!({"arguments": "{\"path\": \"a\"}"}),
            json!({"file_path": "a"}),
        ),
        (json!({"input": {"path": "a"}}), json!({"file_path": "a"})),
        // An ambiguous value stays as it is, and fails the check.
        (
            json!({"file_path": "a", "all": "yes", "limit": "many"}),
            json!({"file_path": "a", "all": "yes", "limit": "many"}),
        ),
        (
            json!({"file_path": ["a"], "limit": 1.5}),
            json!({"file_path": ["a"], "limit": 1.5}),
        ),
    ] {
        let (_, result, notes) = repaired("edit", arguments.clone());
        assert_eq!((result, notes), (expected, vec![]), "{arguments}");
    }
}

#[test]
fn unknown_arguments_are_named() {
    let takes = "; `edit` takes `file_path`, `old`, `all`, `limit`, `edits`, `names`";
    for (arguments, expected) in [
        (json!({"description": "x", "edits": [{"id": 1}]}), None),
        (json!({"nothing": null}), None),
        (
            json!({"fast": true}),
            Some("unknown argument `fast` was ignored"),
        ),
        (
            json!({"file_path": "a", "path": "b", "edits": [{"new": 1}]}),
            Some("unknown arguments `path`, `edits[0].new` were ignored"),
        ),
        (
            (0..12).map(|n| (format!("x{n}"), json!(n))).collect(),
            Some(
                "unknown arguments `x0`, `x1`, `x2`, `x3`, `x4`, `x5`, `x6`, `x7` and 4 more were ignored",
            ),
        ),
    ] {
        let (_, result, notes) = repaired("edit", arguments.clone());
        let expected: Vec<String> = expected
            .map(|note| format!("{note}{takes}"))
            .into_iter()
            .collect();
        assert_eq!(notes, expected, "{arguments}");
        // Nothing is dropped.
        assert_eq!(
            result.as_object().map(Map::len),
            arguments.as_object().map(Map::len)
        );
    }
}

#[test]
fn arguments_of_servers_keep_their_names() {
    for (arguments, expected) in [
        (
            json!({"file": "a", "count": "3", "paths": "x"}),
            json!({"file": "a", "count": 3, "paths": ["x"]}),
        ),
        // Null where the schema allows it, and where it does not.
        (
            json!({"path": "a", "count": null, "paths": null, "other": null}),
            json!({"path": "a", "count": null, "other": null}),
        ),
        // Without a type, or with two that fit, a value is as the model wrote it.
        (
            json!({"path": 7, "any": "3", "or": "3", "size": "2.5"}),
            json!({"path": "7", "any": "3", "or": "3", "size": 2.5}),
        ),
        (
            json!({"filter": "{\"all\": \"false\"}", "paths": "[1, \"a\"]"}),
            json!({"filter": {"all": false}, "paths": ["1", "a"]}),
        ),
    ] {
        let (name, result, notes) = repaired("git__log", arguments.clone());
        assert_eq!(
            (name.as_str(), result, notes),
            ("git__log", expected, vec![]),
            "{arguments}"
        );
    }
}

#[test]
fn json_is_repaired_only_if_it_is_complete() {
    for (raw, expected) in [
        ("{\"old\": \"a\nb\tc\"}", Some(json!({"old": "a\nb\tc"}))),
        (
            "{\"old\": \"a\", \"edits\": [{},],\n}",
            Some(json!({"old": "a", "edits": [{}]})),
        ),
        (
            r#"{"old": "it\'s \d \u00e9 \u12"}"#,
            Some(json!({"old": r"it's \d é \u12"})),
        ),
        (r#"{"all": True, "old": None}"#, Some(json!({"all": true}))),
        ("```json\n{\"old\": \"a\"}\n```", Some(json!({"old": "a"}))),
        (r#""{\"old\": \"a\"}""#, Some(json!({"old": "a"}))),
        (r#"{}{"old": "a"}"#, Some(json!({"old": "a"}))),
        ("{\"old\": \"rm -r\n", None),
        ("{\"old\": \"a\",", None),
        ("{\"old\": \"say \"a\" b\"}", None),
        ("[1]", None),
    ] {
        let call = || ToolCall {
            name: "edit".to_owned(),
            arguments_error: Some(raw.to_owned()),
            ..ToolCall::default()
        };
        let mut given = call();
        repair_call(&mut given, &selection(), true);
        let found = given.arguments_error.is_none().then_some(given.arguments);
        assert_eq!(found, expected, "{raw}");
        // An answer that was cut off.
        let mut cut = call();
        repair_call(&mut cut, &selection(), false);
        assert_eq!(cut.arguments_error.as_deref(), Some(raw));
    }
}

#[test]
fn hostile_schemas_and_values_end() {
    let mut schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}});
    let mut value = json!({"a": "[[[["});
    coerce::to_schema(&mut value, &schema);
    schema["properties"] = json!({"a": {"$ref": "#"}});
    coerce::to_schema(&mut value, &schema);
    assert_eq!(value, json!({"a": "[[[["}));
}
