//! Questions to the person behind an editor. Every editor knows permissions, and a yes or no is asked as one;
//! forms and addresses are for those that offer them.

use std::path::Path;

use serde_json::{Value, json};

use super::offers::Offers;
use super::wire::Peer;
use super::{forms, tools};
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Subject};

/// Asks, and waits as long as the person takes. What the editor cannot show is dismissed.
pub(super) async fn ask(
    (peer, offers): (&Peer, Offers),
    session: &str,
    question: &Question,
    cwd: &Path,
) -> Answer {
    let (call, options) = match &question.kind {
        QuestionKind::Permission {
            call_id,
            tool,
            arguments,
            patterns,
        } => (
            json!({
                "toolCallId": call_id, "title": tools::title(tool, arguments),
                "kind": tools::kind(tool), "rawInput": arguments,
                "content": tools::subject(question.subject.as_ref(), cwd),
            }),
            permission_options(patterns),
        ),
        QuestionKind::Confirm => (
            json!({
                "toolCallId": question.id,
                "title": format!("{}: {}", question.origin, question.title),
                "kind": "other",
                "content": tools::subject(question.subject.as_ref(), cwd),
            }),
            vec![
                option("yes", "Yes", "allow_once"),
                option("no", "No", "reject_once"),
            ],
        ),
        kind => {
            let Some(mut params) = elicitation(question, offers) else {
                return Answer::Dismissed;
            };
            params["sessionId"] = json!(session);
            let answer = peer.request("elicitation/create", params).await;
            return answer.map_or(Answer::Dismissed, |answer| forms::answered(kind, &answer));
        }
    };
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    let Ok(answer) = peer.request("session/request_permission", params).await else {
        return Answer::Dismissed;
    };
    let chosen = answer["outcome"]["optionId"].as_str().unwrap_or_default();
    decided(chosen, &question.kind)
}

/// The question as a form or an address; nothing when the editor shows neither.
fn elicitation(question: &Question, offers: Offers) -> Option<Value> {
    let mut message = format!("{}: {}", question.origin, question.title);
    if let Some(Subject::Text { text }) = &question.subject {
        message = format!("{message}\n\n{text}");
    }
    match &question.kind {
        QuestionKind::Visit { url } if offers.addresses => Some(json!({
            "mode": "url", "message": message, "url": url, "elicitationId": question.id,
        })),
        kind if offers.forms => {
            let schema = forms::schema(kind, &question.title)?;
            Some(json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        _ => None,
    }
}

fn permission_options(patterns: &[String]) -> Vec<Value> {
    let mut options = vec![option("once", "Allow once", "allow_once")];
    if let Some(pattern) = patterns.first() {
        let session = format!("Allow `{pattern}` in this session");
        let project = format!("Always allow `{pattern}` here");
        options.push(option("session", &session, "allow_always"));
        options.push(option("project", &project, "allow_always"));
    }
    options.push(option("no", "Reject", "reject_once"));
    options
}

fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({"optionId": id, "name": name, "kind": kind})
}

/// What the chosen option means; nothing was chosen when it is none.
fn decided(chosen: &str, kind: &QuestionKind) -> Answer {
    let pattern = match kind {
        QuestionKind::Permission { patterns, .. } => patterns.first().cloned(),
        _ => None,
    };
    let allow = |grant| Answer::Allow {
        grant,
        arguments: None,
    };
    match (chosen, pattern) {
        ("once", _) => allow(Grant::Once),
        ("session", Some(pattern)) => allow(Grant::Session { pattern }),
        ("project", Some(pattern)) => allow(Grant::Project { pattern }),
        ("yes", _) => Answer::Yes,
        ("no", _) => Answer::Refuse { reason: None },
        _ => Answer::Dismissed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_grant_or_a_no() {
        let kind = QuestionKind::Permission {
            call_id: "c".to_owned(),
            tool: "bash".to_owned(),
            arguments: json!({}),
            patterns: vec!["bash(ls)".to_owned(), "bash(*)".to_owned()],
        };
        let pattern = "bash(ls)".to_owned();
        assert_eq!(
            decided("session", &kind),
            Answer::Allow {
                grant: Grant::Session { pattern },
                arguments: None,
            }
        );
        assert_eq!(decided("no", &kind), Answer::Refuse { reason: None });
        assert_eq!(decided("", &kind), Answer::Dismissed);
        assert_eq!(decided("yes", &QuestionKind::Confirm), Answer::Yes);
        assert_eq!(permission_options(&[]).len(), 2);
    }
}
