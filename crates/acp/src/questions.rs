//! Questions to the user of the editor. Permissions and yes-or-no questions are permission requests, which
//! every editor supports. Other questions are elicitations, if the editor supports them.

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;

use crate::elicitation;
use crate::jsonrpc::AcpClient;
use crate::tool_calls;
use osier_base::visible::visible;
use osier_protocol::PermissionMode;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind};

/// Asks and waits, without a timeout. A question that the editor does not support is dismissed.
pub(super) async fn ask(
    client: &AcpClient,
    session: &acp::SessionId,
    question: &Question,
    cwd: &Path,
) -> Answer {
    let (id, title, kind, options) = match &question.kind {
        QuestionKind::Permission {
            call_id,
            tool,
            arguments,
            patterns,
        } => (
            call_id,
            titled(tool_calls::title(tool, arguments), &question.title),
            tool_calls::kind(tool),
            permission_options(patterns),
        ),
        QuestionKind::Plan { call_id, modes, .. } => (
            call_id,
            question.title.clone(),
            acp::ToolKind::SwitchMode,
            plan_options(modes),
        ),
        QuestionKind::Confirm => (
            &question.id,
            format!("{}: {}", question.origin, question.title),
            acp::ToolKind::Other,
            vec![
                acp::PermissionOption::new("yes", "Yes", acp::PermissionOptionKind::AllowOnce),
                acp::PermissionOption::new("no", "No", acp::PermissionOptionKind::RejectOnce),
            ],
        ),
        _ => return elicitation::ask(client, session, question).await,
    };
    let mut call = tool_calls::questioned(id, title, kind, question.subject.as_ref(), cwd);
    match &question.kind {
        QuestionKind::Permission { arguments, .. } => {
            call.fields.raw_input = Some(arguments.clone());
        }
        // The user can edit the file before they answer.
        QuestionKind::Plan {
            path: Some(path), ..
        } => {
            call.fields.locations = Some(vec![acp::ToolCallLocation::new(path)]);
        }
        _ => {}
    }
    let params = acp::RequestPermissionRequest::new(session.clone(), call, options);
    let method = acp::CLIENT_METHOD_NAMES.session_request_permission;
    let response: Result<PermissionResponse, _> = client.request(method, params).await;
    response.map_or(Answer::Dismissed, |response| {
        response.outcome.answer(&question.kind)
    })
}

/// The title of a call with the reasons for the question: a rule, or where a link leads.
fn titled(call: String, question: &str) -> String {
    match question.split_once("? (") {
        Some((_, reasons)) => format!("{call} ({reasons}"),
        None => call,
    }
}

/// The response to `session/request_permission`. Some editors omit the name of the outcome.
#[derive(Deserialize)]
struct PermissionResponse {
    outcome: PermissionOutcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermissionOutcome {
    outcome: Option<String>,
    option_id: Option<String>,
}

impl PermissionOutcome {
    fn answer(&self, kind: &QuestionKind) -> Answer {
        match (self.outcome.as_deref(), &self.option_id) {
            (None | Some("selected"), Some(option)) => answer(option, kind),
            _ => Answer::Dismissed,
        }
    }
}

fn permission_options(patterns: &[String]) -> Vec<acp::PermissionOption> {
    use acp::PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let mut options = vec![acp::PermissionOption::new("once", "Allow once", AllowOnce)];
    if let Some(pattern) = patterns.first() {
        let shown = visible(pattern);
        let session = format!("Allow `{shown}` for this session");
        let project = format!("Always allow `{shown}` in this project");
        options.push(acp::PermissionOption::new("session", session, AllowAlways));
        options.push(acp::PermissionOption::new("project", project, AllowAlways));
    }
    options.push(acp::PermissionOption::new("no", "Reject", RejectOnce));
    options
}

/// An approval for each mode, as other agents offer them.
fn plan_options(modes: &[PermissionMode]) -> Vec<acp::PermissionOption> {
    use acp::PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let approvals = modes.iter().map(|mode| {
        let kind = match mode {
            PermissionMode::Ask | PermissionMode::Plan => AllowOnce,
            PermissionMode::Auto | PermissionMode::Yolo => AllowAlways,
        };
        let name = format!("Yes, continue in mode {}: {}", mode.name(), mode.meaning());
        acp::PermissionOption::new(mode.name(), name, kind)
    });
    let keep =
        acp::PermissionOption::new(PermissionMode::Plan.name(), "No, keep planning", RejectOnce);
    approvals.chain([keep]).collect()
}

/// The answer for a selected option. An unknown option dismisses the question.
fn answer(option: &str, kind: &QuestionKind) -> Answer {
    let pattern = match kind {
        QuestionKind::Plan { modes, .. } => {
            let mode = modes.iter().find(|mode| mode.name() == option).copied();
            return match mode {
                Some(mode) => Answer::Approve {
                    mode: Some(mode),
                    plan: None,
                },
                None if option == PermissionMode::Plan.name() => Answer::Refuse { reason: None },
                None => Answer::Dismissed,
            };
        }
        QuestionKind::Permission { patterns, .. } => patterns.first().cloned(),
        _ => None,
    };
    let allow = |grant| Answer::Allow {
        grant,
        arguments: None,
    };
    match (option, pattern) {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn outcome_may_be_unnamed_but_not_cancelled() {
        let kind = QuestionKind::Confirm;
        let answer = |outcome| {
            let outcome: PermissionOutcome = serde_json::from_value(outcome).unwrap();
            outcome.answer(&kind)
        };
        let selected = json!({"outcome": "selected", "optionId": "yes"});
        assert_eq!(answer(selected), Answer::Yes);
        assert_eq!(answer(json!({"optionId": "yes"})), Answer::Yes);
        let cancelled = json!({"outcome": "cancelled", "optionId": "yes"});
        assert_eq!(answer(cancelled), Answer::Dismissed);
        assert_eq!(answer(json!({"outcome": "cancelled"})), Answer::Dismissed);
    }

    #[test]
    fn option_becomes_an_answer() {
        let kind = QuestionKind::Permission {
            call_id: "c".to_owned(),
            tool: "bash".to_owned(),
            arguments: json!({}),
            patterns: vec!["bash(ls)".to_owned(), "bash(*)".to_owned()],
        };
        let pattern = "bash(ls)".to_owned();
        assert_eq!(
            answer("session", &kind),
            Answer::Allow {
                grant: Grant::Session { pattern },
                arguments: None,
            }
        );
        assert_eq!(answer("no", &kind), Answer::Refuse { reason: None });
        assert_eq!(answer("", &kind), Answer::Dismissed);
        assert_eq!(answer("yes", &QuestionKind::Confirm), Answer::Yes);
    }

    #[test]
    fn plan_is_approved_in_a_mode() {
        let kind = QuestionKind::Plan {
            call_id: "c".to_owned(),
            path: None,
            modes: vec![PermissionMode::Ask, PermissionMode::Yolo],
            before: None,
        };
        let approved = Answer::Approve {
            mode: Some(PermissionMode::Yolo),
            plan: None,
        };
        assert_eq!(answer("yolo", &kind), approved);
        assert_eq!(answer("plan", &kind), Answer::Refuse { reason: None });
        assert_eq!(answer("auto", &kind), Answer::Dismissed);
    }

    #[test]
    fn call_without_a_pattern_is_allowed_or_rejected_once() {
        let options = [
            acp::PermissionOption::new("once", "Allow once", acp::PermissionOptionKind::AllowOnce),
            acp::PermissionOption::new("no", "Reject", acp::PermissionOptionKind::RejectOnce),
        ];
        assert_eq!(permission_options(&[]), options);
    }
}
