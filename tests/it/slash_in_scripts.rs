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
    assert!(
        compacted.stdout.starts_with("Compacted: "),
        "{}",
        compacted.stdout
    );
}

#[test]
fn commands_that_need_a_screen_are_refused_by_name() {
    let home = Home::new();
    for (prompt, error) in [
        ("/tree", "`/tree` works in the terminal"),
        (
            "/permissions yolo",
            "`/permissions` works in the terminal and the editor and the chat",
        ),
        ("/undo", "`/undo` works in the terminal and the chat"),
        ("/about me", "`/about` takes no argument"),
        ("/modle", "unknown command `/modle`; did you mean `/model`?"),
    ] {
        let refused = of(&home, ["-p", prompt]);
        let expected = ProgramOutput::new(1, "", &format!("osier: {error}\n"));
        assert_eq!(refused, expected, "{prompt}");
    }
    // Also after another prompt.
    let refused = of(&home, ["-p", "hello", "/tree"]);
    let expected = ProgramOutput::new(1, "The model.\n", "osier: `/tree` works in the terminal\n");
    assert_eq!(refused, expected);
    let piped = home
        .scripted(&json!([]))
        .args(["-p", "/compact"])
        .stdin("text")
        .run();
    let error = "osier: `/compact` takes no text from standard input\n";
    assert_eq!(piped, ProgramOutput::new(1, "", error));
    // Paths and words are text for the model.
    for prompt in ["/etc/hosts is odd", "undo that"] {
        assert_eq!(of(&home, ["-p", prompt]).stdout, "The model.\n", "{prompt}");
    }
}

#[test]
fn formats_of_programs_have_the_answer_of_a_command() {
    let home = Home::new();
    let lines = of(&home, ["--json", "/name Mine"]);
    assert_eq!(lines.code, Some(0), "{}", lines.stderr);
    assert!(lines.stdout.contains(r#""type":"session_renamed""#));
    assert!(!lines.stdout.contains("The model."));
    let result = of(&home, ["-p", "--output-format", "json", "/name Other"]);
    let result: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(result["result"], "The session is called `Other`.");
    of(&home, ["-p", "-c", "hello"]);
    let compacted = of(&home, ["-p", "-c", "--output-format", "json", "/compact"]);
    let result: serde_json::Value = serde_json::from_str(&compacted.stdout).unwrap();
    let answer = result["result"].as_str().unwrap();
    assert!(answer.starts_with("Compacted: "), "{answer}");
}

#[test]
fn a_template_of_the_project_comes_before_a_command_of_osier() {
    let home = Home::new();
    std::fs::create_dir_all(home.work().join(".osier/prompts")).unwrap();
    home.file(".osier/prompts/review.md", "Look at $ARGUMENTS");
    let turns = json!([
        {"when": {"user": "Look at all of it"}, "steps": [{"text": "Of the template."}], "repeat": true},
        {"steps": [{"text": "Of osier."}], "repeat": true},
    ]);
    let run = home.scripted(&turns);
    let first = run.args(["-p", "--trust", "/review all of it"]).run();
    assert_eq!(first, ProgramOutput::new(0, "Of the template.\n", ""));
}

#[test]
fn an_interrupt_ends_a_compaction_and_the_run() {
    let home = Home::new();
    for prompt in ["one", "two"] {
        of(&home, ["-c", "-p", prompt]);
    }
    let waits = json!([{"steps": [{"wait": 3_600_000}], "repeat": true}]);
    let mut running = home
        .scripted(&waits)
        .args(["-c", "--json", "/compact"])
        .start();
    running.until(|event| event["type"] == "compaction_start");
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().1, Some(130));
}
