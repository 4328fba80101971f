//! The open questions of a host: told to every mode, answered by whichever is first.

use super::event::Event;
use super::host::Task;
use osier_agent::Severity;
use osier_protocol::questions::{Answer, Request};

impl Task {
    /// Takes a question, or one back. Without anybody who can answer it is dismissed at once.
    pub(super) fn question(&mut self, request: Request) {
        match request {
            Request::Ask { question, reply } if self.setup.answers_questions => {
                self.questions_waiting.add((*question).clone(), reply);
                self.notify_of(&question);
                self.publish(Event::QuestionAsked { question });
            }
            Request::Ask { reply, .. } => {
                // The asker may have gone.
                let _ = reply.send(Answer::Dismissed);
            }
            Request::Withdraw { id } => {
                if self.questions_waiting.withdraw(&id) {
                    self.publish(Event::QuestionClosed { id });
                }
            }
        }
    }

    pub(super) fn answer(&mut self, id: String, answer: Answer) {
        if self.questions_waiting.answer(&id, answer) {
            self.publish(Event::QuestionClosed { id });
        } else {
            let text = format!("no question `{id}` waits: it was answered or taken back");
            self.notice(Severity::Warning, text);
        }
    }

    pub(super) fn list_questions(&self) {
        self.publish(Event::Questions {
            questions: self.questions_waiting.list(),
        });
    }
}
