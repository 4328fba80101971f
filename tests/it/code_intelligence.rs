//! Language servers and formatters in complete sessions: reports to the model, and which programs run where.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use osier_agent::{Event as AgentEvent, ToolStatus};
use osier_llm::Script;
use osier_permissions::trust::{ProjectFiles, Trust};
use osier_protocol::questions::{Answer, QuestionKind};
use osier_protocol::{CodeServerState, DiagnosticCounts, Event, Op, PermissionMode, SandboxMode};
use osier_sandbox::Confinement;
use osier_session::{SessionChoice, SessionSetup};
use osier_settings::LanguageServer;
use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};

/// Longer than any test, in milliseconds.
const LONG: u64 = 300_000;

/// The scripted server for `.toy` files.
fn toy(mode: &str) -> Option<LanguageServer> {
    toy_at(&toy_script(), mode)
}

fn toy_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lsp/server.py")
}

fn toy_at(script: &Path, mode: &str) -> Option<LanguageServer> {
    let python = skip::program(&["python3"], "apt install python3")?;
    let command = [python.to_str()?, script.to_str()?, mode];
    Some(LanguageServer {
        name: "toy".to_owned(),
        command: Some(command.map(str::to_owned).to_vec()),
        extensions: Some(vec!["toy".to_owned()]),
        ..LanguageServer::default()
    })
}

fn trust(place: &TestProject, setup: &SessionSetup) {
    let files = ProjectFiles::read(&place.work());
    Trust::new(&setup.folders).decide(&files, true).unwrap();
}

/// A session of a trusted project with the scripted server.
async fn open(place: &TestProject, mode: &str, wait: u64, script: Script) -> Option<OpenSession> {
    let server = toy(mode)?;
    let opened = place.open_with(SessionChoice::Unstored, script, |setup| {
        trust(place, setup);
        setup.permissions = Some(PermissionMode::Yolo);
        setup.settings.lsp_servers = vec![server];
        setup.settings.lsp_wait = wait;
    });
    Some(opened.await)
}

fn script(calls: &[(&str, Value)]) -> Script {
    let script = calls
        .iter()
        .fold(Script::new(), |script, (name, arguments)| {
            script.turn(|turn| turn.tool(name, arguments.clone()))
        });
    script.turn(|turn| turn.text("done").repeat())
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write", json!({"file_path": path, "content": content}))
}

fn results(events: &[Event]) -> Vec<(ToolStatus, String)> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(AgentEvent::ToolExecutionEnd { result, .. }) => {
            let content = result.result.content.iter();
            let text = content.filter_map(|block| block.as_text()).collect();
            Some((result.status.clone(), text))
        }
        _ => None,
    });
    ends.collect()
}

fn texts(events: &[Event]) -> Vec<String> {
    results(events).into_iter().map(|(_, text)| text).collect()
}

fn notices(events: &[Event]) -> Vec<String> {
    let notices = events.iter().filter_map(|event| match event {
        Event::Notice { text, .. } => Some(text.clone()),
        _ => None,
    });
    notices.collect()
}

#[tokio::test]
async fn a_change_reports_what_is_new_in_its_file_and_elsewhere() {
    let place = TestProject::new();
    fs::write(place.work().join("user.toy"), "use helper\n").unwrap();
    let calls = [
        write("helper.toy", "def helper\nBAD\nWARN\n"),
        write("helper.toy", "def helper\nBAD\nWARN\nBAD\n"),
        write("helper.toy", "def other\nBAD\n"),
        write("helper.toy", "def helper\n"),
    ];
    let Some(mut session) = open(&place, "good", LONG, script(&calls)).await else {
        return;
    };
    let events = session.run("go").await;
    let texts = texts(&events);
    let report = |text: &str| {
        let (_, report) = text.split_once('\n').unwrap_or_default();
        report
            .trim_start_matches("After this change, language servers report ")
            .to_owned()
    };
    assert_eq!(
        texts.iter().map(|text| report(text)).collect::<Vec<_>>(),
        [
            "1 error, 1 warning:\nhelper.toy:2:1 error: this is BAD [toy]\nhelper.toy:3:1 warning: this is doubtful [toy]",
            "",
            "1 error:\nuser.toy:1:1 error: `helper` is not defined [toy]",
            "",
        ]
    );
}

/// Waits until the servers report these counts.
async fn counted(session: &mut OpenSession, errors: u64) {
    let wanted = |event: &Event| match event {
        Event::CodeServers { servers } => DiagnosticCounts::of(servers).errors == errors,
        _ => false,
    };
    session.until(wanted).await;
}

#[tokio::test]
async fn late_errors_follow_in_a_reminder() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.tool("write", write("a.toy", "BAD\n").1))
        .turn(|turn| turn.text("done").repeat());
    let Some(mut session) = open(&place, "good", 0, script).await else {
        return;
    };
    let events = session.run("go").await;
    assert_eq!(texts(&events), ["Created `a.toy`, 4 bytes"]);
    counted(&mut session, 1).await;
    session.run("and now?").await;
    let request = session.last_request();
    let reminder = "user: <system-reminder>\nSince your last change, language servers report 1 error:\n\
                    a.toy:1:1 error: this is BAD [toy]\n</system-reminder>";
    let reminders = request.iter().filter(|line| **line == reminder).count();
    assert_eq!(reminders, 1, "{request:#?}");
    // The notice appears once.
    session.run("again").await;
    assert_eq!(
        session
            .last_request()
            .iter()
            .filter(|line| **line == reminder)
            .count(),
        1
    );
}

#[tokio::test]
async fn a_failing_server_is_reported_once_and_holds_nothing_up() {
    for (mode, expected) in [
        (
            "crash",
            "it ended 3 times: it closed its output; it wrote: Error: the toy is broken",
        ),
        (
            "huge",
            "it ended 3 times: it announced a message of 99999999999 bytes, and the limit is 33554432",
        ),
    ] {
        let place = TestProject::new();
        // On a loaded machine a call can find the server before it has ended, so there are more calls than starts.
        let calls = (1..=100).map(|number| write("a.toy", &format!("{number}\n")));
        let script = calls.fold(Script::new(), |script, (tool, arguments)| {
            let script = script.turn(|turn| turn.tool(tool, arguments));
            script.turn(|turn| turn.text("done"))
        });
        let Some(mut session) = open(&place, mode, LONG, script).await else {
            return;
        };
        let failed = |events: &[Event]| {
            events.iter().any(|event| match event {
                Event::CodeServers { servers } => servers[0].state == CodeServerState::Failed,
                _ => false,
            })
        };
        let mut events = Vec::new();
        let mut runs = 0;
        while !failed(&events) {
            let mut told = session.run("go").await;
            assert_eq!(results(&told).len(), 1);
            // Each call changes the state of the server, which is published after a pause: more calls would not hurry it.
            let news = |event: &Event| matches!(event, Event::CodeServers { .. });
            if !told.iter().any(news) {
                told.extend(session.until(news).await);
            }
            events.extend(told);
            runs += 1;
            let written = fs::read_to_string(place.work().join("a.toy")).unwrap();
            assert_eq!(written, format!("{runs}\n"));
        }
        let notice = format!(
            "the language server toy does not run: {expected}; `lsp_servers` in `settings.toml` can change or disable it"
        );
        assert_eq!(notices(&events), [notice], "{mode}");
    }
}

#[tokio::test]
async fn nothing_runs_before_the_project_is_trusted() {
    let place = TestProject::new();
    let starts = place.work().join("starts");
    fs::write(&starts, "").unwrap();
    let Some(server) = toy("good") else { return };
    let calls = [write("a.toy", "BAD\n"), write("a.toy", "BAD BAD\n")];
    let script = Script::new()
        .turn(|turn| turn.tool("write", calls[0].1.clone()))
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.tool("write", calls[1].1.clone()))
        .turn(|turn| turn.text("second"));
    let mut session = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.answers_questions = true;
            setup.permissions = Some(PermissionMode::Yolo);
            setup.settings.lsp_servers = vec![server];
            setup.settings.lsp_wait = LONG;
        })
        .await;
    session.prompt("go");
    let asked = |event: &Event| matches!(event, Event::QuestionAsked { .. });
    let events = session.until(asked).await;
    let Some(Event::QuestionAsked { question }) = events.last() else {
        panic!("nothing was asked");
    };
    assert_eq!(
        (question.title.as_str(), &question.kind),
        (
            "Language servers and formatters start in it and can run its files. Trust this folder?",
            &QuestionKind::Confirm
        )
    );
    let id = question.id.clone();
    let is_settled = |event: &Event| matches!(event, Event::Agent(AgentEvent::AgentSettled { .. }));
    if !events.iter().any(is_settled) {
        session.settled().await;
    }
    assert_eq!(fs::read_to_string(&starts).unwrap(), "");
    let answer = Answer::Yes;
    session.host.send(Op::AnswerQuestion { id, answer });
    session.until(|event| *event == Event::ProjectTrusted).await;
    let events = session.run("again").await;
    let report = "Overwrote `a.toy`, 8 bytes (+1 -1 lines)\nAfter this change, language servers report 2 errors:\n\
                  a.toy:1:1 error: this is BAD [toy]\na.toy:1:5 error: this is BAD [toy]";
    assert_eq!(texts(&events), [report]);
    assert_eq!(fs::read_to_string(&starts).unwrap().lines().count(), 1);
}

/// A session whose second prompt plays the calls: by then the tools are offered.
async fn with_tools(
    place: &TestProject,
    mode: PermissionMode,
    deny: &[&str],
    calls: &[(&str, Value)],
) -> Option<OpenSession> {
    let server = toy("good")?;
    let first = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "helper.toy"})))
        .turn(|turn| turn.text("ready"));
    let script = calls.iter().fold(first, |script, (name, arguments)| {
        script.turn(|turn| turn.tool(name, arguments.clone()))
    });
    let script = script.turn(|turn| turn.text("done").repeat());
    let deny: Vec<String> = deny.iter().map(|rule| (*rule).to_owned()).collect();
    let mut session = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            trust(place, setup);
            setup.answers_questions = true;
            setup.permissions = Some(mode);
            setup.settings.deny = deny;
            setup.settings.lsp_servers = vec![server];
        })
        .await;
    let ready = |event: &Event| match event {
        Event::CodeServers { servers } => servers[0].state == CodeServerState::Ready,
        _ => false,
    };
    if !session.run("look").await.iter().any(ready) {
        session.until(ready).await;
    }
    Some(session)
}

fn symbols_project() -> TestProject {
    let place = TestProject::new();
    fs::write(place.work().join("helper.toy"), "def alpha\n").unwrap();
    fs::write(place.work().join("user.toy"), "é use alpha\n").unwrap();
    place
}

#[tokio::test]
async fn symbols_are_found_and_explained() {
    let place = symbols_project();
    let at = json!({"file_path": "user.toy", "symbol": "alpha"});
    let calls = [
        ("definition", at.clone()),
        ("references", at.clone()),
        ("hover", at),
        ("symbols", json!({"file_path": "helper.toy"})),
        ("symbols", json!({"query": "alp"})),
        ("diagnostics", json!({})),
        ("hover", json!({"file_path": "user.toy", "symbol": "beta"})),
        (
            "definition",
            json!({"file_path": "helper.txt", "symbol": "x"}),
        ),
    ];
    let Some(mut session) = with_tools(&place, PermissionMode::Ask, &[], &calls).await else {
        return;
    };
    let events = session.run("go").await;
    let missing = place
        .work()
        .join("helper.txt")
        .canonicalize()
        .unwrap_or_else(|_| place.work().canonicalize().unwrap().join("helper.txt"));
    assert_eq!(
        texts(&events),
        [
            "helper.toy:1\n     1\tdef alpha\n     2\t\n",
            "helper.toy\n     1\tdef alpha\nuser.toy\n     1\té use alpha\n",
            "the word `alpha`",
            "function alpha 1-1\n",
            "function alpha helper.toy:1\n",
            "no errors\n",
            "`beta` does not occur in `user.toy`; name a symbol as it is written there",
            &format!("no language server is known for `{}`", missing.display()),
        ]
    );
}

#[tokio::test]
async fn a_rename_is_reviewed_and_written_like_an_edit() {
    let place = symbols_project();
    let rename = json!({"file_path": "helper.toy", "symbol": "alpha", "new_name": "beta"});
    let calls = [("rename", rename)];
    let Some(mut session) = with_tools(&place, PermissionMode::Ask, &[], &calls).await else {
        return;
    };
    session.prompt("go");
    let asked = |event: &Event| matches!(event, Event::QuestionAsked { .. });
    let events = session.until(asked).await;
    let Some(Event::QuestionAsked { question }) = events.last() else {
        panic!("nothing was asked");
    };
    let subject = serde_json::to_value(&question.subject).unwrap();
    assert_eq!(
        (question.title.as_str(), subject),
        (
            "Rename this symbol?",
            json!({
                "type": "diff",
                "path": "helper.toy and 1 other file",
                "diff": "diff --git a/helper.toy b/helper.toy\n--- a/helper.toy\n+++ b/helper.toy\n@@ -1 +1 @@\n-def alpha\n+def beta\n\
                    diff --git a/user.toy b/user.toy\n--- a/user.toy\n+++ b/user.toy\n@@ -1 +1 @@\n-é use alpha\n+é use beta\n",
            })
        )
    );
    let id = question.id.clone();
    let answer = Answer::Allow {
        grant: osier_protocol::questions::Grant::Once,
        arguments: None,
    };
    session.host.send(Op::AnswerQuestion { id, answer });
    let events = session.settled().await;
    let text = "Changed 2 files:\nM helper.toy (+1 -1 lines)\nM user.toy (+1 -1 lines)\n";
    assert_eq!(texts(&events), [text]);
    let read = |name: &str| fs::read_to_string(place.work().join(name)).unwrap();
    assert_eq!(
        (read("helper.toy"), read("user.toy")),
        ("def beta\n".to_owned(), "é use beta\n".to_owned())
    );
}

/// The attack: a rename changes files that rules protect, of which the call names none.
#[tokio::test]
async fn rules_for_edits_hold_for_renames() {
    for rule in [
        "edit(user.toy)",
        "write(user.toy)",
        "rename(user.toy)",
        "rename",
        "edit",
        "read(user.toy)",
    ] {
        let place = symbols_project();
        let forged = json!([{"file_path": "helper.toy", "edits": []}]);
        let rename = json!({
            "file_path": "helper.toy", "symbol": "alpha", "new_name": "beta", "changes": forged,
        });
        let calls = [("rename", rename)];
        let Some(mut session) = with_tools(&place, PermissionMode::Yolo, &[rule], &calls).await
        else {
            return;
        };
        let events = session.run("go").await;
        let results = results(&events);
        assert!(
            matches!(results[0].0, ToolStatus::Denied { .. }),
            "{rule} {results:?}"
        );
        let read = |name: &str| fs::read_to_string(place.work().join(name)).unwrap();
        assert_eq!(
            (read("helper.toy"), read("user.toy")),
            ("def alpha\n".to_owned(), "é use alpha\n".to_owned())
        );
    }
}

#[tokio::test]
async fn nothing_runs_and_nothing_is_offered_when_it_is_off() {
    let place = TestProject::new();
    fs::write(place.work().join("starts"), "").unwrap();
    let Some(server) = toy("good") else { return };
    let calls = [write("a.toy", "BAD\n")];
    let mut session = place
        .open_with(SessionChoice::Unstored, script(&calls), |setup| {
            trust(&place, setup);
            setup.permissions = Some(PermissionMode::Yolo);
            setup.settings.lsp = false;
            setup.settings.lsp_servers = vec![server];
        })
        .await;
    let events = session.run("go").await;
    assert_eq!(texts(&events), ["Created `a.toy`, 4 bytes"]);
    assert_eq!(fs::read_to_string(place.work().join("starts")).unwrap(), "");
}

/// A project that uses a formatter, which removes repeated spaces and notes its runs.
fn formatted_project() -> TestProject {
    let place = TestProject::new();
    let bin = place.work().join("node_modules/.bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("prettier");
    let runs = place.folder().join("runs").display().to_string();
    let script = format!("#!/bin/sh\necho run >> {runs}\nexec tr -s ' '\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.work().join(".prettierrc"), "").unwrap();
    place
}

async fn format(place: &TestProject, calls: &[(&str, Value)]) -> OpenSession {
    place
        .open_with(SessionChoice::Unstored, script(calls), |setup| {
            trust(place, setup);
            setup.permissions = Some(PermissionMode::Yolo);
        })
        .await
}

#[tokio::test]
async fn changed_files_are_formatted_and_the_model_knows_it() {
    let place = formatted_project();
    let read = |name: &str| fs::read_to_string(place.work().join(name)).unwrap();
    fs::write(place.work().join("old.js"), "one two\n").unwrap();
    // The project does not format it.
    fs::write(place.work().join("other.js"), "not  formatted\n").unwrap();
    let edit = |path: &str, old: &str, new: &str| {
        (
            "edit",
            json!({"file_path": path, "old_string": old, "new_string": new}),
        )
    };
    let calls = [
        write("new.js", "a  b\n"),
        edit("new.js", "a b", "a  b  c"),
        write("new.js", "d\n"),
        edit("old.js", "two", "  two"),
        edit("other.js", "not", "still  not"),
        write("text.txt", "a  b\n"),
    ];
    let mut session = format(&place, &calls).await;
    let events = session.run("go").await;
    let statuses: Vec<ToolStatus> = results(&events)
        .into_iter()
        .map(|(status, _)| status)
        .collect();
    assert_eq!(statuses, vec![ToolStatus::Success; calls.len()]);
    assert_eq!(
        [
            read("new.js"),
            read("old.js"),
            read("other.js"),
            read("text.txt")
        ],
        ["d\n", "one two\n", "still  not  formatted\n", "a  b\n"]
    );
    let request = session.last_request();
    let reminders: Vec<&String> = request
        .iter()
        .filter(|line| line.contains("formatted `"))
        .collect();
    let reminder = |name: &str, hunk: &str| {
        format!(
            "user: <system-reminder>\nprettier formatted `{name}` after your change (+1 -1 lines):\n{hunk}\n</system-reminder>"
        )
    };
    assert_eq!(
        reminders,
        [
            &reminder("new.js", "@@ -1 +1 @@\n-a  b\n+a b"),
            &reminder("new.js", "@@ -1 +1 @@\n-a  b  c\n+a b c"),
            &reminder("old.js", "@@ -1 +1 @@\n-one   two\n+one two"),
        ]
    );
}

/// The attack: the formatter of a project that nobody trusts.
#[tokio::test]
async fn nothing_is_formatted_without_trust_or_when_it_is_off() {
    for is_trusted in [false, true] {
        let place = formatted_project();
        let calls = [write("new.js", "a  b\n")];
        let mut session = place
            .open_with(SessionChoice::Unstored, script(&calls), |setup| {
                if is_trusted {
                    trust(&place, setup);
                    setup.settings.format = false;
                }
                setup.permissions = Some(PermissionMode::Yolo);
            })
            .await;
        session.run("go").await;
        assert_eq!(
            fs::read_to_string(place.work().join("new.js")).unwrap(),
            "a  b\n"
        );
        assert!(!place.folder().join("runs").exists());
    }
}

#[tokio::test]
async fn a_broken_formatter_changes_nothing() {
    for program in [
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\ncat >/dev/null\n",
        "no program",
    ] {
        let place = formatted_project();
        fs::write(place.work().join("node_modules/.bin/prettier"), program).unwrap();
        let calls = [write("new.js", "a  b\n")];
        let mut session = format(&place, &calls).await;
        session.run("go").await;
        assert_eq!(
            fs::read_to_string(place.work().join("new.js")).unwrap(),
            "a  b\n"
        );
    }
}

/// Whether the sandbox works here.
async fn has_sandbox(helper: &Path) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Confinement::new(folder.path(), Some(helper.to_owned()));
    match sandbox.ready().await {
        Ok(_) => true,
        Err(error) => {
            skip::unsupported("sandbox", &error.to_string());
            false
        }
    }
}

#[tokio::test]
async fn servers_and_formatters_run_in_the_sandbox() {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_osier"));
    let place = formatted_project();
    // The sandbox has a `/tmp` of its own, and these sources can be below the real one.
    let server_file = place.work().join("server.py");
    fs::copy(toy_script(), &server_file).unwrap();
    let Some(server) = toy_at(&server_file, "good") else {
        return;
    };
    if !has_sandbox(&helper).await {
        return;
    }
    let program = "#!/bin/sh\ncat >/dev/null\necho \"sandbox $OSIER_SANDBOX\"\n";
    fs::write(place.work().join("node_modules/.bin/prettier"), program).unwrap();
    let starts = place.work().join("starts");
    fs::write(&starts, "").unwrap();
    let calls = [write("a.toy", "BAD\n"), write("new.js", "x\n")];
    let mut session = place
        .open_with(SessionChoice::Unstored, script(&calls), |setup| {
            trust(&place, setup);
            setup.permissions = Some(PermissionMode::Yolo);
            setup.sandbox = Some(SandboxMode::Workspace);
            setup.helper = Some(helper);
            setup.settings.lsp_servers = vec![server];
            setup.settings.lsp_wait = LONG;
        })
        .await;
    let events = session.run("go").await;
    assert!(
        texts(&events)[0].contains("this is BAD"),
        "{:?} {:?}",
        texts(&events),
        notices(&events)
    );
    assert_eq!(fs::read_to_string(&starts).unwrap(), "workspace\n");
    let formatted = fs::read_to_string(place.work().join("new.js")).unwrap();
    assert_eq!(formatted, "sandbox workspace\n");
}
