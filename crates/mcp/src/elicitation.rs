//! Questions of a server to the user: a form, or a URL to open. The text is untrusted.

use std::fmt;

use async_trait::async_trait;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use osier_base::{text, visible};
use osier_protocol::form::Form;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions};

/// Maximum columns of a message; the columns that are cut are counted.
const MESSAGE_LIMIT: usize = 2000;

/// Maximum fields of a form.
const FIELD_LIMIT: usize = 100;
/// Maximum choices of all fields of a form.
const CHOICE_LIMIT: usize = 1000;
/// Maximum bytes of a form, as JSON, or of a URL.
const BYTE_LIMIT: usize = 256 * 1024;

/// An answer to a question: the action in the words of MCP, and the values of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationAnswer {
    pub action: String,
    pub content: Option<Value>,
}

/// Answers questions of servers instead of the user, and reviews the answers of the user. Questions
/// are in the form of MCP.
#[async_trait]
pub trait ElicitationRules: fmt::Debug + Send + Sync {
    /// The answer to a question; `None` to ask the user.
    async fn answer(&self, server: &str, question: &Value) -> Option<ElicitationAnswer>;

    /// The answer to send in place of the user's answer.
    async fn review(
        &self,
        server: &str,
        question: &Value,
        answer: ElicitationAnswer,
    ) -> ElicitationAnswer;
}

impl ElicitationAnswer {
    fn of(result: &ElicitResult) -> Self {
        let action = match result.action {
            ElicitationAction::Accept => "accept",
            ElicitationAction::Decline => "decline",
            _ => "cancel",
        };
        Self {
            action: action.to_owned(),
            content: result.content.clone(),
        }
    }

    /// The result for the server.
    ///
    /// # Errors
    /// The values do not match `schema`.
    fn result(self, schema: &Value) -> Result<ElicitResult, String> {
        Ok(match (self.action.as_str(), self.content) {
            ("accept", Some(Value::Object(values))) => accepted(values, schema)?,
            // A question without a form has no values.
            ("accept", None) if schema.is_null() => ElicitResult::new(ElicitationAction::Accept),
            ("accept", None) => accepted(Map::new(), schema)?,
            ("accept", _) => return Err("the answer is invalid: it is not an object".to_owned()),
            ("cancel", _) => ElicitResult::new(ElicitationAction::Cancel),
            _ => ElicitResult::new(ElicitationAction::Decline),
        })
    }
}

/// Asks as `ask` does, under the rules.
///
/// # Errors
/// The reason why the question cannot be shown, or its answer is invalid, for the server.
pub(super) async fn ask_under(
    rules: Option<&dyn ElicitationRules>,
    questions: &Questions,
    server: &str,
    params: ElicitRequestParams,
    cancel: &CancellationToken,
) -> Result<ElicitResult, String> {
    let Some(rules) = rules else {
        return ask(questions, server, params, cancel).await;
    };
    let question = serde_json::to_value(&params).unwrap_or_default();
    let schema = &question["requestedSchema"];
    let answered = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
        answered = rules.answer(server, &question) => answered,
    };
    let answer = match answered {
        Some(answer) => answer,
        None => ElicitationAnswer::of(&ask(questions, server, params, cancel).await?),
    };
    let answer = rules.review(server, &question, answer).await;
    answer.result(schema)
}

/// Asks the user on behalf of `server`.
///
/// # Errors
/// The reason why the question cannot be shown, or its answer is invalid, for the server.
pub(super) async fn ask(
    questions: &Questions,
    server: &str,
    params: ElicitRequestParams,
    cancel: &CancellationToken,
) -> Result<ElicitResult, String> {
    let (message, kind, schema) = match params {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            check_size(&schema)?;
            let kind = QuestionKind::Form {
                schema: schema.clone(),
            };
            (message, kind, schema)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return Ok(ElicitResult::new(ElicitationAction::Decline));
            }
            within("URL", "bytes", url.len(), BYTE_LIMIT)?;
            (message, QuestionKind::Visit { url }, Value::Null)
        }
        _ => return Ok(ElicitResult::new(ElicitationAction::Decline)),
    };
    let question = Question {
        id: String::new(),
        origin: format!("the MCP server `{server}`"),
        subagent: None,
        title: visible::one_line(&text::single_line(&message), MESSAGE_LIMIT),
        subject: None,
        kind,
    };
    Ok(match questions.ask(question, cancel).await {
        Answer::Values { values } => accepted(values, &schema)?,
        Answer::Yes => ElicitResult::new(ElicitationAction::Accept),
        Answer::Refuse { .. } => ElicitResult::new(ElicitationAction::Decline),
        _ => ElicitResult::new(ElicitationAction::Cancel),
    })
}

fn check_size(schema: &Value) -> Result<(), String> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.map_or(0, serde_json::Map::len);
    within("form", "fields", fields, FIELD_LIMIT)?;
    within("form", "choices", choices(schema), CHOICE_LIMIT)?;
    within("form", "bytes", schema.to_string().len(), BYTE_LIMIT)
}

fn within(what: &str, unit: &str, count: usize, limit: usize) -> Result<(), String> {
    if count > limit {
        return Err(format!(
            "the {what} has {count} {unit}, and the limit is {limit}"
        ));
    }
    Ok(())
}

/// The choices of all fields of `schema`.
fn choices(schema: &Value) -> usize {
    let Value::Object(parts) = schema else {
        return 0;
    };
    let count = |(key, part): (&String, &Value)| match (key.as_str(), part) {
        ("enum" | "oneOf" | "anyOf", Value::Array(values)) => values.len(),
        (_, part) => choices(part),
    };
    parts.iter().map(count).sum()
}

/// The result with values, which programs and hooks may have given.
///
/// # Errors
/// The values do not match `schema`.
fn accepted(values: Map<String, Value>, schema: &Value) -> Result<ElicitResult, String> {
    let values = with_defaults(values, schema);
    let checked = Form::new(schema).check(&values);
    checked.map_err(|fault| format!("the answer is invalid: {fault}"))?;
    Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values)))
}

/// Empty fields get the default of the schema.
fn with_defaults(mut values: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if let Some(default) = field.get("default")
            && !values.contains_key(name)
        {
            values.insert(name.clone(), default.clone());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use osier_protocol::questions::Request;

    async fn answered(params: Value, answer: Answer) -> (Question, Value) {
        let params: ElicitRequestParams = serde_json::from_value(params).unwrap();
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        let asking = ask(&questions, "shop", params, &cancel);
        let answering = async {
            match requests.recv().await {
                Some(Request::Ask { question, reply }) => {
                    reply.send(answer).unwrap();
                    *question
                }
                other => panic!("{other:?}"),
            }
        };
        let (result, question) = tokio::join!(asking, answering);
        (question, serde_json::to_value(result.unwrap()).unwrap())
    }

    fn form() -> Value {
        json!({"mode": "form", "message": "Which\nsize?", "requestedSchema": {
            "type": "object",
            "properties": {
                "size": {"type": "string", "default": "m"},
                "count": {"type": "integer"}
            },
            "required": ["count"]
        }})
    }

    #[tokio::test]
    async fn a_form_is_shown_and_its_defaults_are_filled_in() {
        let values = json!({"count": 2}).as_object().unwrap().clone();
        let (question, result) = answered(form(), Answer::Values { values }).await;
        assert_eq!(question.origin, "the MCP server `shop`");
        assert_eq!(question.title, "Which⏎size?");
        assert!(matches!(question.kind, QuestionKind::Form { .. }));
        let expected = json!({"action": "accept", "content": {"count": 2, "size": "m"}});
        assert_eq!(result, expected);
    }

    #[tokio::test]
    async fn an_answer_that_does_not_match_the_form_is_an_error() {
        for (content, fault) in [
            (Some(json!({"count": "two"})), "`count` has the wrong type"),
            (
                Some(json!({"count": 2, "size": 1})),
                "`size` has the wrong type",
            ),
            (Some(json!([2])), "it is not an object"),
            (None, "`count` is required"),
        ] {
            let action = "accept".to_owned();
            let answer = ElicitationAnswer { action, content };
            let error = answer.result(&form()["requestedSchema"]).unwrap_err();
            assert_eq!(error, format!("the answer is invalid: {fault}"));
        }
        let values = Map::new();
        let params = serde_json::from_value(form()).unwrap();
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        let asking = ask(&questions, "shop", params, &cancel);
        let answering = async {
            if let Some(Request::Ask { reply, .. }) = requests.recv().await {
                reply.send(Answer::Values { values }).unwrap();
            }
        };
        let (result, ()) = tokio::join!(asking, answering);
        assert_eq!(
            result.unwrap_err(),
            "the answer is invalid: `count` is required"
        );
    }

    #[tokio::test]
    async fn a_message_that_is_cut_says_how_much_is_missing() {
        let mut long = form();
        long["message"] = "x".repeat(2_500).into();
        let title = answered(long, Answer::Dismissed).await.0.title;
        let (shown, rest) = title.split_at(title.rfind('x').unwrap() + 1);
        assert_eq!(shown, "x".repeat(shown.len()));
        let missing = 2_500 - shown.len();
        assert!(rest.contains(&missing.to_string()), "{missing}: {rest}");
    }

    #[tokio::test]
    async fn a_refusal_and_a_dismissal_differ() {
        let refused = answered(form(), Answer::Refuse { reason: None }).await.1;
        assert_eq!(refused, json!({"action": "decline"}));
        let dismissed = answered(form(), Answer::Dismissed).await.1;
        assert_eq!(dismissed, json!({"action": "cancel"}));
    }

    #[tokio::test]
    async fn only_a_valid_url_is_opened() {
        let url =
            |url: &str| json!({"mode": "url", "message": "Pay", "url": url, "elicitationId": "1"});
        let (question, result) = answered(url("https://pay"), Answer::Yes).await;
        let visit = QuestionKind::Visit {
            url: "https://pay".into(),
        };
        assert_eq!(question.kind, visit);
        assert_eq!(result, json!({"action": "accept"}));
        let params = serde_json::from_value(url("javascript:x")).unwrap();
        let (questions, _requests) = Questions::new();
        let result = ask(&questions, "shop", params, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(result.action, ElicitationAction::Decline);
    }

    #[tokio::test]
    async fn a_form_of_excessive_size_is_an_error() {
        let fields = |count: usize| -> Map<String, Value> {
            let field = |number| (format!("f{number}"), json!({"type": "string"}));
            (0..count).map(field).collect()
        };
        let choices = |count: usize| {
            let values: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            json!({"size": {"type": "string", "enum": values}})
        };
        let long = json!({"size": {"type": "string", "title": "x".repeat(BYTE_LIMIT)}});
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        for (properties, expected) in [
            (fields(101).into(), "101 fields, and the limit is 100"),
            (choices(1001), "1001 choices, and the limit is 1000"),
            (long, "262212 bytes, and the limit is 262144"),
        ] {
            let mut params = form();
            params["requestedSchema"] = json!({"type": "object", "properties": properties});
            let params = serde_json::from_value(params).unwrap();
            let error = ask(&questions, "shop", params, &cancel).await.unwrap_err();
            assert_eq!(error, format!("the form has {expected}"));
        }
        assert!(requests.try_recv().is_err());
        let mut largest = form();
        largest["requestedSchema"] = json!({"type": "object", "properties": fields(100)});
        let question = answered(largest, Answer::Dismissed).await.0;
        assert!(matches!(question.kind, QuestionKind::Form { .. }));
    }
}
