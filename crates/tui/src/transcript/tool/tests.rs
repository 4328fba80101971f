use super::*;

#[test]
fn a_streaming_command_shows_as_far_as_it_came() {
    let bash = VIEWS.iter().find(|view| view.name == "bash");
    assert_eq!(
        partial_subject("{\"command\": \"ls -l\\n\\\"a", bash),
        "ls -l\n\"a"
    );
    assert_eq!(partial_subject("{\"comm", bash), "…");
}

#[test]
fn headers_say_where_and_how_much() {
    let arguments = serde_json::json!({"pattern": "x", "path": "src", "glob": "*.rs"});
    assert_eq!(place(&arguments), " in src (*.rs)");
    let arguments = serde_json::json!({"offset": 10, "limit": 5});
    assert_eq!(range(&arguments), ":10-14");
    for (details, expected) in [
        (
            serde_json::json!({"matches": 1, "files": 1}),
            Some("1 match in 1 file"),
        ),
        (
            serde_json::json!({"matches": 0, "files": 0}),
            Some("0 matches"),
        ),
        (serde_json::json!({"count": 2}), Some("2 paths")),
        (serde_json::json!({"command": "x"}), None),
    ] {
        assert_eq!(counts(&details).as_deref(), expected);
    }
}
