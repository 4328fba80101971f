//! The budget of the session, as a line of the conversation.

use crate::conversation::Transcript;
use osier_agent::Severity;
use osier_protocol::BudgetState;

/// Shows the budget, or how to set one.
pub(crate) fn show(budget: &BudgetState, transcript: &mut Transcript) {
    transcript.notice(Severity::Info, &budget.line());
}
