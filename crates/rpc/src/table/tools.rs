//! Tools, commands of the user and background jobs.

use crate::answers::shell_run;
use crate::command::{Command, Group, Kind, may, needs};
use crate::parameters::{bash, follow_job, kill_job};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Tools, name, doc)
}

pub(super) const COMMANDS: &[Command] = &[
    row(
        "bash",
        "Runs a command for the user. Its result goes to the model with the next request unless it is excluded.",
    )
    .also(&["shell"])
    .takes(&[
        needs("command", Kind::Text, "for the shell"),
        may("excludeFromContext", Kind::Flag, "keep it from the model"),
    ])
    .begins(bash)
    .shaped("ShellRun", &["shell_end"], shell_run),
    row(
        "abort_bash",
        "Stops the command of `bash` and nothing else.",
    )
    .also(&["abort_shell"])
    .of("abort_shell"),
    row("list_jobs", "The background jobs, oldest first.").told(&["jobs"]),
    row(
        "follow_job",
        "Sends the output of a background job as `job_output`: the end of what there is, then what comes.",
    )
    .takes(&[may("jobId", Kind::Text, "one at a time; none ends it")])
    .begins(follow_job),
    row("kill_job", "Kills a background job with all it started.")
        .takes(&[needs("jobId", Kind::Text, "which one")])
        .begins(kill_job),
    row("list_tools", "The tools there are and whether they are offered.").told(&["tools"]),
    row(
        "set_tools",
        "The tools that are offered from the next request on. One that joins later is offered.",
    )
    .takes(&[needs("names", Kind::Texts, "their names")])
    .told(&["tools"]),
    row("set_system_prompt", "Takes effect with the next request.")
        .takes(&[needs("prompt", Kind::Text, "all of it")]),
    row(
        "append_message",
        "Adds a message without starting a run.",
    )
    .takes(&[needs("message", Kind::Object("AgentMessage"), "the message")]),
    row(
        "replace_messages",
        "Replaces the conversation in memory; refused while a run is on.",
    )
    .takes(&[needs("messages", Kind::List("AgentMessage"), "the messages")])
    .told(&["messages_replaced"]),
];
