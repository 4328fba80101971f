//! `osier sessions`: the stored sessions, newest first.

use std::io::{self, Write};

use crate::base::{clock, text};
use crate::coding::host::SessionSummary;

/// Prints one line a session.
pub(in crate::cli) fn run(sessions: &[SessionSummary], out: &mut dyn Write) -> io::Result<()> {
    for session in sessions {
        let title = session
            .name
            .as_deref()
            .or(session.first_prompt.as_deref())
            .unwrap_or("(empty)");
        let title = text::single_line(title);
        let when = clock::rfc3339(session.modified);
        let when = when.get(..16).unwrap_or(&when).replace('T', " ");
        writeln!(
            out,
            "{}  {when}  {}  {}",
            session.id,
            session.cwd,
            text::truncate(&title, 80)
        )?;
    }
    Ok(())
}
