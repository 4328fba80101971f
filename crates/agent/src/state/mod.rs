//! The mutable state of an agent, by its owner.

mod agent_state;
mod conversation;
mod models;
mod queue;

pub(crate) use agent_state::AgentState;
pub(crate) use conversation::Conversation;
pub(crate) use models::ModelSelection;
