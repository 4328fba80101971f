//! How the files of the working directory stood, and bringing them back.

use crate::command::{Command, Group, Kind, REQUEST, may, needs};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Files, name, doc)
}

const AT: crate::command::Field = needs("at", Kind::Object("FilesAt"), "which state");

pub(super) const COMMANDS: &[Command] = &[
    row(
        "preview_files",
        "What bringing the files back to a place of the session would do.",
    )
    .takes(&[REQUEST, AT])
    .told(&["files_preview"]),
    row(
        "restore_files",
        "Brings the files back to a place of the session.",
    )
    .takes(&[
        AT,
        may("byHand", Kind::Flag, "also those changed by hand since"),
    ])
    .told(&["files_restored"]),
    row(
        "undo_restore",
        "Takes the last `restore_files` back; once more, and it holds again.",
    )
    .told(&["files_restored"]),
    row(
        "read_file_diffs",
        "How files changed over a part of the session, or against the commit that is checked out.",
    )
    .takes(&[
        REQUEST,
        needs("range", Kind::Object("DiffRange"), "which part"),
    ])
    .told(&["file_diffs"]),
    row(
        "review",
        "Takes rejected pieces of diffs back and, with `tell`, tells the model of the review as a prompt.",
    )
    .takes(&[
        needs("pieces", Kind::List("Reviewed"), "what is said of each piece"),
        may("tell", Kind::Flag, "the model hears of it"),
    ])
    .told(&["files_restored"]),
    row(
        "list_files",
        "Paths under the working directory, directories with a slash at the end.",
    )
    .told(&["files"]),
];
