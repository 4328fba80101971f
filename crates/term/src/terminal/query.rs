//! Queries the terminal without taking over its screen, for command-line checks.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use super::kind::TerminalKind;
use super::modes;
use super::restore::RestoreGuard;
use crate::input::{InputEvent, TerminalReply};

/// Timeouts for the replies: local and over SSH.
const REPLY_TIMEOUTS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));

/// The replies of the terminal of this process. They end with the device attributes, which every
/// terminal reports; without them the terminal did not answer in time. `None` if standard input or
/// output is not a terminal. Blocks.
pub fn query(kind: &TerminalKind) -> Option<Vec<TerminalReply>> {
    let (input, output) = (io::stdin(), io::stdout());
    if !input.is_terminal() || !output.is_terminal() {
        return None;
    }
    let input = input.as_fd().try_clone_to_owned().ok()?;
    let output = File::from(output.as_fd().try_clone_to_owned().ok()?);
    let restore = RestoreGuard::new(input, output);
    // Only raw mode has to be reset.
    restore.enter_raw(String::new()).ok()?;
    let sent = restore.output().and_then(|mut output| {
        output.write_all(modes::probes(kind).as_bytes())?;
        output.flush()
    });
    let timeout = if kind.remote {
        REPLY_TIMEOUTS.1
    } else {
        REPLY_TIMEOUTS.0
    };
    let events = sent.and_then(|()| restore.drain(timeout, 1));
    restore.restore();
    let replies = events.ok()?.into_iter().filter_map(|event| match event {
        InputEvent::Reply(reply) => Some(reply),
        _ => None,
    });
    Some(replies.collect())
}
