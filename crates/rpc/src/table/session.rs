//! Sessions: opening, finding, naming, deleting, exporting.

use crate::answers::opened;
use crate::command::{Command, Group, Kind, REQUEST, may, needs};
use crate::parameters::export_html;

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Session, name, doc)
}

const PATH: crate::command::Field = needs("path", Kind::Text, "the session's file");

pub(super) const COMMANDS: &[Command] = &[
    row(
        "new_session",
        "Leaves the session and begins an empty one in the same directory. A run is interrupted first.",
    )
    .also(&["reset"])
    .shaped("Opened", &["session_opened", "session_failed"], opened),
    row(
        "switch_session",
        "Leaves the session and opens another. When that cannot be opened, none is open.",
    )
    .also(&["resume_session"])
    .of("resume_session")
    .takes(&[
        needs("target", Kind::Text, "an id, the start of one, or a path")
            .also(&["sessionPath", "path"]),
        may(
            "opening",
            Kind::Word(&["itself", "copy", "read_only"]),
            "to go on in it, in a copy of it, or to look at it; itself when left out",
        ),
    ])
    .shaped("Opened", &["session_opened", "session_failed"], opened),
    row("list_sessions", "The stored sessions, newest first.")
        .takes(&[needs(
            "all",
            Kind::Flag,
            "of every directory, not only this one",
        )])
        .told(&["sessions"]),
    row(
        "find_sessions",
        "Sessions by their names and first prompts, or by what was said in them. A question ends the one before.",
    )
    .takes(&[
        REQUEST,
        needs("query", Kind::Object("SessionQuery"), "what is looked for"),
        may("asIs", Kind::Flag, "do not bring the index up to date"),
    ])
    .told(&["sessions_found"]),
    row("preview_session", "How a session began and how it ends.")
        .takes(&[REQUEST, PATH])
        .told(&["session_preview"]),
    row(
        "describe_session",
        "Everything that is known of the open session.",
    )
    .told(&["session_described"]),
    row("set_session_name", "Names the open session; an empty name clears it.")
        .also(&["rename_session"])
        .of("rename_session")
        .takes(&[needs("name", Kind::Text, "its new name")])
        .told(&["session_renamed"]),
    row("name_session", "Names a session, open or not.")
        .takes(&[PATH, needs("name", Kind::Text, "its new name; empty clears it")])
        .told(&["sessions_changed", "library_refused"]),
    row(
        "mark_session",
        "Pins a session, so that it stands first, or archives it, so that it is listed only when that is asked for.",
    )
    .takes(&[
        needs("session", Kind::Text, "its id"),
        needs("mark", Kind::Word(&["pinned", "archived"]), "which of the two"),
        needs("on", Kind::Flag, "whether it is, or no longer"),
    ])
    .told(&["sessions_changed", "library_refused"]),
    row(
        "delete_session",
        "Moves a session to the trash; one that is open is left alone.",
    )
    .takes(&[PATH])
    .told(&["session_deleted", "library_refused"]),
    row("restore_session", "Brings a session back from the trash.")
        .takes(&[needs("path", Kind::Text, "where it is in the trash")])
        .told(&["sessions_changed", "library_refused"]),
    row("export_session", "Writes the open session to a file.")
        .takes(&[
            may("path", Kind::Text, "relative to the working directory"),
            may(
                "format",
                Kind::Word(&["html", "markdown", "jsonl"]),
                "by the ending of the path when left out",
            ),
            may("scope", Kind::Word(&["branch", "tree"]), "how much of the tree"),
            may("theme", Kind::Text, "the theme a page begins with"),
            may("force", Kind::Flag, "replace a file that is there"),
        ])
        .told(&["session_exported"]),
    row("export_html", "Writes the open session to a page.")
        .takes(&[
            may("outputPath", Kind::Text, "relative to the working directory"),
            may("force", Kind::Flag, "replace a file that is there"),
        ])
        .begins(export_html)
        .told(&["session_exported"]),
    row(
        "import_session",
        "Makes a session of a file of osier, pi, Claude Code or Codex.",
    )
    .takes(&[
        needs("path", Kind::Text, "relative to the working directory"),
        may("again", Kind::Flag, "also when it was imported before"),
        may("open", Kind::Flag, "leave for it"),
    ])
    .told(&["session_imported"]),
];
