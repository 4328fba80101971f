//! The hook events: one table for configuration, matching and documentation.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

// recipe: an event of hooks: its row, and the place where it happens
/// An event that runs hooks. On the wire it has Claude Code's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HookEvent {
    Setup,
    SessionStart,
    SessionEnd,
    InstructionsLoaded,
    ConfigChange,
    FileChanged,
    UserPromptSubmit,
    UserPromptExpansion,
    PreToolUse,
    PermissionRequest,
    PermissionDenied,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    PreModelSwitch,
    PostModelSwitch,
    TaskCreated,
    TaskCompleted,
    Elicitation,
    ElicitationResult,
    Notification,
}

/// The description of an event.
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    pub event: HookEvent,
    pub name: &'static str,
    /// The name in snake case.
    pub snake: &'static str,
    pub when: &'static str,
    /// The text that the matcher is compared with; empty when the event has no matcher.
    pub matched: &'static str,
    /// JSON fields in addition to those of every event.
    pub fields: &'static str,
    /// The effect of answers.
    pub answers: &'static str,
    /// Output that is not JSON counts as context.
    pub text_is_context: bool,
    /// Exit code 2 blocks the action, or continues the model.
    pub blocks: bool,
    /// A hook that does not answer blocks: it was asked whether something may happen.
    pub guards: bool,
    /// Blocking continues a model that has finished.
    pub continues: bool,
}

/// The configured effect of a failure of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It blocks what the event guards, also with an exit code that is only a warning otherwise.
    Block,
    /// It is only a warning.
    Continue,
}

impl OnFailure {
    /// The words of the contract.
    pub const WORDS: [(&'static str, Self); 2] =
        [("block", Self::Block), ("continue", Self::Continue)];

    pub fn find(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, meaning)| *meaning)
    }
}

const fn info(
    event: HookEvent,
    name: &'static str,
    snake: &'static str,
    when: &'static str,
    matched: &'static str,
    fields: &'static str,
    answers: &'static str,
) -> EventInfo {
    EventInfo {
        event,
        name,
        snake,
        when,
        matched,
        fields,
        answers,
        text_is_context: matches!(
            event,
            HookEvent::SessionStart
                | HookEvent::UserPromptSubmit
                | HookEvent::UserPromptExpansion
                | HookEvent::PreCompact
        ),
        blocks: !matches!(
            event,
            HookEvent::Setup
                | HookEvent::SessionStart
                | HookEvent::SessionEnd
                | HookEvent::FileChanged
                | HookEvent::PermissionDenied
                | HookEvent::StopFailure
                | HookEvent::SubagentStart
                | HookEvent::PostCompact
                | HookEvent::InstructionsLoaded
                | HookEvent::ConfigChange
                | HookEvent::PostModelSwitch
                | HookEvent::Notification
        ),
        guards: matches!(
            event,
            HookEvent::UserPromptSubmit
                | HookEvent::UserPromptExpansion
                | HookEvent::PreToolUse
                | HookEvent::PermissionRequest
                | HookEvent::PreModelSwitch
        ),
        continues: matches!(event, HookEvent::Stop | HookEvent::SubagentStop),
    }
}

/// The fields of a switch of the model.
const SWITCH: &str = "from_model, to_model, requested_model, source (command, auto), context_tokens, prompt_cache_warm, \
    cache_ttl, estimated_cache_write_usd, pricing";

/// All events, in the order of [`HookEvent`].
pub const EVENTS: [EventInfo; 27] = [
    info(
        HookEvent::Setup,
        "Setup",
        "setup",
        "a session was opened with `--init` or `--maintenance`, before `SessionStart`",
        "trigger: init, maintenance",
        "trigger",
        "`additionalContext` is added to the next prompt",
    ),
    info(
        HookEvent::SessionStart,
        "SessionStart",
        "session_start",
        "a session was opened or compacted",
        "source: startup, resume, clear, fork, compact",
        "source, model",
        "text and `additionalContext` are added to the next prompt",
    ),
    info(
        HookEvent::SessionEnd,
        "SessionEnd",
        "session_end",
        "a session closes; 5 s unless the hook has a `timeout`",
        "reason: clear, resume, prompt_input_exit, other",
        "reason",
        "none",
    ),
    info(
        HookEvent::InstructionsLoaded,
        "InstructionsLoaded",
        "instructions_loaded",
        "a session was opened with this file of instructions, or read it again",
        "load_reason: session_start",
        "file_path, memory_type (User, Project), load_reason",
        "none",
    ),
    info(
        HookEvent::ConfigChange,
        "ConfigChange",
        "config_change",
        "`/reload` reads the settings again",
        "source: user_settings",
        "source, file_path",
        "none",
    ),
    info(
        HookEvent::FileChanged,
        "FileChanged",
        "file_changed",
        "a watched file was changed, added or deleted: those that matchers name, in the working directory, and those of `watchPaths`",
        "names of files, as in `.envrc\\|.env`",
        "file_path, event (change, add, unlink)",
        "`watchPaths` adds files to watch",
    ),
    info(
        HookEvent::UserPromptSubmit,
        "UserPromptSubmit",
        "user_prompt_submit",
        "a prompt is about to enter the conversation",
        "",
        "prompt",
        "blocking rejects the prompt; text and `additionalContext` are added to it",
    ),
    info(
        HookEvent::UserPromptExpansion,
        "UserPromptExpansion",
        "user_prompt_expansion",
        "a slash command has become a prompt, before `UserPromptSubmit`",
        "the command, without `/`",
        "expansion_type, command_name, command_args, prompt",
        "as for `UserPromptSubmit`",
    ),
    info(
        HookEvent::PreToolUse,
        "PreToolUse",
        "pre_tool_use",
        "a tool is about to run",
        "the tool",
        "tool_name, tool_input, tool_use_id",
        "blocking denies the call; `permissionDecision` allow, ask, defer or deny; `updatedInput`; `additionalContext`",
    ),
    info(
        HookEvent::PermissionRequest,
        "PermissionRequest",
        "permission_request",
        "osier is about to ask the user for permission",
        "the tool",
        "tool_name, tool_input, tool_use_id, permission_suggestions: rules as `addRules` of the Agent SDKs",
        "`decision` with `behavior` allow (and `updatedInput`) or deny (and `message`) answers for the user; blocking denies",
    ),
    info(
        HookEvent::PermissionDenied,
        "PermissionDenied",
        "permission_denied",
        "the model that judges calls in the mode `auto` denied one",
        "the tool",
        "tool_name, tool_input, tool_use_id, reason",
        "`retry`",
    ),
    info(
        HookEvent::PostToolUse,
        "PostToolUse",
        "post_tool_use",
        "a tool has run",
        "the tool",
        "tool_name, tool_input, tool_use_id, tool_response",
        "blocking sends the reason to the model; `additionalContext`; `updatedToolOutput`",
    ),
    info(
        HookEvent::PostToolUseFailure,
        "PostToolUseFailure",
        "post_tool_use_failure",
        "a tool has failed",
        "the tool",
        "tool_name, tool_input, tool_use_id, error, is_interrupt",
        "as for `PostToolUse`",
    ),
    info(
        HookEvent::PostToolBatch,
        "PostToolBatch",
        "post_tool_batch",
        "the calls of an answer have run, before the next request",
        "",
        "tool_calls: a list of tool_name, tool_input, tool_use_id, tool_response (the text for the model); calls that did not run are left out",
        "blocking ends the run; `additionalContext`",
    ),
    info(
        HookEvent::Stop,
        "Stop",
        "stop",
        "the model has finished",
        "",
        "stop_hook_active, last_assistant_message, background_tasks: running commands with id, type, status, description, command",
        "blocking and `additionalContext` continue the run with their text, at most eight times in a row",
    ),
    info(
        HookEvent::StopFailure,
        "StopFailure",
        "stop_failure",
        "a run ended because no model was available",
        "error: rate_limit, overloaded, authentication_failed, billing_error, model_not_found, server_error, invalid_request, unknown",
        "error, error_details, last_assistant_message (the same)",
        "none",
    ),
    info(
        HookEvent::SubagentStart,
        "SubagentStart",
        "subagent_start",
        "a subagent receives its task",
        "agent_type",
        "agent_id, agent_type",
        "`additionalContext` is added to the task",
    ),
    info(
        HookEvent::SubagentStop,
        "SubagentStop",
        "subagent_stop",
        "a subagent has finished",
        "agent_type",
        "agent_id, agent_type, stop_hook_active, last_assistant_message, background_tasks: running commands with id, type, status, description, command",
        "as for `Stop`",
    ),
    info(
        HookEvent::PreCompact,
        "PreCompact",
        "pre_compact",
        "the conversation is about to be compacted",
        "trigger: manual, auto",
        "trigger, custom_instructions",
        "blocking prevents the compaction; text is added to the summary instructions",
    ),
    info(
        HookEvent::PostCompact,
        "PostCompact",
        "post_compact",
        "a summary replaced the earlier part of the conversation",
        "trigger: manual, auto",
        "trigger, compact_summary",
        "none",
    ),
    info(
        HookEvent::PreModelSwitch,
        "PreModelSwitch",
        "pre_model_switch",
        "you are about to select another model",
        "to_model",
        SWITCH,
        "blocking keeps the model; `permissionDecision` allow, ask or deny",
    ),
    info(
        HookEvent::PostModelSwitch,
        "PostModelSwitch",
        "post_model_switch",
        "another model was selected",
        "to_model",
        SWITCH,
        "`additionalContext` is added to the conversation",
    ),
    info(
        HookEvent::TaskCreated,
        "TaskCreated",
        "task_created",
        "the model is about to add a to-do",
        "",
        "task_id, task_subject",
        "blocking denies the change of the list",
    ),
    info(
        HookEvent::TaskCompleted,
        "TaskCompleted",
        "task_completed",
        "the model is about to mark a to-do as done",
        "",
        "task_id, task_subject",
        "blocking denies the change of the list",
    ),
    info(
        HookEvent::Elicitation,
        "Elicitation",
        "elicitation",
        "an MCP server asks you a question",
        "the server",
        "mcp_server_name, message, mode, url, elicitation_id, requested_schema",
        "`action` accept, decline or cancel, and `content`, answer for you; blocking declines",
    ),
    info(
        HookEvent::ElicitationResult,
        "ElicitationResult",
        "elicitation_result",
        "the answer to the question of an MCP server is about to be sent",
        "the server",
        "mcp_server_name, elicitation_id, mode, action, content",
        "`action` and `content` replace the answer; blocking declines",
    ),
    info(
        HookEvent::Notification,
        "Notification",
        "notification",
        "a question waits for the user, or the session was idle for a minute after a run",
        "notification_type: permission_prompt, elicitation_dialog, idle_prompt",
        "message, title, notification_type",
        "none",
    ),
];

/// Events of Claude Code that osier does not have. Hooks for them never run, which is not an error.
pub const OTHERS: &[&str] = &[
    "TeammateIdle",
    "WorktreeCreate",
    "WorktreeRemove",
    "CwdChanged",
    "DirectoryAdded",
    "MessageDisplay",
    "PreSkillShellCommand",
];

impl EventInfo {
    /// Whether each of its occurrences is about a call of a tool.
    pub fn is_about_calls(&self) -> bool {
        self.fields.starts_with("tool_name")
    }
}

impl HookEvent {
    pub fn info(self) -> &'static EventInfo {
        const TABLE: &[EventInfo] = &EVENTS;
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The event with this name, in either spelling.
    pub fn find(name: &str) -> Option<Self> {
        let mut known = EVENTS.iter();
        let found = known.find(|info| info.name == name || info.snake == name);
        found.map(|info| info.event)
    }
}

/// The table for the documentation.
pub fn reference() -> String {
    let mut page = String::from(
        "| event | when | matcher | fields | effect of answers |\n|---|---|---|---|---|\n",
    );
    for info in EVENTS {
        let _ = writeln!(
            page,
            "| `{}`, `{}` | {} | {} | {} | {} |",
            info.name, info.snake, info.when, info.matched, info.fields, info.answers
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_finds_both_names() {
        for (place, info) in EVENTS.iter().enumerate() {
            assert_eq!(info.event as usize, place);
            assert_eq!(HookEvent::find(info.name), Some(info.event));
            assert_eq!(HookEvent::find(info.snake), Some(info.event));
            let wire = serde_json::to_value(info.event).unwrap();
            assert_eq!(wire, info.name);
            assert!(!OTHERS.contains(&info.name));
        }
        assert_eq!(HookEvent::find("pretooluse"), None);
    }
}
