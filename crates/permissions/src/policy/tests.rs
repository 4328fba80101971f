use serde_json::json;

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

fn place(allow: &[&str], ask: &[&str], deny: &[&str]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let owned = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
    Fixture {
        folder,
        allow: owned(allow),
        ask: owned(ask),
        deny: owned(deny),
    }
}

impl Fixture {
    fn permissions(&self, mode: PermissionMode) -> Permissions {
        let store = self.folder.path().join("permissions.json");
        let rules = RuleLists {
            allow: &self.allow,
            ask: &self.ask,
            deny: &self.deny,
        };
        Permissions::new(self.folder.path(), store, mode, rules)
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny(_) => "deny",
        Verdict::Ask { .. } => "ask",
        Verdict::Review { .. } => "review",
    }
}

fn bash(permissions: &Permissions, command: &str) -> &'static str {
    let arguments = json!({"command": command});
    word(&permissions.decide("bash", &arguments, None, false))
}

#[test]
fn every_part_of_a_command_must_be_allowed() {
    let place = place(&["bash(git *)", "bash(ls)", "write(out/**)"], &[], &[]);
    let permissions = place.permissions(PermissionMode::Ask);
    for (command, expected) in [
        ("git status", "allow"),
        ("git status && ls", "allow"),
        ("git status && rm -rf x", "ask"),
        ("git status; rm x", "ask"),
        ("git status | sh", "ask"),
        ("git log $(rm x)", "ask"),
        ("git log `rm x`", "ask"),
        ("git log > out/log", "allow"),
        ("git log > /etc/passwd", "ask"),
        ("git log > $HOME/x", "ask"),
        ("git log 2>/dev/null", "allow"),
        ("git log\nrm x", "ask"),
        ("X=1 git log", "ask"),
        ("sudo git log", "ask"),
        ("git log <(rm x)", "ask"),
        ("(git log)", "allow"),
        ("if git status; then ls; fi", "allow"),
        ("$GIT log", "ask"),
        ("gitk", "ask"),
        ("git 'unfinished", "ask"),
    ] {
        assert_eq!(bash(&permissions, command), expected, "{command}");
    }
}

/// A rule about notebooks applies to every way to change a notebook, and to nothing else.
#[test]
fn a_rule_about_notebooks_holds_for_every_tool() {
    let place = place(&[], &[], &["NotebookEdit"]);
    let permissions = place.permissions(PermissionMode::Yolo);
    let patch = |file: &str| format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch\n");
    for (tool, arguments, expected) in [
        (
            "write",
            json!({"file_path": "a.ipynb", "content": "x"}),
            "deny",
        ),
        (
            "write",
            json!({"file_path": "/other/a.ipynb", "content": "x"}),
            "deny",
        ),
        (
            "write",
            json!({"file_path": "a.rs", "content": "x"}),
            "allow",
        ),
        (
            "edit",
            json!({"file_path": "sub/a.ipynb", "old_string": "x", "new_string": "y"}),
            "deny",
        ),
        (
            "edit",
            json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"}),
            "allow",
        ),
        ("apply_patch", json!({"input": patch("a.ipynb")}), "deny"),
        ("apply_patch", json!({"input": patch("a.rs")}), "allow"),
        ("bash", json!({"command": "echo x > sub/a.ipynb"}), "deny"),
        ("bash", json!({"command": "echo x > a.rs"}), "allow"),
        ("read", json!({"file_path": "a.ipynb"}), "allow"),
    ] {
        let verdict = permissions.decide(tool, &arguments, None, false);
        assert_eq!(word(&verdict), expected, "{tool} {arguments}");
    }
}

#[test]
fn deny_overrides_every_mode_and_saved_rule() {
    let place = place(
        &["bash"],
        &[],
        &["bash(rm *)", "write(.env)", "read(*.pem)"],
    );
    for mode in PermissionMode::ALL {
        let permissions = place.permissions(mode);
        let pattern = "bash(rm *)".to_owned();
        permissions.grant(&Grant::Project { pattern }).unwrap();
        for command in [
            "rm x",
            "ls && rm -rf x",
            "echo $(rm x)",
            "/bin/rm x",
            "r\\m x",
            "'rm' x",
            "X=1 rm x",
            "sudo -u root rm x",
            "env A=b rm x",
            "find . -exec rm {} +",
            "xargs -n 1 rm x",
            "timeout 5 rm x",
            "time rm x",
            "bash -c 'ls; rm x'",
            "sh -ec \"rm x\"",
            "eval 'rm x'",
            "nohup bash -c 'sudo rm x' &",
            "echo x > .env",
            "echo x >> deep/.env",
        ] {
            assert_eq!(bash(&permissions, command), "deny", "{mode:?} {command}");
        }
        let key = json!({"file_path": "keys/a.pem"});
        assert_eq!(word(&permissions.decide("read", &key, None, false)), "deny");
    }
}

#[test]
fn yolo_asks_only_when_a_rule_asks_or_could_apply() {
    let bare = place(&[], &[], &[]);
    let bare = bare.permissions(PermissionMode::Yolo);
    assert_eq!(bash(&bare, "$X 'unfinished"), "allow");
    let ruled = place(&[], &["bash(git push *)"], &["bash(rm *)"]);
    let ruled = ruled.permissions(PermissionMode::Yolo);
    assert_eq!(bash(&ruled, "git push origin"), "ask");
    assert_eq!(bash(&ruled, "git pull"), "allow");
    assert_eq!(bash(&ruled, "$X y"), "ask");
    assert_eq!(bash(&ruled, "bash -c \"$X\""), "ask");
}

#[test]
fn granted_edits_are_all_changes_of_files_in_the_working_directory() {
    let place = place(&[], &[], &[]);
    let permissions = place.permissions(PermissionMode::Ask);
    let decide = |tool: &str, file: &str| {
        let arguments = json!({"file_path": file});
        word(&permissions.decide(tool, &arguments, None, false))
    };
    assert_eq!(decide("edit", "src/a.rs"), "ask");
    permissions.grant(&Grant::Edits).unwrap();
    for tool in EDIT_RULES {
        assert_eq!(decide(tool, "src/a.rs"), "allow", "{tool}");
        assert_eq!(decide(tool, "/etc/hosts"), "ask", "{tool}");
    }
    assert_eq!(bash(&permissions, "touch a"), "ask");
    // The list contains every tool that changes a file.
    let changing = osier_tools::all()
        .filter(|tool| tool.effect == osier_tools::ToolEffect::Changes && tool.file.is_some());
    for tool in changing {
        assert!(EDIT_RULES.contains(&tool.name), "{}", tool.name);
    }
    assert!(permissions.forget_session());
    assert_eq!(decide("edit", "src/a.rs"), "ask");
}

#[test]
fn plan_mode_denies_writes_despite_rules() {
    let place = place(&["bash", "write", "edit", "mcp__x__y"], &[], &[]);
    let permissions = place.permissions(PermissionMode::Plan);
    let pattern = "write".to_owned();
    permissions.grant(&Grant::Session { pattern }).unwrap();
    let file = json!({"file_path": "x"});
    for tool in ["write", "edit", "mcp__x__y", "anything"] {
        let verdict = permissions.decide(tool, &file, Some(&Hint::Allow), true);
        assert_eq!(word(&verdict), "deny", "{tool}");
    }
    let decide = |tool: &str, arguments: Value, confined: bool| {
        word(&permissions.decide(tool, &arguments, None, confined))
    };
    assert_eq!(decide("bash", json!({"command": "ls"}), false), "deny");
    assert_eq!(decide("bash", json!({"command": "ls"}), true), "allow");
    assert_eq!(decide("bash", json!({"action": "list"}), false), "allow");
    assert_eq!(decide("read", file, false), "allow");
}

#[test]
fn ask_mode_asks_about_changes_and_network() {
    let place = place(&["edit(src/**)"], &[], &[]);
    let permissions = place.permissions(PermissionMode::Ask);
    let decide = |tool: &str, path: &str| {
        word(&permissions.decide(tool, &json!({"file_path": path}), None, false))
    };
    assert_eq!(decide("read", "x"), "allow");
    assert_eq!(decide("write", "x"), "ask");
    assert_eq!(decide("edit", "src/a.rs"), "allow");
    assert_eq!(decide("edit", "src/../other.rs"), "ask");
    assert_eq!(decide("mcp__x__y", "x"), "ask");
    // Rules apply to the target of the link.
    let root = place.folder.path();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(root.join("out")).unwrap();
    std::os::unix::fs::symlink(root.join("out"), root.join("src/link")).unwrap();
    assert_eq!(decide("edit", "src/link/a.rs"), "ask");
}

#[test]
fn grant_covers_later_calls_for_its_duration() {
    let place = place(&[], &["bash(git push *)"], &[]);
    let permissions = place.permissions(PermissionMode::Ask);
    let asked = |command: &str| {
        let verdict = permissions.decide("bash", &json!({"command": command}), None, false);
        match verdict {
            Verdict::Ask { patterns, .. } => patterns,
            other => panic!("{other:?}"),
        }
    };
    let patterns = asked("git push origin main");
    let expected = ["bash(git push origin main)", "bash(git push *)"];
    assert_eq!(patterns, expected);
    let pattern = patterns[0].clone();
    permissions.grant(&Grant::Session { pattern }).unwrap();
    assert_eq!(bash(&permissions, "git push origin main"), "allow");
    assert_eq!(bash(&permissions, "git push origin main; rm x"), "ask");
    assert!(permissions.forget_session());
    assert_eq!(bash(&permissions, "git push origin main"), "ask");
    // A compound command can be saved as it is.
    let command = "cd x && make *";
    let pattern = asked(command)[0].clone();
    let grant = Grant::Project { pattern };
    permissions.grant(&grant).unwrap();
    let again = place.permissions(PermissionMode::Ask);
    assert_eq!(bash(&again, command), "allow");
    assert_eq!(bash(&again, "cd x && make y"), "ask");
    let Grant::Project { pattern } = grant else {
        return;
    };
    assert!(again.forget(&pattern).unwrap());
    assert_eq!(
        bash(&place.permissions(PermissionMode::Ask), command),
        "ask"
    );
}

#[test]
fn rules_accept_the_mcp_prefix() {
    let place = place(
        &["mcp__github__get_*"],
        &["mcp__github__create_*"],
        &["mcp__github__delete_*"],
    );
    for (mode, tool, expected) in [
        (PermissionMode::Ask, "github__get_issue", "allow"),
        (PermissionMode::Ask, "gitlab__get_issue", "ask"),
        (PermissionMode::Yolo, "github__create_issue", "ask"),
        (PermissionMode::Yolo, "github__delete_issue", "deny"),
        (PermissionMode::Yolo, "gitlab__delete_issue", "allow"),
    ] {
        let verdict = place
            .permissions(mode)
            .decide(tool, &json!({}), None, false);
        assert_eq!(word(&verdict), expected, "{tool}");
    }
    // The `if` condition of a hook.
    let rule = Rule::parse("mcp__github__*").unwrap();
    let permissions = place.permissions(PermissionMode::Yolo);
    let concerns = |tool| permissions.concerns(&rule, tool, &json!({}), &[], Path::new("/"));
    assert!(concerns("github__get_issue"));
    assert!(!concerns("bash"));
}

#[test]
fn hook_can_allow_or_ask_but_not_override_a_rule() {
    let place = place(&[], &["bash(git push *)"], &["bash(rm *)"]);
    let permissions = place.permissions(PermissionMode::Ask);
    let decide = |command: &str, hint: &Hint| {
        let arguments = json!({"command": command});
        word(&permissions.decide("bash", &arguments, Some(hint), false))
    };
    assert_eq!(decide("make", &Hint::Allow), "allow");
    assert_eq!(decide("git push x", &Hint::Allow), "ask");
    assert_eq!(decide("rm x", &Hint::Allow), "deny");
    assert_eq!(decide("ls", &Hint::Ask("why".into())), "ask");
}

#[test]
fn auto_reviews_only_what_nothing_else_decides() {
    let place = place(&["bash(echo *)"], &["bash(git push *)"], &["bash(rm *)"]);
    let permissions = place.permissions(PermissionMode::Auto);
    for (command, expected) in [
        ("make", "review"),
        ("echo a", "allow"),
        ("git push origin", "ask"),
        ("git {push,x}", "ask"),
        ("rm x", "deny"),
        ("echo ${x:=rm}", "ask"),
        ("make\r", "deny"),
        ("cat .env", "ask"),
        ("make < .env", "ask"),
        ("cp a .git/config", "ask"),
        ("tar -C.git -x", "review"),
        ("cp a \".osier/settings.toml\"", "ask"),
        ("cat \".osier/settings.toml\"", "allow"),
        ("make FILE=.mcp.json", "ask"),
        ("ls .github .gitignore", "allow"),
        ("touch .github .gitignore", "review"),
    ] {
        assert_eq!(bash(&permissions, command), expected, "{command}");
    }
    let decide = |tool: &str, arguments: serde_json::Value| {
        word(&permissions.decide(tool, &arguments, None, false))
    };
    assert_eq!(decide("read", json!({"file_path": "a"})), "allow");
    assert_eq!(decide("read", json!({"file_path": ".env"})), "ask");
    let write = |path: &str| decide("write", json!({"file_path": path, "content": ".git/x"}));
    assert_eq!((write("a"), write(".git/x")), ("review", "ask"));
    assert_eq!(decide("files__get", json!({"paths": ["a"]})), "review");
    assert_eq!(decide("files__get", json!({"paths": ["a", ".env"]})), "ask");
    let pattern = "bash(make)".to_owned();
    permissions.grant(&Grant::Session { pattern }).unwrap();
    assert_eq!(bash(&permissions, "make"), "allow");
    assert!(permissions.stop_reviewing());
    assert_eq!(permissions.mode(), PermissionMode::Ask);
    assert!(!permissions.stop_reviewing());
}

#[test]
fn an_offered_rule_is_never_for_every_command_or_file() {
    let place = place(&[], &[], &[]);
    let permissions = place.permissions(PermissionMode::Ask);
    let offered = |tool, arguments| match permissions.decide(tool, &arguments, None, false) {
        Verdict::Ask { patterns, .. } => patterns,
        verdict => panic!("{verdict:?}"),
    };
    for command in ["", " ", "\n\t"] {
        let patterns = offered("bash", json!({"command": command}));
        assert_eq!(patterns, Vec::<String>::new(), "{command:?}");
    }
    let folder = permissions.cwd.display();
    assert_eq!(
        offered("edit", json!({"file_path": "."})),
        [
            format!("edit({folder})"),
            "edit(./**)".to_owned(),
            "edit".to_owned()
        ]
    );
}
