//! Questions to the user in a complete session.

use osier_llm::Script;
use osier_protocol::questions::{Answer, Choice, Question, QuestionKind};
use osier_protocol::{Event, Op, PermissionMode};
use osier_session::SessionChoice;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::session::TestProject;

fn which() -> Question {
    let choices = ["red", "blue"].map(|name| Choice {
        value: name.into(),
        label: name.into(),
        description: String::new(),
    });
    Question {
        id: String::new(),
        origin: "a test".into(),
        subagent: None,
        title: "Which one?".into(),
        subject: None,
        kind: QuestionKind::Select {
            choices: choices.to_vec(),
            other: false,
        },
    }
}

#[tokio::test]
async fn a_question_waits_until_it_is_answered() {
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, Script::default(), |setup| {
            setup.answers_questions = true;
        })
        .await;
    let questions = open.host.questions();
    let asking = tokio::spawn(async move {
        let cancel = CancellationToken::new();
        questions.ask(which(), &cancel).await
    });
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last().cloned() else {
        panic!("nothing was asked");
    };
    open.host.send(Op::ListQuestions);
    let seen = open
        .until(|event| matches!(event, Event::Questions { .. }))
        .await;
    let questions = vec![(*question).clone()];
    assert_eq!(seen.last(), Some(&Event::Questions { questions }));
    let answer = Answer::Text {
        text: "blue".into(),
    };
    open.host.send(Op::AnswerQuestion {
        id: question.id.clone(),
        answer: answer.clone(),
    });
    let seen = open
        .until(|event| matches!(event, Event::QuestionClosed { .. }))
        .await;
    let id = question.id.clone();
    assert_eq!(seen.last(), Some(&Event::QuestionClosed { id }));
    assert_eq!(asking.await.unwrap(), answer);
}

#[tokio::test]
async fn question_without_clients_is_dismissed() {
    let place = TestProject::new();
    let open = place.open(SessionChoice::Unstored, Script::default()).await;
    let cancel = CancellationToken::new();
    let answer = open.host.questions().ask(which(), &cancel).await;
    assert_eq!(answer, Answer::Dismissed);
}

#[tokio::test]
async fn questions_of_the_model_come_one_after_the_other() {
    let ask = |question: &str| json!({"questions": [{"question": question}]});
    let script = Script::new()
        .turn(|turn| {
            turn.tool("ask_user", ask("First?"))
                .tool("ask_user", ask("Second?"))
        })
        .turn(|turn| turn.when_result("a").text("Thanks."));
    let place = TestProject::new();
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.answers_questions = true;
            // A question changes nothing, so it needs no permission.
            setup.permissions = Some(PermissionMode::Plan);
        })
        .await;
    open.prompt("go");
    let answers = [
        ("First?", Answer::Refuse { reason: None }),
        ("Second?", Answer::Text { text: "a".into() }),
    ];
    for (title, answer) in answers {
        let seen = open
            .until(|event| matches!(event, Event::QuestionAsked { .. }))
            .await;
        let Some(Event::QuestionAsked { question }) = seen.last() else {
            panic!("nothing was asked");
        };
        assert_eq!(question.title, title);
        open.host.send(Op::ListQuestions);
        let seen = open
            .until(|event| matches!(event, Event::Questions { .. }))
            .await;
        let questions = vec![(**question).clone()];
        assert_eq!(seen.last(), Some(&Event::Questions { questions }));
        let id = question.id.clone();
        open.host.send(Op::AnswerQuestion { id, answer });
    }
    open.settled().await;
    let mut request = open.last_request();
    // The reminder about plan mode.
    assert!(request.remove(1).contains("Plan mode is on"));
    let expected = [
        "user: go",
        r#"assistant:  [ask_user {"questions":[{"question":"First?"}]}] [ask_user {"questions":[{"question":"Second?"}]}]"#,
        "result call_2_0: The user declined to answer. Continue with your best judgement, or say what you need to know.",
        "result call_2_1: Second? a",
    ];
    assert_eq!(request, expected);
}
