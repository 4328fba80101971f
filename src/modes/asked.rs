//! Requests of a program to the session. The program gets the answer when the session has carried out or refused the request.

use osier_agent::Severity;
use osier_peers::formats::{AskedOps, AskedResult};
use osier_protocol::Event;
use osier_session::SessionHandle;
use serde_json::Value;

/// The requests that are not answered yet.
#[derive(Debug, Default)]
pub struct AskedRequests {
    open: Vec<OpenRequest>,
    /// The number of the request that the next event is about.
    cause: Option<u64>,
}

#[derive(Debug)]
struct OpenRequest {
    number: u64,
    id: Value,
    response: Value,
    /// The types of the events that answer the request.
    replies: &'static [&'static str],
    is_answered: bool,
    problem: Option<String>,
}

impl AskedRequests {
    /// Sends the operations of a request to the session.
    pub(super) fn send(&mut self, asked: AskedOps, session: &SessionHandle) {
        let AskedOps {
            id,
            response,
            mut ops,
        } = asked;
        let Some(last) = ops.pop() else { return };
        for op in ops {
            session.send(op);
        }
        let number = session.next_request();
        self.open.push(OpenRequest {
            number,
            id,
            response,
            replies: last.request().replies,
            is_answered: false,
            problem: None,
        });
        session.ask(number, last);
    }

    /// The requests that this event ends, with their answers.
    pub(super) fn on_event(&mut self, event: &Event) -> Vec<AskedResult> {
        let cause = self.cause.take();
        match event {
            Event::OpEvent { request } => self.cause = Some(*request),
            Event::Notice {
                severity: Severity::Warning | Severity::Error,
                text,
                request: Some(request),
            } => {
                let open = self.open.iter_mut();
                for one in open.filter(|one| one.number == *request && !one.is_answered) {
                    one.problem = Some(text.clone());
                }
            }
            Event::OpEnded { request, .. } => return self.end(|one| one.number == *request),
            Event::ShutDown => {
                for one in &mut self.open {
                    one.problem = Some("the session has ended".to_owned());
                }
                return self.end(|_| true);
            }
            event => {
                let open = self.open.iter_mut();
                for one in
                    open.filter(|one| Some(one.number) == cause && is_one(event, one.replies))
                {
                    (one.is_answered, one.problem) = (true, None);
                }
            }
        }
        Vec::new()
    }

    fn end(&mut self, ends: impl Fn(&OpenRequest) -> bool) -> Vec<AskedResult> {
        let ended = self.open.extract_if(.., |one| ends(one));
        let results = ended.map(|one| AskedResult {
            id: one.id,
            result: one.problem.map_or(Ok(one.response), Err),
        });
        results.collect()
    }
}

/// Whether the event has one of these types.
fn is_one(event: &Event, types: &[&str]) -> bool {
    let value = serde_json::to_value(event).unwrap_or_default();
    value["type"]
        .as_str()
        .is_some_and(|kind| types.contains(&kind))
}
