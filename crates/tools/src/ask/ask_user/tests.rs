use super::*;
use crate::testing::{Bench, text};
use osier_agent::UpdateSink;
use osier_protocol::questions::{Questions, Request};

/// The question that is shown, and the text and status for the model after `answer`.
async fn answered(questions: Value, answer: Answer) -> (Question, String, &'static str) {
    let (asker, mut requests) = Questions::new();
    let bench = Bench::with(|workspace| workspace.with_questions(Some(asker)));
    let call = bench.run(NAME, json!({ "questions": questions }));
    let answering = async {
        let Some(Request::Ask { question, reply }) = requests.recv().await else {
            panic!("no question was sent");
        };
        reply.send(answer).unwrap();
        Question {
            id: String::new(),
            ..*question
        }
    };
    let (output, question) = tokio::join!(call, answering);
    (question, text(&output), output.status.name())
}

fn shown(title: &str, subject: Option<&str>, kind: QuestionKind) -> Question {
    Question {
        id: String::new(),
        origin: "the model".into(),
        subagent: None,
        title: title.into(),
        subject: subject.map(|text| Subject::Text { text: text.into() }),
        kind,
    }
}

fn written(text: &str) -> Answer {
    Answer::Text { text: text.into() }
}

fn input() -> QuestionKind {
    QuestionKind::Input {
        placeholder: "Your answer".into(),
        prefill: String::new(),
        multiline: true,
        secret: false,
    }
}

fn database() -> Value {
    json!({"question": "Which database?", "header": "Database", "options": [
        {"label": "PostgreSQL", "description": "The team knows it"},
        {"label": "SQLite"},
    ]})
}

#[tokio::test]
async fn one_question_is_a_list_or_a_text_field() {
    let choice = |label: &str, description: &str| Choice {
        value: label.into(),
        label: label.into(),
        description: description.into(),
    };
    let choices = vec![
        choice("PostgreSQL", "The team knows it"),
        choice("SQLite", ""),
    ];
    let kind = QuestionKind::Select {
        choices,
        other: true,
    };
    assert_eq!(
        answered(json!([database()]), written("SQLite")).await,
        (
            shown("Which database?", None, kind),
            "Which database? SQLite".into(),
            "success"
        )
    );
    let name = json!([{"question": " Name\nthe \u{1b}[2Jcrate "}]);
    assert_eq!(
        answered(name.clone(), written("one\ntwo\n")).await,
        (
            shown("Name the crate", None, input()),
            "Name the crate: one\ntwo".into(),
            "success"
        )
    );
    let empty = answered(name, written(" ")).await;
    assert_eq!(empty.1, "Name the crate: (no answer)");
    let long = "word ".repeat(250);
    let cut = &long[..QUESTION_BYTES];
    let (question, ..) = answered(json!([{"question": long}]), Answer::Dismissed).await;
    assert_eq!(question, shown("A question", Some(cut), input()));
}

#[tokio::test]
async fn several_questions_are_one_form() {
    let questions = json!([
        database(),
        {"question": "Which checks?", "multi_select": true, "options": [
            {"label": "lints"}, {"label": "tests", "description": "all of them"},
        ]},
        {"question": "Anything else?"},
        {"question": "Name it", "options": [{"label": "a"}]},
    ]);
    let other = json!({"type": "string", "title": "Other answer"});
    let schema = json!({"type": "object", "properties": {
        "q1": {
            "type": "string", "enum": ["PostgreSQL", "SQLite"],
            "enumNames": ["PostgreSQL: The team knows it", "SQLite"],
            "title": "Database", "description": "Which database?",
        },
        "q1_other": other,
        "q2": {
            "type": "array", "items": {
                "type": "string", "enum": ["lints", "tests"], "enumNames": ["lints", "tests: all of them"],
            },
            "title": "Which checks?",
        },
        "q2_other": other,
        "q3": {"type": "string", "title": "Anything else?"},
        "q4": {"type": "string", "enum": ["a"], "title": "Name it"},
        "q4_other": other,
    }});
    let values = json!({
        "q1": "SQLite", "q1_other": "in memory", "q2": ["lints", "tests"], "q4_other": "b",
    });
    let values = values.as_object().unwrap().clone();
    let result = "\
Which database? SQLite, in memory
Which checks? lints, tests
Anything else? (no answer)
Name it: b";
    assert_eq!(
        answered(questions, Answer::Values { values }).await,
        (
            shown("4 questions", None, QuestionKind::Form { schema }),
            result.into(),
            "success"
        )
    );
}

#[tokio::test]
async fn one_question_with_several_answers_is_a_form() {
    let question = json!([{"question": "Which?", "multiSelect": true, "options": [
        {"label": "a", "description": "first"}, {"label": "b"},
    ]}]);
    let schema = json!({"type": "object", "properties": {
        "q1": {
            "type": "array", "title": "Which?",
            "items": {"type": "string", "enum": ["a", "b"], "enumNames": ["a: first", "b"]},
        },
        "q1_other": {"type": "string", "title": "Other answer"},
    }});
    let values = Map::from_iter([("q1".to_owned(), json!(["b"]))]);
    assert_eq!(
        answered(question, Answer::Values { values }).await,
        (
            shown("Which?", None, QuestionKind::Form { schema }),
            "Which? b".into(),
            "success"
        )
    );
}

#[tokio::test]
async fn without_an_answer_the_result_says_how_to_continue() {
    let refuse = |reason: Option<&str>| Answer::Refuse {
        reason: reason.map(str::to_owned),
    };
    for (answer, result) in [
        (
            refuse(None),
            "The user declined to answer. Continue with your best judgement, or say what you need to know.",
        ),
        (
            refuse(Some("later.")),
            "The user declined to answer: later. Continue with your best judgement, or say what you need to know.",
        ),
        (
            Answer::Dismissed,
            "The user gave no answer. Choose yourself, and state your assumption.",
        ),
    ] {
        let (_, text, status) = answered(json!([database()]), answer).await;
        assert_eq!((text.as_str(), status), (result, "success"));
    }
    let output = Bench::new()
        .run(NAME, json!({"questions": [database()]}))
        .await;
    let result = "Nobody can answer now. Choose yourself, and state your assumption.";
    assert_eq!(
        (text(&output).as_str(), output.status.name()),
        (result, "success")
    );
}

#[tokio::test]
async fn an_interrupt_withdraws_the_dialog() {
    let (asker, mut requests) = Questions::new();
    let bench = Bench::with(|workspace| workspace.with_questions(Some(asker)));
    let cancel = CancellationToken::new();
    let arguments = json!({"questions": [database()]});
    let call = bench.run_with(NAME, arguments, &cancel, UpdateSink::discard());
    let interrupting = async {
        let asked = requests.recv().await;
        cancel.cancel();
        let withdrawn = requests.recv().await;
        let (Some(Request::Ask { question, .. }), Some(Request::Withdraw { id })) =
            (asked, withdrawn)
        else {
            panic!("the question was not withdrawn");
        };
        assert_eq!(question.id, id);
    };
    let (output, ()) = tokio::join!(call, interrupting);
    assert_eq!(
        (text(&output).as_str(), output.status),
        ("interrupted before the user answered", ToolStatus::Aborted)
    );
}

#[tokio::test]
async fn invalid_questions_are_refused() {
    let options = |labels: &[&str]| -> Value {
        let options = labels.iter().map(|label| json!({"label": label}));
        json!([{"question": "fine?"}, {"question": "which?", "options": options.collect::<Vec<_>>()}])
    };
    let many: Vec<String> = (0..9).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let question = json!({"question": "a?"});
    for (questions, fault) in [
        (json!([{"header": "a"}]), "missing field `question`"),
        (json!([]), "0 questions; ask 1 to 4 questions in a call"),
        (
            json!(vec![question; 5]),
            "5 questions; ask 1 to 4 questions in a call",
        ),
        (
            json!([{"question": "\u{1b}[m\n"}]),
            "question 1 is empty; write what the user has to decide",
        ),
        (
            options(&many),
            "question 2 has 9 options, and the limit is 8; offer the most likely ones",
        ),
        (
            options(&["a", " "]),
            "question 2 has an option without a label; name every option",
        ),
        (
            options(&["a b", "c", "a\nb"]),
            "question 2 has the option `a b` twice; give every option its own label",
        ),
    ] {
        let bench = Bench::new();
        let output = bench.run(NAME, json!({ "questions": questions })).await;
        let message = fault.to_owned();
        let path = String::new();
        assert_eq!(
            (text(&output), output.status),
            (
                format!("invalid arguments: {fault}"),
                ToolStatus::InvalidParameters { path, message }
            )
        );
    }
}
