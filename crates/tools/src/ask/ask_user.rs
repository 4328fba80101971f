//! `ask_user`: asks the user up to four questions in one dialog. The text of the model is untrusted.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::built_in::{BuiltIn, Part, PartKind, PeerTool, ToolEffect, ToolView, Verbs, peer};
use crate::call::spellings;
use crate::workspace::Workspace;
use osier_agent::{
    Concurrency, OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolContext, ToolOutput,
    ToolStatus, prepare_typed,
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
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude("AskUserQuestion", &[peer::QUESTIONS]),
        PeerTool::opencode("question", &[peer::QUESTIONS]),
    ],
    view: ToolView::new(
        Verbs::new("Asking", "Asked", "ask"),
        &[Part::of("questions", PartKind::Questions)],
    ),
    does: "asks you up to four questions in one dialog",
    ..BuiltIn::new(NAME, ToolEffect::Asks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("ask_user_question"),
        OtherName::of("request_user_input"),
        OtherName::of("ask_question"),
        OtherName::of("ask_followup_question"),
    ],
    arguments: &[
        ("questions", &[]),
        ("questions.question", &["text", "prompt"]),
        ("questions.options", &["choices"]),
        ("questions.multi_select", &["multiple", "allow_multiple"]),
    ],
    without_effect: spellings::DESCRIPTIONS,
    adapt: spellings::values::ask_user,
    ..Spellings::NONE
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
    // A form has the questions and their options in its fields.
    let is_form = matches!(kind, QuestionKind::Form { .. });
    let text = match items {
        [item] if !is_form && !is_title(item) => item.question.clone(),
        _ => String::new(),
    };
    Question {
        id: String::new(),
        origin: "the model".to_owned(),
        subagent: None,
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
    format!("{label}{colon}{description}")
}

/// The schema of a choice: the labels, and their descriptions where there are some.
fn labels(item: &Item) -> Value {
    let labels: Vec<&str> = item.labels().collect();
    let mut choice = json!({"type": "string", "enum": labels});
    if item
        .options
        .iter()
        .any(|option| !option.description.is_empty())
    {
        let names: Vec<String> = item.options.iter().map(described).collect();
        choice["enumNames"] = json!(names);
    }
    choice
}

/// The form: a field for each question, and one for another answer after each field with options.
fn schema(items: &[Item]) -> Value {
    let mut fields = Map::new();
    for (index, item) in items.iter().enumerate() {
        let mut field = match (item.options.is_empty(), item.multi_select) {
            (true, _) => json!({"type": "string"}),
            (false, false) => labels(item),
            (false, true) => json!({"type": "array", "items": labels(item)}),
        };
        if item.header.is_empty() {
            field["title"] = json!(item.question);
        } else {
            field["title"] = json!(item.header);
            field["description"] = json!(item.question);
        }
        let [name, other] = names(index);
        fields.insert(name, field);
        if !item.options.is_empty() {
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
mod tests;
