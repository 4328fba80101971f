//! The end of a slash command that sends requests, for clients that wait for its answer.

use crate::{Op, TreeOp};

/// When a command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// With its request.
    Request,
    /// The command ends with its request. Events of other changes meanwhile are no answer.
    RequestAlone,
    /// With the event that answers it: the agent continues after the request.
    Event,
}

impl CommandEnd {
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Agent(_) | Op::Tree(TreeOp::Compact { .. }) => Self::Event,
            Op::Reload => Self::RequestAlone,
            _ => Self::Request,
        }
    }
}
