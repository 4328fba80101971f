//! Pending questions: published to every client, answered by the first.

use osier_agent::Severity;
use osier_protocol::Event;
use osier_protocol::questions::{Answer, Question, Request, Waiting};

use crate::emitter::Emitter;

/// The questions that wait for an answer.
#[derive(Debug)]
pub(crate) struct PendingQuestions {
    waiting: Waiting,
    /// Whether a client can answer; without one every question is dismissed.
    interactive: bool,
}

impl PendingQuestions {
    pub(crate) fn new(interactive: bool) -> Self {
        Self {
            waiting: Waiting::default(),
            interactive,
        }
    }

    /// Adds or withdraws a question. Returns the question that waits now.
    pub(crate) fn receive(&mut self, request: Request, emitter: &Emitter) -> Option<Box<Question>> {
        match request {
            Request::Ask { question, reply } if self.interactive => {
                self.waiting.add((*question).clone(), reply);
                emitter.publish(Event::QuestionAsked {
                    question: question.clone(),
                });
                return Some(question);
            }
            Request::Ask { reply, .. } => {
                // The asker may have been dropped.
                let _ = reply.send(Answer::Dismissed);
            }
            Request::Withdraw { id } => {
                if self.waiting.withdraw(&id) {
                    emitter.publish(Event::QuestionClosed { id });
                }
            }
        }
        None
    }

    /// Answers a question.
    pub(crate) fn answer(&mut self, id: String, answer: Answer, emitter: &Emitter) {
        if self.waiting.answer(&id, answer) {
            emitter.publish(Event::QuestionClosed { id });
        } else {
            let text = format!("no question `{id}` is pending: it was answered or withdrawn");
            emitter.notice(Severity::Warning, text);
        }
    }

    /// Publishes the pending questions.
    pub(crate) fn list(&self, emitter: &Emitter) {
        emitter.publish(Event::Questions {
            questions: self.waiting.list(),
        });
    }
}
