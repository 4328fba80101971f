//! Asks the terminal what it is without taking its screen: for a look at it from the command line.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use super::kind::TerminalKind;
use super::modes;
use super::restore::Restore;
use crate::input::{InputEvent, TerminalReply};

/// How long the answers may take, here and over a line.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));

/// What the terminal of this process answers, in one batch that ends with the device attributes, which every
/// terminal knows: without them it did not answer in time. `None` where there is no terminal at both ends. Blocks.
pub fn ask(kind: &TerminalKind) -> Option<Vec<TerminalReply>> {
    let (input, output) = (io::stdin(), io::stdout());
    if !input.is_terminal() || !output.is_terminal() {
        return None;
    }
    let input = input.as_fd().try_clone_to_owned().ok()?;
    let output = File::from(output.as_fd().try_clone_to_owned().ok()?);
    let restore = Restore::new(input, output);
    // Nothing but the raw mode has to be taken back.
    restore.take(String::new()).ok()?;
    let asked = restore.output().and_then(|mut output| {
        output.write_all(modes::probes(kind).as_bytes())?;
        output.flush()
    });
    let patience = if kind.remote { PATIENCE.1 } else { PATIENCE.0 };
    let heard = asked.and_then(|()| restore.drain(patience));
    restore.restore();
    let replies = heard.ok()?.into_iter().filter_map(|event| match event {
        InputEvent::Reply(reply) => Some(reply),
        _ => None,
    });
    Some(replies.collect())
}
