//! `osier sessions check`: reports damaged session files and changes nothing.

use tokio_util::sync::CancellationToken;

use super::context::{CommandResult, SessionsContext};
use crate::cli::exit::Exit;
use osier_base::text::counted;
use osier_index::check;

#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct Options {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let mut findings = Vec::new();
    let cancel = CancellationToken::new();
    let files = check(&context.library, &cancel, &mut |finding| {
        findings.push(finding);
    })?;
    for finding in &findings {
        if options.json {
            context.print_json(finding)?;
        } else {
            let path = finding.path.display();
            context.print(&format!("{path}: {}; {}", finding.what, finding.hint))?;
        }
    }
    if !options.json {
        let sessions = counted(files, "session", "sessions");
        let summary = match findings.len() {
            0 => format!("{sessions}, no damage"),
            count => format!("{sessions}, {}", counted(count, "problem", "problems")),
        };
        context.print(&summary)?;
    }
    Ok(if findings.is_empty() {
        Exit::Success
    } else {
        Exit::Failure
    })
}
