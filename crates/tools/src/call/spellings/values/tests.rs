use serde_json::json;

use super::*;

fn adapted(
    adapt: impl Fn(&mut Arguments) -> Vec<String>,
    arguments: &Value,
) -> (Value, Vec<String>) {
    let mut arguments = arguments.as_object().cloned().unwrap_or_default();
    let notes = adapt(&mut arguments);
    (Value::Object(arguments), notes)
}

#[test]
fn ranges_of_lines_are_offset_and_limit() {
    for (arguments, expected) in [
        (
            json!({"offset": 5, "end_line": 8}),
            json!({"offset": 5, "limit": 4}),
        ),
        (json!({"end_line": "3"}), json!({"limit": 3})),
        (
            json!({"view_range": [2, 4]}),
            json!({"offset": 2, "limit": 3}),
        ),
        (json!({"view_range": [7, -1]}), json!({"offset": 7})),
        (json!({"offset": 0, "limit": -1}), json!({"offset": 1})),
        // Nothing is guessed, and what stays is named as unknown.
        (
            json!({"offset": 9, "end_line": 8}),
            json!({"offset": 9, "end_line": 8}),
        ),
        (json!({"view_range": "all"}), json!({"view_range": "all"})),
        (
            json!({"limit": 2, "end_line": 8}),
            json!({"limit": 2, "end_line": 8}),
        ),
    ] {
        assert_eq!(adapted(read, &arguments), (expected, vec![]), "{arguments}");
    }
}

#[test]
fn times_are_seconds() {
    let note = |time| vec![format!("timeout {time} was taken as milliseconds")];
    for (arguments, expected, notes) in [
        (json!({"timeout": 600}), json!({"timeout": 600}), vec![]),
        (json!({"timeout": 9999}), json!({"timeout": 9999}), vec![]),
        (
            json!({"timeout": 10_000}),
            json!({"timeout": 10}),
            note(10_000),
        ),
        (
            json!({"timeout": 12_500.0}),
            json!({"timeout": 12.5}),
            note(12_500),
        ),
        (json!({"timeout_ms": 500}), json!({"timeout": 0.5}), vec![]),
        (
            json!({"timeout_ms": "30000"}),
            json!({"timeout": 30}),
            vec![],
        ),
        (
            json!({"timeout": 5, "timeout_ms": 70_000}),
            json!({"timeout": 5, "timeout_ms": 70_000}),
            vec![],
        ),
    ] {
        let bash = |arguments: &mut Arguments| bash(arguments, Path::new("/work"));
        assert_eq!(adapted(bash, &arguments), (expected, notes), "{arguments}");
    }
}

#[test]
fn commands_are_one_line_for_the_shell() {
    for (arguments, expected) in [
        (json!({"command": ["bash", "-lc", "ls | wc"]}), "ls | wc"),
        (json!({"command": ["/bin/sh", "-c", "a; b"]}), "a; b"),
        (
            json!({"command": ["git", "log", "--format=%h it's", ""]}),
            r"git log '--format=%h it'\''s' ''",
        ),
        (
            json!({"command": ["echo", "$(rm -rf x)"]}),
            "echo '$(rm -rf x)'",
        ),
        (json!({"command": "ls", "workdir": "/work"}), "ls"),
        (json!({"command": "ls", "workdir": "."}), "ls"),
        (
            json!({"command": "make test", "workdir": "sub"}),
            "cd ./sub && make test",
        ),
        (json!({"command": "ls", "workdir": "-"}), "cd ./- && ls"),
        (
            json!({"command": "a; b", "workdir": "/x/$(y) z"}),
            "cd '/x/$(y) z' || exit\na; b",
        ),
        (
            json!({"command": ["a", "b c"], "workdir": "../x"}),
            "cd ../x && a 'b c'",
        ),
    ] {
        let bash = |arguments: &mut Arguments| bash(arguments, Path::new("/work"));
        assert_eq!(
            adapted(bash, &arguments),
            (json!({"command": expected}), vec![]),
            "{arguments}"
        );
    }
    // A list that is no command stays.
    let odd = json!({"command": ["a", 1]});
    let bash = |arguments: &mut Arguments| bash(arguments, Path::new("/work"));
    assert_eq!(adapted(bash, &odd), (odd.clone(), vec![]));
}

#[test]
fn searches_and_questions_are_adapted() {
    assert_eq!(
        adapted(
            grep,
            &json!({"pattern": "x", "-A": 2, "-B": "5", "case_sensitive": false})
        ),
        (
            json!({"pattern": "x", "context": 5, "ignore_case": true}),
            vec![]
        )
    );
    assert_eq!(
        adapted(
            ask_user,
            &json!({"question": "Which?", "options": ["a", {"label": "b"}]})
        ),
        (
            json!({"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}),
            vec![]
        )
    );
}
