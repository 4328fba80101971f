//! The example plugins in `assets/plugins`, each in a complete session with a scripted model.

use std::path::Path;
use std::process::Command;

use osier_agent::CompactionOutcome;
use osier_llm::Script;
use osier_protocol::questions::Answer;
use osier_protocol::{Event, Op, TreeOp};
use osier_session::SessionChoice;
use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};

/// A project whose user has installed the example.
fn with(name: &str) -> TestProject {
    let place = TestProject::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/plugins");
    let folder = place.data().join("plugins");
    std::fs::create_dir_all(&folder).unwrap();
    let file = format!("{name}.lua");
    std::fs::copy(example.join(&file), folder.join(&file)).unwrap();
    place
}

async fn open(place: &TestProject, choice: SessionChoice, script: Script) -> OpenSession {
    place
        .open_with(choice, script, |setup| setup.answers_questions = true)
        .await
}

fn results(events: &[Event]) -> Vec<String> {
    let results = events.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => {
            Some(osier_agent::AgentMessage::ToolResult((**result).clone()).text())
        }
        _ => None,
    });
    results.collect()
}

async fn widget(open: &mut OpenSession) -> Value {
    let seen = open
        .until(|event| matches!(event, Event::PluginWidget { lines, .. } if !lines.is_empty()))
        .await;
    serde_json::to_value(seen.last().unwrap()).unwrap()["lines"].clone()
}

#[tokio::test]
async fn permission_gate_asks_before_destructive_commands() {
    let place = with("permission_gate");
    let bash = |command: &str| json!({"command": command});
    let script = Script::new()
        .turn(|turn| turn.tool("bash", bash("echo harmless")))
        .turn(|turn| turn.tool("bash", bash("rm -rf build")))
        .turn(|turn| turn.tool("bash", bash("rm -rf build && echo gone")))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, SessionChoice::New, script).await;
    open.prompt("clean");
    let mut events = Vec::new();
    for answer in [Answer::Refuse { reason: None }, Answer::Yes] {
        events.extend(
            open.until(|event| matches!(event, Event::QuestionAsked { .. }))
                .await,
        );
        let Some(Event::QuestionAsked { question }) = events.last() else {
            panic!("nothing was asked");
        };
        assert_eq!(question.title, "Run a command that removes files?");
        let id = question.id.clone();
        open.host.send(Op::AnswerQuestion { id, answer });
    }
    events.extend(open.settled().await);
    let results = results(&events);
    assert!(results[0].starts_with("harmless"), "{results:?}");
    assert!(
        results[1].starts_with("This call was denied: The user did not allow it"),
        "{results:?}"
    );
    assert!(results[2].starts_with("gone"), "{results:?}");
    open.close().await;
}

#[expect(clippy::disallowed_methods, reason = "git is told what to make")]
#[tokio::test]
async fn git_checkpoint_creates_a_commit_and_an_entry() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let place = with("git_checkpoint");
    let work = place.work();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(&work)
            .output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    git(&["init", "-q"]).unwrap();
    let write = |text: &str| {
        osier_base::atomic_file::write(&work.join("a.txt"), text.as_bytes()).unwrap();
    };
    write("one\n");
    for (name, value) in [("user.name", "a"), ("user.email", "a@b")] {
        git(&["config", name, value]).unwrap();
    }
    git(&["add", "."]).unwrap();
    git(&["commit", "-qm", "first"]).unwrap();
    write("two\n");
    let mut open = open(&place, SessionChoice::New, Script::always("ok")).await;
    open.prompt("go");
    let seen = open
        .until(|event| {
            serde_json::to_string(event).is_ok_and(|event| event.contains("✓ checkpoint "))
        })
        .await;
    let shown = serde_json::to_string(seen.last().unwrap()).unwrap();
    let kept = || {
        let names = [
            "for-each-ref",
            "--format=%(objectname)",
            "refs/osier/checkpoints",
        ];
        git(&names).unwrap()
    };
    let commit = kept();
    assert!(shown.contains(&commit), "{commit}: {shown}");
    assert!(shown.contains("1 file changed"), "{shown}");
    assert_eq!(git(&["show", &format!("{commit}:a.txt")]).unwrap(), "two");
    assert_eq!(git(&["status", "--short"]).unwrap(), "M a.txt");
    // Nothing has changed, so the next run creates no commit.
    open.run("go on").await;
    write("three\n");
    open.prompt("and on");
    open.until(|event| {
        serde_json::to_string(event).is_ok_and(|event| event.contains("✓ checkpoint "))
    })
    .await;
    assert_eq!(kept().lines().count(), 2);
    open.close().await;
}

#[tokio::test]
async fn todo_list_is_shown_and_restored() {
    let place = with("todo");
    let items =
        json!({"items": [{"text": "read", "done": true}, {"text": "write", "done": false}]});
    let script = Script::new()
        .turn(|turn| turn.tool("checklist", items))
        .turn(|turn| turn.text("done"));
    let mut first = open(&place, SessionChoice::New, script).await;
    first.prompt("work");
    let expected = json!([
        [{"text": "✓ ", "style": "success"}, {"text": "read", "style": "muted"}],
        [{"text": "○ ", "style": "accent"}, {"text": "write"}],
    ]);
    assert_eq!(widget(&mut first).await, expected);
    let events = first.settled().await;
    assert_eq!(results(&events), ["1 of 2 to do"]);
    let path = first.path().to_string_lossy().into_owned();
    first.close().await;
    let choice = SessionChoice::Resume(path);
    let mut again = open(&place, choice, Script::always("ok")).await;
    assert_eq!(widget(&mut again).await, expected);
    again.prompt("/checklist clear");
    again
        .until(|event| matches!(event, Event::PluginWidget { lines, .. } if lines.is_empty()))
        .await;
    again.close().await;
}

#[tokio::test]
async fn summary_is_written_without_a_model() {
    let place = with("custom_compaction");
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "true"})))
        .turn(|turn| turn.tool("write", json!({"file_path": "a.txt", "content": "one"})))
        .turn(|turn| turn.text("It is done."))
        .turn(|turn| turn.text("word ".repeat(30_000)))
        .turn(|turn| turn.text("going on"));
    let mut open = open(&place, SessionChoice::New, script).await;
    open.run("make a file").await;
    open.run("talk at length").await;
    open.host.send(Op::Tree(TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    }));
    let seen = open
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        })
        .await;
    let Some(Event::Agent(osier_agent::Event::CompactionEnd { outcome, .. })) = seen.last() else {
        panic!("{seen:?}");
    };
    let CompactionOutcome::Done { summary, .. } = outcome else {
        panic!("{outcome:?}");
    };
    let expected = "## Prompts\n- make a file\n- talk at length\n## Commands\n- `true`\n## Changed files\n- a.txt\n## Last answer\n- It is done.";
    assert!(summary.starts_with(expected), "{summary}");
    open.run("go on").await;
    // One request for each answer, none for the summary.
    assert_eq!(open.provider.requests().len(), 5);
    open.close().await;
}

#[tokio::test]
async fn router_selects_the_model_by_its_rules() {
    let place = with("model_router");
    let other = json!({"turns": [{"repeat": true, "steps": [{"text": "I am the other."}]}]});
    osier_base::atomic_file::write(
        &place.work().join("other.json"),
        other.to_string().as_bytes(),
    )
    .unwrap();
    let mut open = open(&place, SessionChoice::New, Script::always("I am one.")).await;
    open.prompt("/route translate script/other.json");
    open.until(|event| {
        matches!(event, Event::Notice { text, .. } if text.contains("goes to script/other.json"))
    })
    .await;
    open.run("hello").await;
    let events = open.run("translate this").await;
    let said = serde_json::to_string(&events).unwrap();
    assert!(said.contains("I am the other."), "{said}");
    assert!(said.contains("routed to script/other.json"), "{said}");
    assert_eq!(open.provider.requests().len(), 1);
    open.close().await;
}
