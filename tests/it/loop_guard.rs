//! The loop guard: a model that repeats its calls gets a warning, then the user is asked.

use osier_agent::RunOutcome;
use osier_llm::Script;
use osier_protocol::questions::{Answer, QuestionKind};
use osier_protocol::{Event, Op};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::session::{OpenSession, TestProject};

const NOTE: &str = "[The same call has now had the same result 3 times in a row. \
    Do something else, or answer with what you know and say what is missing.]";

fn call(command: &str) -> Value {
    json!({"tool": "bash", "arguments": {"command": command}})
}

fn repeats(command: &str) -> Script {
    let arguments = json!({"command": command});
    Script::new().turn(|turn| turn.tool("bash", arguments).repeat())
}

async fn asked(open: &mut OpenSession) -> (String, String) {
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last() else {
        panic!("nothing was asked");
    };
    assert_eq!(question.kind, QuestionKind::Confirm);
    (question.id.clone(), question.title.clone())
}

fn outcome(seen: &[Event]) -> Option<RunOutcome> {
    seen.iter().find_map(|event| match event {
        Event::Agent(osier_agent::Event::AgentSettled { outcome }) => Some(outcome.clone()),
        _ => None,
    })
}

#[test]
fn model_is_told_of_three_identical_calls() {
    let home = Home::new();
    let steps = |step: Value| json!({"steps": [step]});
    let turns = json!([
        {"when": {"toolResult": NOTE}, "steps": [{"text": "I stop."}]},
        steps(call("echo one")),
        steps(call("echo one")),
        steps(call("echo one")),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "I stop.\n", ""));
}

#[test]
fn model_is_told_of_a_cycle() {
    let home = Home::new();
    let note = "[The last 2 calls have now been repeated 3 times with the same results.";
    let mut turns = vec![json!({"when": {"toolResult": note}, "steps": [{"text": "I stop."}]})];
    for _ in 0..3 {
        turns.push(json!({"steps": [call("echo one")]}));
        turns.push(json!({"steps": [call("false")]}));
    }
    let ended = home.scripted(&json!(turns)).args(["-p", "go"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "I stop.\n"));
}

#[test]
fn calls_with_other_results_are_no_loop() {
    let home = Home::new();
    let mut turns = vec![json!({"when": {"toolResult": "[The"}, "steps": [{"text": "told"}]})];
    turns.extend((0..6).map(|_| json!({"steps": [call("echo x >> log; cat log")]})));
    turns.push(json!({"steps": [{"text": "done"}]}));
    let ended = home.scripted(&json!(turns)).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "done\n", ""));
}

#[test]
fn run_ends_where_nobody_can_answer() {
    let home = Home::new();
    // Invalid calls do not run, but can repeat too.
    let step = json!({"tool": "bash", "arguments": {"wrong": 1}});
    let turns = json!([{"repeat": true, "steps": [step]}]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, "");
    let message = "the model made the same tool call 5 times in a row with the same result: \
        use another model or make the prompt more specific";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
}

#[tokio::test]
async fn user_decides_whether_a_loop_continues() {
    let project = TestProject::new();
    let mut open = project
        .open_with(SessionChoice::Unstored, repeats("echo one"), |setup| {
            setup.answers_questions = true;
        })
        .await;
    open.prompt("go");
    let (id, title) = asked(&mut open).await;
    let expected =
        "The model made the same tool call 5 times in a row with the same result. Continue?";
    assert_eq!(title, expected);
    open.host.send(Op::AnswerQuestion {
        id,
        answer: Answer::Yes,
    });
    // The user is asked again after twice as many.
    let (id, title) = asked(&mut open).await;
    assert_eq!(title, expected.replace('5', "10"));
    open.host.send(Op::AnswerQuestion {
        id,
        answer: Answer::Refuse { reason: None },
    });
    let seen = open.settled().await;
    let message =
        "stopped: the model made the same tool call 10 times in a row with the same result";
    let message = message.to_owned();
    assert_eq!(outcome(&seen), Some(RunOutcome::Stopped { message }));
    assert_eq!(open.provider.requests().len(), 10);
}

#[tokio::test]
async fn interrupt_ends_the_question() {
    let project = TestProject::new();
    let mut open = project
        .open_with(SessionChoice::Unstored, repeats("echo one"), |setup| {
            setup.answers_questions = true;
        })
        .await;
    open.prompt("go");
    asked(&mut open).await;
    open.host.send(osier_agent::Op::Abort.into());
    let seen = open.settled().await;
    assert_eq!(outcome(&seen), Some(RunOutcome::Interrupted));
}
