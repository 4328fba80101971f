//! What a plug-in can use: one table of functions, one of events. The sandbox is checked against the
//! first, `osier.on` against the second, and `docs/plugins.md` is made from both.

use std::fmt::Write as _;

/// One function or value of the table `osier`.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Behind `osier.`.
    pub name: &'static str,
    pub signature: &'static str,
    pub description: &'static str,
    /// Whether it may only be called while the file loads.
    pub at_load: bool,
}

/// One event that `osier.on` knows.
#[derive(Debug, Clone, Copy)]
pub struct PluginEvent {
    pub name: &'static str,
    pub when: &'static str,
    /// Fields of the table that the function gets.
    pub fields: &'static str,
    /// What the function may return; empty when nothing comes of it.
    pub returns: &'static str,
}

const fn function(
    name: &'static str,
    signature: &'static str,
    description: &'static str,
) -> Function {
    Function {
        name,
        signature,
        description,
        at_load: false,
    }
}

const fn at_load(
    name: &'static str,
    signature: &'static str,
    description: &'static str,
) -> Function {
    Function {
        at_load: true,
        ..function(name, signature, description)
    }
}

/// Everything in the table `osier`, in the order of the documentation.
pub const FUNCTIONS: &[Function] = &[
    at_load(
        "on",
        "osier.on(event, fn)",
        "Calls `fn` with a table when the event happens; see the events below.",
    ),
    at_load(
        "tool",
        "osier.tool{name=, description=, parameters=, run=function(arguments, cx) … end}",
        "A tool for the model, of a name that osier has no tool of. `parameters` is a JSON schema of an object. \
         `run` returns the text of the result, or a table `{text=, details=, is_error=}`. `cx.update(text)` shows output while it runs, `cx.call_id` names the \
         call. When the user interrupts, the function is dropped where it waits.",
    ),
    at_load(
        "command",
        "osier.command{name=, description=, argument=, values=, run=function(argument) … end}",
        "A slash command; it runs at once, also while the model works. `values` is a list that completion offers.",
    ),
    at_load(
        "keymap",
        "osier.keymap(keys, description, fn)",
        "A key, written as in keymap files: `alt+k t`. The user's keymap wins.",
    ),
    at_load(
        "renderer",
        "osier.renderer(kind, function(data) … end)",
        "How messages and entries of this kind look: the function returns lines. It is asked once, when they are made; \
         the lines are stored with them.",
    ),
    function(
        "ui.select",
        "osier.ui.select(title, choices, text?) → value or nil",
        "Asks for one of several. A choice is a text or `{value=, label=, description=}`. `nil` when nobody answered.",
    ),
    function(
        "ui.confirm",
        "osier.ui.confirm(title, text?) → boolean",
        "Asks for yes or no; false when nobody answered.",
    ),
    function(
        "ui.input",
        "osier.ui.input(title, {placeholder=, prefill=, multiline=, secret=}?) → text or nil",
        "Asks for a text.",
    ),
    function(
        "ui.notify",
        "osier.ui.notify(text, severity?)",
        "Tells the user a line; `info`, `warning` or `error`. `print` does the same.",
    ),
    function(
        "status",
        "osier.status(text or nil)",
        "A few words in the footer.",
    ),
    function(
        "widget",
        "osier.widget(lines or nil)",
        "Lines above the editor, at most eight.",
    ),
    function(
        "send_message",
        "osier.send_message(text, {kind=, data=, display=, trigger_turn=}?)",
        "Adds a message that the model reads. `trigger_turn` starts a run; while one is on the message is delivered \
         before the next request.",
    ),
    function(
        "append_entry",
        "osier.append_entry(kind, data)",
        "Stores `data` in the session; the model does not see it. It shows when `kind` has a renderer.",
    ),
    function(
        "entries",
        "osier.entries(kind) → list",
        "The data of every entry of this kind on the current branch, oldest first.",
    ),
    function(
        "exec",
        "osier.exec(program, arguments?, {cwd=, stdin=, timeout_ms=}?) → {code=, stdout=, stderr=}",
        "Runs a program without a shell. It is killed when the plug-in is reloaded, the call is interrupted or the time \
         (30 s) is up.",
    ),
    function(
        "model.get",
        "osier.model.get() → text",
        "The model of the next request as `PROVIDER/ID`.",
    ),
    function(
        "model.set",
        "osier.model.set(reference)",
        "Chooses the model of the next request, by any part of its name.",
    ),
    function(
        "session",
        "osier.session() → {id=, path=, name=, cwd=}",
        "The session that is open.",
    ),
    function(
        "sleep",
        "osier.sleep(milliseconds)",
        "Waits; everything else goes on.",
    ),
    function(
        "json.encode",
        "osier.json.encode(value) → text",
        "JSON of a value.",
    ),
    function(
        "json.decode",
        "osier.json.decode(text) → value",
        "The value of a JSON text.",
    ),
    function("cwd", "osier.cwd", "The working directory."),
    function("plugin", "osier.plugin", "The name of the plug-in."),
    function("version", "osier.version", "The version of osier."),
];

const fn event(
    name: &'static str,
    when: &'static str,
    fields: &'static str,
    returns: &'static str,
) -> PluginEvent {
    PluginEvent {
        name,
        when,
        fields,
        returns,
    }
}

/// Events that are waited for: a plug-in may change or refuse what is about to happen.
pub const ASKED: &[PluginEvent] = &[
    event(
        "input",
        "a message of the user is about to enter",
        "text, attachments",
        "`{text=}` or `{block=reason}`",
    ),
    event(
        "message",
        "a message is final and about to be stored",
        "message",
        "`{block=reason}`",
    ),
    event(
        "before_request",
        "a request is about to be sent",
        "system_prompt, messages, tools",
        "`{system_prompt=}`, `{messages=}` or `{block=reason}`",
    ),
    event(
        "tool_call",
        "a tool is about to run",
        "id, name, arguments",
        "`{arguments=}` or `{block=reason}`",
    ),
    event(
        "tool_result",
        "a tool has run",
        "id, name, arguments, text, details, is_error",
        "`{text=}`, `{details=}`, `{is_error=}`",
    ),
    event(
        "before_compact",
        "a summary is about to take the place of earlier messages",
        "reason, instructions, tokens_before, messages, stays",
        "`{summary=}` in place of the model's, `{instructions=}` for the model, or `{block=reason}`",
    ),
    event(
        "after_turn",
        "an answer and its tool results are stored",
        "results",
        "`{block=reason}`",
    ),
    event(
        "before_settle",
        "the agent would stop",
        "",
        "`{message=text}` makes it go on",
    ),
    event("settled", "a run is over", "outcome", ""),
];

/// Events that are told after the fact.
pub const TOLD: &[PluginEvent] = &[
    event(
        "session_opened",
        "a session is open",
        "session, messages, atStart",
        "",
    ),
    event(
        "session_renamed",
        "the session has another name",
        "name",
        "",
    ),
    event("agent_start", "a run begins", "", ""),
    event("turn_start", "a model call begins", "turn", ""),
    event("message_start", "a message appears", "id, message", ""),
    event(
        "message_update",
        "a piece of an answer has come",
        "id, delta",
        "",
    ),
    event(
        "message_end",
        "a message is complete and stored",
        "id, message",
        "",
    ),
    event(
        "compaction_end",
        "a compaction has ended, however it did",
        "reason, outcome",
        "",
    ),
    event(
        "message_retracted",
        "a partial answer is tried again",
        "id",
        "",
    ),
    event(
        "tool_execution_start",
        "a tool begins",
        "callId, toolName, arguments",
        "",
    ),
    event(
        "tool_execution_update",
        "a tool has said something",
        "callId, update",
        "",
    ),
    event(
        "tool_execution_end",
        "a tool has ended",
        "callId, toolName, result",
        "",
    ),
    event(
        "turn_end",
        "a model call and its tools are done",
        "turn, status",
        "",
    ),
    event("agent_end", "the loop has stopped", "outcome", ""),
    event(
        "agent_settled",
        "nothing runs and nothing waits",
        "outcome",
        "",
    ),
    event(
        "queue_update",
        "the queues have changed",
        "steering, followUp",
        "",
    ),
    event(
        "retry_scheduled",
        "a call is tried again",
        "attempt, maxAttempts, delayMs, status",
        "",
    ),
    event(
        "provider_switched",
        "another model takes over",
        "from, to, status",
        "",
    ),
    event(
        "model_selected",
        "the model of the next request changed",
        "model, level",
        "",
    ),
    event(
        "thinking_level_changed",
        "the thinking level changed",
        "level, effective",
        "",
    ),
    event(
        "shell_start",
        "a command of the user begins",
        "id, command, excludeFromContext",
        "",
    ),
    event(
        "shell_end",
        "a command of the user has ended",
        "id, run",
        "",
    ),
    event("accounting", "a call was paid for", "entry", ""),
    event(
        "question_asked",
        "something waits for the person",
        "question",
        "",
    ),
    event(
        "question_closed",
        "a question was answered or taken back",
        "id",
        "",
    ),
];

/// The event called `name`.
pub fn find_event(name: &str) -> Option<&'static PluginEvent> {
    ASKED.iter().chain(TOLD).find(|event| event.name == name)
}

/// Styles a line can have, as they are written.
pub const STYLES: &[&str] = &[
    "text", "muted", "accent", "title", "success", "warning", "error", "added", "removed", "code",
];

/// The tables of the documentation.
pub fn reference() -> String {
    let mut page = String::from("| function | what it does |\n|---|---|\n");
    for function in FUNCTIONS {
        let note = if function.at_load {
            " Only while the file loads."
        } else {
            ""
        };
        let signature = function.signature.replace('|', "\\|");
        let _ = writeln!(page, "| `{signature}` | {}{note} |", function.description);
    }
    page.push_str("\nAsked before it happens; what is returned counts, and a function that fails refuses a `tool_call`:\n\n");
    page.push_str("| event | when | fields | may return |\n|---|---|---|---|\n");
    for event in ASKED {
        let PluginEvent {
            name,
            when,
            fields,
            returns,
        } = event;
        let _ = writeln!(page, "| `{name}` | {when} | {fields} | {returns} |");
    }
    page.push_str("\nTold afterwards:\n\n| event | when | fields |\n|---|---|---|\n");
    for event in TOLD {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            event.name, event.when, event.fields
        );
    }
    let _ = writeln!(page, "\nStyles of a line: `{}`.", STYLES.join("`, `"));
    page
}
