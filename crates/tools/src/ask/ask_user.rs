//! `ask_user`: asks the user up to four questions in one dialog. The text of the model is untrusted.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::built_in::BuiltIn;
use crate::call::spellings;
use crate::workspace::Workspace;
use osier_agent::{
    Concurrency, PreparedCall, Preparing, Refusal, ToolContext, ToolOutput, ToolStatus,
    prepare_typed,
};
use osier_base::text::{head_bytes, single_line};
use osier_llm::ToolSpec;
use osier_protocol::form::as_text;
use osier_protocol::questions::{Answer, Choice, Question, QuestionKind, Subject};

const NAME: &str = "ask_user";

/// Maximum number of questions, and of the options of a question.
const MOST_QUESTIONS: usize = 4;
const MOST_OPTIONS: usize = 8;
/// Maximum bytes of each text.
const QUESTION_BYTES: usize = 1000;
const HEADER_BYTES: usize = 30;
const LABEL_BYTES: usize = 100;
const DESCRIPTION_BYTES: usize = 300;
/// A longer question is shown below the title of its dialog, where it can be scrolled.
const TITLE_BYTES: usize = 200;
const UNATTENDED: &str = "Nobody can answer now. Choose yourself, and state your assumption.";
const DISMISSED: &str = "The user gave no answer. Choose yourself, and state your assumption.";
const DECLINED: &str = "The user declined to answer";
const AFTER_DECLINED: &str = "Continue with your best judgement, or say what you need to know.";

pub(crate) const ROW: BuiltIn = BuiltIn {
    read_only: true,
    asks_user: true,
    spellings: &spellings::ASK_USER,
    ..BuiltIn::new(NAME, "Ask", "", || &SPEC, prepare)
};

/// Shared by all sessions. Short, because every request contains it: parsing reports missing fields.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let option = json!({
        "type": "object",
        "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
    });
    let question = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "header": {"type": "string"},
            "options": {"type": "array", "items": option},
            "multi_select": {"type": "boolean"},
        },
    });
    ToolSpec {
        freeform: None,
        name: NAME.to_owned(),
        description: "Ask the user what only they can decide.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"questions": {"type": "array", "items": question}},
            "required": ["questions"],
        }),
    }
});

/// One dialog at a time.
fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |Arguments { questions }| {
        let items = check(questions)?;
        let call = async move |cx: ToolContext| ask(&workspace, &items, &cx.cancel).await;
        Ok(PreparedCall::new(call).running(Concurrency::Serial(NAME.to_owned())))
    })
}

async fn ask(workspace: &Workspace, items: &[Item], cancel: &CancellationToken) -> ToolOutput {
    let answer = workspace.ask(dialog(items), cancel).await;
    let text = match answer {
        None => UNATTENDED.to_owned(),
        _ if cancel.is_cancelled() => {
            let text = "interrupted before the user answered";
            return ToolOutput::failed(ToolStatus::Aborted, text);
        }
        Some(Answer::Text { text }) => items[0].answered(&text),
        Some(Answer::Values { values }) => {
            let items = items.iter().enumerate();
            let lines = items.map(|(index, item)| item.answered(&given(&values, index)));
            lines.collect::<Vec<_>>().join("\n")
        }
        Some(Answer::Refuse { reason: None }) => format!("{DECLINED}. {AFTER_DECLINED}"),
        Some(Answer::Refuse {
            reason: Some(reason),
        }) => format!(
            "{DECLINED}: {}. {AFTER_DECLINED}",
            reason.trim_end_matches('.')
        ),
        Some(_) => DISMISSED.to_owned(),
    };
    ToolOutput::success(text, Value::Null)
}

#[derive(Debug, Deserialize)]
struct Arguments {
    questions: Vec<Item>,
}

/// A question of the model.
#[derive(Debug, Deserialize)]
struct Item {
    question: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    options: Vec<AnswerOption>,
    /// Claude Code's name is an alias, because models know it.
    #[serde(default, alias = "multiSelect")]
    multi_select: bool,
}

#[derive(Debug, Deserialize)]
struct AnswerOption {
    label: String,
    #[serde(default)]
    description: String,
}

impl Item {
    fn labels(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(|option| option.label.as_str())
    }

    /// The line for the model.
    fn answered(&self, answer: &str) -> String {
        let answer = match answer.trim() {
            "" => "(no answer)",
            answer => answer,
        };
        let is_punctuated = self.question.ends_with(['?', ':']);
        let colon = if is_punctuated { "" } else { ":" };
        format!("{}{colon} {answer}", self.question)
    }
}

/// The questions, as single lines of limited length.
fn check(mut items: Vec<Item>) -> Result<Vec<Item>, Refusal> {
    if items.is_empty() || items.len() > MOST_QUESTIONS {
        return Err(Refusal::Invalid(format!(
            "{} questions; ask 1 to {MOST_QUESTIONS} questions in a call",
            items.len()
        )));
    }
    for (index, item) in items.iter_mut().enumerate() {
        clean(&mut item.question, QUESTION_BYTES);
        clean(&mut item.header, HEADER_BYTES);
        for option in &mut item.options {
            clean(&mut option.label, LABEL_BYTES);
            clean(&mut option.description, DESCRIPTION_BYTES);
        }
        check_item(item)
            .map_err(|fault| Refusal::Invalid(format!("question {} {fault}", index + 1)))?;
    }
    Ok(items)
}

fn check_item(item: &Item) -> Result<(), String> {
    if item.question.is_empty() {
        return Err("is empty; write what the user has to decide".to_owned());
    }
    let count = item.options.len();
    if count > MOST_OPTIONS {
        return Err(format!(
            "has {count} options, and the limit is {MOST_OPTIONS}; offer the most likely ones"
        ));
    }
    for (index, label) in item.labels().enumerate() {
        if label.is_empty() {
            return Err("has an option without a label; name every option".to_owned());
        }
        if item.labels().take(index).any(|earlier| earlier == label) {
            return Err(format!(
                "has the option `{label}` twice; give every option its own label"
            ));
        }
    }
    Ok(())
}

fn clean(text: &mut String, limit: usize) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = single_line(&words.join(" "));
    head_bytes(line.trim(), limit).clone_into(text);
}

/// The dialog: a list of choices or a text field for one question, else a form.
fn dialog(items: &[Item]) -> Question {
    let kind = match items {
        [item] if item.options.is_empty() => QuestionKind::Input {
            placeholder: "Your answer".to_owned(),
            prefill: String::new(),
            multiline: true,
            secret: false,
        },
        [item] if !item.multi_select => QuestionKind::Select {
            choices: item.options.iter().map(choice).collect(),
            other: true,
        },
        items => QuestionKind::Form {
            schema: schema(items),
        },
    };
    let is_title = |item: &Item| item.question.len() <= TITLE_BYTES;
    let title = match items {
        [item] if is_title(item) => item.question.clone(),
        [_] => "A question".to_owned(),
        items => format!("{} questions", items.len()),
    };
    let mut lines = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if items.len() > 1 {
            lines.push(format!("{}. {}", index + 1, item.question));
        } else if !is_title(item) {
            lines.push(item.question.clone());
        }
        // A form shows only the selected option, and no descriptions.
        if matches!(kind, QuestionKind::Form { .. }) {
            lines.extend(item.options.iter().map(described));
        }
    }
    let text = lines.join("\n");
    Question {
        id: String::new(),
        origin: "the model".to_owned(),
        title,
        subject: (!text.is_empty()).then_some(Subject::Text { text }),
        kind,
    }
}

fn choice(option: &AnswerOption) -> Choice {
    Choice {
        value: option.label.clone(),
        label: option.label.clone(),
        description: option.description.clone(),
    }
}

fn described(option: &AnswerOption) -> String {
    let AnswerOption { label, description } = option;
    let colon = if description.is_empty() { "" } else { ": " };
    format!("   - {label}{colon}{description}")
}

/// The form: a field for each question, and one for another answer after each field with options.
fn schema(items: &[Item]) -> Value {
    let mut fields = Map::new();
    for (index, item) in items.iter().enumerate() {
        let labels: Vec<&str> = item.labels().collect();
        let mut field = match (labels.is_empty(), item.multi_select) {
            (true, _) => json!({"type": "string"}),
            (false, false) => json!({"type": "string", "enum": labels}),
            (false, true) => json!({"type": "array", "items": {"type": "string", "enum": labels}}),
        };
        if item.header.is_empty() {
            field["title"] = json!(item.question);
        } else {
            field["title"] = json!(item.header);
            field["description"] = json!(item.question);
        }
        let [name, other] = names(index);
        fields.insert(name, field);
        if !labels.is_empty() {
            fields.insert(other, json!({"type": "string", "title": "Other answer"}));
        }
    }
    json!({"type": "object", "properties": fields})
}

/// The names of the fields of a question.
fn names(index: usize) -> [String; 2] {
    let name = format!("q{}", index + 1);
    [name.clone(), format!("{name}_other")]
}

/// The answer to a question of the form: the selected options, then the other answer.
fn given(values: &Map<String, Value>, index: usize) -> String {
    let mut texts = Vec::new();
    for value in names(index).iter().filter_map(|name| values.get(name)) {
        match value {
            Value::Array(selected) => texts.extend(selected.iter().map(as_text)),
            value => texts.push(as_text(value)),
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    texts.join(", ")
}

#[cfg(test)]
mod tests {
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
        let subject = "\
1. Which database?
   - PostgreSQL: The team knows it
   - SQLite
2. Which checks?
   - lints
   - tests: all of them
3. Anything else?
4. Name it
   - a";
        let other = json!({"type": "string", "title": "Other answer"});
        let schema = json!({"type": "object", "properties": {
            "q1": {
                "type": "string", "enum": ["PostgreSQL", "SQLite"],
                "title": "Database", "description": "Which database?",
            },
            "q1_other": other,
            "q2": {
                "type": "array", "items": {"type": "string", "enum": ["lints", "tests"]},
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
                shown("4 questions", Some(subject), QuestionKind::Form { schema }),
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
                "type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "title": "Which?",
            },
            "q1_other": {"type": "string", "title": "Other answer"},
        }});
        let subject = Some("   - a: first\n   - b");
        let values = Map::from_iter([("q1".to_owned(), json!(["b"]))]);
        assert_eq!(
            answered(question, Answer::Values { values }).await,
            (
                shown("Which?", subject, QuestionKind::Form { schema }),
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
}
