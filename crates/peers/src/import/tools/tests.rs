use super::*;

fn mapped(source: ImportSource, name: &str, arguments: Value) -> Vec<(String, String, Value)> {
    let call = ToolCall {
        id: "c".into(),
        name: name.into(),
        arguments: arguments.clone(),
        ..ToolCall::default()
    };
    let calls = map(source, call.clone());
    let first = &calls[0];
    let is_same = first.name == name && first.arguments == arguments;
    let original = OriginalCall {
        name: name.into(),
        arguments,
    };
    assert_eq!(first.original, (!is_same).then(|| Box::new(original)));
    calls
        .into_iter()
        .map(|call| (call.id, call.name, call.arguments))
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row for each form of a call")]
fn calls_of_every_program_become_calls_that_osier_has() {
    use ImportSource::{Claude, Codex, Opencode, Pi};
    for (source, theirs, given, ours, expected) in [
        (
            Claude,
            "Bash",
            json!({"command": "ls", "timeout": 2500, "description": "List"}),
            "bash",
            json!({"command": "ls", "timeout": 2.5}),
        ),
        (
            Claude,
            "KillShell",
            json!({"shell_id": "b1"}),
            "bash",
            json!({"job": "b1", "action": "kill"}),
        ),
        (
            Claude,
            "Read",
            json!({"file_path": "/a", "limit": 5}),
            "read",
            json!({"file_path": "/a", "limit": 5}),
        ),
        (
            Claude,
            "Grep",
            json!({"pattern": "x", "-i": true, "-C": 2, "output_mode": "content"}),
            "grep",
            json!({"pattern": "x", "ignore_case": true, "context": 2}),
        ),
        (
            Claude,
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "in_progress", "activeForm": "A"}]}),
            "todo",
            json!({"items": [{"text": "a", "state": "doing"}]}),
        ),
        (
            Claude,
            "Task",
            json!({"prompt": "p", "subagent_type": "general-purpose", "description": "d"}),
            "task",
            json!({"prompt": "p"}),
        ),
        (
            Claude,
            "mcp__git__log",
            json!({"path": "."}),
            "git__log",
            json!({"path": "."}),
        ),
        (
            Claude,
            "WebFetch",
            json!({"url": "x"}),
            "web_fetch",
            json!({"url": "x"}),
        ),
        (
            Pi,
            "edit",
            json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}),
            "edit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}),
        ),
        (
            Pi,
            "bash",
            json!({"command": "ls", "timeout": 3}),
            "bash",
            json!({"command": "ls", "timeout": 3}),
        ),
        (
            Codex,
            "exec_command",
            json!({"cmd": "ls", "workdir": "/a b", "yield_time_ms": 1}),
            "bash",
            json!({"command": "cd '/a b' && ls"}),
        ),
        (
            Codex,
            "shell",
            json!({"command": ["bash", "-lc", "ls -l"]}),
            "bash",
            json!({"command": "ls -l"}),
        ),
        (
            Codex,
            "local_shell",
            json!({"command": ["echo", "it's"]}),
            "bash",
            json!({"command": "echo 'it'\\''s'"}),
        ),
        (
            Codex,
            "write_stdin",
            json!({"session_id": 3, "chars": ""}),
            "bash",
            json!({"job": "3", "action": "read"}),
        ),
        (
            Codex,
            "update_plan",
            json!({"plan": [{"step": "a", "status": "completed"}]}),
            "todo",
            json!({"items": [{"text": "a", "state": "done"}]}),
        ),
        (
            Opencode,
            "edit",
            json!({"filePath": "/a", "oldString": "x", "newString": "y"}),
            "edit",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (
            Opencode,
            "grep",
            json!({"pattern": "x", "include": "*.rs"}),
            "grep",
            json!({"pattern": "x", "glob": "*.rs"}),
        ),
    ] {
        assert_eq!(
            mapped(source, theirs, given),
            [("c".to_owned(), ours.to_owned(), expected)],
            "{theirs}"
        );
    }
}

#[test]
fn a_patch_becomes_a_call_for_each_file() {
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+one\n+two\n*** Update File: a.rs\n@@ fn x\n keep\n-old\n+new\n\
        @@\n-b\n+c\n*** End of File\n*** Delete File: gone dir/x\n*** End Patch\n";
    let calls = mapped(ImportSource::Codex, "apply_patch", json!({"input": patch}));
    let expected = [
        (
            "c",
            "write",
            json!({"file_path": "new.rs", "content": "one\ntwo\n"}),
        ),
        (
            "c_1",
            "edit",
            json!({"file_path": "a.rs", "edits": [
                {"old_string": "keep\nold", "new_string": "keep\nnew"}, {"old_string": "b", "new_string": "c"}
            ]}),
        ),
        ("c_2", "bash", json!({"command": "rm 'gone dir/x'"})),
    ];
    let expected =
        expected.map(|(id, name, arguments)| (id.to_owned(), name.to_owned(), arguments));
    assert_eq!(calls, expected);
    let text = json!({"input": "no patch"});
    let kept = mapped(ImportSource::Codex, "apply_patch", text.clone());
    assert_eq!(kept, [("c".to_owned(), "apply_patch".to_owned(), text)]);
}
