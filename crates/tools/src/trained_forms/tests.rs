use std::sync::Arc;

use osier_llm::{AssistantMessage, ToolCall, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::*;
use crate::workspace::Workspace;

/// The definitions that a model gets without a form.
fn tools() -> Vec<ToolSpec> {
    let tools = crate::build(&Arc::new(Workspace::new("/")), None).unwrap();
    let offered = tools.iter().filter(|tool| tool.replaces().is_empty());
    offered.map(|tool| tool.spec().clone()).collect()
}

fn conversation(name: &str, arguments: Value) -> Context {
    let call = ToolCall {
        id: "1".to_owned(),
        name: name.to_owned(),
        arguments,
        ..ToolCall::default()
    };
    let answer = AssistantMessage {
        content: vec![AssistantBlock::ToolCall(call)],
        ..AssistantMessage::default()
    };
    let result = ToolResult {
        tool_call_id: "1".to_owned(),
        tool_name: name.to_owned(),
        ..ToolResult::default()
    };
    Context {
        tools: tools(),
        messages: vec![Message::Assistant(answer), Message::ToolResult(result)],
        ..Context::default()
    }
}

/// The call and the tool of its result in `form`.
fn translated(form: ToolForm, name: &str, arguments: Value) -> (String, Value, String) {
    let mut context = conversation(name, arguments);
    translate(&mut context, form);
    let [Message::Assistant(answer), Message::ToolResult(result)] = &context.messages[..] else {
        unreachable!()
    };
    let call = answer.tool_calls().next().unwrap();
    (
        call.name.clone(),
        call.arguments.clone(),
        result.tool_name.clone(),
    )
}

fn definitions(form: ToolForm) -> Vec<ToolSpec> {
    let mut context = conversation("ls", json!({}));
    translate(&mut context, form);
    context.tools
}

/// The definitions that every model reads first. A form has only the definitions that it changes.
#[test]
fn every_form_has_its_tools() {
    let own = tools();
    assert_eq!(definitions(ToolForm::Edit), own);
    let changed = |form| {
        let mut changed = definitions(form);
        changed.retain(|spec| !own.contains(spec));
        changed
    };
    for (name, tools) in [
        ("tools", own.clone()),
        ("tools_patch", changed(ToolForm::Patch)),
        ("tools_gemini", changed(ToolForm::Gemini)),
    ] {
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&tools).unwrap());
    }
    // A patch does the work of two tools, and no form moves a tool.
    let names = |tools: Vec<ToolSpec>| tools.into_iter().map(|spec| spec.name);
    let expected = names(own.clone()).filter(|name| name != "edit");
    let expected = expected.map(|name| match &*name {
        "write" => "apply_patch".to_owned(),
        _ => name,
    });
    assert!(names(definitions(ToolForm::Patch)).eq(expected));
    assert_eq!(definitions(ToolForm::Gemini).len(), own.len());
    // Without one of the tools that a patch does the work of, there are no patches.
    let mut context = conversation("ls", json!({}));
    context.tools.retain(|spec| spec.name != "write");
    translate(&mut context, ToolForm::Patch);
    assert_eq!(context.tools.len(), own.len() - 1);
}

#[test]
fn earlier_edits_become_patches_and_back() {
    for (name, arguments, body, back) in [
        (
            "edit",
            json!({"file_path": "a", "old_string": "x\ny\nz", "new_string": "x\n2\nz"}),
            "*** Update File: a\n@@\n x\n-y\n+2\n z\n",
            json!({"file_path": "a", "old_string": "x\ny\nz\n", "new_string": "x\n2\nz\n"}),
        ),
        (
            "edit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "1", "new_string": ""}]}),
            "*** Update File: a\n@@\n-x\n+y\n@@\n-1\n",
            json!({"file_path": "a", "edits": [{"old_string": "x\n", "new_string": "y\n"}, {"old_string": "1\n", "new_string": ""}]}),
        ),
        (
            "write",
            json!({"file_path": "a", "content": "one\ntwo\n"}),
            "*** Add File: a\n+one\n+two\n",
            json!({"file_path": "a", "content": "one\ntwo\n"}),
        ),
    ] {
        let patch = json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")});
        let expected = (
            "apply_patch".to_owned(),
            patch.clone(),
            "apply_patch".to_owned(),
        );
        assert_eq!(translated(ToolForm::Patch, name, arguments), expected);
        let expected = (name.to_owned(), back, name.to_owned());
        assert_eq!(translated(ToolForm::Edit, "apply_patch", patch), expected);
    }
    // A patch that one call cannot express stays as it is.
    let patch = json!({"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"});
    let same = (
        "apply_patch".to_owned(),
        patch.clone(),
        "apply_patch".to_owned(),
    );
    assert_eq!(translated(ToolForm::Edit, "apply_patch", patch), same);
}

/// Earlier calls are sent to Gemini with Gemini's names, so that the model never sees other names.
#[test]
fn calls_of_gemini_have_its_names() {
    for (name, arguments, theirs, renamed) in [
        (
            "edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}),
            "replace",
            json!({"file_path": "a", "old_string": "x", "new_string": "y", "allow_multiple": true}),
        ),
        (
            "grep",
            json!({"pattern": "x", "path": "src", "glob": "*.rs"}),
            "grep_search",
            json!({"pattern": "x", "dir_path": "src", "include_pattern": "*.rs"}),
        ),
        (
            "todo",
            json!({"items": [{"text": "a", "state": "open"}]}),
            "write_todos",
            json!({"todos": [{"description": "a", "status": "open"}]}),
        ),
    ] {
        let expected = (theirs.to_owned(), renamed, theirs.to_owned());
        assert_eq!(translated(ToolForm::Gemini, name, arguments), expected);
    }
}

#[test]
fn schemas_of_gemini_stay_valid() {
    let mut context = conversation("ls", json!({}));
    translate(&mut context, ToolForm::Gemini);
    for spec in &context.tools {
        osier_testing::json_schema::JsonSchema::new(&spec.parameters);
        let required = spec.parameters["required"].as_array();
        for name in required.into_iter().flatten() {
            assert!(
                spec.parameters["properties"]
                    .get(name.as_str().unwrap())
                    .is_some(),
                "{}",
                spec.name
            );
        }
    }
    let todos = context
        .tools
        .iter()
        .find(|spec| spec.name == "write_todos")
        .unwrap();
    let item = &todos.parameters["properties"]["todos"]["items"];
    assert!(item["properties"].get("description").is_some());
}
