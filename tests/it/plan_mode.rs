//! Plan mode in a complete session: reminders for the model, and the decision on its plan.

#![expect(clippy::disallowed_methods, reason = "tests create their files")]

use osier_llm::Script;
use osier_protocol::questions::{Answer, Question, QuestionKind, Subject};
use osier_protocol::{Event, Op, PermissionMode};
use osier_session::{SessionChoice, SessionSetup};
use serde_json::json;

use crate::support::session::{OpenSession, TestProject};

const PLAN: &str = "# Add a file\n\n1. Write `a.txt`";

/// The reminder for the model when plan mode begins.
const BEGIN: &str = "user: <system-reminder>\nPlan mode is on: the user wants a plan before anything changes. Only read \
    and search. Tools that write are denied, and commands run read-only and without network. Ask what only the user can \
    decide. Then call `exit_plan_mode` with the complete plan: what changes, in which files, in which order, and how it \
    is tested. The user approves or edits it there; do not ask for that in text. If the user only asks something, \
    answer without a plan.\n</system-reminder>";

fn interactive(setup: &mut SessionSetup) {
    setup.answers_questions = true;
    setup.permissions = Some(PermissionMode::Plan);
}

/// Presents the plan, then writes the file of the plan.
fn plans() -> Script {
    let write = json!({"file_path": "a.txt", "content": "a\n"});
    Script::new()
        .turn(|turn| turn.tool("exit_plan_mode", json!({"plan": PLAN})))
        .turn(|turn| turn.tool("write", write))
        .turn(|turn| turn.text("done"))
}

async fn asked(open: &mut OpenSession) -> Question {
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    match seen.last() {
        Some(Event::QuestionAsked { question }) => (**question).clone(),
        _ => panic!("nothing was asked"),
    }
}

fn path_of(question: &Question) -> String {
    match &question.kind {
        QuestionKind::Plan { path, .. } => path.clone().expect("a saved plan"),
        kind => panic!("{kind:?}"),
    }
}

fn answer(open: &OpenSession, question: &Question, answer: Answer) {
    let id = question.id.clone();
    open.host.send(Op::AnswerQuestion { id, answer });
}

fn modes(events: &[Event]) -> Vec<PermissionMode> {
    let modes = events.iter().filter_map(|event| match event {
        Event::Permissions { mode, .. } => Some(*mode),
        _ => None,
    });
    modes.collect()
}

/// The last request without the name of the session in paths.
fn last_request(open: &OpenSession, path: &str) -> Vec<String> {
    let request = open.last_request().into_iter();
    request.map(|line| line.replace(path, "PLAN.md")).collect()
}

#[tokio::test]
async fn an_approved_plan_ends_plan_mode_and_is_carried_out() {
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::New, plans(), interactive)
        .await;
    open.prompt("add a file");
    let question = asked(&mut open).await;
    let path = path_of(&question);
    let id = &open.session.id;
    let name = format!("add-a-file-{}.md", &id[id.len() - 8..]);
    assert_eq!(
        path,
        place.data().join("plans").join(name).display().to_string()
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{PLAN}\n"));
    let expected = Question {
        id: question.id.clone(),
        origin: "the tool `exit_plan_mode`".into(),
        subagent: None,
        title: "Approve this plan?".into(),
        subject: Some(Subject::Markdown { text: PLAN.into() }),
        kind: QuestionKind::Plan {
            call_id: "call_2_0".into(),
            path: Some(path.clone()),
            modes: vec![
                PermissionMode::Ask,
                PermissionMode::Auto,
                PermissionMode::Yolo,
            ],
            before: None,
        },
    };
    assert_eq!(question, expected);
    let mode = Some(PermissionMode::Yolo);
    answer(&open, &question, Answer::Approve { mode, plan: None });
    let events = open.settled().await;
    assert_eq!(modes(&events), [PermissionMode::Yolo]);
    assert_eq!(
        std::fs::read_to_string(place.work().join("a.txt")).unwrap(),
        "a\n"
    );
    assert_eq!(
        last_request(&open, &path)[..4],
        [
            "user: add a file".to_owned(),
            BEGIN.to_owned(),
            format!("assistant:  [exit_plan_mode {}]", json!({"plan": PLAN})),
            "result call_2_0: The user approved the plan. Plan mode is off. Permission mode: `yolo` (run everything \
             unless denied). It is in `PLAN.md`. Carry it out."
                .to_owned(),
        ]
    );
}

#[tokio::test]
async fn changes_of_the_user_reach_the_model_from_the_dialog_and_from_the_file() {
    let edited = "# Add a file\n\n1. Write `b.txt`";
    let told = "result call_2_0: The user approved the plan with changes. Plan mode is off. Permission mode: `ask` (ask \
        before changes). It is in `PLAN.md`. Carry out the changed plan.\n\nWhat the user changed:\n\n--- a/plan.md\n\
        +++ b/plan.md\n@@ -1,3 +1,3 @@\n # Add a file\n \n-1. Write `a.txt`\n\\ No newline at end of file\n\
        +1. Write `b.txt`\n\\ No newline at end of file\n\nThe changed plan:\n\n# Add a file\n\n1. Write `b.txt`";
    for in_file in [false, true] {
        let script = Script::new()
            .turn(|turn| turn.tool("exit_plan_mode", json!({"plan": PLAN})))
            .turn(|turn| turn.text("done"));
        let place = TestProject::new();
        let mut open = place
            .open_with(SessionChoice::New, script, interactive)
            .await;
        open.prompt("go");
        let question = asked(&mut open).await;
        let path = path_of(&question);
        let plan = if in_file {
            std::fs::write(&path, format!("{edited}\n\n")).unwrap();
            None
        } else {
            Some(edited.to_owned())
        };
        // Without a mode the first one of the question applies.
        answer(&open, &question, Answer::Approve { mode: None, plan });
        let events = open.settled().await;
        assert_eq!(modes(&events), [PermissionMode::Ask]);
        assert_eq!(
            last_request(&open, &path).last().unwrap(),
            told,
            "{in_file}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap().trim_end(), edited);
    }
}

#[tokio::test]
async fn a_reason_continues_planning_and_no_reason_ends_the_run() {
    let script = Script::new()
        .turn(|turn| turn.tool("exit_plan_mode", json!({"plan": PLAN})))
        .turn(|turn| {
            turn.tool("write", json!({"file_path": "a.txt", "content": "a"}))
                .tool("exit_plan_mode", json!({"plan": "# Other"}))
        });
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::New, script, interactive)
        .await;
    open.prompt("go");
    let first = asked(&mut open).await;
    let reason = Some("Name the tests.".to_owned());
    answer(&open, &first, Answer::Refuse { reason });
    let second = asked(&mut open).await;
    // The same file has the new plan.
    assert_eq!(path_of(&second), path_of(&first));
    assert_eq!(
        std::fs::read_to_string(path_of(&second)).unwrap(),
        "# Other\n"
    );
    answer(&open, &second, Answer::Refuse { reason: None });
    let events = open.settled().await;
    assert_eq!(modes(&events), []);
    assert!(!place.work().join("a.txt").exists());
    assert_eq!(
        open.last_request().last().unwrap(),
        "result call_2_0: The user wants to keep planning: Name the tests. Plan mode stays on: change the plan and \
         present it again."
    );
    open.host.send(osier_agent::Op::GetState.into());
    let seen = open
        .until(|event| matches!(event, Event::Agent(osier_agent::Event::State { .. })))
        .await;
    let Some(Event::Agent(osier_agent::Event::State { state })) = seen.last() else {
        panic!("no state");
    };
    let last = state
        .messages
        .iter()
        .rev()
        .take(2)
        .map(|message| message.text());
    assert_eq!(
        last.collect::<Vec<_>>(),
        [
            "The plan is not approved. Plan mode stays on: wait for the user.",
            "This call was denied: plan mode is read-only: describe the change in the plan",
        ]
    );
}

#[tokio::test]
async fn the_model_is_told_when_plan_mode_begins_and_ends() {
    let script = Script::new()
        .turn(|turn| turn.text("one"))
        .turn(|turn| turn.text("two"))
        .turn(|turn| turn.text("three"))
        .turn(|turn| turn.text("four"));
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, script).await;
    let set = |open: &OpenSession, mode| open.host.send(Op::SetPermissions { mode });
    open.run("a").await;
    // Only the mode at the next request counts.
    set(&open, PermissionMode::Plan);
    set(&open, PermissionMode::Ask);
    set(&open, PermissionMode::Plan);
    open.run("b").await;
    open.run("c").await;
    set(&open, PermissionMode::Ask);
    open.run("d").await;
    assert_eq!(
        open.last_request(),
        [
            "user: a",
            "assistant: one",
            "user: b",
            BEGIN,
            "assistant: two",
            "user: c",
            "assistant: three",
            "user: d",
            "user: <system-reminder>\nPlan mode is off: tools that write can be used again. Permission mode: `ask` (ask \
             before changes).\n</system-reminder>",
        ]
    );
    // The tools and the system prompt are the same in every request, so that the prefix stays cached.
    let requests = open.provider.requests();
    let requests: Vec<_> = requests.iter().map(|request| &request.context).collect();
    let first = requests[0];
    assert!(first.tools.iter().any(|tool| tool.name == "exit_plan_mode"));
    for request in &requests[1..] {
        assert_eq!(
            (&request.system_prompt, &request.tools),
            (&first.system_prompt, &first.tools)
        );
    }
    open.close().await;
    // A resumed session knows the last reminder.
    let script = Script::new().turn(|turn| turn.text("five"));
    let choice = SessionChoice::Continue;
    let mut open = place
        .open_with(choice, script, |setup| {
            setup.permissions = Some(PermissionMode::Plan);
        })
        .await;
    open.run("e").await;
    let request = open.last_request();
    assert_eq!(request[request.len() - 2..], ["user: e", BEGIN]);
}

#[tokio::test]
async fn without_a_user_the_run_ends_with_the_plan() {
    let script = Script::new().turn(|turn| turn.tool("exit_plan_mode", json!({"plan": PLAN})));
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.permissions = Some(PermissionMode::Plan);
        })
        .await;
    let events = open.run("go").await;
    let details = events.iter().find_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => Some(&result.details),
        _ => None,
    });
    // Nothing is written for a session that is not stored.
    assert_eq!(
        details,
        Some(&json!({"outcome": "unanswered", "plan": PLAN}))
    );
    assert!(!place.data().join("plans").exists());
    assert_eq!(
        events.last(),
        Some(&Event::Agent(osier_agent::Event::AgentSettled {
            outcome: osier_agent::RunOutcome::Completed
        }))
    );
}
