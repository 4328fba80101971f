//! Questions to the user: about a permission, from an MCP server or from a plugin.
//!
//! A [`Questions`] handle sends a question and waits. The session actor owns the open questions, reports them
//! to all clients, and receives the answers. A question ends when it is answered, when its sender cancels it,
//! or immediately as dismissed in non-interactive runs. There is no timeout.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use osier_base::visible::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::permissions::PermissionMode;

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Unique in the process; set by [`Questions::ask`].
    #[serde(default)]
    pub id: String,
    /// The sender, for display: ``the tool `bash` ``, ``the MCP server `github` ``.
    pub origin: String,
    /// The id of the subagent whose work waits for the answer; set by [`Questions::ask`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// One sentence. Untrusted when the origin is.
    pub title: String,
    /// The subject of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    pub kind: QuestionKind,
}

impl Question {
    /// The question with a notation for every hidden character in the texts that clients show. Values that are sent
    /// back stay: the arguments, the patterns, the values of choices and of forms. In a URL, hidden characters are
    /// encoded.
    fn visible(mut self) -> Self {
        let shown = |text: &mut String| {
            if let Cow::Owned(visible) = visible(text) {
                *text = visible;
            }
        };
        shown(&mut self.origin);
        shown(&mut self.title);
        match &mut self.subject {
            None => {}
            Some(Subject::Command { command, cwd }) => [command, cwd].into_iter().for_each(shown),
            Some(Subject::Diff { path, diff }) => [path, diff].into_iter().for_each(shown),
            Some(Subject::Text { text } | Subject::Markdown { text }) => shown(text),
        }
        match &mut self.kind {
            QuestionKind::Select { choices, .. } => {
                for choice in choices {
                    if choice.label.is_empty() {
                        choice.label.clone_from(&choice.value);
                    }
                    shown(&mut choice.label);
                    shown(&mut choice.description);
                }
            }
            QuestionKind::Input { placeholder, .. } => shown(placeholder),
            QuestionKind::Form { schema } => show_schema(schema),
            QuestionKind::Visit { url } => *url = encode_hidden(url),
            QuestionKind::Permission { .. } | QuestionKind::Plan { .. } | QuestionKind::Confirm => {
            }
        }
        self
    }
}

/// Replaces hidden characters in the texts of a schema that forms show; values without a name get one where they need it.
fn show_schema(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(show_schema),
        Value::Object(schema) => {
            if let (Some(Value::Array(values)), None) =
                (schema.get("enum"), schema.get("enumNames"))
                && values.iter().any(|value| is_hiding(value.as_str()))
            {
                let names = values.clone();
                schema.insert("enumNames".into(), Value::Array(names));
            }
            for (key, value) in schema.iter_mut() {
                match (key.as_str(), value) {
                    ("title" | "description", Value::String(text)) => {
                        *text = visible(text).into_owned();
                    }
                    ("enumNames", Value::Array(names)) => names.iter_mut().for_each(show_name),
                    // Values that are sent back must not change.
                    ("enum" | "const" | "default", _) => {}
                    (_, value) => show_schema(value),
                }
            }
        }
        _ => {}
    }
}

fn show_name(name: &mut Value) {
    if let Value::String(name) = name {
        *name = visible(name).into_owned();
    }
}

fn is_hiding(text: Option<&str>) -> bool {
    text.is_some_and(|text| matches!(visible(text), Cow::Owned(_)))
}

/// The URL with its hidden characters encoded, as a browser would send them.
fn encode_hidden(url: &str) -> String {
    let mut encoded = String::new();
    let mut buffer = [0; 4];
    for char in url.chars() {
        let char: &str = char.encode_utf8(&mut buffer);
        if is_hiding(Some(char)) || char.chars().all(char::is_whitespace) {
            for byte in char.bytes() {
                let _ = write!(encoded, "%{byte:02X}");
            }
        } else {
            encoded.push_str(char);
        }
    }
    encoded
}

/// The subject of a decision, as it is shown: hidden characters have a notation, long runs of blanks are counted
/// ([`osier_base::visible`]). The arguments of the call are in the kind of the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Subject {
    /// A command of the shell and where it would run.
    Command { command: String, cwd: String },
    /// A change of one file as a unified diff.
    Diff { path: String, diff: String },
    /// Plain text, shown as it is.
    Text { text: String },
    /// Markdown, shown formatted.
    Markdown { text: String },
}

/// The kind of the expected answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum QuestionKind {
    /// Whether a tool call can run. Reply with `confirmed`, or with `answer` for a longer grant. `patterns` are the rules
    /// that can be saved, the narrowest first.
    Permission {
        call_id: String,
        tool: String,
        arguments: Value,
        patterns: Vec<String>,
    },
    /// Whether the plan in the subject is approved, which ends plan mode. The user can edit it first. Reply with
    /// `confirmed`: `true` continues in the first of `modes`, also with an edited plan as `value`; `false` keeps planning,
    /// with a reason as `value`. Reply with `answer` to choose another mode.
    Plan {
        call_id: String,
        /// The file with the plan. An approval without a text approves the contents of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The permission modes to continue in. The first is the default.
        modes: Vec<PermissionMode>,
        /// The mode before plan mode, unless the session began in plan mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<PermissionMode>,
    },
    /// Yes or no. Reply with `confirmed`.
    Confirm,
    /// One of `choices`. Reply with its value as `value`; with `other`, any other text is an answer too.
    Select {
        choices: Vec<Choice>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        other: bool,
    },
    /// Text. Reply with `value`. `secret` text is never shown or remembered; `multiline` text has an editor.
    Input {
        placeholder: String,
        prefill: String,
        multiline: bool,
        secret: bool,
    },
    /// Several values: a flat JSON schema of an object, as in MCP elicitation. Reply with an object as `value`.
    Form { schema: Value },
    /// Open a URL and return. Reply with `confirmed`.
    Visit { url: String },
}

/// One of several choices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub value: String,
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Answer {
    /// To `Permission`: run the call, with changed `arguments` if the user edited them.
    Allow {
        grant: Grant,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// To `Plan`: continue in `mode`, by default the first of the question; `plan` is the text if the user edited it.
    Approve {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<PermissionMode>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<String>,
    },
    /// To `Permission`: deny it; to `Plan`: keep planning; to `Confirm`, `Form` and `Visit`: no. The model receives the reason.
    Refuse {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// To `Confirm` and `Visit`: yes.
    Yes,
    /// To `Select` with the value of a choice or another text, to `Input` with the text.
    Text { text: String },
    /// To `Form`.
    Values { values: Map<String, Value> },
    /// To any question: there was no answer.
    Dismissed,
}

/// The duration of a permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Grant {
    Once,
    /// For calls that match `pattern`, for this session.
    Session {
        pattern: String,
    },
    /// For calls that match `pattern`, always in this project.
    Project {
        pattern: String,
    },
    /// For every change of a file in the working directory, for this session.
    Edits,
}

/// A message to the owner of the open questions.
#[derive(Debug)]
pub enum Request {
    Ask {
        question: Box<Question>,
        reply: oneshot::Sender<Answer>,
    },
    /// The sender cancelled this question.
    Withdraw { id: String },
}

/// Sends questions to the user. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Questions {
    owner: mpsc::UnboundedSender<Request>,
    asker: Option<Asker>,
}

/// The subagent that asks.
#[derive(Clone)]
struct Asker {
    subagent: String,
    /// Called when a question begins to wait, and when it ends.
    waits: Arc<dyn Fn(bool) + Send + Sync>,
}

osier_base::opaque_debug!(Asker);

impl Questions {
    /// A sender of questions and the receiver for their owner.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (owner, receiver) = mpsc::unbounded_channel();
        let asker = None;
        (Self { owner, asker }, receiver)
    }

    /// A sender whose questions name `subagent`. `waits` is called with `true` when a question begins to wait, and with
    /// `false` when it ends.
    #[must_use]
    pub fn of_subagent(
        &self,
        subagent: &str,
        waits: impl Fn(bool) + Send + Sync + 'static,
    ) -> Self {
        Self {
            owner: self.owner.clone(),
            asker: Some(Asker {
                subagent: subagent.to_owned(),
                waits: Arc::new(waits),
            }),
        }
    }

    /// Sends a question and waits for the answer. `Dismissed` when `cancel` fires first, or in a
    /// non-interactive run. Dropping the future withdraws the question.
    pub async fn ask(&self, question: Question, cancel: &CancellationToken) -> Answer {
        let mut question = question.visible();
        question.id = uuid::Uuid::new_v4().simple().to_string();
        let asker = self.asker.as_ref();
        question.subagent = asker.map(|asker| asker.subagent.clone());
        let open = Withdrawal {
            id: question.id.clone(),
            questions: self,
        };
        let (reply, answered) = oneshot::channel();
        let question = Box::new(question);
        if let Some(asker) = asker {
            (asker.waits)(true);
        }
        if self.owner.send(Request::Ask { question, reply }).is_err() {
            return Answer::Dismissed;
        }
        let answer = tokio::select! {
            biased;
            answer = answered => answer.unwrap_or(Answer::Dismissed),
            () = cancel.cancelled() => Answer::Dismissed,
        };
        drop(open);
        answer
    }
}

/// Withdraws a question when its sender is dropped. Has no effect on an answered question.
struct Withdrawal<'a> {
    id: String,
    questions: &'a Questions,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        let id = std::mem::take(&mut self.id);
        // The owner may have ended.
        let _ = self.questions.owner.send(Request::Withdraw { id });
        if let Some(asker) = &self.questions.asker {
            (asker.waits)(false);
        }
    }
}

/// The open questions, oldest first. Belongs to one owner.
#[derive(Debug, Default)]
pub struct Waiting(Vec<(Question, oneshot::Sender<Answer>)>);

impl Waiting {
    pub fn add(&mut self, question: Question, reply: oneshot::Sender<Answer>) {
        self.0.push((question, reply));
    }

    /// Answers the question `id`; false for an unknown id.
    pub fn answer(&mut self, id: &str, answer: Answer) -> bool {
        let Some(place) = self.0.iter().position(|(question, _)| question.id == id) else {
            return false;
        };
        let (_, reply) = self.0.remove(place);
        // The sender may be gone.
        let _ = reply.send(answer);
        true
    }

    /// Removes the question `id`; false for an unknown id.
    pub fn withdraw(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(question, _)| question.id != id);
        self.0.len() < before
    }

    pub fn list(&self) -> Vec<Question> {
        let questions = self.0.iter().map(|(question, _)| question.clone());
        questions.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            id: String::new(),
            origin: "a test".into(),
            subagent: None,
            title: "Go on?".into(),
            subject: None,
            kind: QuestionKind::Confirm,
        }
    }

    async fn asked(requests: &mut mpsc::UnboundedReceiver<Request>) -> (Question, Waiting) {
        let Some(Request::Ask { question, reply }) = requests.recv().await else {
            panic!("no question was sent");
        };
        let mut waiting = Waiting::default();
        waiting.add((*question).clone(), reply);
        (*question, waiting)
    }

    #[test]
    fn forms_and_addresses_hide_nothing() {
        let shown = |kind| Question { kind, ..question() }.visible().kind;
        let schema = serde_json::json!({"properties": {"title": {
            "title": "a\u{202e}b", "description": "c\rd", "default": "e\u{200b}f", "enum": ["g\u{200b}h", "i"],
            "oneOf": [{"const": "j\u{200b}k", "title": "l\u{200b}m"}]}}});
        let expected = serde_json::json!({"properties": {"title": {
            "title": "a\\u{202e}b", "description": "c␍d", "default": "e\u{200b}f", "enum": ["g\u{200b}h", "i"],
            "oneOf": [{"const": "j\u{200b}k", "title": "l\\u{200b}m"}],
            "enumNames": ["g\\u{200b}h", "i"]}}});
        assert_eq!(
            shown(QuestionKind::Form { schema }),
            QuestionKind::Form { schema: expected }
        );
        let url = "https://example.org/\u{202e}gpj.exe?q=ä b".to_owned();
        let expected = "https://example.org/%E2%80%AEgpj.exe?q=ä%20b".to_owned();
        assert_eq!(
            shown(QuestionKind::Visit { url }),
            QuestionKind::Visit { url: expected }
        );
    }

    #[tokio::test]
    async fn an_answer_is_delivered_once() {
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        let asking = questions.ask(question(), &cancel);
        let answering = async {
            let (question, mut waiting) = asked(&mut requests).await;
            assert_eq!(waiting.list(), std::slice::from_ref(&question));
            assert!(waiting.answer(&question.id, Answer::Yes));
            assert!(!waiting.answer(&question.id, Answer::Dismissed));
            question.id
        };
        let (answer, id) = tokio::join!(asking, answering);
        assert_eq!(answer, Answer::Yes);
        let Some(Request::Withdraw { id: withdrawn }) = requests.recv().await else {
            panic!("the question was not closed");
        };
        assert_eq!(withdrawn, id);
    }

    #[tokio::test]
    async fn an_interrupt_withdraws_the_question() {
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        let asking = questions.ask(question(), &cancel);
        let interrupting = async {
            let (question, waiting) = asked(&mut requests).await;
            cancel.cancel();
            (question, waiting)
        };
        let (answer, (question, mut waiting)) = tokio::join!(asking, interrupting);
        assert_eq!(answer, Answer::Dismissed);
        let Some(Request::Withdraw { id }) = requests.recv().await else {
            panic!("the question was not withdrawn");
        };
        assert_eq!(id, question.id);
        assert!(waiting.withdraw(&id));
        assert_eq!(waiting.list(), []);
    }

    #[tokio::test]
    async fn clients_get_visible_texts_and_exact_values() {
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        let command = "rm -rf ~ #\r\x1b[2Kls";
        let question = Question {
            title: "Run\u{202e}?".into(),
            subject: Some(Subject::Command {
                command: command.into(),
                cwd: "/w\x07".into(),
            }),
            kind: QuestionKind::Permission {
                call_id: "c".into(),
                tool: "bash".into(),
                arguments: serde_json::json!({ "command": command }),
                patterns: Vec::new(),
            },
            ..question()
        };
        let kind = question.kind.clone();
        let asking = questions.ask(question, &cancel);
        let receiving = async {
            let (question, _) = asked(&mut requests).await;
            cancel.cancel();
            question
        };
        let (_, shown) = tokio::join!(asking, receiving);
        let expected = Subject::Command {
            command: "rm -rf ~ #␍^[[2Kls".into(),
            cwd: "/w^G".into(),
        };
        assert_eq!((shown.subject, shown.kind), (Some(expected), kind));
        assert_eq!(shown.title, "Run\\u{202e}?");
    }

    #[tokio::test]
    async fn without_an_owner_every_question_is_dismissed() {
        let (questions, requests) = Questions::new();
        drop(requests);
        let cancel = CancellationToken::new();
        assert_eq!(questions.ask(question(), &cancel).await, Answer::Dismissed);
    }
}
