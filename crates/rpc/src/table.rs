//! Every command, in the order of the documentation.
//!
//! Most come from the rows of the requests. This file adds the commands that are more than one request, that
//! take other parameters, or that answer with a part of an event.

use std::sync::LazyLock;

use osier_base::problem;
use osier_base::request::{Group, Kind, Parameter};
use osier_protocol::Op;

use super::answers as answer;
use super::command::{Command, Data, Step, all_fields, optional, required};
use super::parameters as start;

const MODES: Kind = Kind::Word(&["one-at-a-time", "all"]);
const MESSAGE: Parameter = Parameter {
    aliases: &["text"],
    ..required("message", Kind::Text, "the message")
};
const IMAGES: Parameter = optional("images", Kind::List("ImageData"), "attached images");
const ATTACHMENTS: Parameter = optional(
    "attachments",
    Kind::List("Attachment"),
    "attached files, as the agent stores them",
);
const MODE: Parameter = required("mode", MODES, "how many messages are delivered at once");

/// Commands of the connection.
fn connection() -> Vec<Command> {
    let row = |name, doc| Command::new(Group::Connection, name, doc);
    vec![
        row(
            "hello",
            "Exchange protocol versions and choose which events are sent. It is optional and may be sent at any time.",
        )
        .parameters(&[
            optional("protocol", Kind::Number, "the protocol version of the client"),
            optional("client", Kind::Text, "the name of the client, for logs"),
            optional(
                "events",
                Kind::Word(&["changes", "all", "none"]),
                "which events are sent",
            ),
            optional(
                "ui",
                Kind::Flag,
                "whether a user can answer requests; with `false` each is dismissed at once",
            ),
            optional(
                "uiTimeoutMs",
                Kind::Number,
                "time until a request is dismissed; no limit when missing",
            ),
        ])
        .dispatcher(Data::Shape("Greeting")),
        row(
            "ui_response",
            "Answer a `ui_request` with the same id. There is a response only if it is invalid.",
        )
        .with_aliases(&["extension_ui_response", "hook_ui_response"])
        .parameters(&[
            required("id", Kind::Text, "the id of the request"),
            optional("confirmed", Kind::Flag, "yes or no"),
            optional("value", Kind::Any, "a text, or the object of a form"),
            optional("cancelled", Kind::Flag, "dismiss the request"),
            optional("answer", Kind::Object("Answer"), "any answer in full"),
        ])
        .dispatcher(Data::Nothing),
        row(
            "op",
            "Send any request as it is. With `reply` the answer is the event that answers the request, with its `type`; \
             otherwise it is the end of the request.",
        )
        .parameters(&[
            required("op", Kind::Object("Op"), "the request"),
            optional("reply", Kind::Flag, "answer with the event"),
        ])
        .starts_with(start::any),
    ]
}

/// Commands for prompts and queues.
fn prompts() -> Vec<Command> {
    let row = |name, doc| Command::new(Group::Prompts, name, doc);
    let message = [MESSAGE, IMAGES, ATTACHMENTS];
    vec![
        row(
            "prompt",
            "Start a run with a message. During a run the message is queued. A message that begins with `/name` is \
             expanded from the template with this name, or runs the command of a plugin.",
        )
        .parameters(&[
            MESSAGE,
            IMAGES,
            ATTACHMENTS,
            optional(
                "streamingBehavior",
                Kind::Word(&["steer", "followUp"]),
                "the queue during a run",
            ),
        ])
        .starts_with(start::prompt)
        .steps("PromptResult", answer::prompt_result),
        row(
            "steer",
            "Queue a message that is delivered after the current tools, before the next request. Starts a run when \
             none is active.",
        )
        .with_aliases(&["queue_message"])
        .parameters(&message)
        .starts_with(start::steer)
        .steps("PromptResult", answer::prompt_result),
        row(
            "follow_up",
            "Queue a message that is delivered when the agent would otherwise stop. Starts a run when none is active.",
        )
        .parameters(&message)
        .starts_with(start::follow_up)
        .steps("PromptResult", answer::prompt_result),
        row(
            "set_queue_mode",
            "Set how many queued messages are delivered at once: one mode for both queues, or one for each.",
        )
        .parameters(&[
            optional("mode", MODES, "for both queues"),
            optional("steering", MODES, "for messages that steer"),
            optional("followUp", MODES, "for messages that wait for the end of the run"),
        ])
        .starts_with(start::queue_mode)
        .events(&["queue_mode_changed"]),
        row(
            "run_command",
            "Run a slash command of osier, as a user types it in the browser chat. `get_commands` lists them.",
        )
        .parameters(&[required(
            "command",
            Kind::Text,
            "the command with its argument, as in `/thinking high`",
        )])
        .starts_with(start::slash)
        .with_answer("CommandText", &[], all_fields),
        row("set_steering_mode", "Set the mode of the queue of messages that steer.")
            .parameters(&[MODE])
            .starts_with(start::steering_mode)
            .events(&["queue_mode_changed"]),
        row(
            "set_follow_up_mode",
            "Set the mode of the queue of messages that wait for the end of the run.",
        )
        .parameters(&[MODE])
        .starts_with(start::follow_up_mode)
        .events(&["queue_mode_changed"]),
    ]
}

/// Commands that read or change the conversation in another way than one request does.
fn conversation() -> Vec<Command> {
    let (state, tree) = (Group::State, Group::Tree);
    vec![
        Command::new(
            state,
            "get_messages",
            "Return a page of the messages of the current branch, oldest first: at most `limit`, and about 16 MB. With `more` \
             in the answer, ask for the next page with the last `entryId` as `after`.",
        )
        .parameters(&[
            optional("after", Kind::Text, "only the messages after this entry"),
            optional("limit", Kind::Number, "maximum number; 1000 when missing"),
        ])
        .starts_with(answer::first_page)
        .steps("Messages", answer::messages),
        Command::new(
            state,
            "get_last_assistant_text",
            "Return the text of the last answer that has any.",
        )
        .starts_with(answer::last_page)
        .steps("LastText", answer::last_text),
        Command::new(
            state,
            "get_commands",
            "List the slash commands: those of templates, skills and plugins, and those of osier.",
        )
        .starts_with(answer::commands)
        .steps("SlashCommands", |_, _| Step::Ignore),
        Command::new(
            state,
            "get_session_stats",
            "Return message counts, tokens and cost of the open session.",
        )
        .request("describe_session")
        .with_answer("SessionStats", &["session_described"], answer::stats),
        Command::new(
            tree,
            "get_fork_messages",
            "List the prompts of the current branch, where it can be forked, oldest first: in pages, as `get_messages`.",
        )
        .parameters(&[
            optional("after", Kind::Text, "only the prompts after this entry"),
            optional("limit", Kind::Number, "maximum number; 1000 when missing"),
        ])
        .starts_with(answer::first_prompts)
        .steps("PromptEntries", answer::prompts),
        Command::new(
            tree,
            "branch",
            "Continue after an entry of any kind. Without an entry, continue before the last prompt.",
        )
        .parameters(&[
            optional("entryId", Kind::Text, "the entry"),
            optional(
                "summary",
                Kind::Text,
                "instructions for a model that summarizes the branch that is left; may be empty",
            ),
        ])
        .starts_with(answer::branch)
        .events(&["moved", "branch_summary_failed"]),
        Command::new(Group::Sessions, "export_html", "Export the open session to an HTML page.")
            .parameters(&[
                optional("outputPath", Kind::Text, "relative to the working directory"),
                optional("force", Kind::Flag, "replace an existing file"),
                optional("log", Kind::Flag, "with the log of the session"),
            ])
            .starts_with(start::export_html)
            .events(&["session_exported"]),
    ]
}

/// Commands for models.
fn models() -> Vec<Command> {
    let row = |name, doc| Command::new(Group::Models, name, doc);
    vec![
        row(
            "set_model",
            "Select the model for the next request, by `reference`, by `modelId`, or by `provider` and `modelId`.",
        )
        .with_aliases(&["select_model"])
        .parameters(&[
            Parameter {
                aliases: &["model"],
                ..optional(
                    "reference",
                    Kind::Text,
                    "`PROVIDER/ID[:LEVEL]`, or part of a name",
                )
            },
            optional("provider", Kind::Text, "with `modelId`"),
            optional("modelId", Kind::Text, "its id"),
        ])
        .starts_with(start::model)
        .events(&["model_selected"]),
        row(
            "set_models",
            "Set the models for the next request, best first. The others are fallbacks.",
        )
        .parameters(&[required("models", Kind::List("Model"), "at least one")])
        .starts_with(start::models)
        .events(&["models_changed"]),
        row(
            "get_available_thinking_levels",
            "List the thinking levels of the model, weakest first.",
        )
        .request("get_status")
        .with_answer("ThinkingLevels", &["status"], answer::levels),
    ]
}

/// Commands whose request has an `id`: on the wire `id` is that of the command.
fn identified() -> Vec<Command> {
    vec![
        Command::new(
            Group::Tools,
            "follow_job",
            "Send the output of a background job as `job_output`: first the end of the existing output, then new output.",
        )
        .parameters(&[optional(
            "jobId",
            Kind::Text,
            "one job at a time; stops sending when missing",
        )])
        .starts_with(start::follow_job),
        Command::new(
            Group::Tools,
            "kill_job",
            "Kill a background job with all its processes.",
        )
        .parameters(&[required("jobId", Kind::Text, "which job")])
        .starts_with(start::kill_job),
        Command::new(
            Group::Permissions,
            "answer_question",
            "Answer an open question. `ui_response` is the shorter way.",
        )
        .parameters(&[
            required("questionId", Kind::Text, "which question"),
            required("answer", Kind::Object("Answer"), "the answer"),
        ])
        .starts_with(start::answer),
    ]
}

/// Gives a command of a request an answer that is not simply the fields of an event.
fn with_answer(command: Command) -> Command {
    match command.name {
        "clear_queue" => {
            command.with_answer("ClearedQueue", &["queue_recalled"], answer::cleared_queue)
        }
        "new_session" | "switch_session" | "continue_here" => command.with_answer(
            "OpenedSession",
            &["session_opened", "session_failed"],
            answer::opened_session,
        ),
        "get_state" => command.with_answer("Status", &["status"], answer::status),
        "get_agent_state" => command.with_answer("StateSnapshot", &["state"], answer::state),
        "bash" => command.with_answer("ShellRun", &["shell_end"], answer::shell_run),
        "login" => command.with_answer(
            "LoginStarted",
            &["login_started", "login_ended"],
            answer::login,
        ),
        "take_lane" => {
            command.with_answer("LaneTaken", &["lane_taken", "lane_conflicts"], answer::lane)
        }
        "compact" | "store_summary" => command.steps("CompactionOutcome", answer::compaction),
        "search_transcript" => command.steps("SearchHits", answer::hits),
        "search_tree" => command.steps("TreeHits", answer::tree_hits),
        _ => command,
    }
}

static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let mut table = connection();
    table.extend(prompts());
    table.extend(conversation());
    table.extend(models());
    table.extend(identified());
    let special = table.len();
    for request in Op::requests() {
        let command = Command::from_request(request);
        if table[..special]
            .iter()
            .all(|known| known.name != command.name)
        {
            table.push(with_answer(command));
        }
    }
    // The name of a request is an alias, unless it is the name of another command.
    let names: Vec<&str> = table.iter().map(|command| command.name).collect();
    for command in &mut table {
        command.aliases.retain(|alias| !names.contains(alias));
    }
    table
});

/// Every command.
pub fn commands() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter()
}

/// The command with this name or alias.
pub fn find_command(name: &str) -> Option<&'static Command> {
    commands().find(|command| command.names().any(|known| known == name))
}

/// The known name that is most similar to an unknown one.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    problem::nearest(name, commands().flat_map(Command::names))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_name_belongs_to_one_command() {
        let mut seen = HashSet::new();
        for name in commands().flat_map(Command::names) {
            assert!(seen.insert(name), "`{name}` belongs to two commands");
        }
    }

    #[test]
    fn every_command_of_pi_and_of_the_first_version_exists() {
        let names = "prompt steer follow_up abort clear_queue new_session switch_session fork clone \
            get_fork_messages get_entries get_tree get_last_assistant_text set_session_name export_html \
            get_session_stats get_state get_messages get_commands set_model cycle_model \
            get_available_models set_thinking_level cycle_thinking_level \
            get_available_thinking_levels set_steering_mode set_follow_up_mode compact \
            set_auto_compaction set_auto_retry abort_retry bash abort_bash queue_message reset branch \
            set_queue_mode extension_ui_response hook_ui_response";
        for name in names.split_whitespace() {
            assert!(find_command(name).is_some(), "`{name}` is missing");
        }
    }

    #[test]
    fn a_command_comes_from_the_row_of_its_request() {
        let command = find_command("set_session_name").unwrap();
        let parameters: Vec<&str> = command.parameters.iter().map(|one| one.name).collect();
        assert_eq!(command.aliases, ["rename_session"]);
        assert_eq!(parameters, ["name"]);
        assert_eq!(command.data, Data::Event("session_renamed"));
    }

    #[test]
    fn a_misspelt_name_finds_its_command() {
        assert_eq!(nearest("promt"), Some("prompt"));
        assert_eq!(nearest("get_modles"), Some("get_models"));
        assert_eq!(nearest("make coffee"), None);
    }
}
