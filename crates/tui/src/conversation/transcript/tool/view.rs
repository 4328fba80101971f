//! How the calls and results of each tool are shown.

use serde_json::Value;

use osier_base::text;
use osier_markdown::plain::first_line;
use osier_protocol::TodoList;

/// How a tool is shown.
pub(super) struct ToolView {
    pub(super) name: &'static str,
    /// The argument that says most.
    pub(super) subject: &'static str,
    /// The text after it.
    pub(super) more: fn(&Value) -> String,
    pub(super) collapsed: Collapsed,
}

impl ToolView {
    /// How the tool with this name is shown, when the table has it.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        VIEWS.iter().find(|view| view.name == name)
    }
}

/// The visible part of a collapsed result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Collapsed {
    /// Only its header, unless it failed.
    Nothing,
    Start,
    End,
}

const VIEWS: &[ToolView] = &[
    ToolView {
        name: "apply_patch",
        subject: "",
        more: patched,
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "ask_user",
        subject: "",
        more: asked,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "bash",
        subject: "command",
        more: |_| String::new(),
        collapsed: Collapsed::End,
    },
    ToolView {
        name: "definition",
        subject: "symbol",
        more: in_file,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "diagnostics",
        subject: "file_path",
        more: |_| String::new(),
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "edit",
        subject: "file_path",
        more: |_| String::new(),
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "exit_plan_mode",
        subject: "",
        more: plan_title,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "find",
        subject: "pattern",
        more: place,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "grep",
        subject: "pattern",
        more: place,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "hover",
        subject: "symbol",
        more: in_file,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "ls",
        subject: "path",
        more: |_| String::new(),
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "map",
        subject: "path",
        more: mapped,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "read",
        subject: "file_path",
        more: range,
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "references",
        subject: "symbol",
        more: in_file,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "rename",
        subject: "symbol",
        more: renamed,
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "symbols",
        subject: "",
        more: outlined,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "task",
        subject: "prompt",
        more: |_| String::new(),
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "terminal",
        subject: "text",
        more: pressed,
        collapsed: Collapsed::End,
    },
    ToolView {
        name: "todo",
        subject: "",
        more: plan,
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "write",
        subject: "file_path",
        more: |_| String::new(),
        collapsed: Collapsed::Nothing,
    },
];

/// The keys that are pressed, and where.
fn pressed(arguments: &Value) -> String {
    let keys = arguments.get("keys").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    let mut all: Vec<&str> = keys.collect();
    let id = arguments.get("id").and_then(Value::as_str);
    let id = id.map(|id| format!("in {id}"));
    all.extend(id.as_deref());
    text::single_line(&format!(" {}", all.join(" ")))
}

/// The file in which a symbol occurs: ` in src/a.rs`.
fn in_file(arguments: &Value) -> String {
    let path = arguments.get("file_path").and_then(Value::as_str);
    path.map(|path| text::single_line(&format!(" in {path}")))
        .unwrap_or_default()
}

/// The query of a map: ` for cart`.
fn mapped(arguments: &Value) -> String {
    let query = arguments.get("query").and_then(Value::as_str);
    let query = query.filter(|query| !query.is_empty());
    query
        .map(|query| text::single_line(&format!(" for {query}")))
        .unwrap_or_default()
}

/// The new name of a symbol.
fn renamed(arguments: &Value) -> String {
    let name = arguments.get("new_name").and_then(Value::as_str);
    name.map(|name| text::single_line(&format!(" → {name}")))
        .unwrap_or_default()
}

/// The file whose symbols are listed, or the query.
fn outlined(arguments: &Value) -> String {
    let given = |name: &str| arguments.get(name).and_then(Value::as_str);
    let given = given("file_path").or_else(|| given("query"));
    given.map(text::single_line).unwrap_or_default()
}

/// The files of a patch.
fn patched(arguments: &Value) -> String {
    let files = osier_tools::find("apply_patch").and_then(|tool| tool.files);
    let files = files.map_or_else(Vec::new, |files| files(arguments));
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    text::single_line(&names.join(", "))
}

/// The first question, and how many follow.
fn asked(arguments: &Value) -> String {
    let questions = arguments.get("questions").and_then(Value::as_array);
    let questions = questions.map_or(&[][..], Vec::as_slice);
    let text = |question: &Value| question.get("question")?.as_str().map(text::single_line);
    let first = questions.first().and_then(text).unwrap_or_default();
    match questions.len().saturating_sub(1) {
        0 => first,
        1 => format!("{first} (+1 question)"),
        more => format!("{first} (+{more} questions)"),
    }
}

/// The searched path and files: ` in src (*.rs)`.
fn place(arguments: &Value) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = text("path").map(|path| format!(" in {path}"));
    let glob = text("glob").map(|glob| format!(" ({glob})"));
    path.unwrap_or_default() + &glob.unwrap_or_default()
}

/// The first line of the plan.
fn plan_title(arguments: &Value) -> String {
    let plan = arguments.get("plan").and_then(Value::as_str);
    text::single_line(&first_line(plan.unwrap_or_default()))
}

/// How far the list is.
fn plan(arguments: &Value) -> String {
    let list = TodoList::of(arguments).unwrap_or_default();
    text::single_line(&list.summary())
}

/// `:10-19`: the lines that are read.
fn range(arguments: &Value) -> String {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let from = number("offset").unwrap_or(1);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (_, Some(limit)) => format!(":{from}-{}", from + limit.saturating_sub(1)),
        (_, None) => format!(":{from}-"),
    }
}
