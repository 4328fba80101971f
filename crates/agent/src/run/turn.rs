//! One turn of a run: a model call and the tool calls of its answer.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::log::RunLog;
use crate::core::Core;

/// The parts of a run that its model calls and tool calls use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub core: &'a Core,
    pub cancel: &'a CancellationToken,
    pub log: RunLog<'a>,
    /// The number of the turn within the run, from 1.
    pub number: u32,
    /// Whether this is the last allowed turn: no tools are offered, and none runs.
    pub is_last: bool,
    /// Whether the call is repeated after a compaction when it exceeds the context window.
    pub can_compact: bool,
}

/// Milliseconds since `start`.
pub(super) fn elapsed_ms(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
