//! Programs of a project that osier starts by itself: a formatter, a language server, a hook, an
//! MCP server. The model rewrites them after the user trusted the project; they do not run.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};

/// The program of the attacker leaves a trace.
const EVIL: &str = "#!/bin/sh\ntouch \"$HOME/evil\"\n";
const GOOD: &str = "#!/bin/sh\necho ran >> \"$HOME/ran\"\ncat\n";

/// A way to rewrite the program at a path with a tool.
type Attack = fn(&str) -> Vec<Value>;

fn write_tool(path: &str) -> Vec<Value> {
    vec![
        json!({"tool": "read", "arguments": {"file_path": path}}),
        json!({"tool": "write", "arguments": {"file_path": path, "content": EVIL}}),
    ]
}

fn command(path: &str) -> Vec<Value> {
    vec![
        json!({"tool": "bash", "arguments": {"command": format!("printf '%s' '{EVIL}' > {path}")}}),
    ]
}

/// Another file in place of it, which existed before.
fn renamed(path: &str) -> Vec<Value> {
    vec![json!({"tool": "bash", "arguments": {"command": format!("mv spare.sh {path}")}})]
}

fn linked(path: &str) -> Vec<Value> {
    vec![
        json!({"tool": "bash", "arguments": {"command": format!("ln -sf \"$PWD\"/spare.sh {path}")}}),
    ]
}

fn program(home: &Home, name: &str, text: &str) {
    let path = home.work().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    home.file(name, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A trusted project with the kinds of programs. The formatter is a link, as npm makes it.
fn project() -> Home {
    let home = Home::new();
    program(&home, "spare.sh", EVIL);
    program(&home, "node_modules/prettier/bin.sh", GOOD);
    program(
        &home,
        "node_modules/.bin/toy",
        "#!/bin/sh\necho ran >> \"$HOME/ran\"\n",
    );
    program(&home, "scripts/check.sh", GOOD);
    program(&home, "tools/server.sh", GOOD);
    let link = home.work().join("node_modules/.bin/prettier");
    symlink("../prettier/bin.sh", link).unwrap();
    home.file(".prettierrc", "");
    home
}

fn exists(home: &Home, name: &str) -> bool {
    home.home().join(name).exists()
}

/// A run in which the model makes these calls.
fn run(home: &Home, calls: &[Value], arguments: &[&str]) -> ProgramOutput {
    let turns = calls.iter().map(|call| json!({"steps": [call]}));
    let turns: Vec<Value> = turns
        .chain([json!({"steps": [{"text": "done"}]})])
        .collect();
    let mut cli = home
        .scripted(&json!(turns))
        .args(["-p", "go", "--permissions", "yolo"]);
    for argument in arguments {
        cli = cli.arg(*argument);
    }
    cli.run()
}

fn use_of(kind: &str) -> Value {
    match kind {
        "hook" => json!({"tool": "bash", "arguments": {"command": "touch called"}}),
        "MCP server" => json!({"tool": "bash", "arguments": {"command": "true"}}),
        _ => json!({"tool": "write", "arguments": {"file_path": "a.js", "content": "1\n"}}),
    }
}

fn configure(home: &Home, kind: &str) {
    match kind {
        "language server" => {
            let settings = "discover_local_models = false\ndescribe_environment = false\nformat = false\n\
                [lsp_servers.toy]\ncommand = [\"toy\"]\nextensions = [\"js\"]\n";
            home.config("settings.toml", settings);
        }
        "hook" => {
            let hook = json!({"type": "command", "command": "sh scripts/check.sh"});
            let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
            home.config("hooks.json", hooks.to_string());
        }
        "MCP server" => {
            let server = json!({"command": "sh", "args": ["./tools/server.sh"]});
            let servers = json!({"mcpServers": {"toy": server}});
            home.file(".mcp.json", servers.to_string());
        }
        _ => {}
    }
}

#[test]
fn program_that_was_rewritten_since_the_project_was_trusted_does_not_run() {
    let attacks: &[(&str, Attack)] = &[
        ("write", write_tool),
        ("command", command),
        ("rename", renamed),
        ("link", linked),
    ];
    for (kind, names) in [
        (
            "formatter",
            &["node_modules/.bin/prettier", "node_modules/prettier/bin.sh"][..],
        ),
        ("language server", &["node_modules/.bin/toy"]),
        ("hook", &["scripts/check.sh"]),
        ("MCP server", &["tools/server.sh"]),
    ] {
        for name in names {
            for (attack, rewrite) in attacks {
                let case = format!("{kind} {name} {attack}");
                let home = project();
                configure(&home, kind);
                let first = run(&home, &[use_of(kind)], &["--trust"]);
                assert_eq!(first.code, Some(0), "{case}: {}", first.stderr);
                assert!(exists(&home, "ran"), "{case}");
                let rewritten = run(&home, &rewrite(name), &[]);
                assert_eq!(rewritten.code, Some(0), "{case}: {}", rewritten.stderr);
                // The hook guards the attack itself, before it.
                std::fs::remove_file(home.work().join("a.js")).ok();
                std::fs::remove_file(home.work().join("called")).ok();
                let second = run(&home, &[use_of(kind)], &[]);
                assert!(!exists(&home, "evil"), "{case}");
                let reason = second
                    .stderr
                    .contains("has changed since you trusted the folder");
                assert!(
                    reason && second.stderr.contains("`--trust`"),
                    "{case}: {}",
                    second.stderr
                );
                assert!(
                    !exists_in(&home.work(), "called"),
                    "{case}: the guard did not answer"
                );
                // The user trusts it as it is now. `write` changes only files that were read.
                std::fs::remove_file(home.work().join("a.js")).ok();
                run(&home, &[use_of(kind)], &["--trust"]);
                assert!(exists(&home, "evil"), "{case}");
            }
        }
    }
}

fn exists_in(folder: &Path, name: &str) -> bool {
    folder.join(name).exists()
}

/// A hook of the user names a program in a project that nobody trusts.
#[test]
fn hook_of_the_user_does_not_run_a_script_of_a_project_without_trust() {
    let home = project();
    configure(&home, "hook");
    let ended = run(&home, &[use_of("hook")], &[]);
    assert!(!exists(&home, "ran"), "{}", ended.stderr);
    assert!(!exists_in(&home.work(), "called"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("is not known as you trusted it"),
        "{}",
        ended.stderr
    );
    run(&home, &[use_of("hook")], &["--trust"]);
    assert!(exists(&home, "ran") && exists_in(&home.work(), "called"));
}
