//! Files that the file tools must not read or write, in runs of the program in which no user can answer a question.
//! Each attack is a call of a scripted model: it gets through if a write succeeds or a result contains the secret.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::fs::{self, create_dir_all};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_agent::{Interceptor as _, ToolContext, ToolDecision, UpdateSink};
use osier_llm::{Script, ToolCall};
use osier_permissions::{Gate, Permissions, RuleLists};
use osier_protocol::questions::{Answer, Grant, QuestionKind, Questions};
use osier_protocol::{Event, Op, PermissionMode, SandboxMode};
use osier_session::SessionChoice;
use osier_tools::Workspace;
use rustix::fs::CWD;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::cli::Home;
use crate::support::session::TestProject;

const SECRET: &str = "SECRET-MARK";

/// A project with secrets, links and files that run code.
fn project() -> Home {
    let home = Home::new();
    let (work, own) = (home.work(), home.home());
    let outside = outside(&home);
    let secret = format!("KEY={SECRET}\nline two\n");
    for folder in [
        "src",
        "secrets",
        ".git/hooks",
        "sub/.git",
        "bare.git/hooks",
        "mirror/objects",
        "mirror/hooks",
        ".vscode",
        "dotfiles",
        "tls",
        "deep/er",
    ] {
        create_dir_all(work.join(folder)).unwrap();
    }
    for folder in [
        outside.clone(),
        own.join("skills/a"),
        own.join(".ssh"),
        own.join("sessions/p"),
    ] {
        create_dir_all(folder).unwrap();
    }
    for file in [
        work.join(".env"),
        work.join("deep/er/.env"),
        work.join("secrets/a"),
        work.join("tls/key.pem"),
        work.join("tls/a\nb.pem"),
        outside.join("vault"),
        own.join("auth.json"),
        own.join("sessions/p/a.jsonl"),
        own.join(".ssh/id_ed25519"),
    ] {
        fs::write(file, &secret).unwrap();
    }
    for (file, text) in [
        (work.join("plain.txt"), "a plain file\n"),
        (work.join("mirror/HEAD"), "ref: refs/heads/main\n"),
        (work.join("src/a.rs"), "fn a() {}\n"),
        (work.join("dotfiles/zshrc"), "old\n"),
        (outside.join("file"), "old\n"),
        (own.join("skills/a/SKILL.md"), "a skill\n"),
    ] {
        fs::write(file, text).unwrap();
    }
    for (target, link) in [
        (PathBuf::from(".env"), work.join("alias")),
        ("alias".into(), work.join("alias2")),
        ("secrets".into(), work.join("s")),
        (".git".into(), work.join("g")),
        ("loop".into(), work.join("src/loop")),
        ("../../home/auth.json".into(), work.join("src/keys")),
        (outside.clone(), work.join("vaults")),
        (outside.clone(), work.join("src/out")),
        (outside.join("file"), work.join("src/link.txt")),
        (outside.join("new"), work.join("src/dangling")),
        (work.join("dotfiles/zshrc"), own.join(".zshrc")),
    ] {
        symlink(target, link).unwrap();
    }
    home
}

fn outside(home: &Home) -> PathBuf {
    home.work().with_file_name("outside")
}

fn read(path: &str) -> Value {
    json!({"tool": "read", "arguments": {"file_path": path}})
}

fn grep(arguments: &Value) -> Value {
    // The script of the model does not match itself.
    let mut all = json!({"pattern": "SECRET[-]MARK"});
    let both = all.as_object_mut().unwrap();
    both.extend(arguments.as_object().unwrap().clone());
    json!({"tool": "grep", "arguments": all})
}

fn write(path: &str) -> Value {
    json!({"tool": "write", "arguments": {"file_path": path, "content": "attack\n"}})
}

fn edit(path: &str) -> Value {
    let arguments = json!({"file_path": path, "old_string": "old", "new_string": "attack"});
    json!({"tool": "edit", "arguments": arguments})
}

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "arguments": {"command": command}})
}

/// The results of `calls`, which a model makes one after the other: whether each succeeded, and its text.
fn results(
    home: &Home,
    settings: &str,
    arguments: &[&str],
    calls: &[Value],
) -> Vec<(bool, String)> {
    home.config(
        "settings.toml",
        format!("discover_local_models = false\n{settings}"),
    );
    let turns = calls.iter().map(|call| json!({"steps": [call]}));
    let turns: Vec<Value> = turns
        .chain([json!({"steps": [{"text": "done"}]})])
        .collect();
    let run = home.scripted(&json!(turns)).environment("MARK", SECRET);
    let run = arguments
        .iter()
        .fold(run, |run, argument| run.arg(*argument));
    let output = run.args(["--json", "go"]).run();
    let lines = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends = lines.filter(|line| line["type"] == "tool_execution_end");
    let results: Vec<(bool, String)> = ends
        .map(|end| {
            (
                end["result"]["isError"] == false,
                end["result"]["content"].to_string(),
            )
        })
        .collect();
    assert_eq!(
        results.len(),
        calls.len(),
        "{}{}",
        output.stdout,
        output.stderr
    );
    results
}

/// The calls that got through.
fn through(home: &Home, settings: &str, arguments: &[&str], calls: &[Value]) -> Vec<String> {
    let results = results(home, settings, arguments, calls).into_iter();
    let through = calls
        .iter()
        .zip(results)
        .filter(|(call, (succeeded, text))| {
            let writes = call["tool"] != "read" && call["tool"] != "grep";
            (writes && *succeeded) || text.contains(SECRET)
        });
    through
        .map(|(call, (_, text))| format!("{call} {text}"))
        .collect()
}

#[test]
fn a_denied_file_is_not_shown() {
    let home = project();
    let work = home.work().display().to_string();
    let path = |path: &str| json!({"path": path});
    let deep = format!("{}.env", "deep/er/../../".repeat(200));
    let mut calls: Vec<Value> = [
        ".env",
        "./.env",
        "//./.env",
        ".env/",
        ".\u{ff45}nv",
        "\u{ff0e}env",
        "@.env",
        "@./.env",
        ".env\u{a0}",
        "deep/er/.env",
        "deep/../.env",
        "none/../.env",
        "alias",
        "alias2",
        "deep/../alias",
        "@alias",
        "al\u{ff49}as",
        "~/../work/.env",
        "/proc/self/cwd/.env",
        "/proc/self/cwd/alias",
        "secrets/a",
        "secrets//a",
        "s/a",
        "s/../s/a",
        "deep/../s/a",
        "s/\u{ff41}",
        "vaults/vault",
        "deep/../vaults/vault",
        "none/../vaults/vault",
        "vaults/../work/vaults/vault",
        "/proc/self/cwd/vaults/vault",
        "tls/key.pem",
        "tls/a\nb.pem",
        &deep,
    ]
    .map(read)
    .into();
    calls.extend([
        read(&format!("{work}/.env")),
        read(&format!("/{work}//.env")),
        read(&format!("/proc/self/root{work}/.env")),
        read(&format!("/proc/self/root{work}/alias")),
        grep(&json!({})),
        grep(&path(".")),
        grep(&path("../outside")),
        grep(&path(".env")),
        grep(&path(".\u{ff45}nv")),
        grep(&path("alias")),
        grep(&path("secrets")),
        grep(&path("s")),
        grep(&path("s/a")),
        grep(&path("vaults/vault")),
        grep(&path(&work)),
        grep(&json!({"glob": ".env"})),
        grep(&json!({"glob": "**/.env*", "context": 3})),
        grep(&json!({"glob": "*.pem"})),
        grep(&json!({"path": "deep", "glob": ".e*"})),
        grep(&json!({"path": "/proc/self/cwd", "glob": ".env"})),
        edit(".env"),
        edit("alias"),
        edit("tls/key.pem"),
    ]);
    let rules = "deny = [\"read(.env)\", \"read(secrets/**)\", \"read(*.pem)\", \"read(vaults/**)\", \
        \"read(/etc/**)\", \"read(/**/outside/vault)\"]\n";
    let through = through(&home, rules, &["--permissions", "yolo"], &calls);
    assert!(
        through.is_empty(),
        "{} of {}: {through:#?}",
        through.len(),
        calls.len()
    );
}

#[test]
fn a_search_says_that_it_skipped_files() {
    let home = project();
    let calls = [
        grep(&json!({"path": "tls"})),
        read("plain.txt"),
        read("~/skills/a/SKILL.md"),
    ];
    let rules = "deny = [\"read(*.pem)\"]\n";
    let found = results(&home, rules, &["--permissions", "ask"], &calls);
    assert!(
        found[0]
            .1
            .contains("[2 files with matches skipped by permission rules]"),
        "{found:?}"
    );
    assert!(
        found[1].0 && found[1].1.contains("a plain file"),
        "{found:?}"
    );
    assert!(found[2].0 && found[2].1.contains("a skill"), "{found:?}");
}

#[test]
fn secrets_are_asked_for() {
    let home = project();
    let path = |path: &str| json!({"path": path});
    let mut calls: Vec<Value> = [
        ".env",
        "deep/er/.env",
        "alias",
        "@.env",
        ".\u{ff45}nv",
        "tls/key.pem",
        "~/auth.json",
        "../home/auth.json",
        "src/keys",
        "~/sessions/p/a.jsonl",
        "~/.ssh/id_ed25519",
        "/proc/self/environ",
        "/proc/self/../self/environ",
        "/proc/thread-self/environ",
        "/proc/self/root/proc/self/environ",
        "/dev/fd/../environ",
    ]
    .map(read)
    .into();
    calls.extend([
        grep(&json!({})),
        grep(&path(".env")),
        grep(&path("alias")),
        grep(&path("tls")),
        grep(&path("~/auth.json")),
        grep(&path("~")),
        grep(&path("/proc/self/environ")),
        grep(&json!({"path": "~/.ssh", "glob": "*"})),
        grep(&json!({"glob": ".env*"})),
        edit(".env"),
    ]);
    fs::remove_file(home.work().join("secrets/a")).unwrap();
    for mode in ["ask", "plan"] {
        let through = through(&home, "", &["--permissions", mode], &calls);
        assert!(
            through.is_empty(),
            "{mode}: {} of {}: {through:#?}",
            through.len(),
            calls.len()
        );
    }
    // A rule allows them. Without questions, only osier's own keys stay hidden.
    let rule = "allow = [\"read(.env)\"]\n";
    assert!(results(&home, rule, &["--permissions", "ask"], &[read(".env")])[0].0);
    assert!(results(&home, "", &["--permissions", "yolo"], &[read(".env")])[0].0);
    let own: Vec<Value> = [
        "~/auth.json",
        "../home/auth.json",
        "src/keys",
        "@~/auth.json",
        "/proc/self/cwd/src/keys",
    ]
    .map(read)
    .into_iter()
    .chain(["~/auth.json", "~", "..", "src/keys"].map(|at| grep(&path(at))))
    .filter(|call| call["arguments"]["path"] != "..")
    .chain([edit("~/auth.json"), write("~/auth.json")])
    .collect();
    // The other files with the mark are not secret in this mode.
    fs::remove_dir_all(home.home().join("sessions")).unwrap();
    let general = "allow = [\"read\", \"grep\", \"edit\", \"read(/**)\", \"write(/**)\"]\n";
    let through = through(&home, general, &["--permissions", "yolo"], &own);
    assert!(
        through.is_empty(),
        "{} of {}: {through:#?}",
        through.len(),
        own.len()
    );
}

#[test]
fn rules_for_a_folder_do_not_lead_out_of_it() {
    let home = project();
    let work = home.work().display().to_string();
    let outside = outside(&home).display().to_string();
    let mut calls: Vec<Value> = [
        "src/../x",
        "src/link.txt",
        "src/\u{ff4c}ink.txt",
        "src/dangling",
        "src/out/x",
        "src/out/a/b/c",
        "src//out/x",
        "src/./out/./x",
        "src/none/../out/x",
        "src/out/../x",
        "src/loop",
        "src/loop/x",
        "@src/out/x",
        "src/../src/out/x",
        "/proc/self/cwd/src/out/x",
        "/proc/self/cwd/src/../x",
        "src/../../outside/x",
        "~/x",
        "~/../outside/x",
        "src\u{a0}/x",
        "src/keys",
    ]
    .into_iter()
    .flat_map(|path| [write(path), edit(path)])
    // A new file with this name is inside.
    .filter(|call| call["tool"] == "edit" || !call.to_string().contains('\u{ff4c}'))
    .collect();
    let long = format!("src/out/{}", "n".repeat(300));
    calls.extend([
        write(&long),
        write(&format!("{work}/src/out/x")),
        write(&format!("/proc/self/root{work}/src/out/x")),
        write(&format!("{outside}/x")),
        write(&format!("{work}/src/../../outside/x")),
        bash("echo attack > src/out/x"),
        bash("echo attack > src/dangling"),
    ]);
    let rules = "allow = [\"write(src/**)\", \"edit(src/**)\", \"bash(echo *)\"]\n";
    let through = through(&home, rules, &["--permissions", "ask"], &calls);
    assert!(
        through.is_empty(),
        "{} of {}: {through:#?}",
        through.len(),
        calls.len()
    );
    assert!(!Path::new(&outside).join("x").exists() && !Path::new(&outside).join("new").exists());
    let inside = ["src/new", "src/deep/er/new", "./src/a.rs", "@src/b.rs"].map(write);
    // A file must be read before it is replaced.
    let inside = [vec![read("src/a.rs")], inside.to_vec()].concat();
    let results = results(&home, rules, &["--permissions", "ask"], &inside);
    assert!(
        results.iter().all(|(succeeded, _)| *succeeded),
        "{results:#?}"
    );
}

/// Files that make other programs run code.
fn code() -> Vec<Value> {
    let files = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "sub/.git/config",
        "new/.git",
        "g/config",
        "g/hooks/post-checkout",
        "bare.git/hooks/update",
        ".osier/settings.toml",
        ".osier/plugins/x.lua",
        ".mcp.json",
        ".claude/settings.json",
        ".claude/agents/x.md",
        ".vscode/tasks.json",
        ".cursor/mcp.json",
        ".opencode/plugin/x.js",
        "opencode.jsonc",
        ".pi/extensions/x.js",
        ".roo/mcp.json",
        "src/.devcontainer.json",
        ".husky/pre-commit",
        "HEAD",
        "src/HEAD",
        "mirror/config",
        "mirror/hooks/post-checkout",
        "src/../.git/config",
        "./.git/config",
        "deep/er/../../.mcp.json",
        "dotfiles/zshrc",
    ];
    let mut calls: Vec<Value> = files.map(write).into();
    calls.extend(
        [
            "~/.bashrc",
            "~/.zshenv",
            "~/.profile",
            "~/.ssh/authorized_keys",
            "~/.config/fish/config.fish",
            "~/.gitconfig",
            "~/.local/lib/python3.12/site-packages/x.pth",
            "~/.kube/config",
            "~/.config/zsh/.zshrc",
            "~/.config/git/config",
            "~/.config/autostart/x.desktop",
            "~/.config/systemd/user/x.service",
            "~/.npmrc",
            "~/.cargo/config.toml",
            "~/.local/bin/git",
            "~/.config/emacs/init.el",
            "~/.exrc",
            "~/.cargo/env",
            "~/.bash_completion",
            "~/plugins/x.lua",
            "~/settings.toml",
            "~/hooks.json",
            "~/mcp.json",
            "~/trust.json",
            "~/permissions.json",
            "~/.zshrc",
            "@~/.bashrc",
            "../home/.bashrc",
        ]
        .map(write),
    );
    calls.push(edit("dotfiles/zshrc"));
    calls.extend(
        [
            "echo attack > .git/hooks/pre-commit",
            "echo attack >> ~/.bashrc",
            "true && echo attack > g/config",
            "echo attack > .mcp.json",
        ]
        .map(bash),
    );
    calls
}

#[test]
fn files_that_run_code_need_an_explicit_rule() {
    let everything =
        "allow = [\"write\", \"edit\", \"bash\", \"write(./**)\", \"edit(/**)\", \"write(/**)\"]\n";
    for (mode, rules) in [("yolo", ""), ("yolo", everything), ("ask", everything)] {
        let home = project();
        let calls = code();
        let arguments = ["--permissions", mode];
        let through = through(&home, rules, &arguments, &calls);
        assert!(
            through.is_empty(),
            "{mode}: {} of {}: {through:#?}",
            through.len(),
            calls.len()
        );
    }
}

#[test]
fn the_reason_names_the_rule_and_the_rule_allows_the_write() {
    let home = project();
    let calls = [
        write(".git/hooks/pre-commit"),
        write("AGENTS.md"),
        write("src/x"),
    ];
    let found = results(&home, "", &["--permissions", "yolo"], &calls);
    assert!(
        found[0]
            .1
            .contains("add the rule `write(.git/hooks/pre-commit)` to `allow`"),
        "{found:?}"
    );
    assert!(found[1].0 && found[2].0, "{found:?}");
    for rule in [
        "write(.git/hooks/**)",
        "write(.git/hooks/pre-commit)",
        "write(**/.git/**)",
    ] {
        let rules = format!("allow = [\"{rule}\"]\n");
        let found = results(&home, &rules, &["--permissions", "yolo"], &calls[..1]);
        assert!(found[0].0, "{rule}: {found:?}");
        fs::remove_file(home.work().join(".git/hooks/pre-commit")).unwrap();
    }
}

#[test]
fn the_sandbox_applies_to_file_tools() {
    let home = project();
    let outside = [
        "/opt/osier-attack",
        "/opt/osier-attack/a/b",
        "/usr/local/osier-attack",
        "src/root/osier-attack",
    ];
    symlink("/opt", home.work().join("src/root")).unwrap();
    let outside = outside.map(write);
    for mode in ["yolo", "ask"] {
        let rules = "allow = [\"write\", \"edit\"]\n";
        let arguments = ["--permissions", mode, "--sandbox", "workspace"];
        let through = through(&home, rules, &arguments, &outside);
        assert!(
            through.is_empty(),
            "{mode}: {} of {}: {through:#?}",
            through.len(),
            outside.len()
        );
        let inside = [write("src/new"), write(".git/config")];
        let found = results(&home, rules, &arguments, &inside);
        assert_eq!([found[0].0, found[1].0], [true, false], "{found:?}");
        fs::remove_file(home.work().join("src/new")).unwrap();
    }
    let inside = ["x", "src/new2", "AGENTS.md"].map(write);
    let read_only = ["--permissions", "yolo", "--sandbox", "read-only"];
    let through = through(&home, "", &read_only, &inside);
    assert!(
        through.is_empty(),
        "{} of {}: {through:#?}",
        through.len(),
        inside.len()
    );
}

#[tokio::test]
async fn the_user_can_let_a_file_tool_write_outside_of_the_sandbox() {
    let place = TestProject::new();
    let arguments = json!({"file_path": "x", "content": "allowed\n"});
    let script = Script::new().turn(|turn| turn.tool("write", arguments));
    let script = script.turn(|turn| turn.text("done"));
    let setup = |setup: &mut osier_session::SessionSetup| {
        setup.sandbox = Some(SandboxMode::ReadOnly);
        setup.answers_questions = true;
    };
    let mut open = place
        .open_with(SessionChoice::Unstored, script, setup)
        .await;
    open.prompt("go");
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last() else {
        panic!("nothing was asked");
    };
    assert_eq!(question.title, "The sandbox is read-only. Write anyway?");
    let QuestionKind::Permission { patterns, .. } = &question.kind else {
        panic!("{question:?}");
    };
    assert_eq!(*patterns, [""; 0]);
    let (id, grant) = (question.id.clone(), Grant::Once);
    let answer = Answer::Allow {
        grant,
        arguments: None,
    };
    open.host.send(Op::AnswerQuestion { id, answer });
    open.settled().await;
    assert_eq!(
        fs::read_to_string(place.work().join("x")).unwrap(),
        "allowed\n"
    );
}

#[test]
fn special_files_do_not_block() {
    let home = project();
    let pipe = home.work().join("pipe");
    let kind = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(CWD, &pipe, kind, mode, 0).unwrap();
    symlink("pipe", home.work().join("to-pipe")).unwrap();
    let calls: Vec<Value> = [
        "pipe",
        "to-pipe",
        "/dev/zero",
        "/dev/fd/0",
        "/dev/stdin",
        "/dev/tty",
        "/proc/self/fd/0",
    ]
    .into_iter()
    .flat_map(|path| {
        [
            read(path),
            write(path),
            edit(path),
            grep(&json!({"path": path})),
        ]
    })
    .collect();
    let found = results(&home, "", &["--permissions", "yolo"], &calls);
    for (call, (succeeded, text)) in calls.iter().zip(&found) {
        assert!(!succeeded, "{call}: {text}");
    }
}

#[cfg(target_os = "linux")]
/// A thread replaces a directory by a link to outside and back while the model writes below it.
#[tokio::test(flavor = "multi_thread")]
async fn no_write_follows_a_link_that_appears_after_the_check() {
    const WRITES: usize = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["work/src/d", "outside/d"] {
        create_dir_all(root.join(name)).unwrap();
    }
    symlink(root.join("outside/d"), root.join("work/src/link")).unwrap();
    let allow = ["write(src/**)".to_owned()];
    let rules = RuleLists {
        allow: &allow,
        ..RuleLists::default()
    };
    let (work, store) = (root.join("work"), root.join("permissions.json"));
    let permissions = Permissions::new(&work, store, PermissionMode::Ask, rules);
    let workspace = Arc::new(Workspace::new(&work));
    let (questions, _asked) = Questions::new();
    let gate = Gate::new(
        Arc::new(permissions),
        questions,
        Arc::clone(&workspace),
        false,
    );
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (stop, root) = (Arc::clone(&stop), root.clone());
        move || {
            let (d, link) = (root.join("work/src/d"), root.join("work/src/link"));
            while !stop.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &d, CWD, &link, exchange).unwrap();
            }
        }
    });
    let cancel = CancellationToken::new();
    let (mut allowed, mut written) = (0, 0);
    for number in 0..WRITES {
        // Some create a directory, which the swap must not move outside either.
        let path = match number % 4 {
            0 => format!("src/d/new{number}/f"),
            _ => format!("src/d/f{number}"),
        };
        let call = ToolCall {
            id: format!("call{number}"),
            name: "write".to_owned(),
            arguments: json!({"file_path": path, "content": "x"}),
            arguments_error: None,
            signature: None,
            ..ToolCall::default()
        };
        let Ok(mut call) = workspace.prepare(call).await else {
            continue;
        };
        if !matches!(gate.before_tool(&call, &cancel).await, ToolDecision::Allow) {
            continue;
        }
        allowed += 1;
        let cx = ToolContext {
            call_id: call.call.id.clone(),
            cancel: cancel.clone(),
            updates: UpdateSink::discard(),
        };
        let output = call.prepared.run(cx).await;
        written += usize::from(output.status.is_success());
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let outside = fs::read_dir(root.join("outside/d")).unwrap().count();
    assert!(written > 0, "{allowed} allowed writes");
    assert_eq!(
        outside, 0,
        "{outside} of {allowed} allowed writes, {written} written"
    );
}
