//! Permissions and project trust in a complete session.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use osier_agent::ToolStatus;
use osier_llm::Script;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Subject};
use osier_protocol::{Event, Op, PermissionMode, SandboxMode};
use osier_sandbox::{Backend, Confinement};
use osier_session::{SessionChoice, SessionSetup};
use osier_testing::skip;
use serde_json::json;
use std::fs;
use std::sync::Arc;

use crate::support::cli::Home;
use crate::support::session::{OpenSession, TestProject};

/// A model that calls `bash` with each command, one per answer, and then finishes.
fn runs(commands: &[&str]) -> Script {
    let script = commands.iter().fold(Script::new(), |script, command| {
        let arguments = json!({"command": command});
        script.turn(|turn| turn.tool("bash", arguments))
    });
    script.turn(|turn| turn.text("done").repeat())
}

fn asks(setup: &mut SessionSetup) {
    setup.permissions = Some(PermissionMode::Ask);
    setup.answers_questions = true;
}

async fn question(open: &mut OpenSession) -> Question {
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    match seen.last() {
        Some(Event::QuestionAsked { question }) => (**question).clone(),
        _ => panic!("nothing was asked"),
    }
}

fn answer(open: &OpenSession, question: &Question, answer: Answer) {
    let id = question.id.clone();
    open.host.send(Op::AnswerQuestion { id, answer });
}

fn allow(grant: Grant) -> Answer {
    Answer::Allow {
        grant,
        arguments: None,
    }
}

/// The statuses of the calls of a run, in order.
fn statuses(events: &[Event]) -> Vec<ToolStatus> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => {
            Some(result.status.clone())
        }
        _ => None,
    });
    ends.collect()
}

#[tokio::test]
async fn call_waits_for_permission_and_a_pattern_allows_the_next() {
    let place = TestProject::new();
    let script = runs(&["echo a >> log", "echo a >> log", "echo b >> log"]);
    let mut open = place.open_with(SessionChoice::Unstored, script, asks).await;
    open.prompt("go");
    let first = question(&mut open).await;
    assert!(!place.work().join("log").exists());
    let expected = Subject::Command {
        command: "echo a >> log".into(),
        cwd: place.work().display().to_string(),
    };
    assert_eq!(first.subject, Some(expected));
    let QuestionKind::Permission { patterns, .. } = &first.kind else {
        panic!("{first:?}");
    };
    let pattern = patterns[0].clone();
    answer(&open, &first, allow(Grant::Session { pattern }));
    // The same command runs without a question; another one asks.
    let other = question(&mut open).await;
    assert_eq!(
        std::fs::read_to_string(place.work().join("log")).unwrap(),
        "a\na\n"
    );
    let reason = Some("enough".to_owned());
    answer(&open, &other, Answer::Refuse { reason });
    let events = open.settled().await;
    let reason = "the user refused: enough".to_owned();
    // The question may be reported before the previous call has ended.
    let ended = statuses(&events);
    assert_eq!(ended.last(), Some(&ToolStatus::Denied { reason }));
    let before = &ended[..ended.len() - 1];
    assert!(before.iter().all(ToolStatus::is_success), "{before:?}");
    assert_eq!(
        std::fs::read_to_string(place.work().join("log")).unwrap(),
        "a\na\n"
    );
}

/// An answer is about what the question showed: a file that the sandbox protects, or that can run code, is asked about even
/// if only the edited call names it.
#[tokio::test]
async fn edited_arguments_that_need_more_are_asked_about_again() {
    for (edited_path, title) in [
        (
            "/opt/osier-edited-call",
            "The sandbox denies writing this file. Write anyway?",
        ),
        (".git/hooks/post-commit", "Write this file? ("),
    ] {
        let place = TestProject::new();
        let arguments = json!({"file_path": "a.txt", "content": "x"});
        let script = Script::new()
            .turn(|turn| turn.tool("write", arguments))
            .turn(|turn| turn.text("done").repeat());
        let mut open = place
            .open_with(SessionChoice::Unstored, script, |setup| {
                asks(setup);
                setup.sandbox = Some(SandboxMode::Workspace);
            })
            .await;
        open.prompt("go");
        let first = question(&mut open).await;
        assert_eq!(first.title, "Write this file?");
        let edited = json!({"file_path": edited_path, "content": "x"});
        let changed = Answer::Allow {
            grant: Grant::Once,
            arguments: Some(edited.clone()),
        };
        answer(&open, &first, changed);
        let second = question(&mut open).await;
        assert!(second.title.starts_with(title), "{}", second.title);
        let QuestionKind::Permission { arguments, .. } = &second.kind else {
            panic!("{second:?}");
        };
        assert_eq!(*arguments, edited);
        answer(&open, &second, Answer::Refuse { reason: None });
        let events = open.settled().await;
        let reason = "the user refused; ask what to do instead".to_owned();
        assert_eq!(statuses(&events), [ToolStatus::Denied { reason }]);
        assert!(!place.work().join(edited_path).exists());
    }
}

/// `disableBypassPermissionsMode` of Claude Code and rules that cannot be read require a mode, also after the start.
#[tokio::test]
async fn mode_that_the_settings_do_not_allow_is_not_set() {
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, Script::always("ok"), |setup| {
            setup.settings.least = PermissionMode::Ask;
        })
        .await;
    let mode = PermissionMode::Yolo;
    open.host.send(Op::SetPermissions { mode });
    let events = open
        .until(|event| matches!(event, Event::Permissions { .. }))
        .await;
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Notice { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let expected = "your settings do not allow the permission mode `yolo`; it is `ask`";
    assert_eq!(notices, [expected]);
    let Some(Event::Permissions { mode, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(*mode, PermissionMode::Ask);
    open.close().await;
}

#[tokio::test]
async fn edited_arguments_are_run() {
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, runs(&["touch wrong"]), asks)
        .await;
    open.prompt("go");
    let asked = question(&mut open).await;
    let edited = Answer::Allow {
        grant: Grant::Once,
        arguments: Some(json!({"command": "touch right"})),
    };
    answer(&open, &asked, edited);
    open.settled().await;
    assert!(place.work().join("right").exists());
    assert!(!place.work().join("wrong").exists());
    // The result tells the model that the user edited the command.
    let told = open.last_request().pop().unwrap();
    let expected = "[the user edited this call before it ran: touch right]";
    assert!(told.contains(expected), "{told}");
}

#[tokio::test]
async fn permission_for_an_edit_has_a_diff() {
    let place = TestProject::new();
    std::fs::write(place.work().join("a.txt"), "one\ntwo\n").unwrap();
    let script = Script::new()
        .turn(|turn| {
            let arguments = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"});
            turn.tool("edit", arguments)
        })
        .turn(|turn| turn.text("done"));
    let mut open = place.open_with(SessionChoice::Unstored, script, asks).await;
    open.prompt("go");
    let asked = question(&mut open).await;
    let Some(Subject::Diff { path, diff }) = &asked.subject else {
        panic!("{asked:?}");
    };
    assert_eq!(path, "a.txt");
    assert!(diff.contains("-two\n+2\n"), "{diff}");
    assert_eq!(
        std::fs::read_to_string(place.work().join("a.txt")).unwrap(),
        "one\ntwo\n"
    );
    answer(&open, &asked, allow(Grant::Once));
    open.settled().await;
    assert_eq!(
        std::fs::read_to_string(place.work().join("a.txt")).unwrap(),
        "one\n2\n"
    );
}

#[tokio::test]
async fn interrupt_withdraws_the_question() {
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, runs(&["touch x"]), asks)
        .await;
    open.prompt("go");
    let asked = question(&mut open).await;
    open.host.send(osier_agent::Op::Abort.into());
    let events = open.settled().await;
    let closed = events
        .iter()
        .any(|event| matches!(event, Event::QuestionClosed { id } if *id == asked.id));
    assert!(closed);
    assert!(!place.work().join("x").exists());
}

#[tokio::test]
async fn sandbox_denial_asks_to_run_without_the_sandbox() {
    let place = TestProject::new();
    let confinement = Confinement::new(&place.work(), None);
    if !skip::has(&["bwrap"], "apt install bubblewrap") {
        return;
    }
    let backend = confinement.ready().await;
    if !matches!(backend, Ok(Backend::Bubblewrap(_))) {
        skip::unsupported("bubblewrap", &format!("{backend:?}"));
        return;
    }
    let script = runs(&["echo x > new && echo made", "echo y > newer"]);
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.sandbox = Some(SandboxMode::ReadOnly);
            setup.helper = Some(env!("CARGO_BIN_EXE_osier").into());
            setup.answers_questions = true;
        })
        .await;
    open.prompt("go");
    let asked = question(&mut open).await;
    assert_eq!(asked.origin, "the sandbox");
    assert_eq!(asked.kind, QuestionKind::Confirm);
    assert!(!place.work().join("new").exists());
    answer(&open, &asked, Answer::Yes);
    let again = question(&mut open).await;
    assert!(place.work().join("new").exists());
    answer(&open, &again, Answer::Refuse { reason: None });
    open.settled().await;
    assert!(!place.work().join("newer").exists());
    let told = open.last_request();
    assert!(told[2].contains("made"), "{told:?}");
    assert!(
        told[4].contains("the sandbox most likely denied it"),
        "{told:?}"
    );
}

/// Ways of writing without a redirection.
const WAYS: &str = "echo x > b; echo x >> b; : >| b; touch c; mkdir c; rm -f b; mv b c; cp b c; ln -s b c; \
    ln b c; chmod 777 b; truncate -s 0 b; tee b < /dev/null; dd if=/dev/null of=b; sed -i s/x/y/ b; \
    cd ..; echo x > work/b; ln -s $OLDPWD/b /tmp/osier-plan.$$ && echo y > /tmp/osier-plan.$$; \
    rm -f /tmp/osier-plan.$$; cd work; sh -c 'sh -c \"echo x > b\"'; setsid sh -c 'echo x > b'; \
    (echo x > b) & wait";

/// A plugin with a tool whose program writes.
const WRITER: &str = r#"
osier.tool {
  name = "scribble", description = "writes",
  run = function() return osier.exec("touch", { "c" }).stderr end,
}
osier.command {
  name = "scribble", description = "writes",
  run = function()
    local ran, made = pcall(osier.exec, "touch", { "c" })
    osier.ui.notify(ran and "exit " .. made.code or "refused")
  end,
}
"#;

#[tokio::test]
async fn plan_mode_denies_writes_of_every_tool() {
    let place = TestProject::new();
    let plugins = place.data().join("plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::write(plugins.join("writer.lua"), WRITER).unwrap();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_server.sh");
    let servers = json!({"mcpServers": {"fake": {"command": "sh", "args": [server, "good"]}}});
    std::fs::write(place.data().join("mcp.json"), servers.to_string()).unwrap();
    let bash = |command: &str| json!({"command": command});
    let write = || json!({"file_path": "a", "content": "x"});
    let edit = json!({"file_path": "b", "old_string": "x", "new_string": "y"});
    let script = Script::new()
        .turn(|turn| {
            let background = json!({"command": WAYS, "background": true});
            turn.when_user("go")
                .tool("write", write())
                .tool("edit", edit)
                .tool("scribble", json!({}))
                .tool("fake__echo", json!({}))
                .tool("bash", bash(WAYS))
                .tool("bash", background)
                .tool("task", json!({"prompt": "scribble too"}))
        })
        .turn(|turn| {
            turn.when_user("scribble too")
                .tool("write", write())
                .tool("bash", bash(WAYS))
        })
        .turn(|turn| turn.text("done").repeat());
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.permissions = Some(PermissionMode::Plan);
            setup.settings.subagents = true;
            let allowed = ["bash", "write", "edit", "scribble", "fake__*", "task"];
            setup.settings.allow = allowed.map(str::to_owned).to_vec();
            setup.environment = Arc::new(std::env::vars().collect());
        })
        .await;
    std::fs::write(place.work().join("b"), "x").unwrap();
    open.until(
        |event| matches!(event, Event::McpServers { servers } if servers.iter().any(|server| server.state.is_settled())),
    )
    .await;
    open.prompt("go");
    let mut events = Vec::new();
    // Waits until the run is over, and the job, too, where a sandbox let it begin.
    let (mut job_over, mut run_over) = (false, false);
    while !(job_over && run_over) {
        events.extend(open.until(|_| true).await);
        match events.last() {
            Some(Event::Jobs { jobs }) => job_over |= jobs.iter().any(|job| !job.running),
            Some(Event::Agent(osier_agent::Event::AgentSettled { .. })) => {
                run_over = true;
                job_over |= !open.last_request().concat().contains("Started job1");
            }
            _ => {}
        }
    }
    let statuses = statuses(&events);
    assert_eq!(statuses.len(), 7, "{statuses:?}");
    // Commands may run where the sandbox keeps them from writing, and a subagent where its calls are decided.
    for status in &statuses[..4] {
        assert!(matches!(status, ToolStatus::Denied { .. }), "{status:?}");
    }
    open.prompt("/scribble");
    let seen = open
        .until(|event| matches!(event, Event::Notice { text, .. } if text.contains("writer: ")))
        .await;
    let Some(Event::Notice { text, .. }) = seen.last() else {
        panic!("nothing was told");
    };
    assert_ne!(text, "writer: exit 0");
    let names = std::fs::read_dir(place.work()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["b"]);
    assert_eq!(
        std::fs::read_to_string(place.work().join("b")).unwrap(),
        "x"
    );
    open.close().await;
}

#[tokio::test]
async fn modes_and_rules_are_reported_and_changed() {
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, Script::new(), asks)
        .await;
    let told = |event: &Event| matches!(event, Event::Permissions { .. });
    open.host.send(Op::CyclePermissions);
    let seen = open.until(told).await;
    let rules = Vec::new();
    let mode = PermissionMode::Plan;
    assert_eq!(
        seen.last(),
        Some(&Event::Permissions {
            mode,
            rules,
            sandbox: SandboxMode::ReadOnly
        })
    );
    let pattern = "bash(make *)".to_owned();
    let grant = Grant::Project { pattern };
    open.host.send(Op::AddPermission { grant });
    let seen = open.until(told).await;
    let Some(Event::Permissions { rules, .. }) = seen.last() else {
        panic!("nothing was told");
    };
    assert_eq!(rules[0].rule, "bash(make *)");
    // Another host in the same project has it too.
    let mut other = place
        .open_with(SessionChoice::Unstored, Script::new(), |_| ())
        .await;
    other.host.send(Op::ListPermissions);
    let seen = other.until(told).await;
    let Some(Event::Permissions { rules, .. }) = seen.last() else {
        panic!("nothing was told");
    };
    assert_eq!(rules.len(), 1);
    let rule = "bash(make *)".to_owned();
    open.host.send(Op::RemovePermission { rule });
    let seen = open.until(told).await;
    assert_eq!(
        seen.last(),
        Some(&Event::Permissions {
            mode,
            rules: Vec::new(),
            sandbox: SandboxMode::ReadOnly,
        })
    );
}

#[tokio::test]
async fn project_trust_is_asked_once_and_settings_can_only_tighten() {
    let place = TestProject::new();
    let file = place.work().join(".osier/settings.toml");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "permissions = \"ask\"\ndeny = [\"bash(rm *)\"]\n").unwrap();
    let mut open = place
        .open_with(SessionChoice::Unstored, Script::new(), |setup| {
            setup.answers_questions = true;
        })
        .await;
    let asked = question(&mut open).await;
    assert_eq!(asked.kind, QuestionKind::Confirm);
    let text = ".osier/settings.toml".to_owned();
    assert_eq!(asked.subject, Some(Subject::Text { text }));
    answer(&open, &asked, Answer::Yes);
    let seen = open
        .until(|event| matches!(event, Event::ProjectTrusted))
        .await;
    let told = seen.iter().rev().find_map(|event| match event {
        Event::Permissions { mode, rules, .. } => Some((*mode, rules.len())),
        _ => None,
    });
    assert_eq!(told, Some((PermissionMode::Ask, 1)));
    // The user can review the decision and revert it.
    open.host.send(Op::AskTrust);
    let again = question(&mut open).await;
    assert_eq!(again.subject, asked.subject);
    assert!(
        again.title.starts_with("You trust this folder"),
        "{again:?}"
    );
    answer(&open, &again, Answer::Refuse { reason: None });
    let told = "this folder is not trusted: its files that can run code are ignored";
    open.until(|event| matches!(event, Event::Notice { text, .. } if text == told))
        .await;
    open.host.send(Op::AskTrust);
    let refused = question(&mut open).await;
    assert!(refused.title.starts_with("You do not trust"), "{refused:?}");
}

#[test]
fn non_interactive_run_denies_and_names_the_flag() {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "touch x"}}]},
        {"steps": [{"text": "I could not"}]},
    ]);
    let run = home
        .scripted(&turns)
        .args(["--permissions", "ask", "--json", "go"])
        .run();
    assert!(!home.work().join("x").exists());
    let text = run.stdout;
    assert!(text.contains("--permissions yolo"), "{text}");
}

/// The everyday lines of docs/safety.md: the crate of the permissions counts the questions, this test what a script can run.
#[test]
fn few_everyday_lines_are_denied_in_print_mode() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let docs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/safety.md")).unwrap();
    let (_, rest) = docs.split_once("```bash\nls -la\n").unwrap();
    let (rest, _) = rest.split_once("```").unwrap();
    let lines: Vec<&str> = std::iter::once("ls -la").chain(rest.lines()).collect();
    let home = Home::new();
    fs::create_dir(home.work().join("src")).unwrap();
    for name in [
        "README.md",
        "Cargo.toml",
        "package.json",
        "src/main.rs",
        "src/lib.rs",
    ] {
        fs::write(home.work().join(name), "x\n").unwrap();
    }
    let created = std::process::Command::new("git")
        .args(["init", "-q", "-b", "main"])
        .current_dir(home.work())
        .status();
    assert!(created.unwrap().success());
    let call = |line: &&str| json!({"tool": "bash", "arguments": {"command": line}});
    let calls: Vec<_> = lines.iter().map(call).collect();
    let turns = json!([{"steps": calls}, {"steps": [{"text": "done"}]}]);
    let run = home
        .scripted(&turns)
        .args(["-p", "--permissions", "ask", "go"])
        .run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let session = home.session();
    let results = session
        .iter()
        .filter(|line| line["message"]["role"] == "toolResult");
    let texts = results.map(|line| line["message"]["content"][0]["text"].to_string());
    let texts: Vec<String> = texts.collect();
    assert_eq!(texts.len(), lines.len());
    let texts = lines.iter().zip(&texts);
    let denied = texts.filter(|(_, text)| text.contains("--permissions yolo"));
    let denied: Vec<&str> = denied.map(|(line, _)| *line).collect();
    assert_eq!(
        denied,
        [
            "cargo test 2>&1 | tail -20",
            "cargo clippy --all-targets",
            "npm test",
            "git add -A && git commit -m \"fix\"",
            "mkdir -p out",
            "python3 -m pytest -q"
        ]
    );
}

#[test]
fn json_client_answers_a_question() {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "touch x"}}]},
        {"steps": [{"text": "done"}]},
    ]);
    let mut running = home
        .scripted(&turns)
        .args(["--permissions", "ask", "--json", "--answers"])
        .start();
    running.say(r#"{"type":"message","content":"go"}"#);
    let events = running.until(|event| event["type"] == "question_asked");
    let id = &events.last().unwrap()["question"]["id"];
    let line =
        json!({"type": "answer", "id": id, "answer": {"type": "allow", "grant": {"type": "once"}}});
    running.say(&line.to_string());
    running.until(|event| event["type"] == "agent_settled");
    running.close_input();
    running.end();
    assert!(home.work().join("x").exists());
}
