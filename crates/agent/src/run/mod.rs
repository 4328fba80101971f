//! One run of an agent.

mod agent_loop;
mod attempt;
mod call;
mod log;
mod open_answer;
mod tool_calls;
mod turn;

pub(crate) use agent_loop::run;
pub use call::FINAL_TURN_MESSAGE;
