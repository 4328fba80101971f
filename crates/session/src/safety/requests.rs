//! The requests about permissions and open questions.

use osier_protocol::PermissionOp;
use osier_protocol::questions::Questions;

use super::permissions::PermissionState;
use super::questions::PendingQuestions;
use crate::cx::Cx;
use crate::setup::SessionSetup;

/// The permissions, and the questions that wait for the user.
#[derive(Debug)]
pub(crate) struct Safety {
    pub permissions: PermissionState,
    pub pending: PendingQuestions,
    /// The way to ask the user.
    pub questions: Questions,
}

impl Safety {
    pub(crate) fn new(setup: &SessionSetup, questions: Questions) -> Self {
        Self {
            permissions: PermissionState::new(setup, &questions),
            pending: PendingQuestions::new(setup.answers_questions),
            questions,
        }
    }

    /// Handles a request about permissions and questions.
    pub(crate) fn handle(&mut self, op: PermissionOp, cx: Cx<'_>) {
        let (permissions, emitter) = (&self.permissions, cx.emitter);
        let least = cx.setup.settings.least;
        match op {
            PermissionOp::SetPermissions { mode } => permissions.set_mode(mode, least, emitter),
            PermissionOp::CyclePermissions => {
                permissions.set_mode(permissions.mode().next(), least, emitter);
            }
            PermissionOp::ListPermissions => permissions.publish(emitter),
            PermissionOp::AddPermission { grant } => permissions.grant(&grant, emitter),
            PermissionOp::RemovePermission { rule } => permissions.remove(&rule, emitter),
            PermissionOp::AnswerQuestion { id, answer } => self.pending.answer(id, answer, emitter),
            PermissionOp::ListQuestions => self.pending.list(emitter),
        }
    }
}
