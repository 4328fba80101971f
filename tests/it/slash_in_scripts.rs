//! Slash commands in runs without a screen: those that need no screen run, the others are refused by name.

use serde_json::json;

use crate::support::cli::{Home, ProgramOutput};

/// A run with a model that always says the same.
fn of<const N: usize>(home: &Home, arguments: [&str; N]) -> ProgramOutput {
    let turns = json!([{"steps": [{"text": "The model."}], "repeat": true}]);
    home.scripted(&turns).args(arguments).run()
}

#[test]
fn commands_answer_in_place_of_the_model() {
    let home = Home::new();
    let model = of(&home, ["-p", "/name Mine", "hello"]);
    assert_eq!(
        model,
        ProgramOutput::new(0, "The session is called `Mine`.\n\nThe model.\n", "")
    );
    // The second run continues the session that the first one stored.
    let compacted = of(&home, ["-c", "-p", "/compact keep the names"]);
    assert_eq!((compacted.code, compacted.stderr.as_str()), (Some(0), ""));
    assert!(compacted.stdout.contains("ummar"), "{}", compacted.stdout);
}

#[test]
fn commands_that_need_a_screen_are_refused_by_name() {
    let home = Home::new();
    for (prompt, error) in [
        ("/tree", "`/tree` works in the terminal"),
        ("/undo", "`/undo` works in the terminal and the chat"),
        ("/about me", "`/about` takes no argument"),
        (
            "/permissions fly",
            "unknown mode `fly`; expected one of `yolo`, `auto`, `ask`, `plan`",
        ),
    ] {
        let refused = of(&home, ["-p", prompt]);
        let expected = ProgramOutput::new(1, "", &format!("osier: {error}\n"));
        assert_eq!(refused, expected, "{prompt}");
    }
    // Names that only a plugin can have, paths and words are text for the model.
    for prompt in ["/nosuch a", "/etc/hosts is odd", "undo that"] {
        assert_eq!(of(&home, ["-p", prompt]).stdout, "The model.\n", "{prompt}");
    }
}

#[test]
fn json_lines_have_the_events_of_a_command() {
    let home = Home::new();
    let lines = of(&home, ["--json", "/permissions plan"]);
    assert_eq!(lines.code, Some(0), "{}", lines.stderr);
    assert!(lines.stdout.contains(r#""type":"permissions""#));
    assert!(!lines.stdout.contains("The model."));
}
