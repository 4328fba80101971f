//! What a hook can wait for: one table, from which configuration, matching and documentation are made.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// A moment at which hooks run. On the wire it has the name that Claude Code gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HookEvent {
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    PostToolUseFailure,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    Notification,
}

/// What there is to know of an event.
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    pub event: HookEvent,
    pub name: &'static str,
    /// The other way to write the name.
    pub snake: &'static str,
    pub when: &'static str,
    /// What a matcher is compared with; empty when every hook of the event runs.
    pub matched: &'static str,
    /// Fields of its JSON beside those every event has.
    pub fields: &'static str,
    /// What comes of its answers.
    pub answers: &'static str,
    /// Output that is no JSON is taken as context.
    pub text_is_context: bool,
    /// Exit code 2 stops what is about to happen, or sends the model on.
    pub blocks: bool,
}

const fn info(
    event: HookEvent,
    names: (&'static str, &'static str),
    when: &'static str,
    (matched, fields): (&'static str, &'static str),
    answers: &'static str,
) -> EventInfo {
    EventInfo {
        event,
        name: names.0,
        snake: names.1,
        when,
        matched,
        fields,
        answers,
        text_is_context: matches!(
            event,
            HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::PreCompact
        ),
        blocks: !matches!(
            event,
            HookEvent::SessionStart
                | HookEvent::SessionEnd
                | HookEvent::StopFailure
                | HookEvent::SubagentStart
                | HookEvent::PostCompact
                | HookEvent::Notification
        ),
    }
}

/// Every event, in the order of [`HookEvent`].
pub const EVENTS: [EventInfo; 14] = [
    info(
        HookEvent::SessionStart,
        ("SessionStart", "session_start"),
        "a session has opened, or was compacted",
        (
            "source: startup, resume, clear, fork, compact",
            "source, model",
        ),
        "text and `additionalContext` go to the model with the next prompt",
    ),
    info(
        HookEvent::SessionEnd,
        ("SessionEnd", "session_end"),
        "a session closes; 5 s unless the hook has a `timeout`",
        ("reason: clear, resume, prompt_input_exit, other", "reason"),
        "none",
    ),
    info(
        HookEvent::UserPromptSubmit,
        ("UserPromptSubmit", "user_prompt_submit"),
        "a prompt is about to enter the conversation",
        ("", "prompt"),
        "blocking keeps the prompt out; text and `additionalContext` go along with it",
    ),
    info(
        HookEvent::PreToolUse,
        ("PreToolUse", "pre_tool_use"),
        "a tool is about to run",
        ("the tool", "tool_name, tool_input, tool_use_id"),
        "blocking denies the call; `permissionDecision` allow, ask, defer or deny; `updatedInput`; `additionalContext`",
    ),
    info(
        HookEvent::PermissionRequest,
        ("PermissionRequest", "permission_request"),
        "the person is about to be asked for a permission",
        (
            "the tool",
            "tool_name, tool_input, tool_use_id, permission_suggestions",
        ),
        "`decision` with `behavior` allow (and `updatedInput`) or deny (and `message`) answers for the person; blocking denies",
    ),
    info(
        HookEvent::PostToolUse,
        ("PostToolUse", "post_tool_use"),
        "a tool has run",
        (
            "the tool",
            "tool_name, tool_input, tool_use_id, tool_response",
        ),
        "blocking tells the model the reason; `additionalContext`; `updatedToolOutput`",
    ),
    info(
        HookEvent::PostToolUseFailure,
        ("PostToolUseFailure", "post_tool_use_failure"),
        "a tool has failed",
        (
            "the tool",
            "tool_name, tool_input, tool_use_id, error, is_interrupt",
        ),
        "as after success",
    ),
    info(
        HookEvent::Stop,
        ("Stop", "stop"),
        "the model is done",
        ("", "stop_hook_active, last_assistant_message"),
        "blocking sends it on with the reason, eight times in a row at most",
    ),
    info(
        HookEvent::StopFailure,
        ("StopFailure", "stop_failure"),
        "a run ended because no model could be called",
        (
            "error: rate_limit, authentication_failed, billing_error, server_error, invalid_request, unknown",
            "error, error_details",
        ),
        "none",
    ),
    info(
        HookEvent::SubagentStart,
        ("SubagentStart", "subagent_start"),
        "a sub-agent gets its task",
        ("agent_type", "agent_id, agent_type"),
        "`additionalContext` goes along with the task",
    ),
    info(
        HookEvent::SubagentStop,
        ("SubagentStop", "subagent_stop"),
        "a sub-agent is done",
        (
            "agent_type",
            "agent_id, agent_type, stop_hook_active, last_assistant_message",
        ),
        "as for `Stop`",
    ),
    info(
        HookEvent::PreCompact,
        ("PreCompact", "pre_compact"),
        "the conversation is about to be summarised",
        ("trigger: manual, auto", "trigger, custom_instructions"),
        "blocking keeps the conversation as it is; text is told the model that summarises",
    ),
    info(
        HookEvent::PostCompact,
        ("PostCompact", "post_compact"),
        "a summary has taken the place of the earlier part",
        ("trigger: manual, auto", "trigger, compact_summary"),
        "none",
    ),
    info(
        HookEvent::Notification,
        ("Notification", "notification"),
        "a question waits, or nothing has happened for a minute after a run",
        (
            "notification_type: permission_prompt, elicitation_dialog, idle_prompt",
            "message, title, notification_type",
        ),
        "none",
    ),
];

/// Events that Claude Code has and osier has not: hooks for them never run, which is no fault of a file.
pub(super) const OTHERS: &[&str] = &[
    "PostToolBatch",
    "UserPromptExpansion",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

impl HookEvent {
    pub fn info(self) -> &'static EventInfo {
        const TABLE: &[EventInfo] = &EVENTS;
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The event that is written `name`, in either way.
    pub fn find(name: &str) -> Option<Self> {
        let mut known = EVENTS.iter();
        let found = known.find(|info| info.name == name || info.snake == name);
        found.map(|info| info.event)
    }
}

/// The table of the documentation.
pub fn reference() -> String {
    let mut page = String::from(
        "| event | when | matcher | fields | what answers do |\n|---|---|---|---|---|\n",
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
