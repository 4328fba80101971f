//! Questions to the user in a complete session.

use osier_llm::Script;
use osier_protocol::questions::{Answer, Choice, Question, QuestionKind};
use osier_protocol::{Event, Op};
use osier_session::SessionChoice;
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
