//! Talking to the model and stopping it.

use crate::answers::{cleared, prompted};
use crate::command::{Command, Field, Group, Kind, may, needs};
use crate::parameters::{follow_up, follow_up_mode, prompt, queue_mode, steer, steering_mode};

const MODES: Kind = Kind::Word(&["one-at-a-time", "all"]);
const MESSAGE: Field = needs("message", Kind::Text, "what is said").also(&["text"]);
const IMAGES: Field = may("images", Kind::List("ImageData"), "pictures given with it");
const ATTACHMENTS: Field = may(
    "attachments",
    Kind::List("Attachment"),
    "files given with it, as the agent keeps them",
);
const MODE: Field = needs("mode", MODES, "how many messages one delivery takes");

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Prompting, name, doc)
}

pub(super) const COMMANDS: &[Command] = &[
    row(
        "prompt",
        "Starts a run with a message. While a run is on the message steers it, or waits for its end. A message that \
         begins with `/name` is sent as the template it names, or does what a plug-in has made of it.",
    )
    .takes(&[
        MESSAGE,
        IMAGES,
        ATTACHMENTS,
        may(
            "streamingBehavior",
            Kind::Word(&["steer", "followUp"]),
            "which queue it waits in while a run is on",
        ),
    ])
    .begins(prompt)
    .stepped("Prompted", prompted),
    row(
        "steer",
        "A message that is delivered after the tools that run, before the next request. Starts a run when none is on.",
    )
    .also(&["queue_message"])
    .takes(&[MESSAGE, IMAGES, ATTACHMENTS])
    .begins(steer)
    .stepped("Prompted", prompted),
    row(
        "follow_up",
        "A message that is delivered when the agent would stop. Starts a run when none is on.",
    )
    .takes(&[MESSAGE, IMAGES, ATTACHMENTS])
    .begins(follow_up)
    .stepped("Prompted", prompted),
    row(
        "abort",
        "Stops the run, the change of the conversation and the user's command that are on. The partial answer is kept; \
         `agent_settled` says when all is still.",
    )
    .also(&["interrupt"]),
    row(
        "continue",
        "Goes on from the messages as they are: after an error, or after they were replaced.",
    ),
    row("clear_queue", "Takes every message back that waits.")
        .also(&["recall_queue"])
        .of("recall_queue")
        .shaped("Cleared", &["queue_recalled"], cleared),
    row(
        "set_queue_mode",
        "How many messages one delivery takes: one mode for both queues, or one for each.",
    )
    .takes(&[
        may("mode", MODES, "of both queues"),
        may("steering", MODES, "of messages that steer"),
        may("followUp", MODES, "of messages that wait for the end"),
    ])
    .begins(queue_mode)
    .told(&["queue_mode_changed"]),
    row("set_steering_mode", "The same for messages that steer.")
        .takes(&[MODE])
        .begins(steering_mode)
        .told(&["queue_mode_changed"]),
    row(
        "set_follow_up_mode",
        "The same for messages that wait for the end.",
    )
    .takes(&[MODE])
    .begins(follow_up_mode)
    .told(&["queue_mode_changed"]),
    row(
        "set_auto_retry",
        "Whether a model call that failed is tried again.",
    )
    .takes(&[needs("enabled", Kind::Flag, "on at first")])
    .told(&["auto_retry_changed"]),
    row(
        "abort_retry",
        "Ends the wait before a model call is tried again; the run fails with what the call said.",
    ),
];
