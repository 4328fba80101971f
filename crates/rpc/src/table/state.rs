//! How things stand.

use crate::answers::{commands, first_page, last_page, last_text, messages, state, stats, status};
use crate::command::{Command, Group};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::State, name, doc)
}

pub(super) const COMMANDS: &[Command] = &[
    row(
        "get_state",
        "Model, session, queues, usage and permissions as they are when everything sent before was taken.",
    )
    .also(&["get_status"])
    .of("get_status")
    .shaped("Status", &["status"], status),
    row(
        "get_agent_state",
        "What the agent knows: prompt, tools, the messages in memory, the partial answer, the calls that run.",
    )
    .of("get_state")
    .shaped("StateSnapshot", &["state"], state),
    row(
        "get_messages",
        "Every message of the current branch, oldest first. `read_transcript` gives them in pages.",
    )
    .begins(first_page)
    .stepped("Messages", messages),
    row(
        "get_last_assistant_text",
        "The text of the last answer that has any.",
    )
    .begins(last_page)
    .stepped("LastText", last_text),
    row(
        "get_commands",
        "The slash commands of templates, skills and plug-ins that a prompt may begin with.",
    )
    .begins(commands)
    .stepped("Commands", |_, _| crate::command::Step::Pass),
    row(
        "get_session_stats",
        "Counts, tokens and cost of the open session.",
    )
    .of("describe_session")
    .shaped("SessionStats", &["session_described"], stats),
    row("get_usage", "What the session has used, model by model.").told(&["usage"]),
    row("get_context", "What fills the model's window.").told(&["context_report"]),
];
