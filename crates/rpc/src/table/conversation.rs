//! Reading the conversation.

use crate::answers::{first_page, hits, prompts, tree_hits};
use crate::command::{Command, Group, Kind, REQUEST, may, needs};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Tree, name, doc)
}

pub(super) const COMMANDS: &[Command] = &[
    row(
        "read_transcript",
        "A page of the messages of the current branch: consecutive ones, oldest first.",
    )
    .takes(&[
        REQUEST,
        needs("page", Kind::Object("PageAt"), "which messages"),
    ])
    .told(&["transcript_page"]),
    row(
        "search_transcript",
        "Looks for a text in the messages of the current branch, the newest first. A search ends the one before.",
    )
    .takes(&[
        REQUEST,
        needs("query", Kind::Text, "without capitals it finds them too"),
    ])
    .stepped("Hits", hits),
    row(
        "get_fork_messages",
        "The prompts of the current branch, at which it can be forked.",
    )
    .begins(first_page)
    .stepped("Prompts", prompts),
    row(
        "get_entries",
        "The entries of the session as they are stored, oldest first.",
    )
    .also(&["read_log"])
    .of("read_log")
    .takes(&[
        REQUEST,
        may("since", Kind::Text, "only those behind this entry"),
        may("limit", Kind::Number, "at most so many; 1000 when left out"),
    ])
    .told(&["stored_entries"]),
    row(
        "get_tree",
        "The whole tree in a compact form, or what follows the first `since` entries of it.",
    )
    .also(&["read_tree"])
    .of("read_tree")
    .takes(&[
        REQUEST,
        may("since", Kind::Number, "how many entries are known"),
    ])
    .told(&["tree"]),
    row("read_entries", "The start of what entries say.")
        .takes(&[
            REQUEST,
            needs("entryIds", Kind::Texts, "the entries"),
            may("bytes", Kind::Number, "of each; 400 when left out"),
        ])
        .told(&["entries"]),
    row(
        "search_tree",
        "Looks for entries of every branch that hold all words of a query. A search ends the one before.",
    )
    .takes(&[REQUEST, needs("query", Kind::Text, "the words")])
    .stepped("TreeHits", tree_hits),
    row(
        "compare_branches",
        "Puts the branches that end in two entries beside each other.",
    )
    .takes(&[
        REQUEST,
        may("left", Kind::Text, "an entry; where the conversation is when left out"),
        may("right", Kind::Text, "another one"),
    ])
    .told(&["branches_compared"]),
];
