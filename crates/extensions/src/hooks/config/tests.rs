use super::*;

fn file(path: &str, of_project: bool, of_settings: bool) -> HookFile {
    HookFile {
        file: PathBuf::from(path).into(),
        of_project,
        of_settings,
    }
}

fn parsed(text: &str) -> Parsed {
    parse(&file("hooks.json", false, false), text)
}

fn problems(text: &str) -> Vec<String> {
    let parsed = parsed(text);
    assert!(parsed.handlers.is_empty(), "{:?}", parsed.handlers);
    parsed.problems.iter().map(Problem::to_string).collect()
}

#[test]
fn hooks_of_each_type_need_their_fields() {
    for (hook, expected) in [
        (
            r#"{"type": "http", "url": "ftp://example.com"}"#,
            "`url` of a hook of `Stop` is not an address with http or https; the hook is ignored",
        ),
        (
            r#"{"type": "http", "url": "http://a", "headers": ["x"]}"#,
            "`headers` of a hook of `Stop` is not an object with texts; the hook is ignored",
        ),
        (
            r#"{"type": "prompt", "prompt": "x", "continueOnBlock": "yes"}"#,
            "`continueOnBlock` of a hook of `Stop` is not true or false; the hook is ignored",
        ),
        (
            r#"{"type": "mcp_tool", "server": "x"}"#,
            "`tool` of a hook of `Stop` is not a text; the hook is ignored",
        ),
        (
            r#"{"type": "webhook", "url": "https://example.com"}"#,
            "a hook of `Stop` has the type \"webhook\"; expected one of the types `command`, `http`, `prompt`, `agent`, `mcp_tool`",
        ),
    ] {
        let text = format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}}}"#);
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(expected), "{}", found[0]);
    }
}

/// A mistake in a settings file of Claude Code is only a fault if it can disable a guard.
#[test]
fn a_guard_in_settings_that_cannot_be_read_is_a_fault() {
    let faults = |hooks: &str| {
        let text = format!(r#"{{"hooks": {hooks}}}"#);
        let parsed = parse(&file("settings.json", true, true), &text);
        let faults = parsed.faults.iter().map(Problem::to_string);
        faults.collect::<Vec<_>>()
    };
    for hooks in [
        "[]",
        r#"{"PreToolUse": {}}"#,
        r#"{"preToolUse": []}"#,
        r#"{"PreToolUse": [{"matcher": "Bsh", "hooks": []}]}"#,
    ] {
        assert_eq!(faults(hooks).len(), 1, "{hooks}: {:?}", faults(hooks));
    }
    for hooks in [
        r#"{"Stop": {}}"#,
        r#"{"postToolUse": []}"#,
        r#"{"PostToolUse": [{"matcher": "Bsh", "hooks": []}]}"#,
        r#"{"PreToolUse": [{"matcher": "LSP|TaskGet|Skill|EnterWorktree", "hooks": []}]}"#,
    ] {
        assert_eq!(faults(hooks), [""; 0], "{hooks}");
    }
}

#[test]
fn both_names_of_an_event_and_every_field_are_read() {
    let parsed = parsed(
        r#"{"hooks": {
                "PreToolUse": [{"matcher": "Bash|Edit", "hooks": [
                    {"type": "command", "command": "check", "timeout": 5},
                    {"command": "log", "args": ["a b"], "async": true, "if": "Bash(git *)"}
                ]}],
                "session_start": [{"hooks": [{"type": "command", "command": "hello"}]}],
                "CwdChanged": [{"hooks": [{"type": "command", "command": "never"}]}]
            }}"#,
    );
    let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
    assert_eq!(
        problems,
        ["hooks.json:7:17: osier has no event `CwdChanged`; its hooks do not run"]
    );
    assert_eq!(parsed.faults, []);
    let found: Vec<_> = parsed
        .handlers
        .iter()
        .map(|handler| {
            let condition = handler.condition.as_ref().map(|rule| rule.text.as_str());
            (
                handler.event,
                handler.command.as_str(),
                handler.matcher.text(),
                condition,
            )
        })
        .collect();
    let bash = "Bash|Edit".to_owned();
    let expected = [
        (HookEvent::PreToolUse, "check", bash.clone(), None),
        (HookEvent::PreToolUse, "log", bash, Some("Bash(git *)")),
        (HookEvent::SessionStart, "hello", String::new(), None),
    ];
    assert_eq!(found, expected);
    assert_eq!(parsed.handlers[0].timeout, Some(Duration::from_secs(5)));
    assert_eq!(parsed.handlers[1].args, Some(vec!["a b".to_owned()]));
    assert!(parsed.handlers[1].in_background);
}

#[test]
fn each_error_is_one_line_with_its_position() {
    assert_eq!(
        problems("{\n  \"hooks\": {,\n}"),
        ["hooks.json:2:13: key must be a string; its hooks are ignored until it is fixed"]
    );
    let wrong = "{\"hooks\": {\n\"PreToolUs\": [],\n\"Stop\": {},\n\"PostToolUse\": [{\"matcher\": \"Edit(\", \"hooks\": []}]\n}}";
    let told = problems(wrong);
    assert_eq!(
        told[0],
        "hooks.json:2:1: unknown event `PreToolUs`; did you mean `PreToolUse`?"
    );
    assert!(told[1].starts_with("hooks.json:3:1: `Stop` is not a list of hooks"));
    assert!(told[2].starts_with("hooks.json:4:29: invalid matcher `Edit(`: unclosed"));
    let kinds = "{\"hooks\": {\"Stop\": [{\"hooks\": [\n{\"type\": \"judge\", \"prompt\": \"x\"},\n{\"type\": \"command\"}]}]}}";
    let told = problems(kinds);
    assert_eq!(
        told[0],
        "hooks.json:2:10: a hook of `Stop` has the type \"judge\"; expected one of the types `command`, `http`, `prompt`, `agent`, `mcp_tool`"
    );
    assert!(told[1].contains("has no `command`"), "{told:?}");
    assert!(problems("[]")[0].contains("`hooks` is missing"));
}

#[test]
fn a_matcher_that_names_no_tool_is_a_warning() {
    let text = r#"{"hooks": {
            "PreToolUse": [
                {"matcher": "Bash|NotebookEdit|BashOutput|rename|mcp__x__y", "hooks": [{"command": "a"}]},
                {"matcher": "Wirte", "hooks": [{"command": "b"}]},
                {"matcher": "deploy", "hooks": [{"command": "c"}]},
                {"matcher": "^Deploy", "hooks": [{"command": "c"}]}
            ],
            "SessionStart": [{"matcher": "startup", "hooks": [{"command": "d"}]}]
        }}"#;
    let parsed = parsed(text);
    assert_eq!(parsed.handlers.len(), 5);
    let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
    assert_eq!(
        problems,
        [
            "hooks.json:4:29: no built-in tool has the name `Wirte` of a matcher; did you mean `write`?",
            "hooks.json:5:29: no built-in tool has the name `deploy` of a matcher; its hooks run only for a tool of a plugin with this name",
            "hooks.json:6:29: no built-in tool matches `^Deploy`; its hooks run only for a tool of a plugin",
        ]
    );
    assert_eq!(parsed.faults, parsed.problems[..1]);
}

#[test]
fn a_matcher_in_the_form_of_a_rule_is_refused_with_the_right_form() {
    for (matcher, expected) in [
        ("Bash(touch *)", Some("Bash")),
        ("Edit(*.py)", Some("Edit")),
        ("Bash(Output)?", None),
        ("Notebook(Edit|Read)", None),
        ("(Bash|Edit)", None),
    ] {
        let text = format!(
            r#"{{"hooks": {{"PreToolUse": [{{"matcher": "{matcher}", "hooks": [{{"command": "a"}}]}}]}}}}"#
        );
        let parsed = parsed(&text);
        let faults: Vec<String> = parsed.faults.iter().map(Problem::to_string).collect();
        let expected = expected.map(|name| {
            format!(
                "hooks.json:1:39: the matcher `{matcher}` is a permission rule, not a name of tools; \
                 write `\"matcher\": \"{name}\"`, and `\"if\": \"{matcher}\"` in its hooks"
            )
        });
        assert_eq!(faults, Vec::from_iter(expected));
    }
}

#[test]
fn a_condition_that_matches_nothing_is_named() {
    let text = r#"{"hooks": {
            "PreToolUse": [{"hooks": [
                {"command": "a", "if": "Bsh(git *)"},
                {"command": "b", "if": "Bash(git.*)"},
                {"command": "c", "if": "mcp__git__log"}
            ]}],
            "Stop": [{"hooks": [{"command": "d", "if": "Bash"}]}]
        }}"#;
    let parsed = parsed(text);
    assert_eq!(parsed.handlers.len(), 4);
    let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
    assert_eq!(
        problems,
        [
            "hooks.json:3:40: no built-in tool has the name in the rule `Bsh(git *)`; did you mean `bash`?",
            "hooks.json:4:40: the rule `Bash(git.*)` is likely to match nothing; it looks like a regular expression: write `*` for any text",
            "hooks.json:3:34: `if` has no effect for `Stop`; the hook runs for all of them",
        ]
    );
    assert_eq!(parsed.faults, parsed.problems[..1]);
}

#[test]
fn fields_that_are_not_known_are_named() {
    let text = r#"{"hooks": {"Stop": [{"matchr": "x", "hooks": [
            {"command": "a", "timeuot": 5, "once": true, "async": "yes", "onFailure": "deny", "statusMessage": "s"}
        ]}]}, "disableAllHooks": "true", "hook": {}}"#;
    let parsed = parsed(text);
    let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
    assert_eq!(
        problems,
        [
            "hooks.json:3:15: `disableAllHooks` is \"true\", which is not true or false; the hooks run",
            "hooks.json:3:42: unknown field `hook` of the file; did you mean `hooks`?",
            "hooks.json:1:22: unknown field `matchr` of an entry of `Stop`; did you mean `matcher`?",
            "hooks.json:2:30: unknown field `timeuot` of a hook of `Stop`; did you mean `timeout`?",
            "hooks.json:2:44: unknown field `once` of a hook of `Stop`; osier does not support it",
            "hooks.json:2:58: `async` is \"yes\", which is not true or false; osier waits for the hook",
            "hooks.json:2:74: `onFailure` is \"deny\", which is not \"block\" or \"continue\"; \"block\" is used",
        ]
    );
    assert_eq!(parsed.handlers[0].on_failure, Some(OnFailure::Block));
    let wrong = r#"{"hooks": {"Stop": [{"hooks": [{"command": "a", "args": "b"}]}]}}"#;
    assert!(
        super::tests::problems(wrong)[0]
            .contains("`args` of a hook of `Stop` is not a list of texts")
    );
}

#[test]
fn a_file_without_hooks_is_no_error_and_a_damaged_one_keeps_what_ran() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hooks.json");
    let files = [file(&path.to_string_lossy(), false, false)];
    let load = |text: &str| {
        osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
        load(&files)
    };
    let before = load(r#"{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}"#).handlers;
    for (text, is_damaged) in [
        ("", true),
        ("[]", true),
        (r#"{"PreToolUse": []}"#, true),
        ("{}", false),
        (r#"{"hooks": {}}"#, false),
    ] {
        let mut config = load(text);
        assert_eq!(config.handlers.len(), 0, "{text}");
        assert_eq!(!config.faults.is_empty(), is_damaged, "{text}");
        config.keep(&before);
        assert_eq!(config.handlers.len(), usize::from(is_damaged), "{text}");
    }
}

#[test]
fn an_invalid_hook_does_not_affect_others() {
    let parsed = parsed(
        r#"{"hooks": {"Stop": [{"hooks": [{"command": ""}, {"command": "good", "timeout": -1}]}]}}"#,
    );
    assert_eq!(parsed.handlers.len(), 1);
    assert_eq!(
        (parsed.problems.len(), parsed.handlers[0].timeout),
        (2, None)
    );
}

#[test]
fn project_files_disable_only_project_hooks() {
    let folder = tempfile::tempdir().unwrap();
    let one = r#""hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}"#;
    let write = |name: &str, text: String| {
        osier_base::atomic_file::write(&folder.path().join(name), text.as_bytes()).unwrap();
    };
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let files = [
        file(&path("user.json"), false, false),
        file(&path("missing.json"), false, false),
        file(&path("project.json"), true, true),
    ];
    let count = || {
        let config = load(&files);
        assert_eq!(config.problems, []);
        config.handlers.len()
    };
    write("user.json", format!("{{{one}}}"));
    write("project.json", format!("{{{one}}}"));
    assert_eq!(count(), 2);
    write(
        "project.json",
        format!("{{\"disableAllHooks\": true, {one}}}"),
    );
    assert_eq!(count(), 1);
    write("project.json", format!("{{{one}}}"));
    write("user.json", "{\"disableAllHooks\": true}".to_owned());
    assert_eq!(count(), 0);
}
