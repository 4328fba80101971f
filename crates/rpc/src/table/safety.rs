//! Permissions and questions.

use crate::command::{Command, Group, Kind, needs};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Safety, name, doc)
}

pub(super) const COMMANDS: &[Command] = &[
    row("set_permissions", "How much is asked from now on.")
        .takes(&[needs(
            "mode",
            Kind::Word(&["yolo", "ask", "plan"]),
            "`plan` lets nothing write",
        )])
        .told(&["permissions"]),
    row("cycle_permissions", "The next mode of the three.").told(&["permissions"]),
    row("list_permissions", "The mode and every rule.").told(&["permissions"]),
    row("add_permission", "Adds a rule that allows.").takes(&[needs(
        "grant",
        Kind::Object("Grant"),
        "for how long, and `tool` or `tool(pattern)`",
    )]),
    row(
        "remove_permission",
        "Forgets a rule that was given in a dialog.",
    )
    .takes(&[needs("rule", Kind::Text, "as it is listed")]),
    row("list_questions", "The questions that wait, oldest first.").told(&["questions"]),
    row(
        "answer_question",
        "Answers an open question; `ui_response` is the shorter way.",
    )
    .takes(&[
        needs("questionId", Kind::Text, "which one"),
        needs("answer", Kind::Object("Answer"), "the answer"),
    ])
    .begins(crate::parameters::answer),
];
