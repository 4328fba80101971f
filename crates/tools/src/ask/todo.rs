//! `todo`: the agent's to-do list, sent completely with every call.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::built_in::{
    BuiltIn, Collapsed, GeminiForm, Part, PartKind, PeerTool, ToolEffect, ToolView, Verbs,
};
use crate::call::to_value;
use crate::workspace::Workspace;
use osier_agent::{
    OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolOutput, prepare_typed,
};
use osier_base::text::{head_bytes, single_line};
use osier_llm::ToolSpec;
use osier_protocol::{TodoItem, TodoList};

/// Maximum number of items, and maximum bytes of an item.
const MOST_ITEMS: usize = 50;
const ITEM_BYTES: usize = 300;

pub(crate) const ROW: BuiltIn = BuiltIn {
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude("TodoWrite", &[("todos", "items")]),
        PeerTool::codex("update_plan", &[("plan", "items")]),
        PeerTool::opencode("todowrite", &[("todos", "items")]),
    ],
    gemini: Some(GeminiForm {
        name: "write_todos",
        arguments: &[
            ("items", "todos"),
            ("items.text", "description"),
            ("items.state", "status"),
        ],
    }),
    view: ToolView {
        collapsed: Collapsed::Nothing,
        ..ToolView::new(
            Verbs::new(
                "Updating the to-do list",
                "Updated the to-do list",
                "update the to-do list",
            ),
            &[Part::of("items", PartKind::Progress)],
        )
    },
    does: "maintains a to-do list for work of several steps",
    ..BuiltIn::new(osier_protocol::TOOL, ToolEffect::Looks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("todo_write"),
        OtherName::of("write_todos"),
        OtherName::of("todo_list"),
        OtherName::of("update_plan"),
        OtherName::of("update_todo_list"),
        OtherName::of("manage_todo_list"),
    ],
    arguments: &[
        ("items", &["todos", "plan", "todo_list", "tasks"]),
        (
            "items.text",
            &["content", "step", "task", "title", "description"],
        ),
        ("items.state", &["status"]),
    ],
    values: &[
        ("items.state", "pending", "open"),
        ("items.state", "todo", "open"),
        ("items.state", "not_started", "open"),
        ("items.state", "in_progress", "doing"),
        ("items.state", "active", "doing"),
        ("items.state", "completed", "done"),
        ("items.state", "complete", "done"),
    ],
    without_effect: &[
        "explanation",
        "reason",
        "thought",
        "items.active_form",
        "items.id",
        "items.priority",
    ],
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let description =
        "Show the user your plan for work of several steps. Send the complete list each time.";
    let item = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "state": {"enum": ["open", "doing", "done"]},
        },
    });
    ToolSpec {
        freeform: None,
        name: osier_protocol::TOOL.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"items": {"type": "array", "items": item}},
            "required": ["items"],
        }),
    }
});

#[derive(Debug, Deserialize)]
struct Arguments {
    items: Vec<TodoItem>,
}

fn prepare(_: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async |Arguments { items }| {
        let output = apply(items)?;
        Ok(PreparedCall::new(async |_| output))
    })
}

fn apply(mut items: Vec<TodoItem>) -> Result<ToolOutput, Refusal> {
    items.retain(|item| !item.text.trim().is_empty());
    if items.len() > MOST_ITEMS {
        return Err(Refusal::Invalid(format!(
            "{} items, and the limit is {MOST_ITEMS}; group related items",
            items.len()
        )));
    }
    for item in &mut items {
        let words: Vec<&str> = item.text.split_whitespace().collect();
        let line = single_line(&words.join(" "));
        head_bytes(&line, ITEM_BYTES).clone_into(&mut item.text);
    }
    let list = TodoList { items };
    Ok(ToolOutput::success(list.summary(), to_value(&list)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(items: &Value) -> Result<(String, Value), Refusal> {
        let items = serde_json::from_value(items.clone());
        let items: Vec<TodoItem> = items.map_err(|error| Refusal::invalid(error.to_string()))?;
        let output = apply(items)?;
        Ok((crate::testing::text(&output), output.details))
    }

    #[test]
    fn a_list_is_stored_and_summarised() {
        let items = json!([
            {"text": "read the parser", "state": "done"},
            {"text": "  fix\nit ", "state": "doing"},
            {"text": " ", "state": "open"},
            {"text": "test it", "state": "open"},
        ]);
        let stored = json!({"items": [
            {"text": "read the parser", "state": "done"},
            {"text": "fix it", "state": "doing"},
            {"text": "test it", "state": "open"},
        ]});
        let summary = "1 of 3 done; now: fix it".to_owned();
        assert_eq!(kept(&items), Ok((summary, stored)));
        assert_eq!(
            kept(&json!([])),
            Ok(("no to-dos".into(), json!({"items": []})))
        );
        let (summary, _) = kept(&json!([{"text": "a", "state": "done"}])).unwrap();
        assert_eq!(summary, "all done");
        let (summary, _) = kept(&json!([{"text": "a", "state": "open"}])).unwrap();
        assert_eq!(summary, "0 of 1 done; next: a");
    }

    #[test]
    fn an_invalid_list_is_rejected() {
        let many: Vec<Value> = (0..51).map(|n| json!({"text": n.to_string()})).collect();
        let refused = "51 items, and the limit is 50; group related items";
        assert_eq!(kept(&json!(many)), Err(Refusal::Invalid(refused.into())));
        let wrong = kept(&json!([{"text": "a", "state": "later"}]));
        let reason = "unknown variant `later`, expected one of `open`, `doing`, `done`";
        assert_eq!(wrong, Err(Refusal::Invalid(reason.into())));
    }
}
