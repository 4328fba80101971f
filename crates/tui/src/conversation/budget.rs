//! The budget of the session, as a line of the conversation.

use crate::conversation::Transcript;
use osier_agent::Severity;
use osier_protocol::BudgetState;

/// Shows the budget, or how to set one.
pub(crate) fn show(budget: &BudgetState, transcript: &mut Transcript) {
    let words = budget.words();
    let line = if words.is_empty() {
        "this session has no budget: `/budget 5` sets 5 US dollars, `/budget 500000 tokens` or \
         `/budget 100 turns` another limit"
            .to_owned()
    } else {
        format!("budget used: {words}; `/budget` with a number changes a limit")
    };
    transcript.notice(Severity::Info, &line);
}
