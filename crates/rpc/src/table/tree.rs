//! Moving in the session's tree, and making it smaller or wider.

use crate::answers::{branch, compacted, lane};
use crate::command::{Command, Group, Kind, may, needs};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Tree, name, doc)
}

const MOVED: &[&str] = &["moved", "branch_summary_failed"];

pub(super) const COMMANDS: &[Command] = &[
    row(
        "move_to",
        "Goes on from an entry: before a prompt, whose text comes back, behind anything else.",
    )
    .also(&["navigate_tree"])
    .takes(&[
        may("entryId", Kind::Text, "before every root when left out"),
        may(
            "summarize",
            Kind::Flag,
            "a model writes down what the branch that is left came to",
        ),
        may("instructions", Kind::Text, "what it is told for that"),
    ])
    .told(MOVED),
    row(
        "branch",
        "Goes on behind an entry, whatever it is; without one, from before the last prompt.",
    )
    .takes(&[
        may("entryId", Kind::Text, "the entry"),
        may(
            "summary",
            Kind::Text,
            "what a model is told that writes down what the branch that is left came to; may be empty",
        ),
    ])
    .begins(branch)
    .told(MOVED),
    row(
        "fork",
        "Leaves for a new session with a copy of the path to an entry: before it when it is a prompt.",
    )
    .takes(&[may("entryId", Kind::Text, "the last prompt when left out")])
    .told(&["forked", "session_failed"]),
    row(
        "clone",
        "Leaves for a new session with a copy of the current branch.",
    )
    .told(&["forked", "session_failed"]),
    row("label_entry", "Names an entry; an empty label takes the name away.")
        .also(&["set_label"])
        .takes(&[
            needs("entryId", Kind::Text, "the entry"),
            needs("label", Kind::Text, "its name"),
        ])
        .told(&["entry_labelled"]),
    row(
        "hide_branch",
        "Takes an entry and what hangs on it out of sight, or brings it back. Nothing is removed.",
    )
    .takes(&[
        needs("entryId", Kind::Text, "the entry"),
        needs("hidden", Kind::Flag, "`false` brings it back"),
    ])
    .told(&["branch_hidden"]),
    row("retry_prompt", "Sends the last prompt once more, as a sibling.")
        .takes(&[may("model", Kind::Text, "to another model")])
        .told(MOVED),
    row("undo_prompt", "Goes back to before the last prompt.").told(MOVED),
    row("redo_prompt", "Goes on where the last `undo_prompt` left.").told(MOVED),
    row(
        "compact",
        "Replaces the earlier part of the conversation by a summary.",
    )
    .takes(&[
        may("instructions", Kind::Text, "what the summary is to keep")
            .also(&["customInstructions"]),
        may(
            "review",
            Kind::Flag,
            "the summary comes as `summary_drafted` and waits for `store_summary`",
        ),
    ])
    .stepped("CompactionOutcome", compacted),
    row("store_summary", "Stores the drafted summary as it is here.")
        .takes(&[needs("summary", Kind::Text, "the summary")])
        .stepped("CompactionOutcome", compacted),
    row("drop_summary", "Forgets the drafted summary."),
    row(
        "set_auto_compaction",
        "Whether a window that is nearly full is compacted without being asked.",
    )
    .also(&["set_auto_compact"])
    .of("set_auto_compact")
    .takes(&[needs("enabled", Kind::Flag, "on at first")])
    .told(&["auto_compact_changed"]),
    row(
        "fan_out",
        "Sends a prompt to several models at once: each works in a copy of the files and on a branch of its own.",
    )
    .takes(&[
        needs("models", Kind::Texts, "two or more"),
        may("prompt", Kind::Text, "the last one again when left out"),
    ])
    .told(&["fan_started", "fan_ended"]),
    row(
        "take_lane",
        "Goes on with a lane of the last fan: its files become those of the working directory.",
    )
    .takes(&[
        needs("lane", Kind::Number, "which one"),
        may("force", Kind::Flag, "keep files changed meanwhile aside"),
    ])
    .shaped("LaneTaken", &["lane_taken", "lane_conflicts"], lane),
    row(
        "end_fan",
        "Removes the copies of the last fan; its branches stay.",
    ),
];
