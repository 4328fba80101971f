//! Names and arguments of other programs, by which models call the built-in tools.

pub(crate) mod values;

use osier_agent::{OtherName, Spellings};

/// Arguments that describe a call.
const DESCRIPTIONS: &[&str] = &[
    "description",
    "explanation",
    "instruction",
    "reason",
    "thought",
];

/// Other names of the path of a file.
const FILE: &[&str] = &[
    "path",
    "file",
    "filename",
    "absolute_path",
    "abs_path",
    "target_file",
    "relative_path",
    "relative_workspace_path",
    "full_path",
    "notebook_path",
];

/// Other names of a directory or file to search.
const FOLDER: &[&str] = &[
    "directory",
    "dir",
    "dir_path",
    "directory_path",
    "folder",
    "file_path",
    "search_path",
    "target_directory",
    "relative_workspace_path",
    "absolute_path",
    "search_directory",
    "root",
];

const OLD: &[&str] = &[
    "old_str",
    "old_text",
    "old",
    "search",
    "search_string",
    "search_text",
    "find",
    "original",
    "original_text",
    "old_content",
];

const NEW: &[&str] = &[
    "new_str",
    "new_text",
    "new",
    "replace",
    "replacement",
    "replace_string",
    "replacement_text",
    "replace_with",
    "updated",
    "updated_text",
    "new_content",
    "insert_text",
    "new_source",
];

const ALL: &[&str] = &["all", "allow_multiple", "replace_all_occurrences", "global"];

pub(crate) static READ: Spellings = Spellings {
    names: &[
        OtherName::of("read_file"),
        OtherName::of("file_read"),
        OtherName::of("view"),
        OtherName::of("view_file"),
        OtherName::of("open_file"),
        OtherName::of("cat"),
        OtherName::of("fs_read"),
        OtherName::of("view_image"),
        OtherName::with_command("str_replace_based_edit_tool", "view"),
        OtherName::with_command("str_replace_editor", "view"),
        OtherName::with_command("text_editor", "view"),
    ],
    arguments: &[
        ("file_path", FILE),
        (
            "offset",
            &[
                "start_line",
                "line_start",
                "start",
                "from_line",
                "start_line_one_indexed",
                "line",
            ],
        ),
        (
            "limit",
            &["max_lines", "num_lines", "line_count", "lines", "count"],
        ),
        (
            "end_line",
            &["line_end", "end", "to_line", "end_line_one_indexed"],
        ),
    ],
    without_effect: DESCRIPTIONS,
    adapt: values::read,
    ..Spellings::NONE
};

pub(crate) static WEB_FETCH: Spellings = Spellings {
    names: &[
        OtherName::of("webfetch"),
        OtherName::of("fetch"),
        OtherName::of("fetch_url"),
        OtherName::of("fetch_webpage"),
        OtherName::of("read_web_page"),
        OtherName::of("read_url_content"),
        OtherName::of("url_fetch"),
    ],
    arguments: &[("url", &["uri", "link", "address", "website"])],
    without_effect: &["prompt", "format", "timeout", "description"],
    ..Spellings::NONE
};

pub(crate) static WRITE: Spellings = Spellings {
    names: &[
        OtherName::of("write_file"),
        OtherName::of("file_write"),
        OtherName::of("create_file"),
        OtherName::of("write_to_file"),
        OtherName::of("save_file"),
        OtherName::of("fs_write"),
        OtherName::with_command("str_replace_based_edit_tool", "create"),
        OtherName::with_command("str_replace_editor", "create"),
        OtherName::with_command("text_editor", "create"),
    ],
    arguments: &[
        ("file_path", FILE),
        (
            "content",
            &[
                "contents",
                "file_text",
                "text",
                "file_content",
                "file_contents",
                "data",
                "body",
            ],
        ),
    ],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

pub(crate) static EDIT: Spellings = Spellings {
    names: &[
        OtherName::of("multi_edit"),
        OtherName::of("notebook_edit"),
        OtherName::of("edit_notebook"),
        OtherName::of("edit_notebook_cell"),
        OtherName::of("edit_file"),
        OtherName::of("file_edit"),
        OtherName::of("str_replace"),
        OtherName::of("string_replace"),
        OtherName::of("replace"),
        OtherName::of("replace_in_file"),
        OtherName::of("replace_string_in_file"),
        OtherName::of("multi_replace_string_in_file"),
        OtherName::of("search_replace"),
        OtherName::of("search_and_replace"),
        OtherName::with_command("str_replace_based_edit_tool", "str_replace"),
        OtherName::with_command("str_replace_editor", "str_replace"),
        OtherName::with_command("text_editor", "str_replace"),
        OtherName::with_command("str_replace_based_edit_tool", "insert"),
        OtherName::with_command("str_replace_editor", "insert"),
        OtherName::with_command("text_editor", "insert"),
    ],
    arguments: &[
        ("file_path", FILE),
        ("old_string", OLD),
        ("new_string", NEW),
        ("replace_all", ALL),
        ("edits", &["replacements", "changes", "edit"]),
        ("edits.old_string", OLD),
        ("edits.new_string", NEW),
        ("edits.replace_all", ALL),
        ("insert_line", &[]),
        ("cell_id", &["cell", "cell_number"]),
        ("edit_mode", &[]),
        ("cell_type", &[]),
        ("expected_replacements", &["expected_occurrences"]),
    ],
    without_effect: &[
        "description",
        "explanation",
        "instruction",
        "reason",
        "thought",
        // Checked by the tool.
        "expected_replacements",
        "insert_line",
        "cell_id",
        "edit_mode",
        "cell_type",
    ],
    ..Spellings::NONE
};

pub(crate) static PATCH: Spellings = Spellings {
    names: &[
        OtherName::of("apply_diff"),
        OtherName::of("applypatch"),
        OtherName::of("patch"),
    ],
    arguments: &[(
        "input",
        &["patch", "patch_text", "diff", "content", "command", "cmd"],
    )],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

pub(crate) static BASH: Spellings = Spellings {
    names: &[
        OtherName::of("shell"),
        OtherName::of("sh"),
        OtherName::of("terminal"),
        OtherName::of("local_shell"),
        OtherName::of("shell_command"),
        OtherName::of("exec_command"),
        OtherName::of("container.exec"),
        OtherName::of("run_shell_command"),
        OtherName::of("run_command"),
        OtherName::of("run_terminal_cmd"),
        OtherName::of("run_terminal_command"),
        OtherName::of("run_in_terminal"),
        OtherName::of("execute_command"),
        OtherName::of("execute_bash"),
        OtherName::of("execute_shell"),
        OtherName::of("bash_tool"),
        OtherName::of("run_bash"),
        OtherName::implying("bash_output", "action", "read"),
        OtherName::implying("task_output", "action", "read"),
        OtherName::implying("kill_shell", "action", "kill"),
        OtherName::implying("kill_bash", "action", "kill"),
        OtherName::implying("task_stop", "action", "kill"),
    ],
    arguments: &[
        (
            "command",
            &[
                "cmd",
                "script",
                "code",
                "commands",
                "command_line",
                "bash_command",
                "shell_command",
            ],
        ),
        (
            "timeout_ms",
            &["timeout_millis", "timeout_milliseconds", "timeout_in_ms"],
        ),
        (
            "timeout",
            &[
                "timeout_seconds",
                "timeout_secs",
                "timeout_sec",
                "timeout_s",
            ],
        ),
        (
            "background",
            &["run_in_background", "is_background", "in_background"],
        ),
        (
            "workdir",
            &[
                "cwd",
                "working_directory",
                "work_dir",
                "directory",
                "dir",
                "dir_path",
            ],
        ),
        (
            "job",
            &["job_id", "bash_id", "shell_id", "task_id", "session_id"],
        ),
    ],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

pub(crate) static MAP: Spellings = Spellings {
    names: &[
        OtherName::of("repo_map"),
        OtherName::of("repomap"),
        OtherName::of("project_map"),
        OtherName::of("code_map"),
    ],
    arguments: &[
        ("path", FOLDER),
        ("query", &["symbol", "words", "search", "pattern"]),
        ("tokens", &["max_tokens", "token_budget", "budget", "limit"]),
    ],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

pub(crate) static GREP: Spellings = Spellings {
    names: &[
        OtherName::of("rg"),
        OtherName::of("ripgrep"),
        OtherName::of("grep_search"),
        OtherName::of("grep_files"),
        OtherName::of("search_file_content"),
        OtherName::of("search_files"),
        OtherName::of("content_search"),
    ],
    arguments: &[
        (
            "pattern",
            &["query", "regex", "regexp", "search_pattern", "search"],
        ),
        ("path", FOLDER),
        (
            "glob",
            &["include", "include_pattern", "file_pattern", "includes"],
        ),
        ("ignore_case", &["-i", "case_insensitive", "insensitive"]),
        ("literal", &["-F", "fixed_strings", "fixed_string"]),
        ("context", &["-C", "context_lines"]),
        ("limit", &["head_limit", "max_results", "max_count", "-m"]),
    ],
    without_effect: &[
        "description",
        "explanation",
        "reason",
        "thought",
        "-n",
        "line_numbers",
    ],
    adapt: values::grep,
    ..Spellings::NONE
};

pub(crate) static FIND: Spellings = Spellings {
    names: &[
        OtherName::of("glob"),
        OtherName::of("find_files"),
        OtherName::of("file_search"),
        OtherName::of("find_by_name"),
        OtherName::of("glob_file_search"),
        OtherName::of("glob_search"),
    ],
    arguments: &[
        (
            "pattern",
            &["glob", "glob_pattern", "query", "name", "file_pattern"],
        ),
        ("path", FOLDER),
        ("limit", &["max_results", "head_limit"]),
    ],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

pub(crate) static LS: Spellings = Spellings {
    names: &[
        OtherName::of("list"),
        OtherName::of("list_dir"),
        OtherName::of("list_directory"),
        OtherName::of("list_files"),
        OtherName::of("dir"),
    ],
    arguments: &[("path", FOLDER), ("limit", &["max_results"])],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

pub(crate) static TODO: Spellings = Spellings {
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

pub(crate) static ASK_USER: Spellings = Spellings {
    names: &[
        OtherName::of("ask_user_question"),
        OtherName::of("request_user_input"),
        OtherName::of("ask_question"),
        OtherName::of("ask_followup_question"),
    ],
    arguments: &[
        ("questions", &[]),
        ("questions.question", &["text", "prompt"]),
        ("questions.options", &["choices"]),
        ("questions.multi_select", &["multiple", "allow_multiple"]),
    ],
    without_effect: DESCRIPTIONS,
    adapt: values::ask_user,
    ..Spellings::NONE
};

pub(crate) static PLAN: Spellings = Spellings {
    names: &[
        OtherName::of("present_plan"),
        OtherName::of("submit_plan"),
        OtherName::of("plan_exit"),
        OtherName::of("plan_mode_respond"),
    ],
    arguments: &[("plan", &["plan_text", "markdown", "content", "response"])],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};

/// The tool that starts a subagent, which the session provides.
pub static SUBAGENT: Spellings = Spellings {
    names: &[
        OtherName::of("agent"),
        OtherName::of("subagent"),
        OtherName::of("spawn_agent"),
        OtherName::of("dispatch_agent"),
    ],
    arguments: &[
        ("prompt", &["task", "message", "instructions"]),
        ("agent", &["subagent_type", "agent_type", "agent_name"]),
    ],
    without_effect: DESCRIPTIONS,
    ..Spellings::NONE
};
