//! The plugin API: one table of functions and one of events. The sandbox is checked against the first,
//! `osier.on` against the second, and `docs/plugins.md` is generated from both.

use std::fmt::Write as _;

// recipe: a function of plugins, 1: its row
// recipe: a function of plugins, 2: `crates/extensions/src/plugins/bindings.rs`: its arm, or in `async_functions.rs`
/// A function or value in the table `osier`.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The name after `osier.`.
    pub name: &'static str,
    pub signature: &'static str,
    pub description: &'static str,
    /// Whether a plugin can call the function only while its file loads.
    pub at_load: bool,
}

/// An event for `osier.on`.
#[derive(Debug, Clone, Copy)]
pub struct PluginEvent {
    pub name: &'static str,
    pub when: &'static str,
    /// The fields of the argument.
    pub fields: &'static str,
    /// The result of the function; empty when it is ignored.
    pub returns: &'static str,
    /// The fields that the result can have.
    pub answers: &'static [&'static str],
    /// The effect of a failure of the function, which was asked whether something may happen; empty if osier continues.
    pub failure: &'static str,
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

/// All functions and values of the table `osier`, in the order of the documentation.
pub const FUNCTIONS: &[Function] = &[
    at_load(
        "on",
        "osier.on(event, fn)",
        "Calls `fn` with a table on every event of this name; see the events below.",
    ),
    at_load(
        "tool",
        "osier.tool{name=, description=, parameters=, run=function(arguments, cx) … end}",
        "Adds a tool for the model. The name must differ from osier's own tools. `parameters` is a JSON schema of an object. \
         `run` returns the text of the result, or a table `{text=, details=, is_error=}`. `cx.update(text)` shows output while it runs, `cx.call_id` names the \
         call. When the user interrupts, the function ends at the point where it waits.",
    ),
    at_load(
        "command",
        "osier.command{name=, description=, argument=, values=, run=function(argument) … end}",
        "Adds a slash command. It runs immediately, even while the model works. `values` is a list for completion.",
    ),
    at_load(
        "keymap",
        "osier.keymap(keys, description, fn)",
        "Binds a key, written as in keymap files: `alt+k t`. The user's keymap has priority.",
    ),
    at_load(
        "renderer",
        "osier.renderer(kind, function(data) … end)",
        "Renders messages and entries of this kind: the function returns lines. It is called once, when they are created; \
         the lines are stored with them.",
    ),
    function(
        "ui.select",
        "osier.ui.select(title, choices, text?) → value or nil",
        "Asks the user to select a choice. A choice is a string or `{value=, label=, description=}`. `nil` when there was no answer.",
    ),
    function(
        "ui.confirm",
        "osier.ui.confirm(title, text?) → boolean",
        "Asks the user for yes or no; false when there was no answer.",
    ),
    function(
        "ui.input",
        "osier.ui.input(title, {placeholder=, prefill=, multiline=, secret=}?) → text or nil",
        "Asks the user for a text.",
    ),
    function(
        "ui.notify",
        "osier.ui.notify(text, severity?)",
        "Shows a notice; the severity is `info`, `warning` or `error`. `print` does the same.",
    ),
    function(
        "status",
        "osier.status(text or nil)",
        "Sets a short text in the footer.",
    ),
    function(
        "widget",
        "osier.widget(lines or nil)",
        "Sets the lines above the editor, at most eight.",
    ),
    function(
        "send_message",
        "osier.send_message(text, {kind=, data=, display=, trigger_turn=}?)",
        "Adds a message that the model reads. `trigger_turn` starts a run; during a run, the message is delivered \
         before the next request.",
    ),
    function(
        "append_entry",
        "osier.append_entry(kind, data)",
        "Stores `data` in the session; the model does not see it. It is shown if `kind` has a renderer.",
    ),
    function(
        "entries",
        "osier.entries(kind) → list",
        "Returns the data of every entry of this kind on the current branch, oldest first.",
    ),
    function(
        "exec",
        "osier.exec(program, arguments?, {cwd=, stdin=, timeout_ms=}?) → {code=, stdout=, stderr=, truncated=}",
        "Runs a program without a shell. A stream has at most 1 MiB; `truncated` is true if there was more. The program is killed when the plugin is reloaded, the call is interrupted or the time \
         (30 s) is up.",
    ),
    function(
        "model.get",
        "osier.model.get() → text",
        "Returns the model of the next request as `PROVIDER/ID`.",
    ),
    function(
        "model.set",
        "osier.model.set(reference)",
        "Sets the model of the next request, by any part of its name.",
    ),
    function(
        "session",
        "osier.session() → {id=, path=, name=, cwd=}",
        "Returns the open session.",
    ),
    function(
        "sleep",
        "osier.sleep(milliseconds)",
        "Waits without blocking anything else.",
    ),
    function(
        "json.encode",
        "osier.json.encode(value) → text",
        "Converts a value to JSON.",
    ),
    function(
        "json.decode",
        "osier.json.decode(text) → value",
        "Parses JSON.",
    ),
    function("cwd", "osier.cwd", "The working directory."),
    function("plugin", "osier.plugin", "The name of the plugin."),
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
        answers: &[],
        failure: "",
    }
}

/// An event whose function can return `answers`.
const fn with_answers(event: PluginEvent, answers: &'static [&'static str]) -> PluginEvent {
    PluginEvent { answers, ..event }
}

/// An event of a guard: a failure of its function has this effect.
const fn guarding(event: PluginEvent, failure: &'static str) -> PluginEvent {
    PluginEvent { failure, ..event }
}

/// Events that osier waits for: a plugin can change or block what is about to happen.
pub(crate) const INTERCEPTED: &[PluginEvent] = &[
    guarding(
        with_answers(
            event(
                "input",
                "a user message is about to enter the conversation",
                "text, attachments",
                "`{text=}` or `{block=reason}`",
            ),
            &["text", "block"],
        ),
        "the prompt is rejected",
    ),
    guarding(
        with_answers(
            event(
                "message",
                "a message is final and about to be stored",
                "message",
                "`{block=reason}`",
            ),
            &["block"],
        ),
        "the run ends; the message is not stored",
    ),
    guarding(
        with_answers(
            event(
                "before_request",
                "a request is about to be sent",
                "system_prompt, messages, tools",
                "`{system_prompt=}`, `{messages=}` or `{block=reason}`",
            ),
            &["system_prompt", "messages", "block"],
        ),
        "the run ends; nothing is sent",
    ),
    guarding(
        with_answers(
            event(
                "tool_call",
                "a tool is about to run",
                "id, name, arguments",
                "`{arguments=}` or `{block=reason}`",
            ),
            &["arguments", "block"],
        ),
        "the call is denied",
    ),
    guarding(
        with_answers(
            event(
                "tool_result",
                "a tool has run",
                "id, name, arguments, text, details, is_error",
                "`{text=}`, `{details=}`, `{is_error=}`",
            ),
            &["text", "details", "is_error"],
        ),
        "the model gets the error instead of the result",
    ),
    with_answers(
        event(
            "before_compact",
            "a summary is about to replace earlier messages",
            "reason, instructions, tokens_before, messages, stays",
            "`{summary=}` instead of the model's, `{instructions=}` for the model, or `{block=reason}`",
        ),
        &["summary", "instructions", "block"],
    ),
    with_answers(
        event(
            "after_turn",
            "an answer and its tool results are stored",
            "results",
            "`{block=reason}`",
        ),
        &["block"],
    ),
    with_answers(
        event(
            "before_settle",
            "the agent is about to stop",
            "",
            "`{message=text}` continues the run",
        ),
        &["message"],
    ),
    event("settled", "a run has ended", "outcome", ""),
];

/// Events that are reported after they happened.
pub const NOTIFIED: &[PluginEvent] = &[
    event(
        "session_opened",
        "a session was opened",
        "session, messages, atStart",
        "",
    ),
    event("session_renamed", "the session was renamed", "name", ""),
    event("agent_start", "a run begins", "", ""),
    event("turn_start", "a model call begins", "turn", ""),
    event("message_start", "a message appears", "id, message", ""),
    event(
        "message_update",
        "a part of an answer arrived",
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
        "a compaction ended, with any outcome",
        "reason, outcome",
        "",
    ),
    event(
        "message_retracted",
        "a partial answer is discarded for a retry",
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
        "a tool reported progress",
        "callId, update",
        "",
    ),
    event(
        "tool_execution_end",
        "a tool ended",
        "callId, toolName, result",
        "",
    ),
    event(
        "turn_end",
        "a model call and its tools ended",
        "turn, status",
        "",
    ),
    event("agent_end", "the agent loop ended", "outcome", ""),
    event(
        "agent_settled",
        "nothing runs and no message waits",
        "outcome",
        "",
    ),
    event(
        "queue_update",
        "the message queues changed",
        "steering, followUp",
        "",
    ),
    event(
        "retry_scheduled",
        "a model call is retried",
        "attempt, maxAttempts, delayMs, status",
        "",
    ),
    event(
        "provider_switched",
        "osier switches to a fallback model",
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
    event("shell_end", "a command of the user ended", "id, run", ""),
    event("accounting", "the cost of a call was recorded", "entry", ""),
    event(
        "question_asked",
        "a question waits for the user",
        "question",
        "",
    ),
    event(
        "question_closed",
        "a question was answered or withdrawn",
        "id",
        "",
    ),
];

/// The event `name`.
pub fn find_event(name: &str) -> Option<&'static PluginEvent> {
    INTERCEPTED
        .iter()
        .chain(NOTIFIED)
        .find(|event| event.name == name)
}

/// The names of the events whose functions are guards.
pub(super) fn guards() -> impl Iterator<Item = &'static str> {
    let guarding = INTERCEPTED.iter().filter(|event| !event.failure.is_empty());
    guarding.map(|event| event.name)
}

/// The names of line styles.
pub(crate) const STYLES: &[&str] = &[
    "text", "muted", "accent", "title", "success", "warning", "error", "added", "removed", "code",
];

/// The tables for the documentation.
pub fn reference() -> String {
    let mut page = String::from("| function | description |\n|---|---|\n");
    for function in FUNCTIONS {
        let note = if function.at_load {
            " Only while the file loads."
        } else {
            ""
        };
        let signature = function.signature.replace('|', "\\|");
        let _ = writeln!(page, "| `{signature}` | {}{note} |", function.description);
    }
    page.push_str("\nBefore something happens, or before its result is used. osier waits for the function:\n\n");
    page.push_str(
        "| event | when | fields | may return | if the function fails |\n|---|---|---|---|---|\n",
    );
    for event in INTERCEPTED {
        let PluginEvent {
            name,
            when,
            fields,
            returns,
            failure,
            ..
        } = event;
        let failure = match *failure {
            "" => "osier shows the error and continues",
            failure => failure,
        };
        let _ = writeln!(
            page,
            "| `{name}` | {when} | {fields} | {returns} | {failure} |"
        );
    }
    page.push_str("\nAfter something happened:\n\n| event | when | fields |\n|---|---|---|\n");
    for event in NOTIFIED {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            event.name, event.when, event.fields
        );
    }
    let _ = writeln!(page, "\nStyles of a line: `{}`.", STYLES.join("`, `"));
    page
}
