//! Every command there is, in the order of the documentation.

mod conversation;
mod files;
mod models;
mod prompting;
mod safety;
mod session;
mod state;
mod surroundings;
mod tools;
mod tree;

use super::command::{Command, Gives, Group, Kind, may, needs};
use osier_base::problem;

/// Commands that concern the connection itself.
const CONNECTION: &[Command] = &[
    Command::op(
        Group::Connection,
        "hello",
        "Says who speaks which version, and which events are wanted. It may be left out, and may come at any time.",
    )
    .takes(&[
        may("protocol", Kind::Number, "the version the client speaks"),
        may("client", Kind::Text, "who it is, for logs"),
        may(
            "events",
            Kind::Word(&["changes", "all", "none"]),
            "which events are streamed",
        ),
        may(
            "ui",
            Kind::Flag,
            "whether a person is there to answer requests; `false` dismisses each at once",
        ),
        may(
            "uiTimeoutMs",
            Kind::Number,
            "how long a request waits before it is dismissed; for ever when left out",
        ),
    ])
    .here(Gives::Shape("Greeting")),
    Command::op(
        Group::Connection,
        "ui_response",
        "Answers a `ui_request`, whose id it carries. There is a response only when it does not fit.",
    )
    .also(&["extension_ui_response", "hook_ui_response"])
    .takes(&[
        needs("id", Kind::Text, "the id of the request"),
        may("confirmed", Kind::Flag, "yes or no"),
        may("value", Kind::Any, "a text, or the object of a form"),
        may("cancelled", Kind::Flag, "no answer"),
        may("answer", Kind::Object("Answer"), "any answer in full"),
    ])
    .here(Gives::Nothing),
    Command::op(
        Group::Connection,
        "op",
        "Does any op of the host as it is, for a client that is an interface of its own.",
    )
    .takes(&[needs("op", Kind::Object("Op"), "what is done")])
    .begins(super::parameters::any),
    Command::op(
        Group::Connection,
        "take_over",
        "Lets this client write while another does, where several are in one session; all are told. With one client there is nothing to take over.",
    ),
    Command::op(
        Group::Connection,
        "shut_down",
        "Stops what runs, stores everything and ends the agent.",
    )
    .also(&["quit"])
    .told(&["shut_down"]),
];

/// The rows by group.
const COMMANDS: &[&[Command]] = &[
    CONNECTION,
    prompting::COMMANDS,
    state::COMMANDS,
    session::COMMANDS,
    conversation::COMMANDS,
    tree::COMMANDS,
    files::COMMANDS,
    models::COMMANDS,
    tools::COMMANDS,
    safety::COMMANDS,
    surroundings::COMMANDS,
];

/// Every command.
pub fn all() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().copied().flatten()
}

/// The command of this name or alias.
pub fn find(name: &str) -> Option<&'static Command> {
    all().find(|command| command.names().any(|known| known == name))
}

/// The name most like one that is not known, if any is.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    problem::nearest(name, all().flat_map(Command::names))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_name_means_one_command() {
        let mut seen = HashSet::new();
        for name in all().flat_map(Command::names) {
            assert!(seen.insert(name), "`{name}` is there twice");
        }
    }

    #[test]
    fn every_command_of_pi_and_of_the_first_protocol_is_there() {
        let names = "prompt steer follow_up abort clear_queue new_session switch_session fork clone \
            get_fork_messages get_entries get_tree get_last_assistant_text set_session_name export_html \
            get_session_stats get_state get_messages get_commands set_model cycle_model \
            get_available_models set_thinking_level cycle_thinking_level \
            get_available_thinking_levels set_steering_mode set_follow_up_mode compact \
            set_auto_compaction set_auto_retry abort_retry bash abort_bash queue_message reset branch \
            set_queue_mode extension_ui_response hook_ui_response";
        for name in names.split_whitespace() {
            assert!(find(name).is_some(), "`{name}` is missing");
        }
    }

    #[test]
    fn a_misspelt_name_finds_its_command() {
        assert_eq!(nearest("promt"), Some("prompt"));
        assert_eq!(nearest("get_modles"), Some("get_models"));
        assert_eq!(nearest("make coffee"), None);
    }
}
